//! Numbers as PHP hands them over, and as a spec spells them.

use std::fmt;

use super::Fraction;

/// An `int|float` of PHP, where an int is exact and a float stands for every
/// number that rounds to it; or a time in a spec.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// A PHP int.
    Int(i64),
    /// A PHP float; may be NAN or INF.
    Float(f64),
    /// So many millionths, exactly.
    Millionths(u64),
}

impl Number {
    /// The nearest float, for comparing with a range.
    pub fn as_f64(self) -> f64 {
        match self {
            Self::Int(int) => int as f64,
            Self::Float(float) => float,
            Self::Millionths(count) => count as f64 / 1e6,
        }
    }

    /// The number exactly, or the simplest one that a float can mean; `None`
    /// outside what a limit is made of.
    pub fn as_fraction(self) -> Option<Fraction> {
        match self {
            Self::Int(int) if int > 0 => Some(Fraction::new(int as u128, 1)),
            Self::Int(_) | Self::Millionths(0) => None,
            Self::Float(float) => Fraction::of_float(float),
            Self::Millionths(count) => Some(Fraction::new(count.into(), 1_000_000)),
        }
    }

    /// Whether this is 0.
    pub fn is_zero(self) -> bool {
        self.as_f64() == 0.0
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(int) => int.fmt(f),
            Self::Float(float) if float.is_nan() => f.write_str("NAN"),
            Self::Float(float) if float.is_infinite() && *float > 0.0 => f.write_str("INF"),
            Self::Float(float) if float.is_infinite() => f.write_str("-INF"),
            Self::Float(float) => write!(f, "{float:?}"),
            Self::Millionths(_) => write!(f, "{:?}", self.as_f64()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Number;

    #[test]
    fn prints_as_php_writes_it() {
        let shown = [
            Number::Int(-5),
            Number::Float(0.5),
            Number::Float(f64::NAN),
            Number::Float(f64::INFINITY),
            Number::Float(f64::NEG_INFINITY),
            Number::Float(1e300),
        ]
        .map(|number| number.to_string());
        assert_eq!(shown, ["-5", "0.5", "NAN", "INF", "-INF", "1e300"]);
    }
}
