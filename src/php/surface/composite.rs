//! Several limits in one call, and the one decision that speaks for them.

use std::rc::Rc;

use ext_php_rs::types::{ZendHashTable, Zval};

use super::decision::{self, KeyValue, Made};
use super::description::Description;
use super::target::{Asked, Target};
use crate::limit::{Ask, Limit, Mode};
use crate::php::call::{Call, Result, Thrown};
use crate::php::{errors, settings};
use crate::store::{Enforced, Store, speaks_for_all};

/// The most limits in one call: each is a part of one script on Redis.
const MOST: usize = 32;

/// `attemptAll()`: several limits, each with its own key, all or nothing.
pub fn attempt_all(call: &mut Call<'_>, target: &Target) -> Result {
    call.expect_no_names()?;
    let limits = (1..=call.count())
        .map(|number| {
            let limit = Description::of_limit(call, number)?;
            let concurrent = matches!(limit.limit, Limit::Concurrency(_));
            if limit.key.is_none() {
                let message = "must say whom it limits: ->by($key)";
                return Err(errors::throw_value(number, message));
            }
            if concurrent && limit.cost > 1 {
                let message = "must cost 0 or 1, as a concurrency limit";
                return Err(errors::throw_value(number, message));
            }
            Ok(limit)
        })
        .collect::<Result<Vec<_>>>()?;
    if !(1..=MOST).contains(&limits.len()) {
        let given = limits.len();
        return Err(errors::throw_error(&format!(
            "attemptAll() takes 1 to {MOST} limits, {given} given"
        )));
    }
    for (index, limit) in limits.iter().enumerate() {
        let is_same = |other: &&Rc<Description>| {
            matches!(other.limit, Limit::Concurrency(_))
                && (&other.key, &other.name) == (&limit.key, &limit.name)
        };
        let permits: u64 = limits[..=index]
            .iter()
            .filter(is_same)
            .map(|other| other.cost)
            .sum();
        if matches!(limit.limit, Limit::Concurrency(_)) && permits > 1 {
            let message = "must not ask for a second permit of the same limit and key";
            return Err(errors::throw_value(index + 1, message));
        }
    }
    let asked: Vec<_> = limits
        .iter()
        .map(|limit| {
            limit.ask(
                limit.key.as_deref().unwrap_or_default(),
                Ask::take(limit.cost),
            )
        })
        .collect();
    let answers = settings::with_hot(|hot| {
        let questions: Vec<_> = asked.iter().map(|asked| asked.question(hot)).collect();
        hot.enforcement.decide_all(&*target.store(), &questions)
    })
    .map_err(|fault| errors::throw_store(&fault.message))?;
    give_composite(call, target, &asked, &answers)
}

/// The parts' decisions, and the one that speaks for them: of a success the one
/// with the least left, of a refusal the one with the longest wait.
fn give_composite(
    call: &mut Call<'_>,
    target: &Target,
    asked: &[Asked<'_>],
    answers: &[Enforced],
) -> Result {
    let speaks = speaks_for_all(answers).ok_or(Thrown)?;
    let allowed = answers[speaks].answer.decision.allowed;

    let mut parts = ZendHashTable::with_capacity(answers.len() as u32);
    let mut permit = None;
    for (enforced, asked) in answers.iter().zip(asked) {
        let mut enforced = *enforced;
        let mut asked = Asked { ..*asked };
        if !allowed {
            // It would have passed, and took nothing.
            asked.ask = Ask {
                mode: Mode::Peek,
                ..asked.ask
            };
            enforced.answer.permit = None;
        }
        let mut part = Zval::new();
        let key = KeyValue::Bytes(asked.key.bytes);
        target.give(&mut part, &enforced, &asked, &key);
        if enforced.answer.permit.is_some() && permit.is_none() {
            permit = decision::permit_of(&part);
        }
        parts.push(part).map_err(|_| Thrown)?;
    }
    let (enforced, asked) = (answers[speaks], &asked[speaks]);
    let store = target.store();
    let made = Made {
        enforced: Enforced {
            would_deny: answers.iter().any(|enforced| enforced.would_deny),
            ..enforced
        },
        limit: asked.limit.clone(),
        // What was taken is given back through the parts.
        ask: Ask::peek(asked.ask.cost),
        unix: store.unix_time(),
        store,
    };
    let key = KeyValue::Bytes(asked.key.bytes);
    decision::put(
        call.result(),
        made,
        &key,
        asked.key.name,
        permit,
        Some(parts),
    );
    Ok(())
}
