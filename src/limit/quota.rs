//! Quota: so many in a calendar hour, day, ISO week or month of a time zone.
//!
//! The wall clock only finds the boundaries; a state holds its own end like any
//! window. A zone's rules come from the IANA database by way of `jiff`: a day
//! may have 23 or 25 hours or start at 01:00 because there was no midnight, an
//! hour may come twice, and a shift may be of half an hour.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use super::error::{Argument, LimitError};
use super::window::{self, Window};
use super::{Ask, Fraction, Kind, Micros, Outcome};

/// A calendar period.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Period {
    /// From one full hour on the wall clock to the next.
    Hour,
    /// From the start of a day to the start of the next.
    Day,
    /// From Monday on (ISO 8601).
    Week,
    /// From the first of a month on.
    Month,
}

impl Period {
    /// The name, as it stands in specs and keys.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hour => "hour",
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
        }
    }
}

/// So many per calendar period.
///
/// ```
/// use sluice::limit::{Micros, Period, Quota};
///
/// // 2026-03-08 is 23 hours long in New York: clocks go forward at 02:00.
/// let quota = Quota::new(1000, Period::Day, "America/New_York")?;
/// let noon = Micros(1_772_985_600_000_000);
/// let (begins, ends) = quota.period_at(noon);
/// assert_eq!(ends.since(begins), Micros(23 * 3600 * 1_000_000));
/// # Ok::<(), sluice::limit::LimitError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quota {
    limit: u32,
    period: Period,
    zone: TimeZone,
}

const HOUR: u64 = 3_600_000_000;

impl Quota {
    /// At most `limit` per `period` in the IANA time zone `zone`.
    ///
    /// A limit of 0 denies every request.
    ///
    /// # Errors
    /// Where limit is not within `0 ..= 32 000 000`, or the zone is unknown.
    pub fn new(limit: i64, period: Period, zone: &str) -> Result<Self, LimitError> {
        let limit = LimitError::check_size(Argument::Limit, limit)?;
        let zone = TimeZone::get(zone).map_err(|_| {
            LimitError::new(
                Argument::Timezone,
                format!("must be an IANA time zone such as Asia/Shanghai, \"{zone}\" given"),
            )
        })?;
        Ok(Self {
            limit,
            period,
            zone,
        })
    }

    /// The most that one period admits.
    pub fn limit(&self) -> u32 {
        self.limit
    }

    /// The period.
    pub fn period(&self) -> Period {
        self.period
    }

    /// The zone's name.
    pub fn zone(&self) -> &str {
        self.zone.iana_name().unwrap_or("UTC")
    }

    /// The period's length as people count it; a real one may differ.
    pub fn usual_length(&self) -> Micros {
        match self.period {
            Period::Hour => Micros(HOUR),
            Period::Day => Micros(24 * HOUR),
            Period::Week => Micros(7 * 24 * HOUR),
            Period::Month => Micros(30 * 24 * HOUR),
        }
    }

    #[must_use]
    pub(super) fn scaled(&self, factor: Fraction) -> Self {
        Self {
            limit: factor.scale_up(self.limit),
            ..self.clone()
        }
    }

    /// The beginning and the end of the period that Unix time `now` lies in.
    pub fn period_at(&self, now: Micros) -> (Micros, Micros) {
        // Past the year 9999 the calendar has no answer; a long window does.
        self.calendar_period(now)
            .unwrap_or((now, now.after(super::MAX_PERIOD)))
    }

    fn calendar_period(&self, now: Micros) -> Option<(Micros, Micros)> {
        let instant = Timestamp::from_microsecond(i64::try_from(now.0).ok()?).ok()?;
        if self.period == Period::Hour {
            return Some(self.hour_at(instant, now));
        }
        let today = instant.to_zoned_datetime(self.zone.clone()).date();
        let (first, next) = match self.period {
            Period::Hour | Period::Day => (today, today.tomorrow().ok()?),
            Period::Week => {
                let since_monday = today.weekday().to_monday_zero_offset();
                let monday = today.checked_sub(days(since_monday.into())).ok()?;
                (monday, monday.checked_add(days(7)).ok()?)
            }
            Period::Month => {
                let last = today.last_of_month();
                (today.first_of_month(), last.tomorrow().ok()?)
            }
        };
        Some((self.start_of(first)?, self.start_of(next)?))
    }

    /// The first instant of a day: midnight, or what comes where there is none.
    fn start_of(&self, day: Date) -> Option<Micros> {
        let start = day.to_zoned_datetime(self.zone.clone()).ok()?;
        u64::try_from(start.timestamp().as_microsecond())
            .ok()
            .map(Micros)
    }

    /// The hour on the wall clock, cut where the clock is turned.
    fn hour_at(&self, instant: Timestamp, now: Micros) -> (Micros, Micros) {
        let offset = i64::from(self.zone.to_offset(instant).seconds()) * 1_000_000;
        let into = (now.0 as i64 + offset).rem_euclid(HOUR as i64) as u64;
        let mut begins = now.since(Micros(into));
        let mut ends = begins.after(Micros(HOUR));
        // `preceding` leaves out the instant itself.
        let after = instant + jiff::SignedDuration::from_micros(1);
        if let Some(turned) = self.zone.preceding(after).next() {
            begins = begins.max(micros(turned.timestamp()));
        }
        if let Some(turns) = self.zone.following(instant).next() {
            ends = ends.min(micros(turns.timestamp()));
        }
        (begins, ends)
    }
}

/// In Unix time: a store that has a clock of another kind reads the wall clock
/// for quotas.
impl Kind for Quota {
    type State = Window;

    fn decide(&self, state: Option<Window>, now: Micros, ask: Ask) -> Outcome<Window> {
        let (_, end) = self.period_at(now);
        window::decide(self.limit, state, end, now, ask)
    }

    fn give_back(&self, state: Window, now: Micros, cost: u64, taken_at: Micros) -> Option<Window> {
        let (begins, _) = self.period_at(now);
        (taken_at >= begins)
            .then(|| window::give_back(state, now, cost))
            .flatten()
    }

    fn spent(&self, state: Window, now: Micros) -> u64 {
        window::spent(state, now)
    }

    /// The calendar is the same for every clock that shows Unix time.
    fn adopted(&self, state: Window, _: Micros, _: Micros, share: Fraction) -> Window {
        window::shared(state, share)
    }
}

fn days(count: i64) -> jiff::Span {
    jiff::Span::new().days(count)
}

fn micros(instant: Timestamp) -> Micros {
    Micros(u64::try_from(instant.as_microsecond()).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Boundaries of the period that a local time lies in, as local times.
    fn period(period: Period, zone: &str, at: &str) -> (String, String) {
        let quota = Quota::new(1, period, zone).unwrap();
        let instant: Timestamp = at.parse().unwrap();
        let (begins, ends) = quota.period_at(micros(instant));
        let show = |time: Micros| {
            let time = Timestamp::from_microsecond(time.0 as i64).unwrap();
            time.to_string()
        };
        (show(begins), show(ends))
    }

    fn is((begins, ends): &(String, String), expected_begin: &str, expected_end: &str) {
        assert_eq!(begins, expected_begin);
        assert_eq!(ends, expected_end);
    }

    #[test]
    fn a_day_is_as_long_as_the_zone_makes_it() {
        is(
            &period(Period::Day, "America/New_York", "2026-03-08T16:00:00Z"),
            "2026-03-08T05:00:00Z",
            "2026-03-09T04:00:00Z",
        );
        is(
            &period(Period::Day, "America/New_York", "2026-11-01T16:00:00Z"),
            "2026-11-01T04:00:00Z",
            "2026-11-02T05:00:00Z",
        );
        is(
            &period(Period::Day, "Asia/Shanghai", "2026-11-01T16:00:00Z"),
            "2026-11-01T16:00:00Z",
            "2026-11-02T16:00:00Z",
        );
    }

    #[test]
    fn a_day_without_a_midnight_starts_when_it_starts() {
        // In Cairo 2026-04-24 begins at 01:00, which is 22:00 UTC.
        is(
            &period(Period::Day, "Africa/Cairo", "2026-04-24T10:00:00Z"),
            "2026-04-23T22:00:00Z",
            "2026-04-24T21:00:00Z",
        );
        is(
            &period(Period::Day, "Africa/Cairo", "2026-04-23T21:59:59Z"),
            "2026-04-22T22:00:00Z",
            "2026-04-23T22:00:00Z",
        );
    }

    #[test]
    fn an_hour_that_comes_twice_is_two_hours_and_a_half_hours_shift_cuts_one() {
        is(
            &period(Period::Hour, "America/New_York", "2026-11-01T05:30:00Z"),
            "2026-11-01T05:00:00Z",
            "2026-11-01T06:00:00Z",
        );
        is(
            &period(Period::Hour, "America/New_York", "2026-11-01T06:30:00Z"),
            "2026-11-01T06:00:00Z",
            "2026-11-01T07:00:00Z",
        );
        // Lord Howe goes back from 02:00 to 01:30 on 2026-04-05, at 15:00 UTC.
        is(
            &period(Period::Hour, "Australia/Lord_Howe", "2026-04-04T14:59:00Z"),
            "2026-04-04T14:00:00Z",
            "2026-04-04T15:00:00Z",
        );
        is(
            &period(Period::Hour, "Australia/Lord_Howe", "2026-04-04T15:10:00Z"),
            "2026-04-04T15:00:00Z",
            "2026-04-04T15:30:00Z",
        );
        is(
            &period(Period::Hour, "Asia/Kolkata", "2026-04-04T15:10:00Z"),
            "2026-04-04T14:30:00Z",
            "2026-04-04T15:30:00Z",
        );
    }

    #[test]
    fn weeks_begin_on_monday_also_across_a_year_of_53_weeks() {
        // 2026 has a week 53: it ends on Sunday, 2027-01-03.
        is(
            &period(Period::Week, "UTC", "2027-01-01T12:00:00Z"),
            "2026-12-28T00:00:00Z",
            "2027-01-04T00:00:00Z",
        );
    }

    #[test]
    fn months_end_where_they_end() {
        is(
            &period(Period::Month, "UTC", "2028-02-29T23:59:59Z"),
            "2028-02-01T00:00:00Z",
            "2028-03-01T00:00:00Z",
        );
        is(
            &period(Period::Month, "Asia/Shanghai", "2026-02-28T15:59:59Z"),
            "2026-01-31T16:00:00Z",
            "2026-02-28T16:00:00Z",
        );
    }

    #[test]
    fn an_unknown_zone_is_named() {
        let error = Quota::new(1, Period::Day, "Mars/Olympus").unwrap_err();
        assert!(error.to_string().contains("Mars/Olympus"), "{error}");
    }
}
