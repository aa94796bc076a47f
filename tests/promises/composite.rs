//! Several limits at once: each takes what is asked of it, or none takes
//! anything; and none ever gives more than it has.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

use sluice::limit::{Ask, Key, Limit, Micros, Period};
use sluice::store::redis::{Dsn, Redis};
use sluice::store::shm::{BootClock, Mapping, SharedMemory, Table};
use sluice::store::tiered::Tiered;
use sluice::store::{Answer, Enforced, Enforcement, OnFailure, Question, Source, Store};

use crate::support::limits::{
    SECOND, bucket, by_policy, permits, question, question_with, queue, quota, sliding,
    slow_bucket, window,
};
use crate::support::redis_server::{PATIENT, RedisServer};
use crate::support::rng::Rng;
use crate::support::stores::on_every_store;

const KEY: Key<'static> = Key {
    name: b"",
    bytes: b"k",
};

/// One of every kind that counts.
fn kinds(size: i64) -> [Limit; 5] {
    [
        bucket(size, 1),
        queue(size, 1),
        window(size, 60),
        sliding(size, Micros(60 * SECOND)),
        quota(size, Period::Day, "Asia/Shanghai"),
    ]
}

fn all_passed(answers: &[Answer]) -> bool {
    answers.iter().all(|answer| answer.decision.allowed)
}

#[test]
fn all_take_or_none_does() {
    on_every_store(|store| {
        let mut rng = Rng::seeded(3);
        let limits = kinds(12);
        for _ in 0..150 {
            let asked: Vec<_> = limits
                .iter()
                .filter_map(|limit| {
                    let cost = 1 + rng.below(4);
                    rng.chance(60)
                        .then(|| question(KEY, limit, Ask::take(cost)))
                })
                .collect();
            let left =
                |question: &Question<'_>| store.ask(KEY, question.limit, Ask::peek(1)).remaining;
            let before: Vec<_> = asked.iter().map(left).collect();
            let answers = store.ask_all(&asked);
            assert_eq!(answers.len(), asked.len());
            for ((question, before), answer) in asked.iter().zip(before).zip(&answers) {
                let cost = if all_passed(&answers) {
                    question.ask.cost
                } else {
                    0
                };
                assert_eq!(u64::from(left(question)) + cost, before.into());
                assert_eq!(u64::from(answer.decision.remaining) + cost, before.into());
            }
            store.advance(rng.below(6 * SECOND));
        }
    });
}

#[test]
fn three_hundred_are_too_many_for_one_script_and_all_or_nothing_all_the_same() {
    on_every_store(|store| {
        let limit = slow_bucket(2, 0.0001);
        let names: Vec<_> = (0..300).map(|part| format!("part {part}")).collect();
        let key = |part: usize| Key::unnamed(names[part].as_bytes());
        let parts: Vec<_> = (0..names.len())
            .map(|part| question(key(part), &limit, Ask::take(1)))
            .collect();
        assert!(all_passed(&store.ask_all(&parts)));
        assert!(store.ask(key(250), &limit, Ask::take(1)).allowed);
        let answers = store.ask_all(&parts);
        assert_eq!(answers.len(), parts.len());
        for (part, answer) in answers.iter().enumerate() {
            assert_eq!(answer.decision.allowed, part != 250, "{part}");
            let left = store.ask(key(part), &limit, Ask::peek(1)).remaining;
            assert_eq!(left, u32::from(part != 250), "{part}");
        }
    });
}

#[test]
fn the_refused_part_says_when_and_the_others_that_they_would_have_passed() {
    on_every_store(|store| {
        let (minute, day) = (
            sliding(1, Micros(60 * SECOND)),
            quota(10, Period::Day, "Asia/Shanghai"),
        );
        let asked = [
            question(KEY, &minute, Ask::take(1)),
            question(KEY, &day, Ask::take(1)),
        ];
        assert!(all_passed(&store.ask_all(&asked)));
        store.advance(10 * SECOND);
        for _ in 0..3 {
            let [first, second] = store.ask_all(&asked).try_into().expect("two answers");
            assert!(!first.decision.allowed && second.decision.allowed);
            assert_eq!(first.decision.retry_after, Some(Micros(50 * SECOND)));
            assert_eq!(second.decision.remaining, 9);
        }
    });
}

#[test]
fn a_dry_run_among_them_keeps_nobody_from_passing() {
    on_every_store(|store| {
        let (small, large) = (window(1, 60), bucket(10, 1));
        let dry = Question {
            dry_run: true,
            ..question(KEY, &small, Ask::take(1))
        };
        let asked = [dry, question(KEY, &large, Ask::take(1))];
        for left in [9, 8, 7] {
            let answers = store.ask_all(&asked);
            assert_eq!(answers[0].decision.allowed, left == 9);
            assert!(answers[1].decision.allowed);
            assert_eq!(answers[1].decision.remaining, left);
        }
    });
}

fn enforced(store: &dyn Store, questions: &[Question<'_>]) -> Vec<Enforced> {
    let answers = Enforcement::default().decide_all(store, questions);
    answers.expect("answers")
}

fn pass(enforced: &[Enforced]) -> bool {
    enforced.iter().all(|one| one.answer.decision.allowed)
}

#[test]
fn the_same_limit_of_the_same_key_twice_adds_up() {
    on_every_store(|store| {
        for limit in kinds(5) {
            let twice = [
                question(KEY, &limit, Ask::take(1)),
                question(KEY, &limit, Ask::take(2)),
            ];
            let first = enforced(store.store(), &twice);
            assert_eq!(first.len(), 2, "each gets its answer");
            assert!(pass(&first), "{limit:?}");
            assert_eq!(store.peek("k", &limit, 1).remaining, 2, "{limit:?}");
            assert!(!pass(&enforced(store.store(), &twice)), "{limit:?}");
            assert_eq!(store.peek("k", &limit, 1).remaining, 2, "{limit:?}");
        }
    });
}

#[test]
fn of_the_same_limit_twice_only_both_in_a_dry_run_are_one() {
    on_every_store(|store| {
        let (limit, other) = (window(1, 60), window(10, 3600));
        store.take("k", &limit, 1);
        let serious = question(KEY, &limit, Ask::take(1));
        let dry = Question {
            dry_run: true,
            ..serious
        };
        let beside = question(KEY, &other, Ask::take(1));
        for asked in [[dry, serious, beside], [serious, dry, beside]] {
            assert!(!pass(&enforced(store.store(), &asked)));
            assert_eq!(store.peek("k", &other, 1).remaining, 10);
        }
        assert!(pass(&enforced(store.store(), &[dry, dry, beside])));
    });
}

#[test]
fn of_two_sizes_of_one_limit_neither_is_passed_over() {
    on_every_store(|store| {
        for sizes in [[3, 10], [10, 3]] {
            store.reset(KEY, &window(3, 60));
            let limits = sizes.map(|size| window(size, 60));
            let asked = [
                question(KEY, &limits[0], Ask::take(1)),
                question(KEY, &limits[1], Ask::take(1)),
            ];
            let passed = (0..5)
                .filter(|_| pass(&enforced(store.store(), &asked)))
                .count();
            assert_eq!(passed, 1, "{sizes:?}: two at a time of three");
        }
    });
}

#[test]
fn no_limit_stops_nobody_and_deny_stops_all() {
    on_every_store(|store| {
        if store.is_model() {
            return;
        }
        let limit = bucket(5, 1);
        let [none, deny, counted] =
            [&Limit::None, &Limit::Deny, &limit].map(|limit| question(KEY, limit, Ask::take(1)));
        for (asked, passes) in [
            (vec![none, counted], true),
            (vec![counted, none], true),
            (vec![deny, counted], false),
            (vec![counted, deny], false),
            (vec![none, deny, counted], false),
            (vec![deny, none, counted], false),
            (vec![none, deny], false),
            (vec![deny, none], false),
            (vec![none, none], true),
            (vec![deny], false),
        ] {
            let before = store.peek("k", &limit, 1).remaining;
            let decided = enforced(store.store(), &asked);
            assert_eq!(decided.len(), asked.len());
            assert_eq!(pass(&decided), passes, "{asked:?}");
            let counts = passes && asked.iter().any(|question| question.limit == &limit);
            let left = store.peek("k", &limit, 1).remaining;
            assert_eq!(left + u32::from(counts), before, "{asked:?}");
        }
    });
}

#[test]
fn a_permit_is_given_back_where_another_part_refuses() {
    on_every_store(|store| {
        if store.is_model() {
            return;
        }
        let (slots, limit) = (permits(2, 60), window(1, 60));
        let asked = [
            question(KEY, &slots, Ask::take(1)),
            question(KEY, &limit, Ask::take(1)),
        ];
        let first = store.ask_all(&asked);
        assert!(all_passed(&first) && first[0].permit.is_some());
        for _ in 0..5 {
            let refused = store.ask_all(&asked);
            assert!(!all_passed(&refused));
            assert!(refused.iter().all(|answer| answer.permit.is_none()));
            assert_eq!(store.peek("k", &slots, 1).remaining, 1);
        }
        store.refund(KEY, &slots, 1, &first[0]);
        assert_eq!(store.peek("k", &slots, 1).remaining, 2);
    });
}

/// Eight threads ask for all of these until nothing is left of the first.
fn race<S: Store>(store: impl Fn() -> S + Sync, limits: &[Limit]) {
    let passed = AtomicU32::new(0);
    let work = |thread: u64| {
        let store = store();
        let mut rng = Rng::seeded(thread);
        let mut asked: Vec<_> = limits
            .iter()
            .map(|limit| question(KEY, limit, Ask::take(1)))
            .collect();
        for _ in 0..60 {
            let from = rng.below(asked.len() as u64) as usize;
            asked.rotate_left(from);
            let answers = store.decide_all(&asked).expect("answers");
            passed.fetch_add(u32::from(all_passed(&answers)), SeqCst);
        }
    };
    std::thread::scope(|scope| {
        for thread in 0..8 {
            scope.spawn(move || work(thread));
        }
    });
    let passed = passed.load(SeqCst);
    assert_eq!(passed, limits[0].size());
    for limit in limits {
        let look = store().decide(&question(KEY, limit, Ask::peek(0)));
        let left = look.expect("an answer").decision.remaining;
        assert_eq!(left + passed, limit.size(), "{limit:?}");
    }
}

fn raced() -> [Limit; 4] {
    [
        sliding(50, Micros(3600 * SECOND)),
        slow_bucket(100, 1.0 / 31_622_400.0),
        window(70, 86_400),
        sliding(60, Micros(1800 * SECOND)),
    ]
}

#[test]
fn eight_threads_on_shared_memory_take_all_or_nothing() {
    for _ in 0..40 {
        let mapping = Mapping::anonymous(1 << 20, Micros::ZERO).expect("a mapping");
        let table = Arc::new(Table::new(mapping));
        race(
            || SharedMemory::with_clock(Arc::clone(&table), BootClock),
            &raced(),
        );
    }
}

#[test]
fn eight_threads_on_redis_take_all_or_nothing() {
    let server = RedisServer::start();
    for _ in 0..4 {
        server.command(&["FLUSHALL"]);
        race(|| Redis::new(server.dsn(), PATIENT), &raced());
    }
}

/// What a store that cannot reach its Redis says of parts with these policies.
fn without_redis(policies: &[&OnFailure], limit: &Limit) -> Result<Vec<Answer>, String> {
    let dsn = Dsn::parse("unix:///nowhere/redis.sock").expect("a DSN");
    let mapping = Mapping::anonymous(64 << 10, Micros::ZERO).expect("a mapping");
    let local = SharedMemory::new(Arc::new(Table::new(mapping)));
    let store = Tiered::new(Redis::new(dsn, PATIENT), Some(Box::new(local)));
    let names: Vec<_> = (0..policies.len()).map(|n| n.to_string()).collect();
    let asked: Vec<_> = policies
        .iter()
        .zip(&names)
        .map(|(policy, name)| {
            question_with(Key::unnamed(name.as_bytes()), limit, Ask::take(1), policy)
        })
        .collect();
    store.decide_all(&asked).map_err(|fault| fault.to_string())
}

#[test]
fn without_redis_the_strictest_policy_wins() {
    let limit = bucket(5, 1);
    let source = |policies: &[&OnFailure]| {
        without_redis(policies, &limit).map(|answers| {
            assert_eq!(answers.len(), policies.len());
            answers[0].source
        })
    };
    let (allow, local) = (&by_policy::ALLOW, &by_policy::LOCAL);
    let (deny, throw) = (&by_policy::DENY, &by_policy::THROW);
    assert_eq!(source(&[allow, allow]), Ok(Source::FailedOpen));
    assert_eq!(source(&[allow, local]), Ok(Source::Fallback));
    assert_eq!(source(&[local, allow, deny]), Ok(Source::FailedClosed));
    assert_eq!(source(&[deny, allow]), Ok(Source::FailedClosed));
    assert!(source(&[allow, throw, deny]).is_err());
    let answers = without_redis(&[allow, local], &bucket(5, 1)).expect("answers");
    assert!(answers.iter().all(|answer| answer.decision.remaining == 4));
}

#[test]
fn without_redis_a_limit_of_nothing_still_gives_nothing() {
    let dsn = Dsn::parse("unix:///nowhere/redis.sock").expect("a DSN");
    let store = Tiered::new(Redis::new(dsn, PATIENT), None);
    let counted = bucket(5, 1);
    for nothing in [Limit::Deny, window(0, 60)] {
        let asked = [
            question_with(KEY, &counted, Ask::take(1), &by_policy::ALLOW),
            question_with(KEY, &nothing, Ask::take(1), &by_policy::ALLOW),
        ];
        let answers = store.decide_all(&asked).expect("answers");
        assert!(!all_passed(&answers), "{nothing:?}");
    }
}
