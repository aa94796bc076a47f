//! Permits with a lease: they lapse, may be renewed and released, are never
//! more than there are, and their key goes by itself.

mod support;

use std::sync::atomic::{AtomicI64, Ordering::SeqCst};

use sluice::limit::{Ask, Key, Limit, Micros};
use sluice::store::redis::Redis;
use sluice::store::{Answer, Held, Question, Store};

use support::limits::{SECOND, permits, question};
use support::redis_server::{PATIENT, RedisServer};
use support::rng::Rng;
use support::stores::{Subject, Ttl};

const KEY: Key<'static> = Key {
    name: b"",
    bytes: b"k",
};

/// Runs a story on each store whose permits have a lease.
fn on_every_lease(story: impl Fn(&Subject)) {
    let server = RedisServer::start();
    for subject in [Subject::memory(), Subject::lua(&server, Ttl::Applies)] {
        println!("on {}", subject.name);
        story(&subject);
    }
}

fn take(limit: &Limit) -> Question<'_> {
    question(KEY, limit, Ask::take(1))
}

fn acquire(store: &Subject, limit: &Limit) -> Answer {
    let answer = store.answer(KEY, limit, Ask::take(1));
    assert_eq!(answer.decision.allowed, answer.permit.is_some());
    answer
}

fn held(answer: &Answer) -> Held {
    answer.held().expect("a permit")
}

#[test]
fn a_permit_lapses_with_its_lease() {
    on_every_lease(|store| {
        let limit = permits(2, 10);
        assert_eq!(acquire(store, &limit).decision.remaining, 1);
        store.advance(4 * SECOND);
        assert_eq!(acquire(store, &limit).decision.remaining, 0);
        let denied = acquire(store, &limit).decision;
        assert!(!denied.allowed);
        assert_eq!(denied.retry_after, Some(Micros(SECOND)));
        store.advance(6 * SECOND - 1);
        assert!(!acquire(store, &limit).decision.allowed);
        store.advance(1);
        assert_eq!(store.peek("k", &limit, 1).remaining, 1);
        assert!(acquire(store, &limit).decision.allowed);
        store.advance(100 * SECOND);
        assert_eq!(store.peek("k", &limit, 1).remaining, 2);
    });
}

#[test]
fn a_renewed_permit_lasts_a_whole_lease_more() {
    on_every_lease(|store| {
        let limit = permits(1, 10);
        let first = acquire(store, &limit);
        let renew = || store.store().renew(&take(&limit), held(&first));
        for _ in 0..5 {
            store.advance(10 * SECOND - 1);
            assert!(!acquire(store, &limit).decision.allowed);
            assert_eq!(renew(), Ok(true));
        }
        store.advance(10 * SECOND);
        assert_eq!(renew(), Ok(false), "it has lapsed");
        let second = acquire(store, &limit);
        assert!(second.decision.allowed);
        assert_eq!(renew(), Ok(false), "another has it");
        let renewed = store.store().renew(&take(&limit), held(&second));
        assert_eq!(renewed, Ok(true));
    });
}

#[test]
fn a_permit_is_released_once_and_only_while_it_is_held() {
    on_every_lease(|store| {
        let limit = permits(1, 10);
        let release = |answer: &Answer| store.store().release(&take(&limit), held(answer));
        let first = acquire(store, &limit);
        assert_eq!(release(&first), Ok(true));
        assert_eq!(release(&first), Ok(false), "twice");
        let second = acquire(store, &limit);
        assert!(second.decision.allowed);
        assert_eq!(release(&first), Ok(false), "another's");
        assert!(!acquire(store, &limit).decision.allowed);
        store.advance(10 * SECOND);
        assert_eq!(release(&second), Ok(false), "it has lapsed");
        assert!(acquire(store, &limit).decision.allowed);
    });
}

#[test]
fn a_look_takes_nothing_and_more_than_max_never_passes() {
    on_every_lease(|store| {
        let limit = permits(3, 10);
        for (cost, allowed) in [(0, true), (1, true), (3, true), (4, false)] {
            let look = store.peek("k", &limit, cost);
            assert_eq!((look.allowed, look.remaining), (allowed, 3), "{cost}");
        }
        assert_eq!(store.peek("k", &limit, 4).retry_after, None);
        assert_eq!(store.peek("k", &limit, u64::MAX).retry_after, None);
        let nothing = permits(0, 10);
        assert!(!store.take("k", &nothing, 1).allowed);
    });
}

#[test]
fn under_a_lowered_max_what_is_held_runs_out_first() {
    on_every_lease(|store| {
        let (high, low) = (permits(8, 60), permits(5, 60));
        let all: Vec<_> = (0..8).map(|_| acquire(store, &high)).collect();
        for (in_use, answer) in (1..=8).rev().zip(&all) {
            let look = store.peek("k", &low, 1);
            assert_eq!(look.allowed, in_use < 5, "{in_use}");
            let released = store.store().release(&take(&low), held(answer));
            assert_eq!(released, Ok(true));
        }
    });
}

#[test]
fn never_more_than_max_are_held_whatever_is_done() {
    on_every_lease(|store| {
        let limit = permits(4, 10);
        let mut rng = Rng::seeded(5);
        // Permits that are held, and when they lapse.
        let mut all: Vec<(Held, Micros)> = Vec::new();
        for _ in 0..600 {
            store.advance(rng.below(3 * SECOND));
            let now = store.now();
            all.retain(|(_, lapses)| *lapses > now);
            let lapses = now.after(Micros(10 * SECOND));
            match (rng.below(4), all.pop()) {
                (0, Some((one, _))) => {
                    assert_eq!(store.store().release(&take(&limit), one), Ok(true));
                }
                (1, Some((one, _))) => {
                    all.insert(0, (one, lapses));
                    assert_eq!(store.store().renew(&take(&limit), one), Ok(true));
                }
                (_, popped) => {
                    all.extend(popped);
                    let answer = acquire(store, &limit);
                    assert_eq!(answer.decision.allowed, all.len() < 4);
                    if let Some(one) = answer.held() {
                        all.insert(0, (one, lapses));
                    }
                }
            }
            let left = store.peek("k", &limit, 1).remaining as usize;
            assert_eq!(left, 4 - all.len());
        }
    });
}

#[test]
fn eight_threads_never_hold_more_than_max() {
    let server = RedisServer::start();
    let limit = permits(3, 60);
    let (in_use, most) = (AtomicI64::new(0), AtomicI64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let store = Redis::new(server.dsn(), PATIENT);
                for _ in 0..150 {
                    let answer = store.decide(&take(&limit)).expect("an answer");
                    if let Some(permit) = answer.held() {
                        let count = in_use.fetch_add(1, SeqCst) + 1;
                        assert!(count <= 3, "{count} at once");
                        most.fetch_max(count, SeqCst);
                        std::thread::sleep(std::time::Duration::from_micros(100));
                        in_use.fetch_sub(1, SeqCst);
                        assert_eq!(store.release(&take(&limit), permit), Ok(true));
                    }
                }
            });
        }
    });
    assert!(most.load(SeqCst) > 1);
    assert_eq!(server.command(&["DBSIZE"]), "0", "all were released");
}

#[test]
fn the_key_goes_by_itself_when_the_last_lease_is_over() {
    let server = RedisServer::start();
    let store = Redis::new(server.dsn(), PATIENT);
    let ttl = || -> i64 {
        let name = server.command(&["KEYS", "*"]);
        let ttl = server.command(&["PTTL", &name]);
        ttl.parse().expect("a number of milliseconds")
    };
    let (long, short) = (permits(5, 30), permits(5, 2));
    let covers = |seconds: i64| {
        let ttl = ttl();
        assert!(
            (seconds * 1000 - 500..=seconds * 1000 + 1500).contains(&ttl),
            "{ttl} ms for {seconds} s"
        );
    };
    store.decide(&take(&short)).expect("an answer");
    covers(2);
    let first = store.decide(&take(&long)).expect("an answer");
    covers(30);
    // A shorter lease does not cut the longer one short.
    let second = store.decide(&take(&short)).expect("an answer");
    covers(30);
    assert_eq!(store.renew(&take(&short), held(&second)), Ok(true));
    covers(30);
    assert_eq!(store.release(&take(&long), held(&first)), Ok(true));
    assert!(ttl() > 0);
}
