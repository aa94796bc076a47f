//! Times as people write them in php.ini and in a DSN.

use crate::limit::Micros;

/// Reads `50ms`, `1s`, `250us`, or a bare number of seconds such as `0.05`.
///
/// ```
/// use sluice::limit::Micros;
/// use sluice::store::parse_duration;
///
/// assert_eq!(parse_duration("50ms"), Some(Micros(50_000)));
/// assert_eq!(parse_duration("0.05"), Some(Micros(50_000)));
/// assert_eq!(parse_duration("fast"), None);
/// ```
pub fn parse_duration(text: &str) -> Option<Micros> {
    let text = text.trim();
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let micros_per_unit = match &text[digits.len()..] {
        "us" => 1.0,
        "ms" => 1e3,
        "s" | "" => 1e6,
        _ => return None,
    };
    let micros = digits.trim_end().parse::<f64>().ok()? * micros_per_unit;
    (0.0..=9e15)
        .contains(&micros)
        .then(|| Micros(micros.round() as u64))
}
