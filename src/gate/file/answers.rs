//! `answer = { … }`: what a refused client gets.

use super::Reader;
use crate::gate::request::Header;
use crate::gate::rule::Answer;
use crate::store::document::{Result, Value};

/// The statuses a refusal may have.
const STATUSES: std::ops::RangeInclusive<u16> = 400..=599;

/// Headers that say what the rest of the answer is.
const OURS: [&str; 3] = ["Status", "Content-Length", "Transfer-Encoding"];

impl<'a> Reader<'a, '_> {
    pub(super) fn answer(self, value: &Value<'a>) -> Result<Answer> {
        let document = self.document;
        let what = "a table with status, json, text or headers";
        let mut answer = Answer::default();
        for (name, value) in document.table(value, what)? {
            let body = match &**name.get_ref() {
                "status" => {
                    answer.status = Some(document.integer(value, STATUSES)?);
                    continue;
                }
                "headers" => {
                    answer.headers = self.headers(value)?;
                    continue;
                }
                "json" => ("application/json", document.text(value, "JSON in a text")?),
                "text" => ("text/plain;charset=UTF-8", document.text(value, "a text")?),
                other => {
                    let what = format!("expected status, json, text or headers, found \"{other}\"");
                    return Err(document.fault_at(name, &what));
                }
            };
            if answer.body.is_some() {
                return Err(document.fault_at(name, "expected json or text, not both"));
            }
            answer.body = Some((body.0, body.1.to_owned()));
        }
        Ok(answer)
    }

    fn headers(self, value: &Value<'a>) -> Result<Vec<(String, String)>> {
        let document = self.document;
        let table = document.table(value, "a table of headers")?;
        table
            .iter()
            .map(|(name, value)| {
                let text = document.text(value, "a header's value")?;
                let is_value = text.chars().all(|c| !c.is_control());
                if Header::new(name.get_ref()).is_none() || !is_value {
                    let what = "expected a header's name and a value on one line";
                    return Err(document.fault_at(name, what));
                }
                let is_ours = OURS
                    .iter()
                    .any(|ours| name.get_ref().eq_ignore_ascii_case(ours));
                if is_ours {
                    let what = "expected no such header: it follows from status, json and text";
                    return Err(document.fault_at(name, what));
                }
                Ok((name.get_ref().to_string(), text.to_owned()))
            })
            .collect()
    }
}
