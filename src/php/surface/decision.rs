//! `Sluice\Decision`: the answer as PHP sees it, its headers and its JSON.

use std::cell::Cell;
use std::rc::Rc;

use ext_php_rs::boxed::ZBox;
use ext_php_rs::convert::IntoZval;
use ext_php_rs::ffi::{zend_object, zval};
use ext_php_rs::types::{ZendHashTable, Zval};

use super::headers::{self, Part};
use super::{enums, permit};
use crate::limit::{Ask, Key, Limit, Micros, Mode, UNLIMITED};
use crate::php::call::{Call, Result, Thrown, handlers};
use crate::php::class::{
    Class, Native, Property, instantiate, payload_of, register as register_class,
};
use crate::php::signature::{Type, function};
use crate::php::stores::AnyStore;
use crate::php::{errors, settings, stores, zend};
use crate::store::{Enforced, Question, Store};

pub static CLASS: Class = Class::new();

/// The return type of everything that decides.
pub const TYPE: Type = Type::class("Sluice\\Decision");

/// What the object knows besides its properties.
pub struct Facts {
    made: Made,
    /// Tokens that have not been given back.
    refundable: Cell<u64>,
}

/// A decision as it was made.
pub struct Made {
    pub enforced: Enforced,
    pub limit: Limit,
    pub ask: Ask,
    pub store: Rc<AnyStore>,
    /// Unix time when it was decided, by a clock of a test; else the time when
    /// headers are asked for is near enough.
    pub unix: Option<Micros>,
}

/// A key as PHP handed it over, or as bytes of ours.
pub enum KeyValue<'a> {
    Same(*const zval),
    Bytes(&'a [u8]),
}

/// The properties, in the order of their slots. `toArray()` has the same.
const PROPERTIES: [Property; 12] = [
    property("allowed", Type::BOOL),
    property("limit", Type::INT),
    property("remaining", Type::INT),
    property("retryAfter", Type::FLOAT.or_null()),
    property("resetAfter", Type::FLOAT),
    property("delay", Type::FLOAT),
    property("wouldDeny", Type::BOOL),
    property("key", Type::STRING),
    property("policy", Type::STRING),
    property("source", Type::class("Sluice\\Source")),
    property("permit", Type::class("Sluice\\Permit").or_null()),
    property("parts", Type::ARRAY),
];
const KEY: usize = 7;
const POLICY: usize = 8;
const SOURCE: usize = 9;
const PERMIT: usize = 10;
const PARTS: usize = 11;

const fn property(name: &'static str, ty: Type) -> Property {
    Property { name, ty }
}

impl Native for Facts {
    fn class() -> &'static Class {
        &CLASS
    }
}

pub fn register() {
    register_class::<Facts>(
        "Sluice\\Decision",
        &[
            function("__construct", construct, &[], Type::NONE).private(),
            function("headers", give_headers, &[], Type::ARRAY),
            function("toArray", to_array, &[], Type::ARRAY),
            function("send", send, &[], Type::VOID),
            function("jsonSerialize", to_array, &[], Type::ARRAY),
        ],
        &PROPERTIES,
    );
    // SAFETY: in MINIT; json is always there, and registered before us.
    unsafe { zend::zend_class_implements(CLASS.entry(), 1, zend::php_json_serializable_ce) };
}

/// Makes a decision in `into`. `parts` are the decisions of a composite, else
/// empty.
pub fn put(
    into: &mut zval,
    made: Made,
    key: &KeyValue<'_>,
    name: &[u8],
    permit: Option<Zval>,
    parts: Option<ZBox<ZendHashTable>>,
) {
    let decision = made.enforced.answer.decision;
    let would_deny = made.enforced.would_deny;
    let source = made.enforced.answer.source;
    let took = match made.ask.mode {
        Mode::Peek => false,
        // In any case, within the limit or not.
        Mode::Charge => true,
        Mode::Take | Mode::Reserve(_) => decision.allowed && !would_deny,
    };
    let taken = if took && made.enforced.counted {
        made.ask.cost
    } else {
        0
    };
    // SAFETY: in a request. `into` is an empty result; a key that is shared is
    // a string that lives as long as the call. Properties are unset, in the
    // order of PROPERTIES, so nothing is to be freed before it is written.
    unsafe {
        let facts = Facts {
            made,
            refundable: Cell::new(taken),
        };
        let properties = instantiate(into, facts);
        let property = |index: usize| &mut *properties.add(index);
        Zval::set_bool(property(0), decision.allowed);
        Zval::set_long(property(1), shown(decision.limit));
        Zval::set_long(property(2), shown(decision.remaining));
        match decision.retry_after {
            Some(time) => Zval::set_double(property(3), time.as_secs_f64()),
            None => Zval::set_null(property(3)),
        }
        Zval::set_double(property(4), decision.reset_after.as_secs_f64());
        Zval::set_double(property(5), decision.delay.as_secs_f64());
        Zval::set_bool(property(6), would_deny);
        match key {
            KeyValue::Same(value) => zend::put_same_string(property(7), *value),
            KeyValue::Bytes(bytes) => zend::put_string(property(7), bytes),
        }
        zend::put_string(property(8), name);
        zend::put_object(property(9), enums::source_case(source));
        match permit {
            Some(permit) => std::ptr::write(property(10), permit),
            None => Zval::set_null(property(10)),
        }
        match parts {
            Some(parts) => Zval::set_hashtable(property(11), parts),
            None => zend::put_empty_array(property(11)),
        }
    }
}

/// The permit of a decision that was just made.
pub fn permit_of(decision: &Zval) -> Option<Zval> {
    // SAFETY: an object of the class, whose properties are those of PROPERTIES.
    unsafe {
        let object = decision.value.obj;
        let properties: *const Zval = (&raw const (*object).properties_table).cast();
        let permit = &*properties.add(PERMIT);
        permit.is_object().then(|| permit.shallow_clone())
    }
}

/// A number of tokens as PHP sees it: no limit at all is the largest int.
fn shown(tokens: u32) -> i64 {
    if tokens == UNLIMITED {
        i64::MAX
    } else {
        tokens.into()
    }
}

/// Gives back what a decision took, or a part of it: `refund()`.
///
/// # Safety
/// `object` is a live object of the class.
pub unsafe fn refund(object: *mut zend_object, cost: Option<u64>) -> Result {
    // SAFETY: the caller's promise; its properties are those of PROPERTIES.
    unsafe {
        let facts = payload_of::<Facts>(object).ok_or(Thrown)?;
        let properties: *const zval = (&raw const (*object).properties_table).cast();
        let parts = &*properties.add(PARTS).cast::<Zval>();
        for part in parts.array().into_iter().flat_map(ZendHashTable::values) {
            if part.is_object() {
                refund(part.value.obj, cost)?;
            }
        }
        let left = facts.refundable.get();
        let cost = cost.unwrap_or(left).min(left);
        if cost == 0 {
            return Ok(());
        }
        facts.refundable.set(left - cost);
        let permit = &*properties.add(PERMIT).cast::<Zval>();
        if permit.is_object() {
            // As its own release: once, and not in a child of its process.
            permit::release_of(permit.value.obj);
            return Ok(());
        }
        let key = (*properties.add(KEY)).value.str_;
        let name = (*properties.add(POLICY)).value.str_;
        let given_back = settings::with_hot(|hot| {
            let question = Question {
                key: Key {
                    name: zend::bytes_of(name),
                    bytes: zend::bytes_of(key),
                },
                limit: &facts.made.limit.scaled(hot.enforcement.scale),
                ask: Ask::take(cost),
                on_failure: &hot.on_failure,
                dry_run: false,
            };
            facts
                .made
                .store
                .refund(&question, &facts.made.enforced.answer)
        });
        stores::unless_thrown(given_back, ())
    }
}

handlers! {
    construct = on_construct;
    give_headers = on_headers;
    to_array = on_to_array;
    send = on_send;
}

fn on_construct(_: &mut Call<'_>) -> Result {
    Err(errors::throw_error("a decision is made by a limiter"))
}

fn on_headers(call: &mut Call<'_>) -> Result {
    call.expect(0, 0)?;
    let made = &call.this::<Facts>()?.made;
    let decision = &made.enforced.answer.decision;
    let mut array = ZendHashTable::new();
    for (name, value) in headers::headers(decision, &parts_of(call)?, made.unix) {
        insert(&mut array, name, value)?;
    }
    give(call, array);
    Ok(())
}

fn on_to_array(call: &mut Call<'_>) -> Result {
    call.expect(0, 0)?;
    let facts = call.this::<Facts>()?;
    let mut array = ZendHashTable::new();
    for (index, property) in PROPERTIES.iter().enumerate() {
        // SAFETY: the object has these properties, in this order, all set.
        let value = unsafe {
            let object = call.this_object();
            &*(&raw const (*object).properties_table)
                .cast::<Zval>()
                .add(index)
        };
        match index {
            SOURCE => {
                let source = facts.made.enforced.answer.source;
                insert(&mut array, property.name, enums::value_of(source))?;
            }
            PERMIT => insert(&mut array, property.name, value.is_object())?,
            PARTS => insert(&mut array, property.name, parts_as_arrays(value)?)?,
            _ => insert(&mut array, property.name, value.shallow_clone())?,
        }
    }
    give(call, array);
    Ok(())
}

fn parts_as_arrays(parts: &Zval) -> Result<ZBox<ZendHashTable>> {
    let mut arrays = ZendHashTable::new();
    for part in parts.array().into_iter().flat_map(ZendHashTable::values) {
        let array = part
            .object()
            .ok_or(Thrown)?
            .try_call_method("toArray", vec![])
            .map_err(|_| Thrown)?;
        arrays.push(array).map_err(|_| Thrown)?;
    }
    Ok(arrays)
}

fn on_send(call: &mut Call<'_>) -> Result {
    call.expect(0, 0)?;
    let made = &call.this::<Facts>()?.made;
    let decision = &made.enforced.answer.decision;
    let parts = parts_of(call)?;
    for (name, value) in headers::headers(decision, &parts, made.unix) {
        headers::send_header(&format!("{name}: {value}"));
    }
    if !decision.allowed {
        headers::send_header("Content-Type: application/problem+json");
        headers::send_status(429);
        zend::print(headers::problem(decision, &parts).as_bytes());
    }
    Ok(())
}

/// The parts of this decision, or itself where it has none.
fn parts_of(call: &Call<'_>) -> Result<Vec<Part<'static>>> {
    // SAFETY: the object and its parts live through the call, and longer than
    // what is read from them here; its properties are those of PROPERTIES.
    unsafe {
        let object = call.this_object();
        let parts = &*(&raw const (*object).properties_table)
            .cast::<Zval>()
            .add(PARTS);
        let parts = parts.array().filter(|parts| !parts.is_empty());
        let objects: Vec<_> = match parts {
            None => vec![object],
            Some(parts) => parts.values().map(|part| part.value.obj).collect(),
        };
        objects
            .into_iter()
            .map(|object| {
                let name = &*(&raw const (*object).properties_table)
                    .cast::<zval>()
                    .add(POLICY);
                let made = &payload_of::<Facts>(object).ok_or(Thrown)?.made;
                Ok(Part {
                    name: String::from_utf8_lossy(zend::bytes_of(name.value.str_)).into_owned(),
                    limit: &made.limit,
                    decision: made.enforced.answer.decision,
                })
            })
            .collect()
    }
}

fn insert(array: &mut ZendHashTable, name: &str, value: impl IntoZval) -> Result {
    // Fails for a value that is no value of PHP; ours all are.
    array.insert(name, value).map_err(|_| Thrown)
}

fn give(call: &mut Call<'_>, array: ZBox<ZendHashTable>) {
    Zval::set_hashtable(call.result(), array);
}
