//! One trouble, put before every failure policy.

use std::time::{Duration, Instant};

use sluice::limit::{Ask, Key, Limit, Micros};
use sluice::store::clock::ManualClock;
use sluice::store::memory::Memory;
use sluice::store::redis::{Budget, Dsn, Redis};
use sluice::store::tiered::Tiered;
use sluice::store::{Answer, Fault, OnFailure, Source, Store};

use crate::support::fake_server::FakeServer;
use crate::support::limits::{by_policy, question_with, window};

/// What a call may take.
pub const TIMEOUT: Duration = Duration::from_millis(250);
/// How late an answer may be for a machine that does other things too.
pub const MARGIN: Duration = Duration::from_millis(350);

/// The times of these tests.
pub const BUDGET: Budget = Budget {
    timeout: TIMEOUT,
    connect: TIMEOUT,
};

/// The limit that troubled calls ask about. No bucket refills meanwhile.
pub const LIMIT: i64 = 100;

/// A Redis that answers, then is struck, then is well again.
pub struct Trouble {
    /// Where it is.
    pub dsn: Dsn,
    /// Whether a call is answered before it is struck.
    pub well_at_first: bool,
    /// What happens to it before the call that must not be answered.
    pub strike: Box<dyn FnMut()>,
    /// What makes it well again.
    pub heal: Box<dyn FnMut()>,
    server: Option<FakeServer>,
}

impl Trouble {
    /// A fake server that answers the first call, fails the second, and is well
    /// from then on, all by itself.
    pub fn of_the_second_call(server: FakeServer) -> Self {
        let mut trouble = Self::at(server.dsn());
        trouble.server = Some(server);
        trouble
    }

    /// A server that the caller strikes and heals.
    pub fn at(dsn: Dsn) -> Self {
        Self {
            dsn,
            well_at_first: true,
            strike: Box::new(|| ()),
            heal: Box::new(|| ()),
            server: None,
        }
    }
}

/// Runs a call, which must not take longer than it may.
pub fn in_time<T>(call: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = call();
    let taken = start.elapsed();
    assert!(taken < TIMEOUT + MARGIN, "a call took {taken:?}");
    result
}

/// Takes one token, by the policy if need be.
pub fn take(store: &dyn Store, on_failure: &OnFailure) -> Result<Answer, Fault> {
    let limit = limit();
    let question = question_with(Key::unnamed(b"k"), &limit, Ask::take(1), on_failure);
    in_time(|| store.decide(&question))
}

fn limit() -> Limit {
    window(LIMIT, 3600)
}

/// Sees every policy answer in its way while Redis cannot, and Redis after it.
pub fn every_policy_answers(trouble: impl Fn() -> Trouble) {
    for on_failure in [
        by_policy::LOCAL,
        by_policy::ALLOW,
        by_policy::DENY,
        by_policy::THROW,
    ] {
        println!("by policy {:?}", on_failure.policy);
        let mut trouble = trouble();
        let redis = Redis::new(trouble.dsn.clone(), BUDGET);
        let store = Tiered::new(redis, Some(Box::new(Memory::new(ManualClock::default()))));
        if trouble.well_at_first {
            assert_redis_answers(&take(&store, &on_failure));
        }
        (trouble.strike)();
        assert_policy_answers(&trouble.dsn, &on_failure, take(&store, &on_failure));
        (trouble.heal)();
        assert_redis_answers(&take(&store, &on_failure));

        let status = store.status().redis.expect("there is a Redis behind it");
        assert_eq!(status.faults, 1);
        assert!(status.connected);
    }
}

/// Sees that Redis gave this answer.
pub fn assert_redis_answers(answer: &Result<Answer, Fault>) {
    match answer {
        Ok(answer) => {
            assert_eq!(answer.source, Source::Redis, "{answer:?}");
            assert!(answer.decision.allowed, "{answer:?}");
        }
        Err(fault) => panic!("{fault}"),
    }
}

fn assert_policy_answers(dsn: &Dsn, on_failure: &OnFailure, answer: Result<Answer, Fault>) {
    let answer = match answer {
        Ok(answer) => answer,
        Err(fault) => {
            assert_eq!(*on_failure, by_policy::THROW, "{fault}");
            assert!(fault.message.contains(&dsn.to_string()), "{fault}");
            return;
        }
    };
    let Answer {
        decision, source, ..
    } = answer;
    let expected = match *on_failure {
        by_policy::LOCAL => Source::Fallback,
        by_policy::ALLOW => Source::FailedOpen,
        by_policy::DENY => Source::FailedClosed,
        _ => panic!("nothing was thrown: {answer:?}"),
    };
    assert_eq!(source, expected);
    assert_eq!(decision.allowed, source != Source::FailedClosed);
    assert_eq!(decision.limit, LIMIT as u32);
    let left = match source {
        Source::Fallback => LIMIT as u32 - 1,
        Source::FailedOpen => LIMIT as u32,
        _ => 0,
    };
    assert_eq!(decision.remaining, left);
    assert_eq!(decision.retry_after == Some(Micros::ZERO), decision.allowed);
}
