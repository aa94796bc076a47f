//! A host alone goes on from what it last saw, and gives out its share.

use sluice::limit::{Ask, Fraction, Key, Limit, Micros, Period};
use sluice::store::{Failure, OnFailure, Source, Store};

use crate::fleet::{Fleet, ask, ask_by, take};
use crate::support::limits::{
    SECOND, bucket, question, queue, quota, sliding, slow_bucket, window,
};

const SHARED: OnFailure = OnFailure {
    policy: Failure::Local,
    local_share: Fraction { num: 1, den: 4 },
};

fn kinds(size: i64) -> [Limit; 4] {
    [
        slow_bucket(size, 1.0 / 3600.0),
        window(size, 3600),
        sliding(size, Micros(3600 * SECOND)),
        quota(size, Period::Day, "Asia/Shanghai"),
    ]
}

fn keys() -> impl Iterator<Item = (String, Limit)> {
    let numbered = kinds(10).into_iter().enumerate();
    numbered.map(|(number, limit)| (number.to_string(), limit))
}

#[test]
fn it_starts_from_what_redis_last_said() {
    let mut fleet = Fleet::start(2, 2);
    for (key, limit) in keys() {
        take(fleet.worker(0), &key, &limit, 4);
        fleet.advance(100);
        take(fleet.worker(1), &key, &limit, 2);
    }
    // However long ago that was.
    fleet.advance(60 * SECOND);
    fleet.server.stop();
    for (key, limit) in keys() {
        // The first saw four taken, the second six.
        for (host, left) in [(0, 5), (1, 3)] {
            let answer = take(&fleet.hosts[host].workers[1], &key, &limit, 1);
            assert_eq!(answer.source, Source::Fallback);
            assert_eq!(answer.decision.remaining, left, "{limit:?}");
        }
        assert!(take(fleet.worker(1), &key, &limit, 3).decision.allowed);
        let refused = take(fleet.worker(1), &key, &limit, 1).decision;
        assert!(!refused.allowed, "{limit:?}");
        assert!(take(fleet.worker(0), "new", &limit, 10).decision.allowed);
    }
}

#[test]
fn giving_something_back_before_does_not_have_it_start_anew() {
    let mut fleet = Fleet::start(1, 1);
    for (key, limit) in keys() {
        let taken = take(fleet.worker(0), &key, &limit, 6);
        let one = question(Key::unnamed(key.as_bytes()), &limit, Ask::take(1));
        fleet.advance(SECOND);
        fleet.worker(0).refund(&one, &taken).expect("Redis answers");
        fleet.advance(SECOND);
    }
    fleet.server.stop();
    for (key, limit) in keys() {
        // What was given back is Redis' to know.
        let answer = take(fleet.worker(0), &key, &limit, 1);
        assert_eq!(answer.source, Source::Fallback);
        assert_eq!(answer.decision.remaining, 3, "{limit:?}");
    }
}

#[test]
fn that_nothing_is_spent_any_more_counts_as_well() {
    let mut fleet = Fleet::start(2, 1);
    for (key, limit) in keys() {
        take(fleet.worker(0), &key, &limit, 9);
        let reset = fleet.worker(1).reset(Key::unnamed(key.as_bytes()), &limit);
        reset.expect("Redis answers");
        // As long as the near state lasts the first cannot know.
        assert!(!take(fleet.worker(0), &key, &limit, 2).decision.allowed);
        let look = ask(fleet.worker(0), &key, &limit, Ask::peek(1));
        assert_eq!(look.decision.remaining, 10);
    }
    fleet.server.stop();
    for (key, limit) in keys() {
        let answer = take(fleet.worker(0), &key, &limit, 10);
        assert_eq!(answer.source, Source::Fallback);
        assert!(answer.decision.allowed, "{limit:?}");
    }
}

#[test]
fn giving_back_while_redis_is_away_changes_this_hosts_count_only() {
    let mut fleet = Fleet::start(1, 1);
    for (key, limit) in keys() {
        take(fleet.worker(0), &key, &limit, 4);
    }
    fleet.server.stop();
    for (key, limit) in keys() {
        let taken = take(fleet.worker(0), &key, &limit, 3);
        let back = question(Key::unnamed(key.as_bytes()), &limit, Ask::take(3));
        let given = fleet.worker(0).refund(&back, &taken);
        given.expect("it is given back here");
        let left = ask(fleet.worker(0), &key, &limit, Ask::peek(1));
        assert_eq!(left.decision.remaining, 6, "{limit:?}");
    }
}

#[test]
fn what_comes_back_meanwhile_has_come_back() {
    let mut fleet = Fleet::start(1, 1);
    let (rate, short, rolling) = (
        bucket(10, 1),
        window(10, 60),
        sliding(10, Micros(60 * SECOND)),
    );
    let flow = queue(10, 1);
    for limit in [&rate, &short, &rolling, &flow] {
        take(fleet.worker(0), "k", limit, 10);
    }
    fleet.server.stop();
    fleet.advance_hosts(4 * SECOND);
    let left = |fleet: &Fleet, limit| {
        ask(fleet.worker(0), "k", limit, Ask::peek(1))
            .decision
            .remaining
    };
    // This host's clock runs a little fast.
    assert_eq!(left(&fleet, &rate), 4);
    assert_eq!(left(&fleet, &flow), 4);
    assert_eq!([&short, &rolling].map(|limit| left(&fleet, limit)), [0, 0]);
    let retry = take(fleet.worker(0), "k", &short, 1).decision.retry_after;
    assert_eq!(
        retry.map(|time| time.0 / 100_000),
        Some(559),
        "56 s, less 4 ms"
    );
    fleet.advance_hosts(56 * SECOND);
    assert_eq!(
        [&short, &rolling].map(|limit| left(&fleet, limit)),
        [10, 10]
    );
}

#[test]
fn what_was_spent_before_the_last_look_comes_back_in_its_own_time() {
    let mut fleet = Fleet::start(1, 1);
    let (rate, rolling) = (bucket(10, 1), sliding(10, Micros(60 * SECOND)));
    for limit in [&rate, &rolling] {
        take(fleet.worker(0), "k", limit, 6);
    }
    fleet.advance(30 * SECOND + SECOND / 2);
    for limit in [&rate, &rolling] {
        take(fleet.worker(0), "k", limit, 4);
    }
    // The last state was seen between two tokens of the bucket.
    fleet.advance(SECOND / 4);
    take(fleet.worker(0), "k", &rate, 1);
    fleet.server.stop();
    let left = |fleet: &Fleet, limit| {
        let look = ask(fleet.worker(0), "k", limit, Ask::peek(1));
        assert_eq!(look.source, Source::Fallback);
        look.decision.remaining
    };
    fleet.advance_hosts(SECOND * 3 / 4 - 2000);
    assert_eq!(left(&fleet, &rate), 5);
    fleet.advance_hosts(4000);
    assert_eq!(left(&fleet, &rate), 6);
    assert_eq!(left(&fleet, &rolling), 0);
    fleet.advance_hosts(28 * SECOND);
    assert_eq!(left(&fleet, &rolling), 0);
    fleet.advance_hosts(SECOND);
    assert_eq!(left(&fleet, &rolling), 6);
}

#[test]
fn its_share_is_of_what_was_left() {
    let mut fleet = Fleet::start(1, 1);
    for _ in 0..6 {
        for (key, limit) in keys() {
            take(fleet.worker(0), &key, &limit, 1);
        }
        // In cells of their own, where there are cells.
        fleet.advance(240 * SECOND);
    }
    fleet.server.stop();
    for (key, limit) in keys() {
        // Of ten a quarter is three; of six spent it is two.
        let answer = ask_by(fleet.worker(0), &key, &limit, Ask::take(1), &SHARED);
        assert_eq!(answer.decision.limit, 3, "{limit:?}");
        assert!(answer.decision.allowed, "{limit:?}");
        let answer = ask_by(fleet.worker(0), &key, &limit, Ask::take(1), &SHARED);
        assert!(!answer.decision.allowed, "{limit:?}");
    }
}

#[test]
fn redis_never_hears_of_it_and_another_outage_does_not_start_anew() {
    let fleet = Fleet::start(1, 1);
    for (key, limit) in keys() {
        take(fleet.worker(0), &key, &limit, 2);
    }
    let outage = |fleet: &Fleet| fleet.server.command(&["CONFIG", "SET", "maxmemory", "1"]);
    let end = |fleet: &Fleet| {
        fleet.server.command(&["CONFIG", "SET", "maxmemory", "0"]);
        // The breaker looks every four seconds at most.
        fleet.advance(4 * SECOND);
    };
    outage(&fleet);
    for (key, limit) in keys() {
        let answer = take(fleet.worker(0), &key, &limit, 5);
        assert_eq!(
            (answer.source, answer.decision.remaining),
            (Source::Fallback, 3)
        );
    }
    end(&fleet);
    for (key, limit) in keys() {
        let answer = take(fleet.worker(0), &key, &limit, 1);
        assert_eq!(
            (answer.source, answer.decision.remaining),
            (Source::Redis, 7)
        );
    }
    outage(&fleet);
    for (key, limit) in keys() {
        // Seven are spent by this host's count, three by Redis'.
        let answer = take(fleet.worker(0), &key, &limit, 1);
        assert_eq!(
            (answer.source, answer.decision.remaining),
            (Source::Fallback, 2)
        );
    }
    end(&fleet);
    for (key, limit) in keys() {
        take(fleet.worker(0), &key, &limit, 7);
    }
    outage(&fleet);
    for (key, limit) in keys() {
        assert!(!take(fleet.worker(0), &key, &limit, 1).decision.allowed);
    }
}

#[test]
fn a_composite_goes_on_from_there_too() {
    let mut fleet = Fleet::start(1, 1);
    let [_, few, _, many] = kinds(10);
    let parts =
        |cost| [&few, &many].map(|limit| question(Key::unnamed(b"k"), limit, Ask::take(cost)));
    let worker = fleet.worker(0);
    worker.decide_all(&parts(4)).expect("answers");
    fleet.server.stop();
    let worker = fleet.worker(0);
    let answers = worker.decide_all(&parts(6)).expect("answers");
    assert!(answers.iter().all(|answer| answer.decision.allowed));
    let answers = worker.decide_all(&parts(1)).expect("answers");
    assert!(answers.iter().all(|answer| !answer.decision.allowed));
}

#[test]
fn a_reset_forgets_what_was_seen_too() {
    let mut fleet = Fleet::start(1, 1);
    for (key, limit) in keys() {
        take(fleet.worker(0), &key, &limit, 9);
    }
    fleet.server.stop();
    for (key, limit) in keys() {
        take(fleet.worker(0), &key, &limit, 1);
        let gone = fleet.worker(0).reset(Key::unnamed(key.as_bytes()), &limit);
        assert!(gone.is_err(), "Redis still has it");
        assert!(take(fleet.worker(0), &key, &limit, 10).decision.allowed);
    }
}
