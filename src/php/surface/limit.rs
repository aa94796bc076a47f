//! `Sluice\Limit`: an immutable description of a limit.

use std::rc::Rc;

use ext_php_rs::ffi::{IS_LONG, IS_OBJECT, zend_object, zval};

use super::description::Description;
use super::enums;
use crate::limit::{
    Argument, Concurrency, FixedWindow, LeakyBucket, Limit, LimitError, Number, Quota,
    SlidingWindow, TokenBucket, parse_spec,
};
use crate::php::call::{Call, Result, handlers};
use crate::php::class::{instantiate, register as register_class};
use crate::php::signature::{Parameter, Type, function, optional, required};
use crate::php::{errors, settings};
use crate::store::OnFailure;
use crate::store::policies::{LONGEST_NAME, is_policy_name};

const TYPE: Type = Type::class("Sluice\\Limit");

const BUCKET: &[Parameter] = &[
    required("capacity", Type::INT),
    required("rate", Type::NUMBER),
    optional("per", Type::NUMBER, "1"),
];
const WINDOW: &[Parameter] = &[
    required("limit", Type::INT),
    required("window", Type::NUMBER),
];

pub fn register() {
    register_class::<Rc<Description>>(
        "Sluice\\Limit",
        &[
            function("__construct", construct, &[], Type::NONE).private(),
            function("tokenBucket", token_bucket, BUCKET, TYPE).for_class(),
            function(
                "fixedWindow",
                fixed_window,
                &[
                    required("limit", Type::INT),
                    required("window", Type::NUMBER),
                    optional("asOpened", Type::BOOL, "false"),
                ],
                TYPE,
            )
            .for_class(),
            function("slidingWindow", sliding_window, WINDOW, TYPE).for_class(),
            function("leakyBucket", leaky_bucket, BUCKET, TYPE).for_class(),
            function(
                "quota",
                quota,
                &[
                    required("limit", Type::INT),
                    required("period", enums::PERIOD_TYPE),
                    optional("timezone", Type::STRING.or_null(), "null"),
                ],
                TYPE,
            )
            .for_class(),
            function(
                "concurrency",
                concurrency,
                &[
                    required("max", Type::INT),
                    optional("lease", Type::NUMBER, "60"),
                ],
                TYPE,
            )
            .for_class(),
            function("none", none, &[], TYPE).for_class(),
            function("deny", deny, &[], TYPE).for_class(),
            function("parse", parse, &[required("spec", Type::STRING)], TYPE).for_class(),
            function("policy", policy, &[required("name", Type::STRING)], TYPE).for_class(),
            function(
                "by",
                by,
                &[
                    required("key", Type::STRING.or(Type::INT)),
                    optional("cost", Type::INT, "1"),
                ],
                TYPE,
            ),
            function("named", named, &[required("name", Type::STRING)], TYPE),
            function(
                "dryRun",
                dry_run,
                &[optional("on", Type::BOOL, "true")],
                TYPE,
            ),
            function("leased", leased, &[], TYPE),
            function(
                "onFailure",
                on_failure,
                &[
                    required("failure", enums::FAILURE_TYPE),
                    optional("share", Type::FLOAT, "1.0"),
                ],
                TYPE,
            ),
            function("__toString", to_string, &[], Type::STRING),
        ],
        &[],
    );
}

handlers! {
    construct = on_construct;
    token_bucket = on_token_bucket;
    fixed_window = on_fixed_window;
    sliding_window = on_sliding_window;
    leaky_bucket = on_leaky_bucket;
    quota = on_quota;
    concurrency = on_concurrency;
    none = on_none;
    deny = on_deny;
    parse = on_parse;
    policy = on_policy;
    by = on_by;
    named = on_named;
    dry_run = on_dry_run;
    leased = on_leased;
    on_failure = on_on_failure;
    to_string = on_to_string;
}

fn on_construct(_: &mut Call<'_>) -> Result {
    Err(errors::throw_error(
        "a limit is made by Limit::tokenBucket() and its like",
    ))
}

fn give(call: &mut Call<'_>, description: Rc<Description>) {
    // SAFETY: in a request; the result is still empty.
    unsafe { instantiate(call.result(), description) };
}

/// Gives the limit, or throws about the argument at fault: which of the
/// arguments, in their order, the call has.
fn give_limit(
    call: &mut Call<'_>,
    limit: std::result::Result<Limit, LimitError>,
    arguments: &[Argument],
) -> Result {
    match limit {
        Ok(limit) => {
            give(call, Rc::new(limit.into()));
            Ok(())
        }
        Err(error) => {
            let number = arguments
                .iter()
                .position(|argument| *argument == error.argument)
                .map_or(1, |index| index + 1);
            Err(errors::throw_value(number, &error.message))
        }
    }
}

fn bucket_arguments(call: &Call<'_>) -> Result<(i64, Number, Number)> {
    call.expect(2, 3)?;
    let per = if call.has(3) {
        call.number(3)?
    } else {
        Number::Int(1)
    };
    Ok((call.long(1)?, call.number(2)?, per))
}

const OF_BUCKET: &[Argument] = &[Argument::Capacity, Argument::Rate, Argument::Per];
const OF_WINDOW: &[Argument] = &[Argument::Limit, Argument::Window];

fn on_token_bucket(call: &mut Call<'_>) -> Result {
    let (capacity, rate, per) = bucket_arguments(call)?;
    let bucket = TokenBucket::with_period(capacity, rate, per);
    give_limit(call, bucket.map(Limit::TokenBucket), OF_BUCKET)
}

fn on_leaky_bucket(call: &mut Call<'_>) -> Result {
    let (capacity, rate, per) = bucket_arguments(call)?;
    let queue = LeakyBucket::with_period(capacity, rate, per);
    give_limit(call, queue.map(Limit::LeakyBucket), OF_BUCKET)
}

fn on_fixed_window(call: &mut Call<'_>) -> Result {
    call.expect(2, 3)?;
    let as_opened = call.has(3) && call.boolean(3)?;
    let window = FixedWindow::new(call.long(1)?, call.number(2)?).map(|window| {
        if as_opened {
            window.as_opened()
        } else {
            window
        }
    });
    give_limit(call, window.map(Limit::FixedWindow), OF_WINDOW)
}

fn on_sliding_window(call: &mut Call<'_>) -> Result {
    call.expect(2, 2)?;
    let window = SlidingWindow::new(call.long(1)?, call.number(2)?);
    give_limit(call, window.map(Limit::SlidingWindow), OF_WINDOW)
}

fn on_quota(call: &mut Call<'_>) -> Result {
    call.expect(2, 3)?;
    let limit = call.long(1)?;
    let period = object_of(call, 2)
        .and_then(enums::period_of)
        .ok_or_else(|| call.type_error(2, "Sluice\\Period"))?;
    let zone = if call.is_null(3) {
        settings::timezone()
    } else {
        String::from_utf8_lossy(call.bytes(3)?).into_owned()
    };
    let quota = Quota::new(limit, period, &zone);
    give_limit(
        call,
        quota.map(Limit::Quota),
        &[Argument::Limit, Argument::Window, Argument::Timezone],
    )
}

fn on_concurrency(call: &mut Call<'_>) -> Result {
    call.expect(1, 2)?;
    let lease = if call.has(2) {
        call.number(2)?
    } else {
        Number::Int(60)
    };
    let concurrency = Concurrency::new(call.long(1)?, lease);
    give_limit(
        call,
        concurrency.map(Limit::Concurrency),
        &[Argument::Max, Argument::Lease],
    )
}

fn on_none(call: &mut Call<'_>) -> Result {
    call.expect(0, 0)?;
    give_limit(call, Ok(Limit::None), &[])
}

fn on_deny(call: &mut Call<'_>) -> Result {
    call.expect(0, 0)?;
    give_limit(call, Ok(Limit::Deny), &[])
}

fn on_parse(call: &mut Call<'_>) -> Result {
    call.expect(1, 1)?;
    let text = String::from_utf8_lossy(call.bytes(1)?);
    let limit = parse_spec(&text).map_err(|error| errors::throw_value(1, &error.to_string()))?;
    give(call, Rc::new(limit.into()));
    Ok(())
}

fn on_policy(call: &mut Call<'_>) -> Result {
    call.expect(1, 1)?;
    let name = String::from_utf8_lossy(call.bytes(1)?);
    let policy =
        Description::of_policy(&name).map_err(|message| errors::throw_value(1, &message))?;
    give(call, Rc::new(policy));
    Ok(())
}

/// This limit with a change.
fn changed(call: &mut Call<'_>, change: impl FnOnce(&mut Description)) -> Result {
    let mut description = Description::clone(call.this::<Rc<Description>>()?);
    change(&mut description);
    give(call, Rc::new(description));
    Ok(())
}

fn on_by(call: &mut Call<'_>) -> Result {
    call.expect(1, 2)?;
    // SAFETY: the argument was given; every value knows its type.
    let value = unsafe { &*call.argument(1) };
    // SAFETY: as above.
    let key = if u32::from(unsafe { value.u1.v.type_ }) == IS_LONG {
        // A number is its digits, in strict mode too.
        call.long(1)?.to_string().into_bytes()
    } else {
        call.bytes(1)?.to_vec()
    };
    let cost = super::target::cost(call, 2)?;
    changed(call, |description| {
        description.key = Some(key);
        description.cost = cost;
    })
}

fn on_named(call: &mut Call<'_>) -> Result {
    call.expect(1, 1)?;
    let name = std::str::from_utf8(call.bytes(1)?).unwrap_or_default();
    if !is_policy_name(name) {
        return Err(errors::throw_value(
            1,
            &format!(
                "must be a name of 1 to {LONGEST_NAME} letters, digits and . _ - : /, \
                 not starting with a digit, \"{name}\" given"
            ),
        ));
    }
    changed(call, |description| name.clone_into(&mut description.name))
}

fn on_dry_run(call: &mut Call<'_>) -> Result {
    call.expect(0, 1)?;
    let on = !call.has(1) || call.boolean(1)?;
    changed(call, |description| description.dry_run = on)
}

fn on_leased(call: &mut Call<'_>) -> Result {
    call.expect(0, 0)?;
    let description = call.this::<Rc<Description>>()?;
    let Limit::TokenBucket(bucket) = description.limit else {
        return Err(errors::throw_value_error(&format!(
            "only a token bucket can be leased, and this is a {}",
            description.kind()
        )));
    };
    changed(call, |description| {
        description.limit = Limit::TokenBucket(bucket.leased());
    })
}

fn on_on_failure(call: &mut Call<'_>) -> Result {
    call.expect(1, 2)?;
    let policy = object_of(call, 1)
        .and_then(enums::failure_of)
        .ok_or_else(|| call.type_error(1, "Sluice\\Failure"))?;
    let share = if call.has(2) { call.double(2)? } else { 1.0 };
    let local_share = settings::share(share).ok_or_else(|| {
        errors::throw_value(2, &format!("must be above 0 and at most 1, {share} given"))
    })?;
    changed(call, |description| {
        description.on_failure = Some(OnFailure {
            policy,
            local_share,
        });
    })
}

fn object_of(call: &Call<'_>, number: usize) -> Option<*mut zend_object> {
    // SAFETY: the argument was given; every value knows its type.
    unsafe {
        let value: &zval = &*call.argument(number);
        (u32::from(value.u1.v.type_) == IS_OBJECT).then_some(value.value.obj)
    }
}

fn on_to_string(call: &mut Call<'_>) -> Result {
    call.expect(0, 0)?;
    let text = call.this::<Rc<Description>>()?.limit.to_string();
    call.result()
        .set_string(&text, false)
        .map_err(|_| errors::throw_error("out of memory"))
}
