//! The headers of a decision, and the body of a 429.

use std::ffi::{CString, c_char, c_uint, c_void};

use crate::limit::{Decision, Limit, Micros, UNLIMITED};
use crate::php::{settings, zend};
use crate::store::unix_now;

/// One part of a decision: its limit's name, the limit, and the answer.
pub struct Part<'a> {
    pub name: String,
    pub limit: &'a Limit,
    pub decision: Decision,
}

/// The headers of `decision`, of the families that php.ini chooses. `unix` is
/// the time it was made at, if by a clock of a test.
pub fn headers(
    decision: &Decision,
    parts: &[Part<'_>],
    unix: Option<Micros>,
) -> Vec<(&'static str, String)> {
    let families = settings::get(|settings| settings.headers);
    let mut headers = Vec::new();
    if families.ietf {
        let (mut policies, mut limits) = (Vec::new(), Vec::new());
        for part in parts {
            if part.decision.limit == UNLIMITED {
                continue;
            }
            let name = quoted(&part.name);
            // A limit of what is there at once has no window.
            let window = match part.limit.period().as_secs_ceil() {
                0 => String::new(),
                seconds => format!(";w={seconds}"),
            };
            policies.push(format!("{name};q={}{window}", part.decision.limit));
            limits.push(format!(
                "{name};r={};t={}",
                part.decision.remaining,
                part.decision.reset_after.as_secs_ceil()
            ));
        }
        if !policies.is_empty() {
            headers.push(("RateLimit-Policy", policies.join(", ")));
            headers.push(("RateLimit", limits.join(", ")));
        }
    }
    if families.x && decision.limit != UNLIMITED {
        let now = unix.unwrap_or_else(unix_now);
        let reset = now.after(decision.reset_after).as_secs_ceil();
        headers.push(("X-RateLimit-Limit", decision.limit.to_string()));
        headers.push(("X-RateLimit-Remaining", decision.remaining.to_string()));
        headers.push(("X-RateLimit-Reset", reset.to_string()));
    }
    if let (false, Some(seconds)) = (decision.allowed, retry_seconds(decision)) {
        headers.push(("Retry-After", seconds.to_string()));
    }
    headers
}

/// `Retry-After`: whole seconds, rounded up, at least 1.
fn retry_seconds(decision: &Decision) -> Option<u64> {
    Some(decision.retry_after?.as_secs_ceil().max(1))
}

/// The body of a 429: a problem of the IETF draft on rate limit headers.
pub fn problem(decision: &Decision, parts: &[Part<'_>]) -> String {
    let retry = retry_seconds(decision)
        .map_or_else(String::new, |seconds| format!(",\"retryAfter\":{seconds}"));
    let violated: Vec<_> = parts
        .iter()
        .filter(|part| !part.decision.allowed)
        .map(|part| quoted(&part.name))
        .collect();
    format!(
        "{{\"type\":\"https://iana.org/assignments/http-problem-types#quota-exceeded\",\
         \"title\":\"Too Many Requests\",\"status\":429{retry},\
         \"violated-policies\":[{}]}}\n",
        violated.join(",")
    )
}

/// A limit's name as a string of a structured header (RFC 9651): printable
/// ASCII in quotes.
fn quoted(name: &str) -> String {
    if name.is_empty() {
        return "\"default\"".to_owned();
    }
    let mut text = String::from('"');
    for character in name.chars() {
        match character {
            '"' | '\\' => text.extend(['\\', character]),
            ' '..='~' => text.push(character),
            _ => text.push('?'),
        }
    }
    text.push('"');
    text
}

#[repr(C)]
struct HeaderLine {
    line: *const c_char,
    length: usize,
    code: i64,
}

const REPLACE: c_uint = 0;
const SET_STATUS: c_uint = 4;

/// Sends one header, in place of an earlier one of its name.
pub fn send_header(line: &str) {
    // No value of ours has a NUL or a line break in it.
    let text = CString::new(line).unwrap_or_default();
    let mut header = HeaderLine {
        line: text.as_ptr(),
        length: line.len(),
        code: 0,
    };
    // SAFETY: the layout of sapi_header_line; PHP copies the line, and warns
    // by itself where headers were sent already.
    unsafe { zend::raw::sapi_header_op(REPLACE, (&raw mut header).cast()) };
}

/// Sets the status of the response.
pub fn send_status(code: usize) {
    // SAFETY: this operation takes the number itself as its argument.
    unsafe { zend::raw::sapi_header_op(SET_STATUS, code as *mut c_void) };
}
