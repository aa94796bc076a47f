//! `Sluice\Networks`: a set of addresses and networks, as the gate reads them.

use ext_php_rs::types::Zval;

use crate::gate;
use crate::php::call::{Call, Result, handlers};
use crate::php::class::{Class, Native, register as register_class, set_payload};
use crate::php::signature::{Type, function, required};
use crate::php::{errors, zend};

static CLASS: Class = Class::new();

/// The networks, and each as it was given.
struct Networks {
    networks: gate::Networks,
    given: Vec<String>,
}

impl Native for Networks {
    fn class() -> &'static Class {
        &CLASS
    }
}

pub fn register() {
    register_class::<Networks>(
        "Sluice\\Networks",
        &[
            function(
                "__construct",
                construct,
                &[required("networks", Type::ARRAY)],
                Type::NONE,
            ),
            function(
                "find",
                find,
                &[required("address", Type::STRING)],
                Type::STRING.or_null(),
            ),
        ],
        &[],
    );
}

handlers! {
    construct = on_construct;
    find = on_find;
}

/// Argument `number` of a call: a list of networks, each as it was given.
pub fn networks_of(call: &Call<'_>, number: usize) -> Result<(gate::Networks, Vec<String>)> {
    // SAFETY: the argument was given; every value knows its type.
    let array = unsafe { &*call.argument(number).cast::<Zval>() }.array();
    let array = array.ok_or_else(|| call.type_error(number, "array"))?;
    let mut networks = gate::Networks::default();
    let mut given = Vec::new();
    for value in array.values() {
        let text = value.str().ok_or_else(|| {
            errors::throw_value(number, "must be a list of strings, one network each")
        })?;
        networks
            .add(text)
            .map_err(|error| errors::throw_value(number, &error.replace("expected", "takes")))?;
        if text != gate::UNIX {
            given.push(text.to_owned());
        }
    }
    Ok((networks, given))
}

fn on_construct(call: &mut Call<'_>) -> Result {
    call.expect(1, 1)?;
    let (networks, given) = networks_of(call, 1)?;
    // SAFETY: the object is being constructed, and nothing is borrowed from it.
    unsafe { set_payload(call.this_object(), Networks { networks, given }) };
    Ok(())
}

fn on_find(call: &mut Call<'_>) -> Result {
    call.expect(1, 1)?;
    let this = call.this::<Networks>()?;
    let found = gate::parse_address(call.bytes(1)?)
        .and_then(|address| this.networks.find(address))
        .and_then(|number| this.given.get(number));
    if let Some(network) = found {
        // SAFETY: the result is still empty.
        unsafe { zend::put_string(call.result(), network.as_bytes()) };
    }
    Ok(())
}
