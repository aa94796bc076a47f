//! The request that this worker serves, as far as the gate is concerned.

use std::cell::RefCell;
use std::rc::Rc;

use ext_php_rs::types::Zval;

use super::counters::{count, counters};
use super::log;
use crate::gate::{Case, Gate, Request, Verdict};
use crate::limit::Decision;
use crate::php::permits::HeldPermit;
use crate::php::stores::AnyStore;
use crate::php::{policies, settings, stores, zend};
use crate::store::Enforcing;

/// A request and what the gate found about it. Its buffers outlive it.
#[derive(Default)]
pub struct Current {
    /// Whose rules were applied; `None` if there is no gate.
    pub gate: Option<Rc<Gate>>,
    /// What came of them.
    pub case: Case,
    /// The store that was asked.
    pub store: Option<Rc<AnyStore>>,
    /// The permits that were taken, by the number of the question.
    pub permits: Vec<(usize, Rc<HeldPermit>)>,
    /// Whether the request is not to go on.
    pub refused: bool,
    /// The decision as PHP has it, once it was asked for.
    object: Option<Zval>,
}

thread_local! {
    static CURRENT: RefCell<Current> = RefCell::default();
}

/// Lends what is known of the current request. PHP must not be called meanwhile.
pub fn with<T>(use_it: impl FnOnce(&Current) -> T) -> T {
    CURRENT.with_borrow(use_it)
}

/// Judges a request, and says whether it is refused.
pub fn judge<R: Request + ?Sized>(request: &R) -> bool {
    finish();
    let Some(gate) = policies::gate() else {
        return false;
    };
    let hot = settings::with_hot(|hot| *hot);
    if hot.enforcement.mode == Enforcing::Off {
        return false;
    }
    let store = stores::default();
    let mut lines = Vec::new();
    let refused = CURRENT.with_borrow_mut(|current| {
        let judged = gate.judge(
            request,
            &*store,
            &hot.enforcement,
            &hot.on_failure,
            &mut current.case,
        );
        if let Err(fault) = judged {
            lines.extend(log::fault(&fault.message));
        }
        current.gate = Some(gate);
        current.store = Some(store);
        current.keep_permits();
        let enforce = hot.enforcement.mode == Enforcing::Enforce;
        current.act(request, enforce, &mut lines);
        current.refused
    });
    // Only now: PHP may end the request in the middle of it.
    for line in lines {
        zend::log(&line);
    }
    refused
}

/// Ends the current request: gives its permits back and forgets it.
pub fn finish() {
    let (permits, _object) = CURRENT.with_borrow_mut(|current| {
        current.gate = None;
        current.store = None;
        current.refused = false;
        current.case.verdict = Verdict::Untouched;
        (std::mem::take(&mut current.permits), current.object.take())
    });
    for (_, permit) in permits {
        permit.release();
    }
}

/// As [`finish`], where PHP's values are gone already.
pub fn abandon() {
    std::mem::forget(CURRENT.with_borrow_mut(|current| current.object.take()));
    finish();
}

/// The decision of this request, if PHP has it already.
pub fn decision() -> Option<Zval> {
    CURRENT.with_borrow(|current| current.object.as_ref().map(Zval::shallow_clone))
}

/// Keeps the decision for who asks again.
pub fn keep_decision(decision: Zval) {
    CURRENT.with_borrow_mut(|current| current.object = Some(decision));
}

impl Current {
    /// Has the permits kept until the request ends.
    fn keep_permits(&mut self) {
        let (Some(gate), Some(store)) = (&self.gate, &self.store) else {
            return;
        };
        if self.case.verdict != Verdict::Allowed {
            return;
        }
        let permits = &mut self.permits;
        let taken = self
            .case
            .answers
            .iter()
            .map(|enforced| enforced.answer.held());
        for (index, (held, asked)) in taken.zip(self.case.asked(gate)).enumerate() {
            if let Some(held) = held {
                let limit = asked.limit.limit.clone();
                let store = Rc::clone(store);
                permits.push((index, HeldPermit::keep(store, limit, asked.key, held)));
            }
        }
    }

    /// Counts the verdict and enforces it; `lines` are for the error log.
    fn act<R: Request + ?Sized>(&mut self, request: &R, enforce: bool, lines: &mut Vec<String>) {
        let counters = counters();
        let Some(gate) = &self.gate else {
            return;
        };
        let address = || request.variable(c"REMOTE_ADDR").unwrap_or_default();
        let path = || request.variable(c"REQUEST_URI").unwrap_or_default();
        if self.case.doubtful {
            lines.extend(log::doubt(address()));
        }
        match self.case.verdict {
            Verdict::Untouched => {}
            Verdict::Passed(reason) => {
                count(&counters.allow_listed);
                if gate.allow.log {
                    lines.push(log::pass(reason, address(), path()));
                }
            }
            Verdict::Denied(reason) => {
                self.refused = enforce;
                count(if enforce {
                    &counters.deny_listed
                } else {
                    &counters.observed
                });
                if gate.deny.log || !enforce {
                    lines.extend(log::denial(reason, address(), path(), enforce));
                }
            }
            Verdict::Allowed | Verdict::Refused => {
                self.refused = self.case.verdict == Verdict::Refused;
                let is_observed = self.case.answers.iter().any(|enforced| enforced.would_deny);
                count(match (self.refused, is_observed) {
                    (true, _) => &counters.refused,
                    (false, true) => &counters.observed,
                    (false, false) => &counters.allowed,
                });
                if self.refused || is_observed {
                    for (asked, enforced) in self.case.asked(gate).zip(&self.case.answers) {
                        if enforced.would_deny || !enforced.answer.decision.allowed {
                            lines.extend(log::refusal(&asked, enforced));
                        }
                    }
                }
            }
            Verdict::Failed => {
                self.refused = true;
                count(&counters.failed);
            }
        }
    }

    /// The decision that speaks for all limits that were asked.
    pub fn decision(&self) -> Option<&Decision> {
        let enforced = self.case.answers.get(self.case.speaker()?)?;
        Some(&enforced.answer.decision)
    }
}
