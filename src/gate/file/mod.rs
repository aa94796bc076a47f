//! The file of `sluice.config`: `[limits]`, and the tables of `[gate]`.

mod answers;
mod lists;
mod rules;

use std::rc::Rc;

use super::client::{Networks, Trust};
use super::key::Part;
use super::list::List;
use super::paths::Dialect;
use super::pattern::PathPattern;
use super::request::Header;
use super::{Gate, Needs};
use crate::store::document::{Document, DocumentError, Result, Value};
use crate::store::policies::Policies;

/// What a file says, if all of it can be read.
#[derive(Clone, Debug, Default)]
pub struct File {
    /// The named limits.
    pub policies: Policies,
    /// The gate; `None` if there is nothing for it to do.
    pub gate: Option<Rc<Gate>>,
}

impl File {
    /// Reads a file's text.
    ///
    /// # Errors
    /// All that is wrong, each with its line, its column and what was expected.
    pub fn parse(text: &str) -> std::result::Result<Self, Vec<DocumentError>> {
        let (document, file) = Document::parse(text).map_err(|error| vec![error])?;
        let mut errors = Vec::new();
        let mut policies = Policies::default();
        for (section, value) in &file {
            match &**section.get_ref() {
                "limits" => match Policies::read(document, value) {
                    Ok(read) => policies = read,
                    Err(error) => errors.push(error),
                },
                "gate" => {}
                other => {
                    let what = format!("expected [limits] or [gate], found \"{other}\"");
                    errors.push(document.fault_at(section, &what));
                }
            }
        }
        let mut gate = None;
        // Rules name limits, so limits come first, wherever they stand.
        if let (Some(value), true) = (file.get("gate"), errors.is_empty()) {
            let reader = Reader {
                document,
                policies: &policies,
            };
            match reader.gate(value, &mut errors) {
                Ok(read) => gate = read.has_work().then(|| Rc::new(read)),
                Err(error) => errors.push(error),
            }
        }
        if errors.is_empty() {
            return Ok(Self { policies, gate });
        }
        errors.sort_by_key(|error| (error.line, error.column));
        Err(errors)
    }
}

impl Gate {
    fn has_work(&self) -> bool {
        !self.rules.is_empty() || self.deny != List::default()
    }
}

#[derive(Clone, Copy)]
struct Reader<'a, 'p> {
    document: Document<'a>,
    policies: &'p Policies,
}

impl<'a> Reader<'a, '_> {
    fn gate(self, value: &Value<'a>, errors: &mut Vec<DocumentError>) -> Result<Gate> {
        let document = self.document;
        let mut gate = Gate {
            trust: Trust {
                proxies: None,
                header: self.header("X-Forwarded-For", value)?,
            },
            dialect: Dialect::default(),
            allow: List::default(),
            deny: List::default(),
            deny_answer: None,
            rules: Vec::new(),
            needs: Needs::default(),
        };
        for (name, value) in document.table(value, "a table")? {
            match &**name.get_ref() {
                "trusted_proxies" => gate.trust.proxies = Some(self.networks(value)?),
                "client_header" => {
                    let text = document.text(value, "the name of a header")?;
                    gate.trust.header = self.header(text, value)?;
                }
                "path_parameter" => {
                    let text = document.text(value, "the name of a query parameter")?;
                    gate.dialect.parameter = Some(text.into());
                }
                "ignore_case" => gate.dialect.ignores_case = document.boolean(value)?,
                "allow" => gate.allow = self.list(value, None)?,
                "deny" => gate.deny = self.list(value, Some(&mut gate.deny_answer))?,
                "rule" => self.rules(value, &mut gate.rules, errors)?,
                other => {
                    let what = format!(
                        "expected trusted_proxies, client_header, path_parameter, ignore_case, \
                         allow, deny or rule, found \"{other}\""
                    );
                    return Err(document.fault_at(name, &what));
                }
            }
        }
        if gate.dialect.ignores_case {
            let lists = [&mut gate.allow.paths, &mut gate.deny.paths];
            let rules = gate.rules.iter_mut().map(|rule| &mut rule.paths);
            let patterns = lists.into_iter().chain(rules).flatten();
            patterns.for_each(PathPattern::ignore_case);
        }
        gate.needs = needs(&gate);
        Ok(gate)
    }

    fn networks(self, value: &Value<'a>) -> Result<Networks> {
        let mut networks = Networks::default();
        let list = value.get_ref().as_array();
        if list.is_some_and(|list| list.is_empty()) {
            // None at all: the peer is the client, and nobody needs to wonder.
            return Ok(networks);
        }
        self.texts(value, "a network", |text| networks.add(text))?;
        Ok(networks)
    }

    fn texts<T>(
        self,
        value: &Value<'a>,
        what: &str,
        mut parse: impl FnMut(&str) -> std::result::Result<T, String>,
    ) -> Result<Vec<T>> {
        self.document.one_or_more(value, what, |value| {
            let text = self.document.text(value, what)?;
            parse(text).map_err(|message| self.document.fault_at(value, &message))
        })
    }

    fn header(self, name: &str, value: &Value<'a>) -> Result<Header> {
        Header::new(name).ok_or_else(|| {
            let what = format!("expected the name of a header, found \"{name}\"");
            self.document.fault_at(value, &what)
        })
    }
}

fn needs(gate: &Gate) -> Needs {
    let lists = [&gate.allow, &gate.deny];
    let uses = |part: &Part| gate.rules.iter().any(|rule| rule.key.has(part));
    Needs {
        client: uses(&Part::Address) || lists.iter().any(|list| list.nets != Networks::default()),
        paths: uses(&Part::Path)
            || gate.rules.iter().any(|rule| !rule.paths.is_empty())
            || lists.iter().any(|list| !list.paths.is_empty()),
        method: gate.rules.iter().any(|rule| !rule.methods.is_empty()),
        host: uses(&Part::Host) || gate.rules.iter().any(|rule| !rule.hosts.is_empty()),
    }
}
