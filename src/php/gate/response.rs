//! What a refused client gets.

use super::current::{self, Current};
use crate::gate::{Answer, Verdict};
use crate::php::surface::headers::{self, Part, problem};
use crate::php::zend;
use crate::store::Store;

/// A response, whoever sends it.
pub struct Response {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: String,
}

/// The answer to the current request, if it is refused.
pub fn of_current() -> Option<Response> {
    current::with(|current| current.refused.then(|| refusal(current)))
}

/// The limits' headers for a request that goes on, if a rule wants them.
pub fn headers_of_current() -> Vec<(&'static str, String)> {
    current::with(|current| {
        let wanted = current
            .gate
            .as_ref()
            .is_some_and(|gate| current.case.asked(gate).any(|asked| asked.rule.headers));
        if wanted && !current.refused {
            limit_headers(current)
        } else {
            Vec::new()
        }
    })
}

/// Sends a response as this request's. To HEAD PHP sends no body by itself.
pub fn send(response: &Response) {
    for (name, value) in &response.headers {
        headers::send_header(&format!("{name}: {value}"));
    }
    headers::send_status(response.status.into());
    zend::print(response.body.as_bytes());
}

fn parts(current: &Current) -> Vec<Part<'_>> {
    let Some(gate) = &current.gate else {
        return Vec::new();
    };
    let asked = current.case.asked(gate).zip(&current.case.answers);
    asked
        .map(|(asked, enforced)| Part {
            name: asked.limit.name.clone(),
            limit: &asked.limit.limit,
            decision: enforced.answer.decision,
        })
        .collect()
}

fn limit_headers(current: &Current) -> Vec<(&'static str, String)> {
    let unix = current.store.as_ref().and_then(|store| store.unix_time());
    current.decision().map_or_else(Vec::new, |decision| {
        headers::headers(decision, &parts(current), unix)
    })
}

fn refusal(current: &Current) -> Response {
    let gate = current.gate.as_ref();
    let (status, body, answer) = match current.case.verdict {
        Verdict::Denied(_) => {
            let answer = gate.and_then(|gate| gate.deny_answer.clone());
            (403, plain("Forbidden\n"), answer)
        }
        Verdict::Failed => (503, plain("Service Unavailable\n"), None),
        _ => {
            let speaker = current.case.speaker();
            let asked = gate.zip(speaker);
            let rule = asked.and_then(|(gate, index)| current.case.asked(gate).nth(index));
            let body = current
                .decision()
                .map_or_else(String::new, |decision| problem(decision, &parts(current)));
            let answer = rule.and_then(|asked| asked.rule.answer.clone());
            (429, ("application/problem+json", body), answer)
        }
    };
    let Answer {
        status: own_status,
        body: own_body,
        headers: own_headers,
    } = answer.unwrap_or_default();
    let (content_type, body) = own_body.unwrap_or((body.0, body.1));
    let mut all = vec![("Content-Type".to_owned(), content_type.to_owned())];
    for (name, value) in limit_headers(current) {
        all.push((name.to_owned(), value));
    }
    if current.case.verdict == Verdict::Failed {
        all.push(("Retry-After".to_owned(), "1".to_owned()));
    }
    all.retain(|(name, _)| {
        let is_own = |(own, _): &(String, String)| own.eq_ignore_ascii_case(name);
        !own_headers.iter().any(is_own)
    });
    all.extend(own_headers);
    Response {
        status: own_status.unwrap_or(status),
        headers: all,
        body,
    }
}

fn plain(text: &str) -> (&'static str, String) {
    ("text/plain;charset=UTF-8", text.to_owned())
}
