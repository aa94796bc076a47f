//! `Sluice\TokenBucketLimiter`, and `TokenBucketLimiter` for short.

use std::cell::Cell;

use super::decision;
use super::target::{self, Asked, Target};
use crate::limit::{Argument, Ask, Key, Limit, Number, TokenBucket};
use crate::php::call::{Call, Result, handlers};
use crate::php::class::{Class, Native, register as register_class, set_payload};
use crate::php::errors;
use crate::php::signature::{Parameter, Type, function, optional, required};

pub static CLASS: Class = Class::new();

impl Native for Target {
    fn class() -> &'static Class {
        &CLASS
    }
}

const PARAMETERS: &[Parameter] = &[
    required("key", Type::STRING),
    required("capacity", Type::INT),
    required("rate", Type::NUMBER),
    optional("requested", Type::INT, "1"),
];

pub fn register() {
    register_class::<Target>(
        "Sluice\\TokenBucketLimiter",
        &[
            function("__construct", construct, &[target::PARAMETER], Type::NONE),
            function("allow", allow, PARAMETERS, Type::BOOL),
            function("attempt", attempt, PARAMETERS, decision::TYPE),
            function("peek", peek, PARAMETERS, decision::TYPE),
            function("reset", reset, &[required("key", Type::STRING)], Type::VOID),
        ],
        &[],
    );
}

handlers! {
    construct = on_construct;
    allow = on_allow;
    attempt = on_attempt;
    peek = on_peek;
    reset = on_reset;
}

fn on_construct(call: &mut Call<'_>) -> Result {
    let target = Target::of(call)?;
    // SAFETY: the object is being constructed, and `target` is not borrowed.
    unsafe { set_payload(call.this_object(), target) };
    Ok(())
}

fn on_allow(call: &mut Call<'_>) -> Result {
    let (limit, cost) = arguments(call)?;
    let asked = Asked::plain(call.bytes(1)?, &limit, Ask::take(cost));
    call.this::<Target>()?.allow(call, &asked)
}

fn on_attempt(call: &mut Call<'_>) -> Result {
    let (limit, cost) = arguments(call)?;
    let asked = Asked::plain(call.bytes(1)?, &limit, Ask::take(cost));
    call.this::<Target>()?.decide(call, &asked)
}

fn on_peek(call: &mut Call<'_>) -> Result {
    let (limit, cost) = arguments(call)?;
    let asked = Asked::plain(call.bytes(1)?, &limit, Ask::peek(cost));
    call.this::<Target>()?.decide(call, &asked)
}

fn on_reset(call: &mut Call<'_>) -> Result {
    call.expect(1, 1)?;
    // Any bucket: numbers are not part of a limit's identity.
    let limit = bucket(1, Number::Int(1))?;
    call.this::<Target>()?
        .reset(Key::unnamed(call.bytes(1)?), &limit)
}

#[inline(always)]
fn arguments(call: &Call<'_>) -> Result<(Limit, u64)> {
    call.expect(3, 4)?;
    // In the order of the arguments, so that the first wrong one is named.
    call.bytes(1)?;
    let limit = bucket(call.long(2)?, call.number(3)?)?;
    Ok((limit, target::cost(call, 4)?))
}

/// A bucket of these numbers. Making one takes longer than asking it, so the
/// last few are remembered.
#[inline(always)]
fn bucket(capacity: i64, rate: Number) -> Result<Limit> {
    thread_local! {
        static LAST: [Cell<Option<(i64, Number, TokenBucket)>>; 8] =
            const { [const { Cell::new(None) }; 8] };
    }
    let bits = match rate {
        Number::Int(int) => int as u64,
        Number::Float(float) => float.to_bits(),
        Number::Millionths(count) => count,
    };
    let mixed = (bits ^ capacity as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let slot = (mixed >> 61) as usize;
    if let Some((of_capacity, of_rate, bucket)) = LAST.with(|last| last[slot].get())
        && of_capacity == capacity
        && of_rate == rate
    {
        return Ok(Limit::TokenBucket(bucket));
    }
    let bucket = TokenBucket::new(capacity, rate).map_err(|error| {
        let number = if error.argument == Argument::Capacity {
            2
        } else {
            3
        };
        errors::throw_value(number, &error.message)
    })?;
    LAST.with(|last| last[slot].set(Some((capacity, rate, bucket))));
    Ok(Limit::TokenBucket(bucket))
}
