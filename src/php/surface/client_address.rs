//! `Sluice\ClientAddress`: who is at the other end, as the gate finds it.

use std::ffi::CStr;
use std::net::IpAddr;

use super::networks::networks_of;
use crate::gate::{self, Client, Header, Request, Trust};
use crate::php::call::{Call, Result, handlers};
use crate::php::class::{Class, Native, register as register_class, set_payload};
use crate::php::signature::{Type, function, optional, required};
use crate::php::{errors, zend};

static CLASS: Class = Class::new();

impl Native for Trust {
    fn class() -> &'static Class {
        &CLASS
    }
}

pub fn register() {
    register_class::<Trust>(
        "Sluice\\ClientAddress",
        &[
            function(
                "__construct",
                construct,
                &[optional("trustedProxies", Type::ARRAY, "[]")],
                Type::NONE,
            ),
            function(
                "of",
                of,
                &[
                    required("remote", Type::STRING),
                    optional("forwardedFor", Type::STRING, "''"),
                ],
                Type::STRING,
            ),
            function(
                "network",
                network,
                &[required("address", Type::STRING)],
                Type::STRING,
            )
            .for_class(),
        ],
        &[],
    );
}

handlers! {
    construct = on_construct;
    of = on_of;
    network = on_network;
}

/// What is known of a connection, as the gate would read it of a request.
struct Connection<'a> {
    remote: &'a [u8],
    forwarded_for: &'a [u8],
}

impl Request for Connection<'_> {
    fn variable(&self, name: &CStr) -> Option<&[u8]> {
        match name.to_bytes() {
            b"REMOTE_ADDR" => Some(self.remote),
            b"HTTP_X_FORWARDED_FOR" => Some(self.forwarded_for),
            _ => None,
        }
    }
}

fn on_construct(call: &mut Call<'_>) -> Result {
    call.expect(0, 1)?;
    let proxies = if call.has(1) {
        networks_of(call, 1)?.0
    } else {
        gate::Networks::default()
    };
    let header = Header::new("X-Forwarded-For")
        .ok_or_else(|| errors::throw_error("X-Forwarded-For is no header"))?;
    let trust = Trust {
        proxies: Some(proxies),
        header,
    };
    // SAFETY: the object is being constructed, and nothing is borrowed from it.
    unsafe { set_payload(call.this_object(), trust) };
    Ok(())
}

fn on_of(call: &mut Call<'_>) -> Result {
    call.expect(1, 2)?;
    let remote = call.bytes(1)?;
    let forwarded_for = if call.has(2) { call.bytes(2)? } else { b"" };
    let client = call.this::<Trust>()?.client(&Connection {
        remote,
        forwarded_for,
    });
    match client {
        Client::Known(address) => put(call, address.to_string().as_bytes()),
        // Who comes without an address is whoever the server says.
        Client::Doubtful => put(call, remote),
    }
    Ok(())
}

fn on_network(call: &mut Call<'_>) -> Result {
    call.expect(1, 1)?;
    let given = call.bytes(1)?;
    match gate::parse_address(given) {
        Some(address) => put_network(call, address),
        None => put(call, given),
    }
    Ok(())
}

fn put_network(call: &mut Call<'_>, address: IpAddr) {
    let mut network = Vec::new();
    gate::write_key(address, &mut network);
    put(call, &network);
}

fn put(call: &mut Call<'_>, text: &[u8]) {
    // SAFETY: the result is still empty.
    unsafe { zend::put_string(call.result(), text) };
}
