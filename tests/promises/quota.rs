//! A quota follows the calendar of its zone, wherever the server stands and
//! whatever its clock says.

use sluice::limit::{Ask, Key, Limit, Micros, Period};
use sluice::store::Store;
use sluice::store::redis::Redis;

use crate::support::limits::{DAY, SECOND, question, quota};
use crate::support::redis_server::{PATIENT, RedisServer};
use crate::support::stores::{Subject, on_every_store};

/// Unix time of a UTC date and time after [`MADE_AT`].
///
/// [`MADE_AT`]: crate::support::stores::MADE_AT
fn utc(text: &str) -> Micros {
    let instant: jiff::Timestamp = text.parse().expect("a time");
    Micros(u64::try_from(instant.as_microsecond()).expect("after 1970"))
}

/// Spends all in the period of `at`, which is to last until `end`.
fn is_one_period(store: &Subject, period: Period, zone: &str, at: &str, end: &str) {
    let limit = quota(3, period, zone);
    let key = Key::unnamed(b"k");
    let (at, end) = (utc(at), utc(end));
    store.reset(key, &limit);
    store.set_time(at);
    let place = format!("{period:?} of {zone} at {at:?}");
    let first = store.take("k", &limit, 3);
    assert!(first.allowed, "{place}");
    assert_eq!(first.reset_after, end.since(at), "{place}");
    let denied = store.take("k", &limit, 1);
    assert_eq!(denied.retry_after, Some(end.since(at)), "{place}");
    store.set_time(Micros(end.0 - 1));
    assert!(!store.take("k", &limit, 1).allowed, "{place}");
    store.set_time(end);
    assert!(store.take("k", &limit, 3).allowed, "{place}");
}

/// A period: its kind and zone, a time within it, and its end.
type Row = (Period, &'static str, &'static str, &'static str);

fn hold(rows: &[Row]) {
    on_every_store(|store| {
        for (period, zone, at, end) in rows {
            is_one_period(store, *period, zone, at, end);
        }
    });
}

#[test]
fn a_day_has_23_or_25_hours_where_clocks_are_turned() {
    hold(&[
        (
            Period::Day,
            "America/New_York",
            "2027-03-14T05:00:00Z",
            "2027-03-15T04:00:00Z",
        ),
        (
            Period::Day,
            "America/New_York",
            "2027-11-07T04:00:00Z",
            "2027-11-08T05:00:00Z",
        ),
        (
            Period::Day,
            "Europe/Berlin",
            "2027-03-28T00:30:00Z",
            "2027-03-28T22:00:00Z",
        ),
        (
            Period::Day,
            "Asia/Shanghai",
            "2027-03-14T16:00:00Z",
            "2027-03-15T16:00:00Z",
        ),
    ]);
}

#[test]
fn a_day_without_a_midnight_begins_at_one() {
    // Cairo goes from 00:00 to 01:00 on the last Friday in April.
    hold(&[
        (
            Period::Day,
            "Africa/Cairo",
            "2027-04-29T12:00:00Z",
            "2027-04-29T22:00:00Z",
        ),
        (
            Period::Day,
            "Africa/Cairo",
            "2027-04-29T22:00:00Z",
            "2027-04-30T21:00:00Z",
        ),
    ]);
}

#[test]
fn an_hour_that_comes_twice_is_two_and_a_half_hours_shift_cuts_one() {
    hold(&[
        (
            Period::Hour,
            "America/New_York",
            "2027-11-07T05:30:00Z",
            "2027-11-07T06:00:00Z",
        ),
        (
            Period::Hour,
            "America/New_York",
            "2027-11-07T06:30:00Z",
            "2027-11-07T07:00:00Z",
        ),
        // Lord Howe goes back by half an hour, at 15:00 UTC.
        (
            Period::Hour,
            "Australia/Lord_Howe",
            "2027-04-03T14:10:00Z",
            "2027-04-03T15:00:00Z",
        ),
        (
            Period::Hour,
            "Australia/Lord_Howe",
            "2027-04-03T15:10:00Z",
            "2027-04-03T15:30:00Z",
        ),
        (
            Period::Hour,
            "Asia/Kolkata",
            "2027-04-03T15:10:00Z",
            "2027-04-03T15:30:00Z",
        ),
    ]);
}

#[test]
fn months_and_weeks_end_where_they_end() {
    hold(&[
        (
            Period::Month,
            "UTC",
            "2027-02-28T23:59:59Z",
            "2027-03-01T00:00:00Z",
        ),
        (
            Period::Month,
            "UTC",
            "2028-02-28T23:59:59Z",
            "2028-03-01T00:00:00Z",
        ),
        (
            Period::Month,
            "Asia/Shanghai",
            "2027-02-28T15:59:59Z",
            "2027-02-28T16:00:00Z",
        ),
        // 2026 and 2032 have a week 53.
        (
            Period::Week,
            "UTC",
            "2026-12-29T12:00:00Z",
            "2027-01-04T00:00:00Z",
        ),
        (
            Period::Week,
            "UTC",
            "2033-01-01T12:00:00Z",
            "2033-01-03T00:00:00Z",
        ),
    ]);
}

#[test]
fn quotas_of_other_zones_and_periods_count_apart() {
    on_every_store(|store| {
        let limits = [
            quota(1, Period::Day, "UTC"),
            quota(1, Period::Day, "Asia/Shanghai"),
            quota(1, Period::Hour, "UTC"),
            quota(1, Period::Month, "UTC"),
        ];
        for limit in &limits {
            assert!(store.take("k", limit, 1).allowed, "{limit:?}");
        }
        for limit in &limits {
            assert!(!store.take("k", limit, 1).allowed, "{limit:?}");
        }
    });
}

/// The scripts' clock, which this test sets, is days and years away from ours.
#[test]
fn a_server_with_another_time_is_asked_again_with_its_own() {
    let server = RedisServer::start();
    let subject = Subject::lua(&server, crate::support::stores::Ttl::Applies);
    let limit = quota(5, Period::Day, "Asia/Shanghai");
    let key = Key::unnamed(b"k");
    let midnight = utc("2029-06-01T16:00:00Z");
    for days in [0, 1, 100, 1000] {
        subject.set_time(midnight.after(Micros(days * DAY)));
        let before = server.calls_of("evalsha").all;
        let taken = subject.answer(key, &limit, Ask::take(2));
        assert_eq!(server.calls_of("evalsha").all, before + 2, "asked twice");
        assert_eq!(taken.decision.remaining, 3);
        assert_eq!(taken.decision.reset_after, Micros(DAY));
        assert_eq!(taken.at, subject.now(), "by the server's time");
        subject.refund(key, &limit, 2, &taken);
        assert_eq!(subject.peek("k", &limit, 1).remaining, 5);
        let charged = subject.charge("k", &limit, 9);
        assert_eq!((charged.allowed, charged.remaining), (false, 0));
    }
}

#[test]
fn a_server_whose_time_is_ours_is_asked_once() {
    let server = RedisServer::start();
    let store = Redis::new(server.dsn(), PATIENT);
    for period in [Period::Hour, Period::Day, Period::Week, Period::Month] {
        for zone in ["UTC", "Asia/Shanghai", "America/New_York"] {
            let limit = quota(5, period, zone);
            let Limit::Quota(kind) = &limit else {
                unreachable!()
            };
            let before = server.calls_of("evalsha").all;
            let question = question(Key::unnamed(b"k"), &limit, Ask::take(2));
            let answer = store.decide(&question).expect("an answer");
            assert_eq!(server.calls_of("evalsha").all, before + 1);
            let (_, end) = kind.period_at(answer.at);
            assert_eq!(answer.decision.reset_after, end.since(answer.at));
        }
    }
}

#[test]
fn a_clock_that_steps_back_over_midnight_blocks_nobody_for_two_days() {
    on_every_store(|store| {
        let limit = quota(5, Period::Day, "UTC");
        store.set_time(utc("2027-06-02T00:10:00Z"));
        store.take("k", &limit, 5);
        store.set_time(utc("2027-06-01T23:50:00Z"));
        let denied = store.take("k", &limit, 1);
        assert_eq!(denied.retry_after, Some(Micros(600 * SECOND)));
        store.advance(600 * SECOND);
        assert!(store.take("k", &limit, 1).allowed);
    });
}
