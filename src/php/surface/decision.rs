//! `Sluice\Decision`: the answer as PHP sees it, its headers and its JSON.

use std::ffi::{CString, c_char, c_uint, c_void};

use ext_php_rs::boxed::ZBox;
use ext_php_rs::convert::IntoZval;
use ext_php_rs::ffi::{IS_STRING, zval};
use ext_php_rs::types::{ZendHashTable, Zval};

use super::enums;
use crate::limit::{self, Limit, Micros};
use crate::php::call::{Call, Result, Thrown, handlers};
use crate::php::class::{
    Class, Native, Property, Type, function, instantiate, register as register_class,
};
use crate::php::{errors, settings, stores, zend};
use crate::store::{Enforced, Source};

static CLASS: Class = Class::new();

/// The return type of everything that decides.
pub const TYPE: Type = Type::class("Sluice\\Decision");

/// What the object knows besides its properties.
pub struct Facts {
    decision: limit::Decision,
    source: Source,
    period: Micros,
    /// Unix time when it was decided, by a clock of a test; else the time when
    /// headers are asked for is near enough.
    wall: Option<Micros>,
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
const SOURCE: usize = 9;

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
            function("headers", headers, &[], Type::ARRAY),
            function("toArray", to_array, &[], Type::ARRAY),
            function("send", send, &[], Type::VOID),
            function("jsonSerialize", to_array, &[], Type::ARRAY),
        ],
        &PROPERTIES,
    );
    // SAFETY: in MINIT; json is always there, and registered before us.
    unsafe { zend::zend_class_implements(CLASS.entry(), 1, zend::php_json_serializable_ce) };
}

/// Makes a decision in `into`, sharing the key that was passed in.
pub fn put(
    into: &mut zval,
    enforced: &Enforced,
    key: *const zval,
    limit: &Limit,
    wall: Option<Micros>,
) {
    let decision = &enforced.answer.decision;
    // SAFETY: in a request. `into` is an empty result; `key` is a string that
    // lives as long as the call. Properties are unset, in the order of
    // `register`, so nothing is to be freed before it is written.
    unsafe {
        let facts = Facts {
            decision: *decision,
            source: enforced.answer.source,
            period: limit.period(),
            wall,
        };
        let properties = instantiate(into, facts);
        let property = |index: usize| &mut *properties.add(index);
        Zval::set_bool(property(0), decision.allowed);
        Zval::set_long(property(1), decision.limit);
        Zval::set_long(property(2), decision.remaining);
        match decision.retry_after {
            Some(time) => Zval::set_double(property(3), time.as_secs_f64()),
            None => Zval::set_null(property(3)),
        }
        Zval::set_double(property(4), decision.reset_after.as_secs_f64());
        Zval::set_double(property(5), 0.0);
        Zval::set_bool(property(6), enforced.would_deny);
        debug_assert_eq!(u32::from((*key).u1.v.type_), IS_STRING);
        zend::put_same_string(property(7), key);
        zend::put_string(property(8), b"");
        zend::put_object(property(9), enums::source_case(enforced.answer.source));
        Zval::set_null(property(10));
        zend::put_empty_array(property(11));
    }
}

handlers! {
    construct = on_construct;
    headers = on_headers;
    to_array = on_to_array;
    send = on_send;
}

fn on_construct(_: &mut Call<'_>) -> Result {
    Err(errors::throw_error("a decision is made by a limiter"))
}

fn on_headers(call: &mut Call<'_>) -> Result {
    call.expect(0, 0)?;
    let mut array = ZendHashTable::new();
    for (name, value) in call.this::<Facts>()?.headers() {
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
        if index == SOURCE {
            insert(&mut array, property.name, enums::value_of(facts.source))?;
            continue;
        }
        // SAFETY: the object has these properties, in this order, all set.
        let value = unsafe {
            let object = call.this_object();
            &*(&raw const (*object).properties_table)
                .cast::<Zval>()
                .add(index)
        };
        insert(&mut array, property.name, value.shallow_clone())?;
    }
    give(call, array);
    Ok(())
}

fn on_send(call: &mut Call<'_>) -> Result {
    call.expect(0, 0)?;
    let facts = call.this::<Facts>()?;
    for (name, value) in facts.headers() {
        send_header(&format!("{name}: {value}"));
    }
    if !facts.decision.allowed {
        send_header("Content-Type: application/problem+json");
        send_status(429);
        zend::print(facts.problem().as_bytes());
    }
    Ok(())
}

impl Facts {
    /// The headers of this decision, of the families that php.ini chooses.
    fn headers(&self) -> Vec<(&'static str, String)> {
        let limit::Decision {
            limit, remaining, ..
        } = self.decision;
        let families = settings::get(|settings| settings.headers);
        let reset = self.decision.reset_after;
        let mut headers = Vec::new();
        if families.ietf {
            let window = self.period.as_secs_ceil();
            headers.push((
                "RateLimit-Policy",
                format!("\"default\";q={limit};w={window}"),
            ));
            headers.push((
                "RateLimit",
                format!("\"default\";r={remaining};t={}", reset.as_secs_ceil()),
            ));
        }
        if families.x {
            let now = self.wall.unwrap_or_else(stores::unix_now);
            headers.push(("X-RateLimit-Limit", limit.to_string()));
            headers.push(("X-RateLimit-Remaining", remaining.to_string()));
            headers.push((
                "X-RateLimit-Reset",
                now.after(reset).as_secs_ceil().to_string(),
            ));
        }
        if let (false, Some(seconds)) = (self.decision.allowed, self.retry_seconds()) {
            headers.push(("Retry-After", seconds.to_string()));
        }
        headers
    }

    /// `Retry-After`: whole seconds, rounded up, at least 1.
    fn retry_seconds(&self) -> Option<u64> {
        let time = self.decision.retry_after?;
        Some(time.as_secs_ceil().max(1))
    }

    /// The body of a 429: a problem of the IETF draft on rate limit headers.
    fn problem(&self) -> String {
        let retry = self
            .retry_seconds()
            .map_or_else(String::new, |seconds| format!(",\"retryAfter\":{seconds}"));
        format!(
            "{{\"type\":\"https://iana.org/assignments/http-problem-types#quota-exceeded\",\
             \"title\":\"Too Many Requests\",\"status\":429{retry},\
             \"violated-policies\":[\"default\"]}}\n"
        )
    }
}

fn insert(array: &mut ZendHashTable, name: &str, value: impl IntoZval) -> Result {
    // Fails for a value that is no value of PHP; ours all are.
    array.insert(name, value).map_err(|_| Thrown)
}

fn give(call: &mut Call<'_>, array: ZBox<ZendHashTable>) {
    Zval::set_hashtable(call.result(), array);
}

#[repr(C)]
struct HeaderLine {
    line: *const c_char,
    length: usize,
    code: i64,
}

const REPLACE: c_uint = 0;
const SET_STATUS: c_uint = 4;

fn send_header(line: &str) {
    // No value of ours has a NUL or a line break in it.
    let text = CString::new(line).unwrap_or_default();
    let mut header = HeaderLine {
        line: text.as_ptr(),
        length: line.len(),
        code: 0,
    };
    // SAFETY: the layout of sapi_header_line; PHP copies the line, and warns
    // by itself where headers were sent already.
    unsafe { zend::raw::sapi_header_op(REPLACE, (&raw mut header).cast()) };
}

fn send_status(code: usize) {
    // SAFETY: this operation takes the number itself as its argument.
    unsafe { zend::raw::sapi_header_op(SET_STATUS, code as *mut c_void) };
}
