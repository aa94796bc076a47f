//! What Redis would refuse is refused here, and nothing else.

use sluice::limit::{Ask, Key, Limit, Micros, Period};
use sluice::store::{Source, Store};

use crate::fleet::{Fleet, ask, take};
use crate::support::limits::{
    DAY, SECOND, bucket, permits, question, queue, quota, sliding, slow_bucket, window,
};

const KEY: Key<'static> = Key {
    name: b"",
    bytes: b"k",
};

/// One of every kind that has a near state, from which nothing comes back soon.
fn kinds(size: i64) -> [Limit; 5] {
    [
        slow_bucket(size, 1.0 / 3600.0),
        queue_of_hours(size),
        window(size, 3600),
        sliding(size, Micros(3600 * SECOND)),
        quota(size, Period::Day, "Asia/Shanghai"),
    ]
}

fn queue_of_hours(size: i64) -> Limit {
    use sluice::limit::{LeakyBucket, Number};
    let queue = LeakyBucket::with_period(size, Number::Int(1), Number::Int(3600));
    Limit::LeakyBucket(queue.expect("a queue"))
}

#[test]
fn what_redis_refused_is_refused_here_for_all_workers_of_the_host_and_no_other() {
    let fleet = Fleet::start(2, 2);
    for (number, limit) in kinds(3).iter().enumerate() {
        let key = number.to_string();
        let [first, second] = &fleet.hosts[0].workers[..] else {
            panic!("two workers")
        };
        assert!(take(first, &key, limit, 3).decision.allowed);
        let calls = fleet.calls();
        let near = take(second, &key, limit, 1);
        assert_eq!(near.source, Source::NearState, "{limit:?}");
        assert!(!near.decision.allowed);
        assert_eq!(near.decision.limit, 3);
        assert_eq!(near.decision.remaining, 0);
        assert_eq!(fleet.calls(), calls, "nobody was asked");
        let far = take(fleet.worker(1), &key, limit, 1);
        assert_eq!(far.source, Source::Redis);
        assert_eq!(near.decision, far.decision, "{limit:?}");
    }
}

#[test]
fn a_refusal_of_five_is_none_of_one_and_raised_limits_count_at_once() {
    let fleet = Fleet::start(1, 1);
    let worker = fleet.worker(0);
    let raised = kinds(20);
    for (number, limit) in kinds(7).iter().enumerate() {
        let key = number.to_string();
        assert!(take(worker, &key, limit, 4).decision.allowed);
        let five = take(worker, &key, limit, 5);
        assert_eq!(
            (five.source, five.decision.allowed),
            (Source::NearState, false)
        );
        assert_eq!(five.decision.remaining, 3);
        let one = take(worker, &key, limit, 1);
        assert_eq!((one.source, one.decision.allowed), (Source::Redis, true));
        let five = take(worker, &key, &raised[number], 5);
        assert_eq!((five.source, five.decision.allowed), (Source::Redis, true));
        let never = take(worker, &key, limit, 8);
        assert_eq!(never.decision.retry_after, None, "{limit:?}");
    }
}

#[test]
fn looks_and_bookings_are_refused_here_too_and_charges_never() {
    let fleet = Fleet::start(1, 1);
    let worker = fleet.worker(0);
    let limit = slow_bucket(3, 1.0 / 60.0);
    take(worker, "k", &limit, 3);
    let look = ask(worker, "k", &limit, Ask::peek(1));
    assert_eq!(
        (look.source, look.decision.allowed),
        (Source::NearState, false)
    );
    let booking = ask(worker, "k", &limit, Ask::reserve(1, Micros(59 * SECOND)));
    assert_eq!(
        (booking.source, booking.decision.allowed),
        (Source::NearState, false)
    );
    let booking = ask(worker, "k", &limit, Ask::reserve(1, Micros(60 * SECOND)));
    assert_eq!(
        (booking.source, booking.decision.allowed),
        (Source::Redis, true)
    );
    let charge = ask(worker, "k", &limit, Ask::charge(1));
    assert_eq!(charge.source, Source::Redis);
    // Four went beyond three: two tokens of debt, and one wanted.
    let look = ask(worker, "k", &limit, Ask::peek(1));
    assert_eq!(
        look.decision.retry_after.map(|time| time.0 / SECOND),
        Some(180)
    );
}

#[test]
fn a_key_that_hammers_costs_redis_one_call_a_second_and_is_let_in_on_time() {
    let fleet = Fleet::start(1, 8);
    let limit = window(1, 5);
    assert!(take(fleet.worker(0), "k", &limit, 1).decision.allowed);
    let before = fleet.calls();
    let begin = fleet.now();
    let workers = &fleet.hosts[0].workers;
    // Ten thousand a second, until the window ends.
    let let_in = (0..100_000)
        .map(|round: usize| {
            fleet.time.advance(Micros(100));
            // Redis' clock is turned before it is asked.
            fleet.advance(0);
            take(&workers[round % 8], "k", &limit, 1)
        })
        .position(|answer| answer.decision.allowed)
        .expect("it is let in");
    assert_eq!(
        let_in as u64 + 1,
        5 * SECOND / 100,
        "at the end of the window"
    );
    assert_eq!(fleet.now().since(begin), Micros(5 * SECOND));
    let calls = fleet.calls() - before;
    assert!(calls <= 20, "{calls} calls in five seconds and for its end");
    let status = workers[0].status().tiers.expect("a host");
    assert!(status.near_refusals > 6000);
}

#[test]
fn when_it_is_let_in_no_clock_makes_it_late() {
    // One host's clock is slow and one is fast, by as much as is allowed for.
    let fleet = Fleet::start(2, 1);
    for host in 0..2 {
        let (worker, key) = (fleet.worker(host), host.to_string());
        let limit = bucket(1, 2);
        take(worker, &key, &limit, 1);
        for _ in 0..20 {
            let mut waited = 0;
            while !take(worker, &key, &limit, 1).decision.allowed {
                fleet.advance(250);
                waited += 250;
            }
            assert_eq!(waited, SECOND / 2);
        }
    }
}

#[test]
fn it_is_believed_as_long_as_it_may_be() {
    for (near, refused_by) in [
        (Micros::ZERO, Source::Redis),
        (Micros(SECOND / 10), Source::Redis),
        (Micros(2 * SECOND), Source::NearState),
    ] {
        let fleet = Fleet::start_with(1, 1, near);
        let limit = window(1, 3600);
        take(fleet.worker(0), "k", &limit, 1);
        fleet.advance(SECOND / 5);
        assert_eq!(take(fleet.worker(0), "k", &limit, 1).source, refused_by);
    }
}

#[test]
fn one_worker_asks_anew_before_the_time_is_up() {
    let fleet = Fleet::start(1, 3);
    let limit = window(1, 3600);
    take(fleet.worker(0), "k", &limit, 1);
    let sources = || -> Vec<_> {
        let ask = |worker| take(worker, "k", &limit, 1).source;
        fleet.hosts[0].workers.iter().map(ask).collect()
    };
    fleet.advance(SECOND * 95 / 100);
    // The one who asks anew gets no answer; the others do not try as well.
    let stale = ["CONFIG", "SET", "replica-serve-stale-data", "no"];
    fleet.server.command(&stale);
    fleet.server.command(&["REPLICAOF", "127.0.0.1", "1"]);
    assert_eq!(
        sources(),
        [Source::Fallback, Source::NearState, Source::NearState]
    );
    assert_eq!(sources(), [Source::NearState; 3]);
    fleet.server.command(&["REPLICAOF", "NO", "ONE"]);
    take(fleet.worker(0), "other", &limit, 1);
    fleet.advance(SECOND / 10);
    take(fleet.worker(0), "k", &limit, 1);
    fleet.advance(SECOND * 95 / 100);
    assert_eq!(
        sources(),
        [Source::Redis, Source::NearState, Source::NearState]
    );
    fleet.advance(SECOND / 2);
    assert_eq!(sources(), [Source::NearState; 3]);
}

#[test]
fn what_is_given_back_or_forgotten_here_is_not_refused_here() {
    let fleet = Fleet::start(1, 2);
    let [first, second] = &fleet.hosts[0].workers[..] else {
        panic!("two workers")
    };
    for (number, limit) in kinds(2).iter().enumerate() {
        let key = number.to_string();
        let taken = take(first, &key, limit, 2);
        assert_eq!(take(second, &key, limit, 1).source, Source::NearState);
        let back = question(Key::unnamed(key.as_bytes()), limit, Ask::take(2));
        second.refund(&back, &taken).expect("Redis answers");
        assert!(take(first, &key, limit, 2).decision.allowed, "{limit:?}");
        assert_eq!(take(first, &key, limit, 1).source, Source::NearState);
        second.reset(back.key, limit).expect("Redis answers");
        assert!(take(first, &key, limit, 2).decision.allowed, "{limit:?}");
    }
}

#[test]
fn keys_of_other_databases_servers_and_prefixes_are_others() {
    let fleet = Fleet::start(1, 1);
    let limit = window(1, 3600);
    take(fleet.worker(0), "k", &limit, 1);
    for options in ["?db=1", "?prefix=other:"] {
        let other = fleet.worker_at(0, fleet.server.dsn_with(options));
        let mut clock = fleet.server.connect();
        for command in [
            vec!["SELECT", "1"],
            vec!["SET", "test:clock", "1800000000000000"],
        ] {
            redis::cmd(command[0])
                .arg(&command[1..])
                .exec(&mut clock)
                .expect("the clock of the other database");
        }
        let answer = take(&other, "k", &limit, 1);
        assert_eq!(
            (answer.source, answer.decision.allowed),
            (Source::Redis, true)
        );
    }
    let same = fleet.worker_at(0, fleet.server.dsn());
    assert_eq!(take(&same, "k", &limit, 1).source, Source::NearState);
}

#[test]
fn callers_that_make_up_keys_do_not_push_out_those_that_are_refused() {
    let fleet = Fleet::start(1, 1);
    let worker = fleet.worker(0);
    for limit in [window(1, 3600), sliding(1, Micros(3600 * SECOND))] {
        let refused: Vec<_> = (0..20).map(|number| format!("refused {number}")).collect();
        for key in &refused {
            take(worker, key, &limit, 1);
            take(worker, key, &limit, 1);
            // The refusal of Redis itself.
            fleet.advance(SECOND);
            take(worker, key, &limit, 1);
            fleet.advance(0);
        }
        for key in &refused {
            take(worker, key, &limit, 1);
        }
        // Ten times what there is room for, in no time.
        for number in 0..25_000 {
            take(worker, &format!("made up {number}"), &bucket(9, 1), 1);
        }
        let kept = refused
            .iter()
            .filter(|key| take(worker, key, &limit, 1).source == Source::NearState)
            .count();
        assert!(kept >= 19, "{kept} of 20 are refused here: {limit:?}");
    }
}

#[test]
fn a_composite_is_refused_here_where_all_of_it_is_known() {
    let fleet = Fleet::start(1, 1);
    let worker = fleet.worker(0);
    let (few, many) = (window(1, 3600), quota(9, Period::Day, "UTC"));
    let parts = [
        question(KEY, &few, Ask::take(1)),
        question(KEY, &many, Ask::take(1)),
    ];
    let all = || worker.decide_all(&parts).expect("answers");
    let sources = |expected| all().iter().all(|answer| answer.source == expected);
    assert!(all().iter().all(|answer| answer.decision.allowed));
    let calls = fleet.calls();
    let refused = all();
    assert_eq!(fleet.calls(), calls);
    assert_eq!(
        refused
            .iter()
            .map(|answer| (
                answer.source,
                answer.decision.allowed,
                answer.decision.remaining
            ))
            .collect::<Vec<_>>(),
        [(Source::NearState, false, 0), (Source::NearState, true, 8)]
    );
    // A permit has no near state, so such a composite is asked about.
    let slots = permits(5, 60);
    let with_permit = [parts[0], question(KEY, &slots, Ask::take(1))];
    let answers = worker.decide_all(&with_permit).expect("answers");
    assert!(answers.iter().all(|answer| answer.source == Source::Redis));
    // In a dry run it refuses nothing.
    let mut dry = parts;
    dry[0].dry_run = true;
    let answers = worker.decide_all(&dry).expect("answers");
    assert_eq!(answers[1].source, Source::Redis);
    assert_eq!(answers[1].decision.remaining, 7);
    // After a second it is asked about again.
    fleet.advance(SECOND);
    assert!(sources(Source::Redis));
    assert!(sources(Source::NearState));
    fleet.advance(DAY);
    assert!(all().iter().all(|answer| answer.decision.allowed));
}

#[test]
fn a_queue_that_is_full_is_full_here() {
    let fleet = Fleet::start(1, 1);
    let worker = fleet.worker(0);
    let limit = queue(2, 1);
    take(worker, "k", &limit, 2);
    let full = take(worker, "k", &limit, 1);
    assert_eq!(full.source, Source::NearState);
    assert_eq!(full.decision.retry_after, Some(Micros(SECOND)));
    assert_eq!(full.decision.delay, Micros::ZERO);
}
