//! Limits written as text.
//!
//! ```text
//! spec    = rate | amount "concurrent" [ "lease" time ]
//! rate    = amount ( "/" | "per" ) time [ shape ]
//! shape   = "fixed"             a fixed window
//!         | "burst" capacity [ "leased" ]
//!                               a token bucket, of which hosts may take ahead
//!         | "queue" capacity    a leaky bucket
//!         | zone                a quota: IANA zone, time is hour, day, week or month
//!         | nothing             a sliding window
//! time    = [ count ] unit
//! unit    = "us" | "ms" | "s" | "m" | "h" | "d" | "w", or written out, with or without s
//! ```
//!
//! A spec means what it says: `60/m` is never more than 60 in any minute.

use std::fmt;

use super::{
    Concurrency, FixedWindow, LeakyBucket, Limit, LimitError, Number, Period, Quota, SlidingWindow,
    TokenBucket,
};

/// Why a text is not a spec: where, what was found, what was expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecError {
    /// The column of the fault in the text, from 1 on.
    pub column: usize,
    message: String,
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "must be a spec such as \"60/m\", \"20/s burst 100\", \"60 per minute fixed\", \"1000 per day Asia/Shanghai\" or \"10 concurrent\": at column {}, {}",
            self.column, self.message
        )
    }
}

impl std::error::Error for SpecError {}

/// Reads a spec.
///
/// ```
/// use sluice::limit::{Limit, parse_spec};
///
/// assert!(matches!(parse_spec("60/m")?, Limit::SlidingWindow(_)));
/// assert!(matches!(parse_spec("20/s burst 100")?, Limit::TokenBucket(_)));
/// # Ok::<(), sluice::limit::SpecError>(())
/// ```
///
/// # Errors
/// Says where the text stops to be one, and what was expected there.
pub fn parse_spec(text: &str) -> Result<Limit, SpecError> {
    let mut words = Words { text, at: 0 };
    let amount_at = words.position();
    let amount = words.number("a number")?;
    let divider_at = words.position();
    match words.word() {
        "concurrent" => {
            let lease = match words.word() {
                "" => Number::Int(60),
                "lease" => words.time()?.seconds,
                other => return Err(words.expected_before(other, "\"lease\" or the end")),
            };
            words.end()?;
            let max = whole(amount, amount_at)?;
            let limit = Concurrency::new(max, lease);
            limit.map(Limit::Concurrency).map_err(at(amount_at))
        }
        "/" | "per" => of_rate(&mut words, amount, amount_at),
        other => Err(SpecError {
            column: divider_at,
            message: format!(
                "expected \"/\", \"per\" or \"concurrent\", found {}",
                found(other)
            ),
        }),
    }
}

fn of_rate(words: &mut Words<'_>, amount: Number, amount_at: usize) -> Result<Limit, SpecError> {
    let time = words.time()?;
    let shape_at = words.position();
    let shape = words.word();
    let limit = match shape {
        "burst" | "queue" => {
            let capacity_at = words.position();
            let capacity = words.number("a capacity")?;
            let capacity = whole(capacity, capacity_at)?;
            if shape == "burst" {
                let bucket = TokenBucket::with_period(capacity, amount, time.seconds);
                let is_leased = match words.word() {
                    "" => false,
                    "leased" => true,
                    other => return Err(words.expected_before(other, "\"leased\" or the end")),
                };
                let lease = |bucket: TokenBucket| if is_leased { bucket.leased() } else { bucket };
                bucket.map(lease).map(Limit::TokenBucket)
            } else {
                LeakyBucket::with_period(capacity, amount, time.seconds).map(Limit::LeakyBucket)
            }
            .map_err(at(amount_at))?
        }
        "" | "fixed" => {
            if time.period == Some(Period::Month) {
                return Err(SpecError {
                    column: shape_at,
                    message: "a month has no fixed length; add a time zone, such as UTC".into(),
                });
            }
            let size = whole(amount, amount_at)?;
            if shape == "fixed" {
                FixedWindow::new(size, time.seconds).map(Limit::FixedWindow)
            } else {
                SlidingWindow::new(size, time.seconds).map(Limit::SlidingWindow)
            }
            .map_err(at(amount_at))?
        }
        zone if zone.contains('/') || zone == "UTC" => {
            let Some(period) = time.period else {
                return Err(SpecError {
                    column: shape_at,
                    message: "a time zone goes with one hour, day, week or month".into(),
                });
            };
            let size = whole(amount, amount_at)?;
            let quota = Quota::new(size, period, zone);
            quota.map(Limit::Quota).map_err(at(shape_at))?
        }
        other => {
            return Err(SpecError {
                column: shape_at,
                message: format!(
                    "expected \"burst\", \"queue\", \"fixed\", a time zone or the end, found {}",
                    found(other)
                ),
            });
        }
    };
    words.end()?;
    Ok(limit)
}

/// In microseconds.
const SECOND: u64 = 1_000_000;
const DAY: u64 = 86_400 * SECOND;

/// A length of time, and the calendar period of the same name.
struct Time {
    seconds: Number,
    period: Option<Period>,
}

struct Words<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Words<'a> {
    fn rest(&mut self) -> &'a str {
        let rest = &self.text[self.at..];
        let trimmed = rest.trim_start();
        self.at += rest.len() - trimmed.len();
        trimmed
    }

    /// The column of the next word.
    fn position(&mut self) -> usize {
        self.rest();
        self.text[..self.at].chars().count() + 1
    }

    /// The next word: a slash after a number, or all up to a blank.
    fn word(&mut self) -> &'a str {
        let rest = self.rest();
        let length = if rest.starts_with('/') {
            1
        } else {
            rest.find(char::is_whitespace).unwrap_or(rest.len())
        };
        self.at += length;
        &rest[..length]
    }

    fn expected_before(&mut self, word: &str, what: &str) -> SpecError {
        self.at -= word.len();
        SpecError {
            column: self.position(),
            message: format!("expected {what}, found {}", found(word)),
        }
    }

    fn end(&mut self) -> Result<(), SpecError> {
        match self.word() {
            "" => Ok(()),
            word => Err(self.expected_before(word, "the end")),
        }
    }

    fn digits(&mut self) -> &'a str {
        let rest = self.rest();
        let length = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }

    fn number(&mut self, what: &str) -> Result<Number, SpecError> {
        let column = self.position();
        let digits = self.digits();
        let number = if digits.contains('.') {
            digits.parse().ok().map(Number::Float)
        } else {
            digits.parse().ok().map(Number::Int)
        };
        number.ok_or_else(|| SpecError {
            column,
            message: format!("expected {what}, found {}", found(digits)),
        })
    }

    fn time(&mut self) -> Result<Time, SpecError> {
        let column = self.position();
        let starts_with_digit = self.rest().starts_with(|c: char| c.is_ascii_digit());
        let count = if starts_with_digit {
            self.number("a time")?
        } else {
            Number::Int(1)
        };
        let unit = self.word();
        let (micros, period) = match unit {
            "us" => (1, None),
            "ms" => (1000, None),
            "s" | "sec" | "second" | "seconds" => (SECOND, None),
            "m" | "min" | "minute" | "minutes" => (60 * SECOND, None),
            "h" | "hour" | "hours" => (3600 * SECOND, Some(Period::Hour)),
            "d" | "day" | "days" => (DAY, Some(Period::Day)),
            "w" | "week" | "weeks" => (7 * DAY, Some(Period::Week)),
            "month" => (30 * DAY, Some(Period::Month)),
            other => {
                return Err(SpecError {
                    column,
                    message: format!(
                        "expected a time such as s, m, hour, day or 5m, found {}",
                        found(other)
                    ),
                });
            }
        };
        let seconds = match count {
            Number::Int(count) if micros % SECOND == 0 => {
                Number::Int(count.saturating_mul((micros / SECOND) as i64))
            }
            Number::Int(count) => Number::Millionths((count as u64).saturating_mul(micros)),
            count => Number::Float(count.as_f64() * (micros as f64 / SECOND as f64)),
        };
        Ok(Time {
            seconds,
            period: period.filter(|_| count == Number::Int(1)),
        })
    }
}

fn whole(number: Number, column: usize) -> Result<i64, SpecError> {
    match number {
        Number::Int(int) => Ok(int),
        number => Err(SpecError {
            column,
            message: format!("expected a whole number, found {number}"),
        }),
    }
}

fn at(column: usize) -> impl Fn(LimitError) -> SpecError {
    move |error| SpecError {
        column,
        message: error.to_string(),
    }
}

fn found(word: &str) -> String {
    if word.is_empty() {
        "the end".into()
    } else {
        format!("\"{word}\"")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limit::Micros;

    #[test]
    fn each_form_is_the_limit_it_says() {
        let window = |limit, seconds| SlidingWindow::new(limit, Number::Int(seconds)).unwrap();
        let bucket = |capacity, rate, per| {
            TokenBucket::with_period(capacity, Number::Int(rate), Number::Int(per)).unwrap()
        };
        for (text, limit) in [
            ("60/m", Limit::SlidingWindow(window(60, 60))),
            ("60 / minute", Limit::SlidingWindow(window(60, 60))),
            ("200/300s", Limit::SlidingWindow(window(200, 300))),
            ("10 per 5 minutes", Limit::SlidingWindow(window(10, 300))),
            ("20/s burst 100", Limit::TokenBucket(bucket(100, 20, 1))),
            ("10/m burst 10", Limit::TokenBucket(bucket(10, 10, 60))),
            (
                "20/s burst 100 leased",
                Limit::TokenBucket(bucket(100, 20, 1).leased()),
            ),
            (
                "60 per minute fixed",
                Limit::FixedWindow(FixedWindow::new(60, Number::Int(60)).unwrap()),
            ),
            (
                "5/s queue 50",
                Limit::LeakyBucket(
                    LeakyBucket::with_period(50, Number::Int(5), Number::Int(1)).unwrap(),
                ),
            ),
            (
                "1000 per day Asia/Shanghai",
                Limit::Quota(Quota::new(1000, Period::Day, "Asia/Shanghai").unwrap()),
            ),
            (
                "3/month UTC",
                Limit::Quota(Quota::new(3, Period::Month, "UTC").unwrap()),
            ),
            (
                "10 concurrent",
                Limit::Concurrency(Concurrency::new(10, Number::Int(60)).unwrap()),
            ),
            (
                "10 concurrent lease 5m",
                Limit::Concurrency(Concurrency::new(10, Number::Int(300)).unwrap()),
            ),
        ] {
            assert_eq!(parse_spec(text), Ok(limit), "{text}");
        }
        let Ok(Limit::SlidingWindow(short)) = parse_spec("5/250ms") else {
            panic!("5/250ms is a sliding window");
        };
        assert_eq!(short.length(), Micros(250_000));
    }

    #[test]
    fn what_is_no_spec_says_where_and_what_was_expected() {
        for (text, column, expected) in [
            ("", 1, "a number"),
            ("x/m", 1, "a number"),
            ("60", 3, "\"per\""),
            ("60 fortnight", 4, "found \"fortnight\""),
            ("60/", 4, "a time"),
            ("60/fortnight", 4, "found \"fortnight\""),
            ("60/m bursts 5", 6, "found \"bursts\""),
            ("60/m burst", 11, "a capacity"),
            ("60/m burst 5 6", 14, "the end"),
            ("60/m burst 5 rented", 14, "\"leased\""),
            ("60/m burst 5 leased twice", 21, "the end"),
            ("60/m queue 5 leased", 14, "the end"),
            ("60/m Europe/Berlin", 6, "one hour, day"),
            ("5/month", 8, "time zone"),
            ("5/day Mars/Olympus", 7, "Mars/Olympus"),
            ("0.5/m", 1, "a whole number"),
            ("99999999999/m", 1, "32000000"),
            ("5 concurrent please", 14, "\"lease\""),
        ] {
            let error = parse_spec(text).unwrap_err();
            assert_eq!(error.column, column, "{text}: {error}");
            assert!(error.to_string().contains(expected), "{text}: {error}");
        }
    }
}
