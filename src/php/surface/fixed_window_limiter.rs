//! `Sluice\FixedWindowLimiter`, the class `fixed_window_limit`, and the
//! function `fixed_window_limit()`.

use super::decision;
use super::target::{self, Asked, Target};
use crate::limit::{Argument, Ask, FixedWindow, Key, Limit, Number};
use crate::php::call::{Call, Result, handlers};
use crate::php::class::{
    Class, Native, register as register_class, register_functions, set_payload,
};
use crate::php::errors;
use crate::php::signature::{Parameter, Type, function, optional, required};

pub static CLASS: Class = Class::new();

/// The limiter's own target, so that its objects are of its own class.
struct FixedWindowLimiter(Target);

impl Native for FixedWindowLimiter {
    fn class() -> &'static Class {
        &CLASS
    }
}

const WINDOW: Parameter = optional("window", Type::NUMBER, "1");
const PARAMETERS: &[Parameter] = &[
    required("key", Type::STRING),
    required("limit", Type::INT),
    WINDOW,
    optional("requested", Type::INT, "1"),
];

pub fn register() {
    register_class::<FixedWindowLimiter>(
        "Sluice\\FixedWindowLimiter",
        &[
            function("__construct", construct, &[target::PARAMETER], Type::NONE),
            function("allow", allow, PARAMETERS, Type::BOOL),
            function("attempt", attempt, PARAMETERS, decision::TYPE),
            function("peek", peek, PARAMETERS, decision::TYPE),
            function(
                "reset",
                reset,
                &[required("key", Type::STRING), WINDOW],
                Type::VOID,
            ),
        ],
        &[],
    );
    register_functions(&[function(
        "fixed_window_limit",
        function_call,
        PARAMETERS,
        Type::BOOL,
    )]);
}

handlers! {
    construct = on_construct;
    allow = on_allow;
    attempt = on_attempt;
    peek = on_peek;
    reset = on_reset;
    function_call = on_function;
}

fn on_construct(call: &mut Call<'_>) -> Result {
    let limiter = FixedWindowLimiter(Target::of(call)?);
    // SAFETY: the object is being constructed, and `limiter` is not borrowed.
    unsafe { set_payload(call.this_object(), limiter) };
    Ok(())
}

fn on_allow(call: &mut Call<'_>) -> Result {
    let (limit, cost) = arguments(call)?;
    let asked = Asked::plain(call.bytes(1)?, &limit, Ask::take(cost));
    target(call)?.allow(call, &asked)
}

fn on_attempt(call: &mut Call<'_>) -> Result {
    let (limit, cost) = arguments(call)?;
    let asked = Asked::plain(call.bytes(1)?, &limit, Ask::take(cost));
    target(call)?.decide(call, &asked)
}

fn on_peek(call: &mut Call<'_>) -> Result {
    let (limit, cost) = arguments(call)?;
    let asked = Asked::plain(call.bytes(1)?, &limit, Ask::peek(cost));
    target(call)?.decide(call, &asked)
}

fn on_reset(call: &mut Call<'_>) -> Result {
    call.expect(1, 2)?;
    call.bytes(1)?;
    let limit = window(1, length(call, 2)?, 2)?;
    target(call)?.reset(Key::unnamed(call.bytes(1)?), &limit)
}

fn on_function(call: &mut Call<'_>) -> Result {
    let (limit, cost) = arguments(call)?;
    let asked = Asked::plain(call.bytes(1)?, &limit, Ask::take(cost));
    Target::Default.allow(call, &asked)
}

fn target<'a>(call: &Call<'a>) -> Result<&'a Target> {
    call.this::<FixedWindowLimiter>().map(|limiter| &limiter.0)
}

#[inline(always)]
fn arguments(call: &Call<'_>) -> Result<(Limit, u64)> {
    call.expect(2, 4)?;
    // In the order of the arguments, so that the first wrong one is named.
    call.bytes(1)?;
    let limit = window(call.long(2)?, length(call, 3)?, 3)?;
    Ok((limit, target::cost(call, 4)?))
}

fn length(call: &Call<'_>, number: usize) -> Result<Number> {
    if call.has(number) {
        call.number(number)
    } else {
        Ok(Number::Int(1))
    }
}

fn window(limit: i64, length: Number, length_is: usize) -> Result<Limit> {
    FixedWindow::new(limit, length)
        .map(Limit::FixedWindow)
        .map_err(|error| {
            let number = if error.argument == Argument::Limit {
                2
            } else {
                length_is
            };
            errors::throw_value(number, &error.message)
        })
}
