//! `Sluice\Permit`: a held slot of a concurrency limit.

use std::rc::Rc;

use ext_php_rs::ffi::zend_object;
use ext_php_rs::types::Zval;

use crate::php::call::{Call, Result, handlers};
use crate::php::class::{
    Class, Native, Property, instantiate, payload_of, register as register_class,
};
use crate::php::permits::HeldPermit;
use crate::php::signature::{Type, function};
use crate::php::{errors, stores, zend};

static CLASS: Class = Class::new();

/// What `acquire()` gives.
pub const TYPE: Type = Type::class("Sluice\\Permit");

/// The request keeps the permit; the object only speaks for it.
struct Handle(Rc<HeldPermit>);

impl Native for Handle {
    fn class() -> &'static Class {
        &CLASS
    }
}

pub fn register() {
    register_class::<Handle>(
        "Sluice\\Permit",
        &[
            function("__construct", construct, &[], Type::NONE).private(),
            function("release", release, &[], Type::VOID),
            function("renew", renew, &[], Type::BOOL),
        ],
        &[Property {
            name: "key",
            ty: Type::STRING,
        }],
    );
}

/// A new object that speaks for a permit.
pub fn object(permit: Rc<HeldPermit>, key: &[u8]) -> Zval {
    let mut value = Zval::new();
    // SAFETY: in a request; the one property is unset.
    unsafe {
        let properties = instantiate(&raw mut value, Handle(permit));
        zend::put_string(properties, key);
    }
    value
}

/// Gives back what a permit's object stands for.
///
/// # Safety
/// `object` is a live object of the class.
pub unsafe fn release_of(object: *mut zend_object) {
    // SAFETY: the caller's promise.
    if let Some(handle) = unsafe { payload_of::<Handle>(object) } {
        handle.0.release();
    }
}

handlers! {
    construct = on_construct;
    release = on_release;
    renew = on_renew;
}

fn on_construct(_: &mut Call<'_>) -> Result {
    Err(errors::throw_error(
        "a permit is given by Limiter::acquire()",
    ))
}

fn on_release(call: &mut Call<'_>) -> Result {
    call.expect(0, 0)?;
    call.this::<Handle>()?.0.release();
    Ok(())
}

fn on_renew(call: &mut Call<'_>) -> Result {
    call.expect(0, 0)?;
    let renewed = stores::unless_thrown(call.this::<Handle>()?.0.renew(), false)?;
    Zval::set_bool(call.result(), renewed);
    Ok(())
}
