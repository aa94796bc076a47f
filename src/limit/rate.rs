//! A rate as whole tokens per whole microseconds.

use super::error::{Argument, LimitError};
use super::{Fraction, MAX_LIMIT, MAX_PERIOD, Micros, Number};

/// N tokens per P microseconds, in lowest terms.
///
/// Debt is counted in units of 1/P token, so nothing is rounded when time
/// passes. The bounds keep every product of the bucket's arithmetic below 2⁵³,
/// where the doubles of Redis' Lua are exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    tokens: u32,
    period: u64,
    /// The binary logarithm of the microseconds one token takes, rounded up:
    /// worked out once, since a store may want it at every call.
    token_log2: u8,
}

/// The most tokens in one period: 2²⁰.
const MAX_TOKENS: u128 = 1 << 20;
/// Where a double stops to count by ones.
const EXACT: u128 = 1 << 53;

const FASTEST: f64 = 1_000_000.0;
const SLOWEST: f64 = 1.0 / (366.0 * 86_400.0);

impl Rate {
    /// `amount` tokens per `per` seconds, for a bucket of `capacity` tokens.
    ///
    /// Ints are exact. A float is the simplest fraction that it can mean, or
    /// the nearest one below that the arithmetic can hold.
    ///
    /// # Errors
    /// Outside one token per 366 days to 1 000 000 per second, or where the
    /// bucket would take over 285 years to fill.
    pub fn new(amount: Number, per: Number, capacity: u32) -> Result<Self, LimitError> {
        if !(1e-6..=MAX_PERIOD.as_secs_f64()).contains(&per.as_f64()) {
            return Err(LimitError::new(
                Argument::Per,
                format!("must be between 0.000001 and 31622400 seconds (366 days), {per} given"),
            ));
        }
        let refuse = || {
            LimitError::new(
                Argument::Rate,
                format!(
                    "must be 0, or between 1/31622400 (1 token in 366 days) and 1000000 tokens per second, {amount} given"
                ),
            )
        };
        let per_second = amount
            .as_fraction()
            .zip(per.as_fraction())
            .and_then(|(amount, per)| amount.over(per))
            .filter(|rate| (SLOWEST..=FASTEST).contains(&rate.as_f64()))
            .ok_or_else(refuse)?;
        Self::of(per_second, capacity).ok_or_else(|| {
            LimitError::new(
                Argument::Rate,
                format!("is too low for a capacity of {capacity}, which would take over 285 years to fill, {amount} given"),
            )
        })
    }

    /// `rate` tokens per second: [`new`](Self::new) with a second.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn per_second(rate: Number, capacity: u32) -> Result<Self, LimitError> {
        Self::new(rate, Number::Int(1), capacity)
    }

    /// The rate nearest to a fraction of tokens per second, never above it.
    fn of(per_second: Fraction, capacity: u32) -> Option<Self> {
        let capacity = u128::from(capacity);
        let exact = Fraction::new(per_second.num, per_second.den * 1_000_000);
        if exact.num <= MAX_TOKENS && (capacity + exact.num) * exact.den < EXACT {
            return Some(Self::from_fraction(exact));
        }
        // Fewer tokens leave more room for the period; give up tokens until
        // both fit.
        let mut max_tokens = MAX_TOKENS;
        while max_tokens > 0 {
            let below = exact.best_below(max_tokens, (EXACT - 1) / (capacity + 1))?;
            if (capacity + below.num) * below.den < EXACT {
                return Some(Self::from_fraction(below));
            }
            max_tokens = max_tokens * 3 / 4;
        }
        None
    }

    fn from_fraction(fraction: Fraction) -> Self {
        let per_token = fraction.den.div_ceil(fraction.num);
        Self {
            tokens: fraction.num as u32,
            period: fraction.den as u64,
            token_log2: per_token.next_power_of_two().trailing_zeros() as u8,
        }
    }

    /// This rate times `factor`, for a bucket of `capacity`; kept within the
    /// range of rates.
    #[must_use]
    pub(super) fn scaled(self, factor: Fraction, capacity: u32) -> Self {
        let per_second =
            Fraction::new(u128::from(self.tokens) * 1_000_000, u128::from(self.period));
        per_second
            .times(factor)
            .filter(|scaled| (SLOWEST..=FASTEST).contains(&scaled.as_f64()))
            .and_then(|scaled| Self::of(scaled, capacity))
            .unwrap_or(self)
    }

    /// N: whole tokens per [`period`](Self::period).
    pub fn tokens(self) -> u64 {
        u64::from(self.tokens)
    }

    /// P: whole microseconds, at least 1.
    pub fn period(self) -> u64 {
        self.period
    }

    /// The least power of two, by its logarithm, of microseconds that one token
    /// does not take longer than.
    pub fn token_log2(self) -> u32 {
        self.token_log2.into()
    }

    /// The time in which `tokens` come back, rounded up.
    pub fn time_for(self, tokens: u32) -> Micros {
        Micros((u64::from(tokens) * self.period).div_ceil(self.tokens()))
    }
}

const _: () = assert!(MAX_LIMIT as u128 + MAX_TOKENS < 1 << 25);

#[cfg(test)]
mod tests {
    use super::{Number, Rate};
    use proptest::prelude::*;

    fn rate(number: Number, capacity: u32) -> (u64, u64) {
        let rate = Rate::per_second(number, capacity).unwrap();
        (rate.tokens(), rate.period())
    }

    #[test]
    fn ints_and_written_fractions_are_exact() {
        assert_eq!(rate(Number::Int(20), 100), (1, 50_000));
        assert_eq!(rate(Number::Int(7), 100), (7, 1_000_000));
        assert_eq!(rate(Number::Int(700_000), 100), (7, 10));
        assert_eq!(rate(Number::Int(999_983), 32_000_000), (999_983, 1_000_000));
        assert_eq!(rate(Number::Float(1.0 / 60.0), 10), (1, 60_000_000));
        assert_eq!(
            rate(Number::Float(1.0 / 2_592_000.0), 1000),
            (1, 2_592_000_000_000)
        );
        assert_eq!(
            rate(Number::Float(1001.0 / 86_400.0), 10),
            (1001, 86_400_000_000)
        );
    }

    #[test]
    fn what_is_out_of_range_says_what_is_allowed() {
        for given in [
            Number::Int(-1),
            Number::Int(1_000_001),
            Number::Float(f64::NAN),
            Number::Float(f64::INFINITY),
            Number::Float(1e-9),
            Number::Int(i64::MAX),
            Number::Int(i64::MIN),
        ] {
            let message = Rate::per_second(given, 10).unwrap_err().to_string();
            assert!(message.contains(&format!("{given} given")), "{message}");
            assert!(message.contains("1000000"), "{message}");
        }
        let message = Rate::per_second(Number::Float(1e-6), 32_000_000)
            .unwrap_err()
            .to_string();
        assert!(message.contains("285 years"), "{message}");
    }

    proptest! {
        #[test]
        fn never_above_and_hardly_below(exponent in -6.4_f64..6.0, capacity in 1_u32..1_000_000) {
            let float = 10_f64.powf(exponent);
            prop_assume!(f64::from(capacity) / float < 200.0 * 365.0 * 86_400.0);
            let (tokens, period) = rate(Number::Float(float), capacity);
            let held = tokens as f64 * 1e6 / period as f64;
            prop_assert!(held <= float * (1.0 + 1e-15), "{held} above {float}");
            prop_assert!(held >= float * (1.0 - 1e-5), "{held} below {float}");
            prop_assert!(tokens <= 1 << 20);
            prop_assert!((u128::from(capacity) + u128::from(tokens)) * u128::from(period) < 1 << 53);
        }
    }
}
