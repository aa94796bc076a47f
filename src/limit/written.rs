//! A limit as the text that [`parse_spec`](super::parse_spec) reads.

use std::fmt;

use super::{Limit, Micros, Rate};

impl fmt::Display for Limit {
    /// The spec of this limit; `none` and `deny` for those two.
    ///
    /// ```
    /// use sluice::limit::parse_spec;
    ///
    /// assert_eq!(parse_spec("10 per minute burst 20")?.to_string(), "10/m burst 20");
    /// # Ok::<(), sluice::limit::SpecError>(())
    /// ```
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = self.size();
        match self {
            Self::TokenBucket(bucket) => {
                write_rate(f, bucket.rate())?;
                let leased = if bucket.is_leased() { " leased" } else { "" };
                write!(f, " burst {size}{leased}")
            }
            Self::LeakyBucket(queue) => {
                write_rate(f, queue.rate())?;
                write!(f, " queue {size}")
            }
            Self::FixedWindow(window) => write!(f, "{size}/{} fixed", Time(window.length())),
            Self::SlidingWindow(window) => write!(f, "{size}/{}", Time(window.length())),
            Self::Quota(quota) => write!(f, "{size}/{} {}", quota.period().name(), quota.zone()),
            Self::Concurrency(concurrency) => {
                write!(f, "{size} concurrent lease {}", Count(concurrency.lease()))
            }
            Self::None => f.write_str("none"),
            Self::Deny => f.write_str("deny"),
        }
    }
}

const UNITS: [(&str, u64); 6] = [
    ("d", 86_400_000_000),
    ("h", 3_600_000_000),
    ("m", 60_000_000),
    ("s", 1_000_000),
    ("ms", 1_000),
    ("us", 1),
];

/// A length of time in the longest unit that divides it: `5m`, `1h`.
struct Count(Micros);

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micros = self.0.0;
        UNITS
            .into_iter()
            .find(|(_, unit)| micros.is_multiple_of(*unit))
            .map_or(Ok(()), |(name, unit)| write!(f, "{}{name}", micros / unit))
    }
}

/// The same behind a slash: `m` for one minute.
struct Time(Micros);

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match UNITS.into_iter().find(|(_, unit)| *unit == self.0.0) {
            Some((name, _)) => f.write_str(name),
            None => Count(self.0).fmt(f),
        }
    }
}

/// Whole tokens per second, minute, hour or day, if the rate is that; else as
/// it is kept.
fn write_rate(f: &mut fmt::Formatter<'_>, rate: Option<Rate>) -> fmt::Result {
    let Some(rate) = rate else {
        return f.write_str("0/s");
    };
    for (name, unit) in UNITS.into_iter().take(4).rev() {
        let tokens = u128::from(rate.tokens()) * u128::from(unit);
        if tokens.is_multiple_of(rate.period().into()) {
            return write!(f, "{}/{name}", tokens / u128::from(rate.period()));
        }
    }
    write!(f, "{}/{}", rate.tokens(), Time(Micros(rate.period())))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::limit::{
        FixedWindow, LeakyBucket, Limit, Number, SlidingWindow, TokenBucket, parse_spec,
    };

    #[test]
    fn each_kind_is_written_as_people_write_it() {
        for text in [
            "20/s burst 100",
            "10/m burst 20",
            "10/m burst 20 leased",
            "1/d burst 1",
            "0/s burst 0",
            "7/h queue 50",
            "60/m",
            "200/5m",
            "5/250ms",
            "3/90s fixed",
            "1000/day Asia/Shanghai",
            "3/month UTC",
            "10 concurrent lease 5m",
            "10 concurrent lease 1m",
        ] {
            assert_eq!(parse_spec(text).unwrap().to_string(), text);
        }
        assert_eq!(Limit::None.to_string(), "none");
        assert_eq!(Limit::Deny.to_string(), "deny");
    }

    proptest! {
        #[test]
        fn what_is_written_reads_as_the_same_limit(
            size in 0_i64..1_000_000,
            exponent in -6.0_f64..6.0,
            micros in 1_u64..20_000_000_000_000,
        ) {
            let rate = Number::Float(10_f64.powf(exponent));
            let window = Number::Millionths(micros);
            let limits = [
                TokenBucket::new(size, rate).map(Limit::TokenBucket),
                LeakyBucket::with_period(size, rate, Number::Int(1)).map(Limit::LeakyBucket),
                FixedWindow::new(size, window).map(Limit::FixedWindow),
                SlidingWindow::new(size, window).map(Limit::SlidingWindow),
            ];
            for limit in limits.into_iter().flatten() {
                prop_assert_eq!(parse_spec(&limit.to_string()), Ok(limit.clone()), "{}", limit);
            }
        }
    }
}
