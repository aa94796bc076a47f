//! Exact positive fractions, and the simplest fraction that a float can mean.

/// A positive fraction in lowest terms.
///
/// A float written as `1/3` or `0.1` in PHP is not that number; it is the
/// nearest float to it. [`Fraction::of_float`] finds the simplest fraction that
/// rounds to the same float, which is the one the user wrote. The walk is the
/// Stern–Brocot tree's (M. Stern 1858, A. Brocot 1861).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fraction {
    /// The numerator.
    pub num: u128,
    /// The denominator.
    pub den: u128,
}

impl Fraction {
    /// One.
    pub const ONE: Self = Self { num: 1, den: 1 };

    /// `num / den` in lowest terms; both must be above zero.
    pub fn new(num: u128, den: u128) -> Self {
        debug_assert!(num > 0 && den > 0);
        let divisor = gcd(num, den);
        Self {
            num: num / divisor,
            den: den / divisor,
        }
    }

    /// The simplest fraction that rounds to `float`.
    ///
    /// `None` outside `1e-12 ..= 1e12`, where no number of a limit lies.
    pub fn of_float(float: f64) -> Option<Self> {
        if !(1e-12..=1e12).contains(&float) {
            return None;
        }
        // float = mantissa · 2^exponent; everything strictly between the two
        // halfway points to its neighbours rounds to it.
        let bits = float.to_bits();
        let exponent = (bits >> 52) as i32 - 1075;
        let mantissa = u128::from(bits & ((1 << 52) - 1) | (1 << 52));
        // Below a power of two the neighbours are twice as close.
        let (low, high, shift) = if mantissa == 1 << 52 {
            (4 * mantissa - 1, 4 * mantissa + 2, exponent - 2)
        } else {
            (2 * mantissa - 1, 2 * mantissa + 1, exponent - 1)
        };
        // The range above keeps the shift within -95 ..= -12.
        let den = 1_u128 << (-shift);
        Some(simplest_between((low, den), (high, den)))
    }

    /// The nearest float, for comparing with a range.
    pub fn as_f64(self) -> f64 {
        self.num as f64 / self.den as f64
    }

    /// This divided by `other`; `None` if it does not fit.
    pub fn over(self, other: Self) -> Option<Self> {
        self.times(Self {
            num: other.den,
            den: other.num,
        })
    }

    /// This times `other`, in lowest terms; `None` if it does not fit.
    pub fn times(self, other: Self) -> Option<Self> {
        let left = Self::new(self.num, other.den);
        let right = Self::new(other.num, self.den);
        Some(Self {
            num: left.num.checked_mul(right.num)?,
            den: left.den.checked_mul(right.den)?,
        })
    }

    /// `size` times this, rounded up and within what a limit may be.
    pub fn scale_up(self, size: u32) -> u32 {
        let scaled = u128::from(size).saturating_mul(self.num).div_ceil(self.den);
        scaled.min(u128::from(super::MAX_LIMIT)) as u32
    }

    /// The largest fraction that is not above this one, with numerator and
    /// denominator up to the given bounds; `None` if only zero is left.
    pub fn best_below(self, max_num: u128, max_den: u128) -> Option<Self> {
        // Walk down the Stern–Brocot tree: left ≤ self < right, both at first
        // the ends 0/1 and 1/0, each step taken as often as it goes.
        let (mut a, mut b, mut c, mut d) = (0_u128, 1_u128, 1_u128, 0_u128);
        loop {
            // left + k·right ≤ self
            let gap = self.num * b - self.den * a;
            let slope = self.den * c - self.num * d;
            let wanted = gap / slope;
            let mut k = wanted;
            for most in [
                (max_num - a).checked_div(c),
                max_den.saturating_sub(b).checked_div(d),
            ] {
                k = k.min(most.unwrap_or(k));
            }
            a += k * c;
            b += k * d;
            if k < wanted || self.num * b == self.den * a {
                break;
            }
            // right + k·left > self
            let gap = self.den * c - self.num * d;
            let slope = self.num * b - self.den * a;
            let mut k = (gap - 1) / slope;
            // One step past the bounds is as good as all of them: then no
            // further left end fits, and the loop ends above.
            k = k.min(max_den / b + 1);
            if let Some(most) = max_num.checked_div(a) {
                k = k.min(most + 1);
            }
            c += k * a;
            d += k * b;
        }
        (a > 0).then(|| Self::new(a, b))
    }
}

/// The fraction with the smallest denominator strictly between two others.
fn simplest_between(low: (u128, u128), high: (u128, u128)) -> Fraction {
    let floor = low.0 / low.1;
    // floor + 1 is the first whole number above low; take it if it is inside.
    if (floor + 1) * high.1 < high.0 {
        return Fraction::new(floor + 1, 1);
    }
    // Both lie in [floor, floor + 1]: the same question for the reciprocals of
    // what is left. `high` may be floor + 1 itself, whose rest is 1.
    let rest_low = (low.0 - floor * low.1, low.1);
    let rest_high = (high.0 - floor * high.1, high.1);
    if rest_low.0 == 0 {
        // low is whole: the simplest is floor + 1/k with the least such k.
        let k = rest_high.1 / rest_high.0 + 1;
        return Fraction::new(floor * k + 1, k);
    }
    let inner = simplest_between((rest_high.1, rest_high.0), (rest_low.1, rest_low.0));
    Fraction::new(floor * inner.num + inner.den, inner.num)
}

fn gcd(mut a: u128, mut b: u128) -> u128 {
    // Division in 128 bits is a call; almost every number here fits in 64.
    while b != 0 {
        (a, b) = match (u64::try_from(a), u64::try_from(b)) {
            (Ok(a), Ok(b)) => (u128::from(b), u128::from(a % b)),
            _ => (b, a % b),
        };
    }
    a
}

#[cfg(test)]
mod tests {
    use super::Fraction;
    use proptest::prelude::*;

    fn of(float: f64) -> (u128, u128) {
        let fraction = Fraction::of_float(float).unwrap();
        (fraction.num, fraction.den)
    }

    #[test]
    fn a_float_means_what_was_written() {
        assert_eq!(of(0.1), (1, 10));
        assert_eq!(of(1.0 / 3.0), (1, 3));
        assert_eq!(of(1.0 / 60.0), (1, 60));
        assert_eq!(of(1001.0 / 86_400.0), (1001, 86_400));
        assert_eq!(of(1.0 / 2_592_000.0), (1, 2_592_000));
        assert_eq!(of(16.666_666_666_666_668), (50, 3));
        assert_eq!(of(123_456.789), (123_456_789, 1000));
        assert_eq!(of(1.0), (1, 1));
        assert_eq!(of(0.5), (1, 2));
        assert_eq!(of(0.7), (7, 10));
        assert_eq!(of(1e6), (1_000_000, 1));
    }

    #[test]
    fn best_below_stays_below_and_inside() {
        let third = Fraction::new(1, 3);
        assert_eq!(third.best_below(10, 10), Some(third));
        assert_eq!(third.best_below(10, 2), None);
        let pi = Fraction::of_float(std::f64::consts::PI).unwrap();
        assert_eq!(pi.best_below(100, 100), Some(Fraction::new(91, 29)));
        assert_eq!(pi.best_below(4, 1), Some(Fraction::new(3, 1)));
    }

    proptest! {
        #[test]
        fn the_simplest_fraction_rounds_back(exponent in -11.9_f64..11.9) {
            let float = 10_f64.powf(exponent);
            let fraction = Fraction::of_float(float).unwrap();
            // Both parts of a simplest fraction fit in 53 bits here, so that
            // the division below rounds once.
            prop_assume!(fraction.num < 1 << 53 && fraction.den < 1 << 53);
            let back = fraction.num as f64 / fraction.den as f64;
            prop_assert_eq!(back.to_bits(), float.to_bits());
        }

        #[test]
        fn best_below_is_the_best(num in 1_u128..500, den in 1_u128..500, max_num in 1_u128..40, max_den in 1_u128..40) {
            let wanted = Fraction::new(num, den);
            let mut best: Option<Fraction> = None;
            for b in 1..=max_den {
                let a = (num * b / den).min(max_num);
                if a > 0 && best.is_none_or(|best| a * best.den > best.num * b) {
                    best = Some(Fraction::new(a, b));
                }
            }
            prop_assert_eq!(wanted.best_below(max_num, max_den), best);
        }
    }
}
