//! What the gate has to tell the error log, and how often: lines, for whoever
//! may call PHP.

use std::fmt::Write as _;

use sha2::{Digest, Sha256};

use crate::gate::{Asked, Reason};
use crate::php::claims;
use crate::store::Enforced;

/// A refusal is told once per limit and key in so many seconds,
const INTERVAL: i64 = 10;
/// and in that time not more lines than this are written about refusals at all:
/// an attack from many addresses is none on the disk.
const MOST_LINES: i64 = 100;

/// Tells that a limit refused, or would have.
pub fn refusal(asked: &Asked<'_>, enforced: &Enforced) -> Option<String> {
    if !is_first(asked.limit.name.as_bytes(), asked.key.bytes) {
        return None;
    }
    let decision = &enforced.answer.decision;
    let verb = if enforced.would_deny {
        "would refuse"
    } else {
        "refused"
    };
    let retry = decision.retry_after.filter(|_| !enforced.would_deny);
    let retry = retry.map_or_else(String::new, |time| {
        format!(", again in {} s", time.as_secs_ceil().max(1))
    });
    Some(format!(
        "sluice: the gate {verb} a request: rule {}, policy {}, key {}, {} of {} left{retry}",
        asked.rule.name,
        asked.limit.name,
        shown(asked),
        decision.remaining,
        decision.limit,
    ))
}

/// Tells that the allow list let a request pass: each one, where the file asks
/// for it.
pub fn pass(reason: Reason, address: &[u8], path: &[u8]) -> String {
    listed("let through", "allow", reason, address, path)
}

/// Tells that the deny list refused a request, or would have.
pub fn denial(reason: Reason, address: &[u8], path: &[u8], enforced: bool) -> Option<String> {
    let verb = if enforced { "refused" } else { "would refuse" };
    is_first(b"deny", &[address, b"\0", path].concat())
        .then(|| listed(verb, "deny", reason, address, path))
}

fn listed(verb: &str, list: &str, reason: Reason, address: &[u8], path: &[u8]) -> String {
    format!(
        "sluice: the gate {verb} a request: {list} list, by its {}, from {}, path {}",
        reason.word(),
        escaped(address),
        escaped(path),
    )
}

/// Tells that a store could not be asked, and that the policy is to refuse.
pub fn fault(message: &str) -> Option<String> {
    is_first(b"fault", message.as_bytes())
        .then(|| format!("sluice: the gate answered 503, as on_failure is throw: {message}"))
}

/// Tells, once, that nobody declared the proxy in front.
pub fn doubt(address: &[u8]) -> Option<String> {
    claims::is_first(b"gate: proxies", b"", claims::HOUR).then(|| {
        format!(
            "sluice: requests come from {} and say that they were forwarded, or have no address \
             at all, so the gate cannot tell clients apart and rules with the key \"ip\" only \
             observe; name the proxies in trusted_proxies under [gate], or write \
             trusted_proxies = [] if there are none",
            escaped(address),
        )
    })
}

fn is_first(topic: &[u8], about: &[u8]) -> bool {
    claims::is_first(&[b"gate: ", topic].concat(), about, INTERVAL)
        && claims::is_among(MOST_LINES, b"gate", b"", INTERVAL)
}

/// A key for people. Headers, cookies and parameters may be secrets: of these
/// only a fingerprint is told, which is the same for the same value.
fn shown(asked: &Asked<'_>) -> String {
    let template = &asked.rule.key;
    if !template.is_secret() {
        return escaped(asked.key.bytes);
    }
    let mut text = format!("{}#", template.label());
    for byte in Sha256::digest(asked.key.bytes).iter().take(6) {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// Bytes that a client chose, so that they stay on one line.
fn escaped(bytes: &[u8]) -> String {
    const MOST: usize = 200;
    format!("\"{}\"", bytes[..bytes.len().min(MOST)].escape_ascii())
}
