//! One request before the gate, and what came of it.

use std::ops::Range;

use super::client::Client;
use super::list::{Readings, Reason};
use super::paths::Paths;
use super::request::{Request, host, query};
use super::rule::{Aim, Rule, RuleLimit};
use super::{Gate, key};
use crate::limit::{Ask, Key};
use crate::store::{Enforced, Enforcement, Fault, OnFailure, Question, Store, speaks_for_all};

/// What the gate says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing: no rule is about this request.
    #[default]
    Untouched,
    /// It is on the allow list.
    Passed(Reason),
    /// It is on the deny list.
    Denied(Reason),
    /// All rules about it let it through.
    Allowed,
    /// One of them does not.
    Refused,
    /// The store could not be asked, and the policy is to say so.
    Failed,
}

/// A request's facts and answers. Reused from one request to the next, so that
/// none of them allocates.
#[derive(Debug, Default)]
pub struct Case {
    /// What came of it.
    pub verdict: Verdict,
    /// Whether rules only observed, as nobody can tell the client's address.
    pub doubtful: bool,
    /// The answers to `asks`.
    pub answers: Vec<Enforced>,
    asks: Vec<CaseAsk>,
    paths: Paths,
    host: Vec<u8>,
    keys: Vec<u8>,
}

/// One limit that was asked.
#[derive(Clone, Debug)]
struct CaseAsk {
    rule: usize,
    limit: usize,
    key: Range<usize>,
    observes: bool,
}

/// One limit that was asked, as others see it.
pub struct Asked<'a> {
    /// The rule.
    pub rule: &'a Rule,
    /// The limit.
    pub limit: &'a RuleLimit,
    /// Whose state was asked.
    pub key: Key<'a>,
    /// Whether a refusal is only told.
    pub dry_run: bool,
}

impl Asked<'_> {
    /// The question that was put.
    pub fn question<'q>(&'q self, on_failure: &'q OnFailure) -> Question<'q> {
        Question {
            key: self.key,
            limit: &self.limit.limit,
            ask: Ask::take(1),
            on_failure: self.limit.on_failure.as_ref().unwrap_or(on_failure),
            dry_run: self.dry_run,
        }
    }
}

impl Case {
    /// The limits that were asked, in the order of the file.
    pub fn asked<'a>(&'a self, gate: &'a Gate) -> impl Iterator<Item = Asked<'a>> {
        self.asks.iter().map(|ask| {
            let rule = &gate.rules[ask.rule];
            let limit = &rule.limits[ask.limit];
            Asked {
                rule,
                limit,
                key: Key {
                    name: limit.name.as_bytes(),
                    bytes: &self.keys[ask.key.clone()],
                },
                dry_run: ask.observes || limit.dry_run,
            }
        })
    }

    /// Which of the answers speaks for all.
    pub fn speaker(&self) -> Option<usize> {
        speaks_for_all(&self.answers)
    }

    fn is_bloated(&self) -> bool {
        const MOST: usize = 64 << 10;
        self.keys.capacity().max(self.host.capacity()) > MOST || self.paths.capacity() > MOST
    }

    fn clear(&mut self) {
        self.verdict = Verdict::Untouched;
        self.doubtful = false;
        self.answers.clear();
        self.asks.clear();
        self.host.clear();
        self.keys.clear();
    }
}

impl Gate {
    /// Judges a request: lists first, then all rules about it in one question.
    ///
    /// # Errors
    /// Where the store cannot be asked and the failure policy is to say so.
    pub fn judge<R: Request + ?Sized, S: Store + ?Sized>(
        &self,
        request: &R,
        store: &S,
        enforcement: &Enforcement,
        on_failure: &OnFailure,
        case: &mut Case,
    ) -> Result<(), Fault> {
        case.clear();
        if case.is_bloated() {
            // One huge request must not cost its worker memory for life.
            *case = Case::default();
        }
        let client = if self.needs.client {
            self.trust.client(request)
        } else {
            Client::Doubtful
        };
        if self.needs.paths {
            case.paths.read(request, &self.dialect);
        }
        if self.needs.host {
            host(request, &mut case.host);
        }
        let allow = self
            .allow
            .finds(request, client, &case.paths, Readings::All);
        if let Some(reason) = allow {
            case.verdict = Verdict::Passed(reason);
            return Ok(());
        }
        let deny = self.deny.finds(request, client, &case.paths, Readings::Any);
        if let Some(reason) = deny {
            case.verdict = Verdict::Denied(reason);
            return Ok(());
        }
        self.find_rules(request, client, case);
        if case.asks.is_empty() {
            return Ok(());
        }
        let mut answers = std::mem::take(&mut case.answers);
        let asked = self.ask(store, enforcement, on_failure, case, &mut answers);
        case.answers = answers;
        if let Err(fault) = asked {
            case.answers.clear();
            case.verdict = Verdict::Failed;
            return Err(fault);
        }
        let refuses = |enforced: &Enforced| !enforced.answer.decision.allowed;
        case.verdict = if case.answers.iter().any(refuses) {
            Verdict::Refused
        } else {
            Verdict::Allowed
        };
        Ok(())
    }

    fn find_rules<R: Request + ?Sized>(&self, request: &R, client: Client, case: &mut Case) {
        let Case {
            doubtful,
            asks,
            paths,
            host,
            keys,
            ..
        } = case;
        // Frameworks take the method from these two, if it is a POST.
        let parameter = if self.needs.method {
            query(request, b"_method")
        } else {
            None
        };
        let aim = Aim {
            methods: [
                request.filled(c"REQUEST_METHOD"),
                request.filled(c"HTTP_X_HTTP_METHOD_OVERRIDE"),
                parameter.as_deref(),
            ],
            host,
        };
        for (index, rule) in self.rules.iter().enumerate() {
            if !rule.is_about(&aim, paths) {
                continue;
            }
            let observes = rule.key.has(&key::Part::Address) && client == Client::Doubtful;
            *doubtful |= observes;
            let start = keys.len();
            let facts = key::Facts {
                request,
                client,
                host,
                paths,
                patterns: &rule.paths,
            };
            rule.key.write(&facts, keys);
            let key = start..keys.len();
            for (number, limit) in rule.limits.iter().enumerate() {
                // Two rules with one policy and one key are one count, and a
                // request counts once.
                let is_same = |other: &CaseAsk| {
                    let known = &self.rules[other.rule].limits[other.limit];
                    known.name == limit.name
                        && known.limit.identity() == limit.limit.identity()
                        && keys[other.key.clone()] == keys[key.clone()]
                };
                if asks.iter().any(is_same) {
                    continue;
                }
                asks.push(CaseAsk {
                    rule: index,
                    limit: number,
                    key: key.clone(),
                    observes,
                });
            }
        }
    }

    fn ask<S: Store + ?Sized>(
        &self,
        store: &S,
        enforcement: &Enforcement,
        on_failure: &OnFailure,
        case: &Case,
        answers: &mut Vec<Enforced>,
    ) -> Result<(), Fault> {
        let mut asked = case.asked(self);
        if let (Some(only), 1) = (asked.next(), case.asks.len()) {
            let question = only.question(on_failure);
            let answer = enforcement
                .decide(store, &question)
                .or_else(|fault| enforcement.answer_by_policy(&question, fault))?;
            answers.push(answer);
            return Ok(());
        }
        let asked: Vec<_> = case.asked(self).collect();
        let questions: Vec<_> = asked
            .iter()
            .map(|asked| asked.question(on_failure))
            .collect();
        answers.extend(enforcement.decide_all(store, &questions)?);
        Ok(())
    }
}
