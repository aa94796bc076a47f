//! `allow = { … }` and `deny = { … }`.

use super::Reader;
use crate::gate::list::List;
use crate::gate::pattern::PathPattern;
use crate::gate::request::Header;
use crate::gate::rule::Answer;
use crate::store::document::{Result, Value};

impl<'a> Reader<'a, '_> {
    pub(super) fn list(
        self,
        value: &Value<'a>,
        answer: Option<&mut Option<Answer>>,
    ) -> Result<List> {
        let document = self.document;
        let mut list = List::default();
        let mut its_answer = None;
        for (name, value) in document.table(value, "a table with ip, path or header")? {
            match &**name.get_ref() {
                "ip" => list.nets = self.networks(value)?,
                "path" => list.paths = self.texts(value, "a path", PathPattern::parse)?,
                "header" => {
                    for (name, value) in document.table(value, "a table of headers")? {
                        let header = Header::new(name.get_ref());
                        let header = header
                            .ok_or_else(|| document.fault_at(name, "expected a header's name"))?;
                        list.headers.push((header, self.tokens(value)?));
                    }
                }
                "log" => list.log = document.boolean(value)?,
                "answer" if answer.is_some() => its_answer = Some(self.answer(value)?),
                other => {
                    let more = if answer.is_some() { ", answer" } else { "" };
                    let what = format!("expected ip, path, header{more} or log, found \"{other}\"");
                    return Err(document.fault_at(name, &what));
                }
            }
        }
        if let Some(answer) = answer {
            *answer = its_answer;
        }
        Ok(list)
    }

    /// The values of a header. Never repeated in an error: they may be secrets.
    fn tokens(self, value: &Value<'a>) -> Result<Vec<Vec<u8>>> {
        self.document.one_or_more(value, "a value", |value| {
            let token = self.document.text(value, "a value")?.trim();
            if token.is_empty() {
                // A variable of the environment that was not set, most likely.
                return Err(self
                    .document
                    .fault_at(value, "expected a value that is not empty"));
            }
            Ok(token.as_bytes().to_vec())
        })
    }
}
