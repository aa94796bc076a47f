//! One trouble, put before every failure policy.

use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
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
pub const TIMEOUT: Duration = Duration::from_millis(400);
/// How late an answer may be where the machine is not.
pub const MARGIN: Duration = Duration::from_millis(350);

/// The times of these tests.
pub const BUDGET: Budget = Budget {
    timeout: TIMEOUT,
    connect: Some(TIMEOUT),
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

/// Runs a call, which must not take longer than it may. What the machine takes
/// from everybody is not the call's doing.
pub fn in_time<T>(call: impl FnOnce() -> T) -> T {
    let lost_before = lost();
    let start = Instant::now();
    let result = call();
    let taken = start.elapsed();
    if taken >= TIMEOUT + MARGIN {
        // Whoever counts may be held up itself.
        std::thread::sleep(TICK * 4);
        let lost = lost().saturating_sub(lost_before);
        assert!(
            taken < TIMEOUT + MARGIN + lost * 4,
            "a call took {taken:?}, of which the machine lost {lost:?}"
        );
    }
    result
}

/// Takes one token from a store that is well. What the machine alone made late
/// is asked again, and the answers that were not Redis's for that are counted.
pub fn take_from_well(store: &dyn Store, on_failure: &OnFailure) -> (Result<Answer, Fault>, u64) {
    let mut late = 0;
    loop {
        let lost_before = lost();
        let answer = take(store, on_failure);
        let is_well = answer
            .as_ref()
            .is_ok_and(|answer| answer.source == Source::Redis);
        if is_well || late == 20 {
            return (answer, late);
        }
        std::thread::sleep(TICK * 4);
        if lost().saturating_sub(lost_before) < TIMEOUT / 10 {
            return (answer, late);
        }
        late += 1;
    }
}

const TICK: Duration = Duration::from_millis(5);

/// For how long a thread that wanted to run has not been let, so far.
fn lost() -> Duration {
    static LOST: AtomicU64 = AtomicU64::new(0);
    static COUNTS: Once = Once::new();
    COUNTS.call_once(|| {
        std::thread::spawn(|| {
            loop {
                let start = Instant::now();
                std::thread::sleep(TICK);
                let late = start.elapsed().saturating_sub(TICK * 2);
                LOST.fetch_add(late.as_micros() as u64, SeqCst);
            }
        });
    });
    Duration::from_micros(LOST.load(SeqCst))
}

/// Takes one token, by the policy if need be.
pub fn take(store: &dyn Store, on_failure: &OnFailure) -> Result<Answer, Fault> {
    let limit = limit();
    let question = question_with(Key::unnamed(b"k"), &limit, Ask::take(1), on_failure);
    in_time(|| store.decide(&question))
}

/// Forgets what was taken by [`take`].
pub fn reset(store: &dyn Store) {
    let forgotten = store.reset(Key::unnamed(b"k"), &limit());
    forgotten.expect("Redis answers");
}

/// Takes one token, however long it takes: for what is not about time.
pub fn ask(store: &dyn Store) -> Result<Answer, Fault> {
    let limit = limit();
    store.decide(&question_with(
        Key::unnamed(b"k"),
        &limit,
        Ask::take(1),
        &by_policy::THROW,
    ))
}

fn limit() -> Limit {
    window(LIMIT, 3600)
}

/// Redis with failure policies, and a memory to fall back on.
pub type Guarded = Tiered;

/// The store at a DSN, in the form that PHP code asks.
pub fn guarded(dsn: &Dsn) -> Guarded {
    let redis = Redis::new(dsn.clone(), BUDGET);
    Tiered::new(redis, Some(Box::new(Memory::new(ManualClock::default()))))
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
        let store = guarded(&trouble.dsn);
        let mut faults = 1;
        let mut is_well = || {
            let (answer, late) = take_from_well(&store, &on_failure);
            faults += late;
            assert_redis_answers(&answer);
        };
        if trouble.well_at_first {
            is_well();
        }
        (trouble.strike)();
        assert_policy_answers(&trouble.dsn, &on_failure, take(&store, &on_failure));
        (trouble.heal)();
        is_well();

        let status = store.status().redis.expect("there is a Redis behind it");
        assert_eq!(status.faults, faults, "{status:?}");
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

/// Sees that this answer is not Redis's but the policy's, in its way.
pub fn assert_by_policy(on_failure: &OnFailure, answer: &Result<Answer, Fault>) {
    let seen = match answer {
        Ok(answer) => Some((answer.source, answer.decision.allowed)),
        Err(fault) => {
            assert!(!fault.message.contains("correct-horse"), "{fault}");
            None
        }
    };
    let expected = match *on_failure {
        by_policy::LOCAL => Some((Source::Fallback, true)),
        by_policy::ALLOW => Some((Source::FailedOpen, true)),
        by_policy::DENY => Some((Source::FailedClosed, false)),
        _ => None,
    };
    assert_eq!(seen, expected, "{answer:?}");
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
