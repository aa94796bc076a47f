//! A sliding window means what it says: never more than the limit in any
//! interval of its length, and what may pass does.

use sluice::limit::{Ask, Key, Micros};
use sluice::store::Store;
use sluice::store::redis::Redis;

use crate::support::limits::{SECOND, question, sliding};
use crate::support::redis_server::{PATIENT, RedisServer};
use crate::support::rng::Rng;
use crate::support::stores::{Subject, Subjects, on_every_store};

/// Windows of all sorts; the shortest have cells that are longer than a
/// sixteenth.
const LENGTHS: [u64; 5] = [17, 1000, 99_991, SECOND, 3600 * SECOND];

/// Panics if a half-open interval of `length` has more than `limit`.
fn assert_bound(admitted: &[(Micros, u64)], limit: u64, length: Micros, place: &str) {
    for (first, (start, _)) in admitted.iter().enumerate() {
        let within = admitted[first..]
            .iter()
            .take_while(|(at, _)| *at < start.after(length));
        let sum: u64 = within.map(|(_, cost)| cost).sum();
        assert!(sum <= limit, "{sum} of {limit} from {start:?} on: {place}");
    }
}

#[test]
fn no_interval_ever_has_more_than_the_limit() {
    let subjects = Subjects::start();
    for seed in 0..40 {
        let mut rng = Rng::seeded(seed);
        let length = Micros(rng.pick(&LENGTHS));
        let size = rng.pick(&[1, 2, 5, 16, 17, 40]);
        let limit = sliding(size as i64, length);
        let pause = rng.pick(&[1, 2, 4]) * length.0 / size;
        let steps: Vec<_> = (0..150)
            .map(|_| match rng.below(30) {
                0 => (length.0, 1),
                1 => (length.0.saturating_sub(1), size),
                2..=8 => (0, 1),
                9 => (length.0 / 16, 1),
                _ => (rng.below(pause + 1), 1 + rng.below(size.min(3))),
            })
            .collect();
        for subject in subjects.iter() {
            subject.reset(Key::unnamed(b"k"), &limit);
            let mut admitted = Vec::new();
            for (wait, cost) in &steps {
                subject.advance(*wait);
                if subject.take("k", &limit, *cost).allowed {
                    admitted.push((subject.now(), *cost));
                }
            }
            let place = format!("{} seed {seed}: {limit:?}", subject.name);
            assert!(!admitted.is_empty(), "{place}");
            assert_bound(&admitted, size, length, &place);
        }
    }
}

/// Whether a caller who always comes after the same time is let in each time.
fn admits_steadily(store: &Subject, size: u64, length: u64, phase: u64, of_hundred: u64) -> bool {
    let limit = sliding(size as i64, Micros(length));
    store.reset(Key::unnamed(b"k"), &limit);
    let start = store.now().0 / length * length + phase;
    store.set_time(Micros(start + 2 * length));
    let start = store.now().0;
    (0..size * 3 + 3).all(|hit| {
        let since = u128::from(hit) * u128::from(length) * 100;
        // Rounded up, so that it is never more often than that.
        let since = since.div_ceil(u128::from(size * of_hundred)) as u64;
        store.set_time(Micros(start + since));
        store.take("k", &limit, 1).allowed
    })
}

#[test]
fn a_steady_caller_at_nine_tenths_is_never_refused() {
    on_every_store(|store| {
        for size in [1, 2, 3, 7, 10, 16, 17, 60, 100] {
            for length in [100_000, SECOND, 60 * SECOND] {
                for phase in [0, 1, length / 32, length / 16 - 1, length / 3] {
                    let place = format!("{size} in {length} us, phase {phase}");
                    assert!(admits_steadily(store, size, length, phase, 90), "{place}");
                }
            }
        }
    });
}

#[test]
fn the_time_to_come_back_is_exact() {
    let subjects = Subjects::start();
    for seed in 100..120 {
        for subject in subjects.iter() {
            let mut rng = Rng::seeded(seed);
            let length = rng.pick(&[1000, SECOND, 7 * SECOND]);
            let limit = sliding(9, Micros(length));
            subject.reset(Key::unnamed(b"k"), &limit);
            for _ in 0..25 {
                subject.advance(rng.below(length / 6));
                let cost = 1 + rng.below(5);
                let decision = subject.take("k", &limit, cost);
                let Some(wait @ Micros(1..)) = decision.retry_after else {
                    continue;
                };
                subject.advance(wait.0 - 1);
                assert!(!subject.peek("k", &limit, cost).allowed, "{}", subject.name);
                subject.advance(1);
                assert!(subject.peek("k", &limit, cost).allowed, "{}", subject.name);
            }
        }
    }
}

#[test]
fn a_fresh_caller_may_spend_it_all_at_once_and_again_a_window_later() {
    on_every_store(|store| {
        for size in [1, 5, 1000, 32_000_000] {
            let limit = sliding(size, Micros(60 * SECOND));
            let cost = size as u64;
            store.reset(Key::unnamed(b"k"), &limit);
            for _ in 0..3 {
                let decision = store.take("k", &limit, cost);
                assert!(decision.allowed, "{size}");
                assert_eq!(decision.remaining, 0);
                assert_eq!(decision.reset_after, Micros(60 * SECOND));
                let denied = store.take("k", &limit, 1);
                assert_eq!(denied.retry_after, Some(Micros(60 * SECOND)));
                store.advance(60 * SECOND);
            }
        }
    });
}

#[test]
fn a_burst_at_the_boundary_of_a_cell_or_a_window_gains_nothing() {
    on_every_store(|store| {
        let limit = sliding(10, Micros(60 * SECOND));
        let boundary = store.now().0 / (60 * SECOND) * 60 * SECOND + 120 * SECOND;
        store.set_time(Micros(boundary - 1));
        assert!(store.take("k", &limit, 10).allowed);
        store.set_time(Micros(boundary));
        assert!(!store.take("k", &limit, 1).allowed);
        store.set_time(Micros(boundary + 60 * SECOND - 2));
        assert!(!store.take("k", &limit, 1).allowed);
        store.advance(1);
        assert!(store.take("k", &limit, 10).allowed);
    });
}

/// The bytes of the one key that there is.
fn length_of_the_state(server: &RedisServer) -> u64 {
    let names = server.command(&["KEYS", "*"]);
    let name = names.lines().find(|name| !name.starts_with("test:"));
    let name = name.expect("a state");
    server
        .command(&["STRLEN", name])
        .parse()
        .expect("a number of bytes")
}

#[test]
fn a_key_with_a_hundred_thousand_requests_an_hour_stays_small() {
    // Seventeen cells of two doubles.
    const MOST: u64 = 17 * 16;
    let server = RedisServer::start();
    let subject = Subject::lua(&server, crate::support::stores::Ttl::Applies);
    let limit = sliding(100_000, Micros(3600 * SECOND));
    let mut longest = 0;
    for round in 0..2000_u64 {
        // Each stands for fifty requests; two hours in all.
        assert!(subject.take("k", &limit, 50).allowed || round > 1000);
        subject.advance(3_600_000);
        if round % 50 == 0 {
            longest = longest.max(length_of_the_state(&server));
        }
    }
    assert!((MOST - 16..=MOST).contains(&longest), "{longest} bytes");
}

#[test]
fn a_hundred_hits_on_the_servers_own_clock_stay_small() {
    let server = RedisServer::start();
    let store = Redis::new(server.dsn(), PATIENT);
    let limit = sliding(1_000_000, Micros(20_000));
    for _ in 0..400 {
        let asked = store.decide(&question(Key::unnamed(b"k"), &limit, Ask::take(1)));
        assert!(asked.is_ok(), "{asked:?}");
    }
    assert!(length_of_the_state(&server) <= 17 * 16);
}
