//! `Sluice\Gate`: what the gate found about this request, and the gate as a
//! call, for servers that run many requests in one script.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::rc::Rc;

use ext_php_rs::boxed::ZBox;
use ext_php_rs::types::{ZendHashTable, Zval};

use super::decision::{self, KeyValue, Made};
use super::permit;
use crate::gate::{File, Verdict};
use crate::limit::{Ask, Limit, Micros, Mode};
use crate::php::call::{Call, Result, Thrown, handlers};
use crate::php::class::{Class, Native, register as register_class};
use crate::php::gate::{self, Current};
use crate::php::permits::HeldPermit;
use crate::php::signature::{Type, function, optional, required};
use crate::php::{errors, zend};
use crate::store::{Answer, Enforced, Source, Store};

static CLASS: Class = Class::new();

/// The class has no objects.
struct Never;

impl Native for Never {
    fn class() -> &'static Class {
        &CLASS
    }
}

pub fn register() {
    const DECISION: Type = decision::TYPE.or_null();
    register_class::<Never>(
        "Sluice\\Gate",
        &[
            function("__construct", construct, &[], Type::NONE).private(),
            function("rule", rule, &[], Type::STRING.or_null()).for_class(),
            function("decision", give_decision, &[], DECISION).for_class(),
            function("answer", answer, &[], Type::ARRAY.or_null()).for_class(),
            function(
                "check",
                check,
                &[optional("server", Type::ARRAY.or_null(), "null")],
                DECISION,
            )
            .for_class(),
            function("finish", finish, &[], Type::VOID).for_class(),
            function("status", status, &[], Type::ARRAY).for_class(),
            function(
                "validate",
                validate,
                &[required("file", Type::STRING)],
                Type::ARRAY,
            )
            .for_class(),
        ],
        &[],
    );
}

handlers! {
    construct = on_construct;
    rule = on_rule;
    give_decision = on_decision;
    answer = on_answer;
    check = on_check;
    finish = on_finish;
    status = on_status;
    validate = on_validate;
}

fn on_construct(_: &mut Call<'_>) -> Result {
    Err(errors::throw_error(
        "the gate is one for all; call its methods statically",
    ))
}

fn on_rule(call: &mut Call<'_>) -> Result {
    call.expect(0, 0)?;
    let name = gate::with(|current| {
        let rules = current.gate.as_ref()?;
        match current.case.verdict {
            Verdict::Untouched => None,
            Verdict::Passed(_) => Some("allow".to_owned()),
            Verdict::Denied(_) => Some("deny".to_owned()),
            Verdict::Allowed | Verdict::Refused | Verdict::Failed => {
                let speaker = current.case.speaker().unwrap_or(0);
                let mut asked = current.case.asked(rules);
                asked.nth(speaker).map(|asked| asked.rule.name.clone())
            }
        }
    });
    if let Some(name) = name {
        // SAFETY: the result is still empty.
        unsafe { zend::put_string(call.result(), name.as_bytes()) };
    }
    Ok(())
}

fn on_decision(call: &mut Call<'_>) -> Result {
    call.expect(0, 0)?;
    put_decision(call)
}

fn on_check(call: &mut Call<'_>) -> Result {
    call.expect(0, 1)?;
    let refused = if !call.is_null(1) {
        // SAFETY: the argument was given; every value knows its type.
        let array = unsafe { &*call.argument(1).cast::<Zval>() }.array();
        let array = array.ok_or_else(|| call.type_error(1, "?array"))?;
        gate::judge(&gate::Variables(array))
    } else if gate::is_installed() {
        // It was judged before PHP ran.
        gate::with(|current| current.refused)
    } else {
        let judged = gate::with_server_variables(|request| gate::judge(request));
        judged.unwrap_or(false)
    };
    if refused { put_decision(call) } else { Ok(()) }
}

fn on_finish(call: &mut Call<'_>) -> Result {
    call.expect(0, 0)?;
    gate::finish();
    Ok(())
}

/// A decision as it is made of what the gate knows.
struct Part {
    made: Made,
    key: Vec<u8>,
    name: String,
    permit: Option<Rc<HeldPermit>>,
}

impl Part {
    fn put(self, into: &mut Zval) {
        let permit = self.permit.map(|held| permit::object(held, &self.key));
        let key = KeyValue::Bytes(&self.key);
        decision::put(into, self.made, &key, self.name.as_bytes(), permit, None);
    }
}

/// The decision of this request: the same object each time, so that what it
/// took can be given back once.
fn put_decision(call: &mut Call<'_>) -> Result {
    if let Some(decision) = gate::decision() {
        *call.result() = decision;
        return Ok(());
    }
    let Some((mut parts, speaker)) = gate::with(parts) else {
        return Ok(());
    };
    let mut decision = Zval::new();
    if parts.len() == 1 {
        parts.remove(0).put(&mut decision);
    } else {
        let speaks = &parts[speaker];
        let made = Made {
            enforced: Enforced {
                would_deny: parts.iter().any(|part| part.made.enforced.would_deny),
                ..speaks.made.enforced
            },
            limit: speaks.made.limit.clone(),
            // What was taken is given back through the parts.
            ask: Ask::peek(1),
            store: Rc::clone(&speaks.made.store),
            unix: speaks.made.unix,
        };
        let (key, name) = (speaks.key.clone(), speaks.name.clone());
        let mut array = ZendHashTable::with_capacity(parts.len() as u32);
        let mut permit = None;
        for part in parts {
            let mut value = Zval::new();
            part.put(&mut value);
            permit = permit.or_else(|| decision::permit_of(&value));
            array.push(value).map_err(|_| Thrown)?;
        }
        let key = KeyValue::Bytes(&key);
        decision::put(
            &mut decision,
            made,
            &key,
            name.as_bytes(),
            permit,
            Some(array),
        );
    }
    gate::keep_decision(decision.shallow_clone());
    *call.result() = decision;
    Ok(())
}

/// The parts of this request's decision, and which of them speaks for all.
fn parts(current: &Current) -> Option<(Vec<Part>, usize)> {
    let rules = current.gate.as_ref()?;
    let store = current.store.as_ref()?;
    let unix = store.unix_time();
    let alone = |name: &str, key: Vec<u8>, source, retry_after: Option<Micros>| {
        let ask = Ask::take(1);
        let mut decision = Limit::Deny.stateless(ask)?;
        decision.retry_after = retry_after;
        let answer = Answer {
            decision,
            source,
            at: Micros::ZERO,
            permit: None,
        };
        let made = Made {
            enforced: Enforced {
                answer,
                would_deny: false,
                counted: false,
            },
            limit: Limit::Deny,
            ask,
            store: Rc::clone(store),
            unix,
        };
        let part = Part {
            made,
            key,
            name: name.to_owned(),
            permit: None,
        };
        Some((vec![part], 0))
    };
    match current.case.verdict {
        Verdict::Untouched | Verdict::Passed(_) => return None,
        Verdict::Denied(_) if !current.refused => return None,
        Verdict::Denied(_) => return alone("deny", Vec::new(), Source::Memory, None),
        Verdict::Failed => {
            let asked = current.case.asked(rules).next()?;
            let key = asked.key.bytes.to_vec();
            let second = Some(Micros(1_000_000));
            return alone(&asked.limit.name, key, Source::FailedClosed, second);
        }
        Verdict::Allowed | Verdict::Refused => {}
    }
    let refused = current.case.verdict == Verdict::Refused;
    let asked = current.case.asked(rules).zip(&current.case.answers);
    let parts: Vec<_> = asked
        .enumerate()
        .map(|(index, (asked, enforced))| {
            let permit = current.permits.iter().find(|(number, _)| *number == index);
            let mut enforced = *enforced;
            let mut ask = Ask::take(1);
            if refused {
                // What would have passed took nothing.
                ask.mode = Mode::Peek;
                enforced.answer.permit = None;
            }
            Part {
                made: Made {
                    enforced,
                    limit: asked.limit.limit.clone(),
                    ask,
                    store: Rc::clone(store),
                    unix,
                },
                key: asked.key.bytes.to_vec(),
                name: asked.limit.name.clone(),
                permit: permit.map(|(_, permit)| Rc::clone(permit)),
            }
        })
        .collect();
    Some((parts, current.case.speaker()?))
}

fn on_answer(call: &mut Call<'_>) -> Result {
    call.expect(0, 0)?;
    let Some(response) = gate::of_current() else {
        return Ok(());
    };
    let mut headers = ZendHashTable::new();
    for (name, value) in &response.headers {
        headers
            .insert(name.as_str(), value.as_str())
            .map_err(|_| Thrown)?;
    }
    let mut array = ZendHashTable::new();
    array
        .insert("status", i64::from(response.status))
        .map_err(|_| Thrown)?;
    array.insert("headers", headers).map_err(|_| Thrown)?;
    array.insert("body", response.body).map_err(|_| Thrown)?;
    Zval::set_hashtable(call.result(), array);
    Ok(())
}

fn on_status(call: &mut Call<'_>) -> Result {
    call.expect(0, 0)?;
    let array = status_array().map_err(|_| Thrown)?;
    Zval::set_hashtable(call.result(), array);
    Ok(())
}

fn status_array() -> ext_php_rs::error::Result<ZBox<ZendHashTable>> {
    let mut array = ZendHashTable::new();
    array.insert("installed", gate::is_installed())?;
    let mut rules = ZendHashTable::new();
    for name in gate::rule_names() {
        rules.push(name)?;
    }
    array.insert("rules", rules)?;
    for (name, number) in gate::counters::NAMES
        .into_iter()
        .zip(gate::counters::read())
    {
        array.insert(name, number as i64)?;
    }
    Ok(array)
}

fn on_validate(call: &mut Call<'_>) -> Result {
    call.expect(1, 1)?;
    let path = call.bytes(1)?;
    let messages = check_file(path);
    let mut array = ZendHashTable::new();
    for message in messages {
        array.push(message).map_err(|_| Thrown)?;
    }
    Zval::set_hashtable(call.result(), array);
    Ok(())
}

/// What is wrong with a file, as far as this script may read it.
fn check_file(path: &[u8]) -> Vec<String> {
    let Ok(name) = CString::new(path) else {
        return vec!["a path has no NUL in it".to_owned()];
    };
    // SAFETY: a C string. It warns by itself where the path is out of bounds.
    if unsafe { zend::php_check_open_basedir(name.as_ptr()) } != 0 {
        return vec!["open_basedir does not let this script read it".to_owned()];
    }
    let path = std::path::Path::new(std::ffi::OsStr::from_bytes(path));
    match std::fs::read_to_string(path) {
        Err(error) => vec![error.to_string()],
        Ok(text) => match File::parse(&text) {
            Ok(_) => Vec::new(),
            Err(errors) => errors.iter().map(ToString::to_string).collect(),
        },
    }
}
