//! `Sluice\Store`: where state lives, as an object.

use std::rc::Rc;

use ext_php_rs::boxed::ZBox;
use ext_php_rs::convert::IntoZval;
use ext_php_rs::ffi::IS_OBJECT;
use ext_php_rs::types::{ArrayKey, ZendHashTable, ZendObject, Zval};

use crate::limit::{Micros, Number};
use crate::php::call::{Call, Result, Thrown, handlers};
use crate::php::class::{Class, Native, instantiate, register as register_class};
use crate::php::signature::{Type, function, optional, required};
use crate::php::stores::AnyStore;
use crate::php::{errors, stores, zend};
use crate::store::redis::Dsn;
use crate::store::tiered::BreakerStatus;
use crate::store::{Status, Store};

static CLASS: Class = Class::new();

/// A store that an object holds.
pub struct StoreHandle(pub Rc<AnyStore>);

impl Native for StoreHandle {
    fn class() -> &'static Class {
        &CLASS
    }
}

const TYPE: Type = Type::class("Sluice\\Store");
const START: Type = Type::class("DateTimeInterface").or(Type::FLOAT).or_null();

pub fn register() {
    register_class::<StoreHandle>(
        "Sluice\\Store",
        &[
            function("__construct", construct, &[], Type::NONE).private(),
            function("sharedMemory", shared_memory, &[], TYPE).for_class(),
            function(
                "redis",
                redis,
                &[
                    required("dsn", Type::STRING).sensitive(),
                    optional("options", Type::ARRAY, "[]").sensitive(),
                ],
                TYPE,
            )
            .for_class(),
            function("memory", memory, &[], TYPE).for_class(),
            function("fake", fake, &[optional("at", START, "null")], TYPE).for_class(),
            function("restore", restore, &[], Type::VOID).for_class(),
            function("status", status, &[], Type::ARRAY),
            function(
                "advance",
                advance,
                &[required("seconds", Type::FLOAT)],
                Type::VOID,
            ),
        ],
        &[],
    );
}

handlers! {
    construct = on_construct;
    shared_memory = on_shared_memory;
    redis = on_redis;
    memory = on_memory;
    fake = on_fake;
    restore = on_restore;
    status = on_status;
    advance = on_advance;
}

fn on_construct(_: &mut Call<'_>) -> Result {
    Err(errors::throw_error(
        "a store is made by Store::sharedMemory(), redis(), memory() or fake()",
    ))
}

fn give(call: &mut Call<'_>, store: Rc<AnyStore>) {
    // SAFETY: in a request; the result is still empty.
    unsafe { instantiate(call.result(), StoreHandle(store)) };
}

fn on_shared_memory(call: &mut Call<'_>) -> Result {
    call.expect(0, 0)?;
    give(call, stores::shared_memory());
    Ok(())
}

fn on_redis(call: &mut Call<'_>) -> Result {
    call.expect(1, 2)?;
    let text = std::str::from_utf8(call.bytes(1)?)
        .map_err(|_| errors::throw_config(1, "must be a DSN: it is not UTF-8"))?;
    let mut dsn = Dsn::parse(text)
        .map_err(|error| errors::throw_config(1, &format!("must be a DSN: {error}")))?;
    let mut identity = text.to_owned();
    if call.has(2) {
        // SAFETY: every value knows its type.
        let options = unsafe { &*call.argument(2).cast::<Zval>() };
        let options = options.array().ok_or_else(|| call.type_error(2, "array"))?;
        for (name, value) in options {
            let name = match name {
                ArrayKey::Str(name) => name.to_owned(),
                other => other.to_string(),
            };
            let value = text_of(value).ok_or_else(|| {
                errors::throw_config(
                    2,
                    &format!("must hold strings and numbers, and \"{name}\" is neither"),
                )
            })?;
            dsn.set(&name, &value)
                .map_err(|error| errors::throw_config(2, &format!("must fit the DSN: {error}")))?;
            identity.extend(["\0", &name, "\0", &value]);
        }
    }
    let store = stores::redis(dsn, &identity)
        .map_err(|error| errors::throw_config(1, &format!("must be a DSN: {error}")))?;
    give(call, store);
    Ok(())
}

fn text_of(value: &Zval) -> Option<String> {
    if value.is_string() {
        return value.string();
    }
    match (value.long(), value.double()) {
        (Some(int), _) => Some(int.to_string()),
        (None, Some(float)) => Some(float.to_string()),
        (None, None) => None,
    }
}

fn on_memory(call: &mut Call<'_>) -> Result {
    call.expect(0, 0)?;
    give(call, stores::memory());
    Ok(())
}

fn on_fake(call: &mut Call<'_>) -> Result {
    call.expect(0, 1)?;
    let at = if call.is_null(1) {
        crate::store::unix_now()
    } else {
        start_of_fake(call)?
    };
    give(call, stores::fake(at));
    Ok(())
}

/// Latest time a test may start at: the year 2255. Far enough, and exact.
const LATEST: f64 = 9.0e9;

fn start_of_fake(call: &Call<'_>) -> Result<Micros> {
    // SAFETY: argument 1 was given; every value knows its type.
    let value = unsafe { &*call.argument(1) };
    // SAFETY: as above.
    let seconds = if u32::from(unsafe { value.u1.v.type_ }) == IS_OBJECT {
        // SAFETY: it is an object.
        let object = unsafe { &*value.value.obj };
        unix_time_of(object).ok_or_else(|| call.type_error(1, START_TYPES))?
    } else {
        call.double_or(1, START_TYPES)?
    };
    if (0.0..=LATEST).contains(&seconds) {
        Ok(Micros((seconds * 1e6).round() as u64))
    } else {
        Err(errors::throw_value(
            1,
            &format!(
                "must be a Unix time between 0 and {LATEST}, {} given",
                Number::Float(seconds)
            ),
        ))
    }
}

/// The types of a fake's start as PHP names them in its messages.
const START_TYPES: &str = "DateTimeInterface|float|null";

/// The time of a `DateTimeInterface`, to the microsecond.
fn unix_time_of(object: &ZendObject) -> Option<f64> {
    // SAFETY: both classes are live.
    let is_time =
        unsafe { zend::instanceof_function_slow(object.ce, zend::php_date_get_interface_ce()) };
    if !is_time {
        return None;
    }
    let format = |letters: &str| -> Option<f64> {
        let letters = letters.into_zval(false).ok()?;
        let text = object.try_call_method("format", vec![&letters]).ok()?;
        text.string()?.parse().ok()
    };
    Some(format("U")? + format("u")? / 1e6)
}

fn on_restore(call: &mut Call<'_>) -> Result {
    call.expect(0, 0)?;
    stores::restore();
    Ok(())
}

fn on_advance(call: &mut Call<'_>) -> Result {
    call.expect(1, 1)?;
    let seconds = call.double(1)?;
    if !(0.0..=LATEST).contains(&seconds) {
        return Err(errors::throw_value(
            1,
            &format!(
                "must be between 0 and {LATEST} seconds, {} given",
                Number::Float(seconds)
            ),
        ));
    }
    let by = Micros((seconds * 1e6).round() as u64);
    if call.this::<StoreHandle>()?.0.advance(by) {
        return Ok(());
    }
    Err(errors::throw_error(
        "only a store made by Store::fake() or Store::memory() has a clock to advance",
    ))
}

fn on_status(call: &mut Call<'_>) -> Result {
    call.expect(0, 0)?;
    let status = call.this::<StoreHandle>()?.0.status();
    let array = status_array(&status).map_err(|_| Thrown)?;
    Zval::set_hashtable(call.result(), array);
    Ok(())
}

fn breaker_array(breaker: &BreakerStatus) -> ext_php_rs::error::Result<ZBox<ZendHashTable>> {
    let mut array = ZendHashTable::new();
    array.insert("open", breaker.open)?;
    array.insert("faults", i64::from(breaker.faults))?;
    array.insert("opened", breaker.opened as i64)?;
    array.insert("probeIn", breaker.probe_in.map(Micros::as_secs_f64))?;
    Ok(array)
}

fn status_array(status: &Status) -> ext_php_rs::error::Result<ZBox<ZendHashTable>> {
    let mut array = ZendHashTable::new();
    array.insert(
        "store",
        match (&status.redis, &status.shared_memory) {
            (Some(_), _) => "redis",
            (None, Some(_)) => "shared-memory",
            (None, None) => "memory",
        },
    )?;
    if let Some(redis) = &status.redis {
        let mut part = ZendHashTable::new();
        part.insert("dsn", redis.dsn.as_str())?;
        part.insert("topology", redis.topology)?;
        part.insert("node", redis.node.as_deref())?;
        part.insert("connected", redis.connected)?;
        part.insert("connections", redis.connections as i64)?;
        part.insert("calls", redis.calls as i64)?;
        part.insert("faults", redis.faults as i64)?;
        part.insert("lastFault", redis.last_fault.as_deref())?;
        array.insert("redis", part)?;
    }
    if let Some(tiers) = &status.tiers {
        array.insert("breaker", breaker_array(&tiers.breaker)?)?;
        let mut near = ZendHashTable::new();
        near.insert("seconds", tiers.near.as_secs_f64())?;
        near.insert("refused", tiers.near_refusals as i64)?;
        array.insert("near", near)?;
        let mut leases = ZendHashTable::new();
        leases.insert("allowed", tiers.leased as i64)?;
        array.insert("leases", leases)?;
    }
    if let Some(table) = &status.shared_memory {
        let mut part = ZendHashTable::new();
        part.insert("size", table.size as i64)?;
        part.insert("slots", table.slots as i64)?;
        part.insert("live", table.live as i64)?;
        part.insert("evictions", table.evictions as i64)?;
        part.insert("path", table.path.as_deref())?;
        array.insert("sharedMemory", part)?;
    }
    if let Some(keys) = status.memory {
        array.insert("keys", keys as i64)?;
    }
    Ok(array)
}
