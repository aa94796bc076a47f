//! Several questions that one script cannot answer, because their keys do not lie
//! in one slot or because they are too many: group by group, giving back where a
//! later one refuses or fails. Never above any bound; for a moment
//! another caller may be refused by what is then given back.

use super::Redis;
use super::cluster::slot_of;
use super::questions::Reply;
use crate::store::{Fault, Question, Store};

/// The places of questions that are asked in one call.
type Group = Vec<usize>;

/// Questions in one script. A function of Lua has 200 local variables at most,
/// and each part of a composite is one.
const MOST: usize = 64;

/// By slot, in the order in which the slots come up.
pub fn by_slot(redis: &Redis, questions: &[Question<'_>]) -> Vec<Group> {
    let mut groups: Vec<(u16, Group)> = Vec::new();
    let mut key = Vec::new();
    for (place, question) in questions.iter().enumerate() {
        redis.write_key(&mut key, question.key, question.limit.identity());
        let slot = slot_of(&key);
        match groups.iter_mut().find(|(other, _)| *other == slot) {
            Some((_, group)) => group.push(place),
            None => groups.push((slot, vec![place])),
        }
    }
    let groups = groups.iter().flat_map(|(_, group)| group.chunks(MOST));
    groups.map(<[usize]>::to_vec).collect()
}

/// As they come; none where one script has room for all.
pub fn by_number(questions: &[Question<'_>]) -> Vec<Group> {
    if questions.len() <= MOST {
        return Vec::new();
    }
    let places: Group = (0..questions.len()).collect();
    places.chunks(MOST).map(<[usize]>::to_vec).collect()
}

/// Each on its own.
pub fn one_by_one(questions: &[Question<'_>]) -> Vec<Group> {
    (0..questions.len()).map(|place| vec![place]).collect()
}

/// Asks group by group: looks at all, and only where all would pass takes from
/// one after the other.
///
/// # Errors
/// Where a group cannot be asked; what was taken before is given back, for
/// which a part of the time is kept.
pub fn decide_all(
    redis: &Redis,
    questions: &[Question<'_>],
    groups: &[Group],
) -> Result<Vec<Reply>, Fault> {
    let deadline = redis.hurry();
    let asking = Asking { redis, questions };
    let mut answers = Vec::new();
    for group in groups {
        answers.push(asking.ask(group, "peek")?);
    }
    let looked = answers.clone();
    let refuses = |group: usize, answers: &[Reply]| asking.refuses(&groups[group], answers);
    let passes = !(0..groups.len()).any(|group| refuses(group, &looked[group]));
    for group in 0..groups.len() {
        if !passes && !refuses(group, &looked[group]) {
            continue;
        }
        // What refuses is asked for good too: a state from the future is only
        // then repaired.
        let asked = asking.ask(&groups[group], "take");
        let goes_on = match &asked {
            Ok(taken) => passes && !refuses(group, taken),
            Err(_) => false,
        };
        if goes_on {
            answers[group] = asked?;
            continue;
        }
        redis.take_until(deadline);
        if passes {
            for before in 0..group {
                asking.give_back(&groups[before], &answers[before]);
            }
            answers[..group].clone_from_slice(&looked[..group]);
        }
        let taken = asked?;
        if refuses(group, &taken) {
            answers[group] = taken;
        } else {
            asking.give_back(&groups[group], &taken);
        }
        if passes {
            break;
        }
    }
    let mut in_order: Vec<_> = groups
        .iter()
        .flatten()
        .zip(answers.into_iter().flatten())
        .collect();
    in_order.sort_by_key(|(place, _)| **place);
    Ok(in_order.into_iter().map(|(_, answer)| answer).collect())
}

struct Asking<'a> {
    redis: &'a Redis,
    questions: &'a [Question<'a>],
}

impl Asking<'_> {
    fn ask(&self, group: &Group, mode: &str) -> Result<Vec<Reply>, Fault> {
        let questions: Vec<_> = group.iter().map(|place| self.questions[*place]).collect();
        self.redis.evaluate(&questions, mode, 0, None)
    }

    fn refuses(&self, group: &Group, answers: &[Reply]) -> bool {
        group
            .iter()
            .zip(answers)
            .any(|(place, reply)| !reply.answer.decision.allowed && !self.questions[*place].dry_run)
    }

    fn give_back(&self, group: &Group, taken: &[Reply]) {
        for (place, reply) in group.iter().zip(taken) {
            let question = &self.questions[*place];
            if reply.answer.decision.allowed && question.ask.cost > 0 {
                self.redis.gave_back.set(true);
                // What cannot be given back stays taken: too little is let
                // through then, never too much.
                let _ = self.redis.refund(question, &reply.answer);
            }
        }
    }
}
