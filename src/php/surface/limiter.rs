//! `Sluice\Limiter` and the interface `Sluice\RateLimiter`.

use std::rc::Rc;
use std::time::{Duration, Instant};

use ext_php_rs::ffi::{IS_OBJECT, zend_object, zval};
use ext_php_rs::types::Zval;

use super::decision::{self, KeyValue};
use super::description::{self, Description};
use super::target::{self, Asked, Target};
use super::{composite, permit};
use crate::limit::{Ask, Limit, Micros};
use crate::php::call::{Call, Result, Thrown, handlers};
use crate::php::class::{
    Class, Native, register as register_class, register_interface, set_payload,
};
use crate::php::permits::HeldPermit;
use crate::php::signature::{Function, Parameter, Type, function, optional, required, variadic};
use crate::php::sleep::sleep;
use crate::php::{errors, settings, stores, zend};
use crate::store::{Enforced, Question, Store};

static CLASS: Class = Class::new();

/// The limiter's own target, so that its objects are of its own class.
struct Limiter(Target);

impl Native for Limiter {
    fn class() -> &'static Class {
        &CLASS
    }
}

const KEY: Parameter = required("key", Type::STRING);
const LIMIT: Parameter = required("limit", description::TYPE);
const COST: Parameter = optional("cost", Type::INT, "1");
const MAX_WAIT: Parameter = optional("maxWait", Type::FLOAT, "0.0");

/// The methods that an application may have another class for.
fn methods() -> [Function<'static>; 11] {
    const TAKE: &[Parameter] = &[KEY, LIMIT, COST];
    const LATER: &[Parameter] = &[KEY, LIMIT, COST, MAX_WAIT];
    [
        function("allow", allow, TAKE, Type::BOOL),
        function("attempt", attempt, TAKE, decision::TYPE),
        function(
            "attemptAll",
            attempt_all,
            const { &[variadic("limits", Type::class("Sluice\\Limit"))] },
            decision::TYPE,
        ),
        function("peek", peek, TAKE, decision::TYPE),
        function("reserve", reserve, LATER, decision::TYPE),
        function("wait", wait, LATER, decision::TYPE),
        function(
            "charge",
            charge,
            const { &[KEY, LIMIT, required("cost", Type::INT)] },
            decision::TYPE,
        ),
        function(
            "refund",
            refund,
            const {
                &[
                    required("decision", decision::TYPE),
                    optional("cost", Type::INT.or_null(), "null"),
                ]
            },
            Type::VOID,
        ),
        function("reset", reset, const { &[KEY, LIMIT] }, Type::VOID),
        function(
            "acquire",
            acquire,
            const { &[KEY, LIMIT] },
            permit::TYPE.or_null(),
        ),
        function(
            "run",
            run,
            const { &[KEY, LIMIT, required("do", Type::CALLABLE), MAX_WAIT] },
            Type::MIXED,
        ),
    ]
}

pub fn register() {
    let interface = register_interface(
        "Sluice\\RateLimiter",
        &methods().map(Function::of_interface),
    );
    let mut functions = vec![function(
        "__construct",
        construct,
        const { &[target::PARAMETER] },
        Type::NONE,
    )];
    functions.extend(methods());
    register_class::<Limiter>("Sluice\\Limiter", &functions, &[]);
    // SAFETY: in MINIT; both were registered just now.
    unsafe { zend::zend_class_implements(CLASS.entry(), 1, interface) };
}

handlers! {
    construct = on_construct;
    allow = on_allow;
    attempt = on_attempt;
    attempt_all = on_attempt_all;
    peek = on_peek;
    reserve = on_reserve;
    wait = on_wait;
    charge = on_charge;
    refund = on_refund;
    reset = on_reset;
    acquire = on_acquire;
    run = on_run;
}

fn on_construct(call: &mut Call<'_>) -> Result {
    let limiter = Limiter(Target::of(call)?);
    // SAFETY: the object is being constructed, and `limiter` is not borrowed.
    unsafe { set_payload(call.this_object(), limiter) };
    Ok(())
}

fn target<'a>(call: &Call<'a>) -> Result<&'a Target> {
    call.this::<Limiter>().map(|limiter| &limiter.0)
}

/// `$key, $limit, $cost` in their order, so that the first wrong one is named.
fn arguments<'a>(call: &Call<'a>, most: u32) -> Result<(&'a [u8], Rc<Description>, u64)> {
    call.expect(2, most)?;
    let key = call.bytes(1)?;
    let limit = Description::of(call, 2)?;
    let cost = target::cost(call, 3)?;
    if matches!(limit.limit, Limit::Concurrency(_)) && cost > 1 {
        return Err(errors::throw_value(
            3,
            &format!("must be 0 or 1 for a concurrency limit, {cost} given"),
        ));
    }
    Ok((key, limit, cost))
}

fn unsupported(limit: &Description, allowed: &str) -> Thrown {
    errors::throw_value(2, &format!("must be {allowed}, a {} given", limit.kind()))
}

fn on_allow(call: &mut Call<'_>) -> Result {
    let (key, limit, cost) = arguments(call, 3)?;
    let asked = limit.ask(key, Ask::take(cost));
    let target = target(call)?;
    if let Limit::Concurrency(_) = limit.limit {
        // The permit has to be kept, which a bool cannot.
        let enforced = target.ask(&asked, |enforced| *enforced)?;
        if let Some(held) = enforced.answer.held() {
            HeldPermit::keep(target.store(), limit.limit.clone(), asked.key, held);
        }
        Zval::set_bool(call.result(), enforced.answer.decision.allowed);
        return Ok(());
    }
    target.allow(call, &asked)
}

fn on_attempt(call: &mut Call<'_>) -> Result {
    let (key, limit, cost) = arguments(call, 3)?;
    target(call)?.decide(call, &limit.ask(key, Ask::take(cost)))
}

fn on_peek(call: &mut Call<'_>) -> Result {
    let (key, limit, cost) = arguments(call, 3)?;
    target(call)?.decide(call, &limit.ask(key, Ask::peek(cost)))
}

fn on_attempt_all(call: &mut Call<'_>) -> Result {
    composite::attempt_all(call, target(call)?)
}

fn on_charge(call: &mut Call<'_>) -> Result {
    call.expect(3, 3)?;
    let (key, limit, cost) = arguments(call, 3)?;
    if matches!(limit.limit, Limit::Concurrency(_)) {
        return Err(unsupported(&limit, "a limit that counts tokens"));
    }
    target(call)?.decide(call, &limit.ask(key, Ask::charge(cost)))
}

/// `$maxWait` as the fourth argument.
fn max_wait(call: &Call<'_>) -> Result<Micros> {
    const LONGEST: f64 = 366.0 * 86_400.0;
    if !call.has(4) {
        return Ok(Micros::ZERO);
    }
    let seconds = call.double(4)?;
    if (0.0..=LONGEST).contains(&seconds) {
        return Ok(Micros((seconds * 1e6).round() as u64));
    }
    Err(errors::throw_value(
        4,
        &format!("must be between 0 and {LONGEST} seconds (366 days), {seconds} given"),
    ))
}

fn books_ahead(limit: &Limit) -> bool {
    matches!(limit, Limit::TokenBucket(_) | Limit::LeakyBucket(_))
}

fn on_reserve(call: &mut Call<'_>) -> Result {
    let (key, limit, cost) = arguments(call, 4)?;
    if !books_ahead(&limit.limit) {
        return Err(unsupported(&limit, "a token bucket or a leaky bucket"));
    }
    let ask = Ask::reserve(cost, max_wait(call)?);
    target(call)?.decide(call, &limit.ask(key, ask))
}

/// Sleeps until it may. A signal ends the sleep, and the answer is no.
fn on_wait(call: &mut Call<'_>) -> Result {
    let (key, limit, cost) = arguments(call, 4)?;
    if matches!(limit.limit, Limit::Concurrency(_)) {
        return Err(unsupported(
            &limit,
            "a limit that counts tokens (use run())",
        ));
    }
    let max_wait = max_wait(call)?;
    let until = Instant::now() + Duration::from_micros(max_wait.0);
    let target = target(call)?;
    if books_ahead(&limit.limit) {
        // A booking keeps the place: who came first goes first.
        let asked = limit.ask(key, Ask::reserve(cost, max_wait));
        let mut enforced = target.ask(&asked, |enforced| *enforced)?;
        let delay = Duration::from_micros(enforced.answer.decision.delay.0);
        if enforced.answer.decision.allowed && !sleep(delay) {
            give_back(target, &asked, &enforced)?;
            enforced = target.ask(&limit.ask(key, Ask::peek(cost)), |enforced| *enforced)?;
            enforced.answer.decision.allowed = false;
        }
        enforced.answer.decision.delay = Micros::ZERO;
        let key = KeyValue::Same(call.argument(1));
        target.give(call.result(), &enforced, &asked, &key);
        return Ok(());
    }
    let asked = limit.ask(key, Ask::take(cost));
    loop {
        let enforced = target.ask(&asked, |enforced| *enforced)?;
        let decision = enforced.answer.decision;
        let left = until.saturating_duration_since(Instant::now());
        let retry = decision
            .retry_after
            .map(|time| Duration::from_micros(time.0));
        let goes_on = !decision.allowed && retry.is_some_and(|retry| retry <= left && sleep(retry));
        if !goes_on {
            let key = KeyValue::Same(call.argument(1));
            target.give(call.result(), &enforced, &asked, &key);
            return Ok(());
        }
    }
}

fn give_back(target: &Target, asked: &Asked<'_>, enforced: &Enforced) -> Result {
    let given = settings::with_hot(|hot| {
        let limit = asked.limit.scaled(hot.enforcement.scale);
        let question = Question {
            limit: &limit,
            ..asked.question(hot)
        };
        target.store().refund(&question, &enforced.answer)
    });
    stores::unless_thrown(given, ())
}

fn on_refund(call: &mut Call<'_>) -> Result {
    call.expect(1, 2)?;
    let object = object_of(call.argument(1))
        // SAFETY: a live object.
        .filter(|object| unsafe { (**object).ce } == decision::CLASS.entry())
        .ok_or_else(|| call.type_error(1, "Sluice\\Decision"))?;
    let cost = if call.is_null(2) {
        None
    } else {
        Some(target::cost(call, 2)?)
    };
    // SAFETY: an object of that class.
    unsafe { decision::refund(object, cost) }
}

fn on_reset(call: &mut Call<'_>) -> Result {
    call.expect(2, 2)?;
    let key = call.bytes(1)?;
    let limit = Description::of(call, 2)?;
    target(call)?.reset(limit.ask(key, Ask::peek(0)).key, &limit.limit)
}

fn concurrency(call: &Call<'_>) -> Result<Rc<Description>> {
    let limit = Description::of(call, 2)?;
    // `none` and `deny` stand in for any limit.
    match limit.limit {
        Limit::Concurrency(_) | Limit::None | Limit::Deny => Ok(limit),
        _ => Err(unsupported(&limit, "a concurrency limit")),
    }
}

/// What asking for a permit came to.
enum Acquired {
    Permit(Rc<HeldPermit>),
    /// Let through without one: no limit, a dry run, a policy of failure.
    Free,
    Refused,
}

fn try_acquire(target: &Target, asked: &Asked<'_>) -> Result<Acquired> {
    let enforced = target.ask(asked, |enforced| *enforced)?;
    Ok(match enforced.answer.held() {
        Some(held) => Acquired::Permit(HeldPermit::keep(
            target.store(),
            asked.limit.clone(),
            asked.key,
            held,
        )),
        None if enforced.answer.decision.allowed => Acquired::Free,
        None => Acquired::Refused,
    })
}

fn on_acquire(call: &mut Call<'_>) -> Result {
    call.expect(2, 2)?;
    let key = call.bytes(1)?;
    let limit = concurrency(call)?;
    let asked = limit.ask(key, Ask::take(1));
    let target = target(call)?;
    let permit = match try_acquire(target, &asked)? {
        Acquired::Permit(permit) => permit,
        Acquired::Free => HeldPermit::of_nothing(target.store(), asked.limit.clone()),
        Acquired::Refused => return Ok(()),
    };
    *call.result() = permit::object(permit, key);
    Ok(())
}

/// How often a place that is not free yet is asked for again.
const POLL: Duration = Duration::from_millis(10);

fn on_run(call: &mut Call<'_>) -> Result {
    call.expect(3, 4)?;
    let key = call.bytes(1)?;
    let limit = concurrency(call)?;
    let callable = call.argument(3);
    // SAFETY: the argument was given.
    if !unsafe { &*callable.cast::<Zval>() }.is_callable() {
        return Err(call.type_error(3, "callable"));
    }
    let until = Instant::now() + Duration::from_micros(max_wait(call)?.0);
    let asked = limit.ask(key, Ask::take(1));
    let target = target(call)?;
    let acquired = loop {
        let acquired = try_acquire(target, &asked)?;
        let left = until.saturating_duration_since(Instant::now());
        let again = matches!(acquired, Acquired::Refused) && !left.is_zero();
        if !again || !sleep(POLL.min(left)) {
            break acquired;
        }
    };
    if let Acquired::Refused = acquired {
        return Err(errors::throw_denied(&format!(
            "no permit of {} is free for key \"{}\"",
            limit.limit.size(),
            String::from_utf8_lossy(&key[..key.len().min(100)])
        )));
    }
    // SAFETY: a callable value; the result goes where this call's goes, and an
    // exception stays pending. If the callable ends the request, the permit is
    // given back at its end.
    unsafe {
        zend::raw::_call_user_function_impl(
            std::ptr::null_mut(),
            callable,
            call.result(),
            0,
            std::ptr::null_mut(),
            std::ptr::null_mut(),
        );
    }
    if let Acquired::Permit(permit) = acquired {
        permit.release();
    }
    Ok(())
}

fn object_of(value: *mut zval) -> Option<*mut zend_object> {
    // SAFETY: an argument; every value knows its type.
    unsafe { (u32::from((*value).u1.v.type_) == IS_OBJECT).then(|| (*value).value.obj) }
}
