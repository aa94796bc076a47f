//! A leaky bucket lets a constant stream out: each booking is told how long to
//! wait, what waits is never above the rate, and a full queue refuses.

use sluice::limit::{Ask, Key, Micros};

use crate::support::limits::{SECOND, queue};
use crate::support::rng::Rng;
use crate::support::stores::{Subjects, on_every_store};

#[test]
fn bookings_are_told_to_wait_one_after_the_other() {
    on_every_store(|store| {
        for rate in [1, 5, 10, 1000] {
            let limit = queue(20, rate);
            store.reset(Key::unnamed(b"k"), &limit);
            for place in 0..20 {
                let decision = store.take("k", &limit, 1);
                assert!(decision.allowed);
                let wait = place * SECOND / rate as u64;
                assert_eq!(decision.delay, Micros(wait), "place {place} at {rate}/s");
                assert_eq!(u64::from(decision.remaining), 19 - place);
            }
            let full = store.take("k", &limit, 1);
            assert!(!full.allowed, "a full queue");
            assert_eq!(full.retry_after, Some(Micros(SECOND / rate as u64)));
            assert_eq!(full.delay, Micros::ZERO, "a refusal waits for nothing");
        }
    });
}

#[test]
fn a_booking_of_several_makes_the_next_one_wait_for_all_of_them() {
    on_every_store(|store| {
        let limit = queue(10, 10);
        assert_eq!(store.take("k", &limit, 4).delay, Micros::ZERO);
        assert_eq!(store.take("k", &limit, 3).delay, Micros(400_000));
        store.advance(250_000);
        assert_eq!(store.take("k", &limit, 1).delay, Micros(450_000));
    });
}

#[test]
fn what_goes_out_is_never_above_the_rate() {
    let subjects = Subjects::start();
    for seed in 0..12 {
        for subject in subjects.iter() {
            let mut rng = Rng::seeded(seed);
            let rate = rng.pick(&[3, 10, 250]);
            let limit = queue(8, rate);
            subject.reset(Key::unnamed(b"k"), &limit);
            // When the one before is out, in units of 1/rate us.
            let mut free_at = 0;
            for _ in 0..80 {
                subject.advance(rng.below(2 * SECOND / rate as u64));
                let cost = 1 + rng.below(3);
                let decision = subject.take("k", &limit, cost);
                if decision.allowed {
                    let out = subject.now().after(decision.delay).0 * rate as u64;
                    assert!(out >= free_at, "{}, seed {seed}: too early", subject.name);
                    assert!(decision.delay.0 * (rate as u64) < 9 * SECOND);
                    // Delays are whole microseconds, rounded up.
                    free_at = out - (rate as u64 - 1).min(out) + cost * SECOND;
                }
            }
        }
    }
}

#[test]
fn a_reservation_waits_no_longer_than_it_may() {
    on_every_store(|store| {
        let limit = queue(10, 10);
        let key = Key::unnamed(b"k");
        let reserve = |cost, most| store.ask(key, &limit, Ask::reserve(cost, Micros(most)));
        assert_eq!(reserve(3, 0).delay, Micros::ZERO);
        let late = reserve(1, 299_999);
        assert!(!late.allowed);
        assert_eq!(late.retry_after, Some(Micros(1)));
        assert_eq!(late.remaining, 7, "and nothing was booked");
        let booked = reserve(1, 300_000);
        assert!(booked.allowed);
        assert_eq!(booked.delay, Micros(300_000));
        // Time alone does not help where there is no room.
        let full = reserve(7, 10 * SECOND);
        assert!(!full.allowed);
        assert_eq!(full.retry_after, Some(Micros(100_000)));
        assert_eq!(reserve(11, 10 * SECOND).retry_after, None);
    });
}
