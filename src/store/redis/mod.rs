//! Redis: one connection per worker and server, one script call per decision.

mod apart;
mod calls;
mod cluster;
mod connection;
mod dsn;
mod link;
mod questions;
mod resolver;
mod scripts;
mod sentinel;
mod servers;
mod tls;
mod trouble;
mod wire;

pub use calls::ConnectionStatus;
pub use dsn::{Address, Dsn, DsnError, Login, Place, Secret, Tls};
pub use questions::Reply;
pub use scripts::Scripts;

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use self::calls::Inner;
use self::questions::{FIGURES, MOST, Part, arguments, parts_of, reply_of};
use self::scripts::Body;
use self::trouble::Trouble;
use super::{Answer, Fault, Held, Permit, Question, Source, Status, Store, composite};
use crate::limit::{Key, Limit, Micros, Mode};

/// The store on Redis: one server, or those that a DSN stands for.
pub struct Redis {
    dsn: Dsn,
    scripts: Rc<Scripts>,
    budget: Budget,
    inner: RefCell<Inner>,
    /// Whether a call for several keys gave something back, until it is asked.
    gave_back: Cell<bool>,
}

/// How long a call may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// The whole call, with everything in it.
    pub timeout: Duration,
    /// The part of it that resolving and connecting may use; all of it, unless
    /// something is said.
    pub connect: Option<Duration>,
}

impl Redis {
    /// The store behind this DSN. Nothing is connected before the first call.
    ///
    /// The DSN's own times win over `budget`.
    pub fn new(dsn: Dsn, budget: Budget) -> Self {
        Self::with_scripts(dsn, budget, Scripts::standard())
    }

    /// The same with other scripts: tests inject time there.
    pub fn with_scripts(dsn: Dsn, budget: Budget, scripts: Rc<Scripts>) -> Self {
        let timeout = dsn.timeout.unwrap_or(budget.timeout);
        let connect = dsn.connect_timeout.or(budget.connect);
        Self {
            budget: Budget { timeout, connect },
            inner: RefCell::new(Inner::of(&dsn)),
            gave_back: Cell::new(false),
            dsn,
            scripts,
        }
    }

    /// The DSN of this store.
    pub fn dsn(&self) -> &Dsn {
        &self.dsn
    }
}

impl Redis {
    /// As [`Store::decide`], and the state that is left.
    ///
    /// # Errors
    /// As [`Store::decide`].
    pub fn see(&self, question: &Question<'_>) -> Result<Reply, Fault> {
        let (mode, extra) = match question.ask.mode {
            Mode::Take => ("take", 0),
            Mode::Peek => ("peek", 0),
            Mode::Charge => ("charge", 0),
            Mode::Reserve(max_wait) => ("reserve", max_wait.0),
        };
        self.evaluate_one(question, mode, extra)
    }

    /// As [`Store::decide_all`], and the states that are left.
    ///
    /// # Errors
    /// As [`Store::decide_all`].
    pub fn see_all(&self, questions: &[Question<'_>]) -> Result<Vec<Reply>, Fault> {
        let _whole = self.begin();
        let apart = self.inner.borrow().apart;
        let groups = if apart > 0 {
            apart::by_slot(self, questions)
        } else {
            apart::by_number(questions)
        };
        let result = if groups.len() > 1 {
            apart::decide_all(self, questions, &groups)
        } else {
            self.evaluate(questions, "take", 0, None)
        };
        if result.is_err() && self.inner.borrow().apart > apart && questions.len() > 1 {
            // Nothing of it ran: the keys lie in several places, or one slot
            // is half way to another node.
            return apart::decide_all(self, questions, &apart::one_by_one(questions));
        }
        result
    }

    /// Whether [`see_all`](Self::see_all) gave back what it took since this was
    /// last asked: others may have been refused for it meanwhile.
    pub fn gave_back(&self) -> bool {
        self.gave_back.take()
    }

    /// Takes from a token bucket and, if that was allowed, up to `more` tokens
    /// on top, at most a quarter of what is left: how many that were.
    ///
    /// # Errors
    /// As [`Store::decide`].
    pub fn take_ahead(&self, question: &Question<'_>, more: u32) -> Result<(Reply, u32), Fault> {
        let mut reply = self.evaluate_one(question, "lease", more.into())?;
        let delay = std::mem::take(&mut reply.answer.decision.delay);
        let on_top = u32::try_from(delay.0).unwrap_or(0).min(more);
        Ok((reply, on_top))
    }
}

impl Store for Redis {
    fn decide(&self, question: &Question<'_>) -> Result<Answer, Fault> {
        self.see(question).map(|reply| reply.answer)
    }

    fn decide_all(&self, questions: &[Question<'_>]) -> Result<Vec<Answer>, Fault> {
        let replies = self.see_all(questions)?;
        Ok(replies.iter().map(|reply| reply.answer).collect())
    }

    fn refund(&self, question: &Question<'_>, taken: &Answer) -> Result<(), Fault> {
        let question = std::slice::from_ref(question);
        self.evaluate(question, "refund", taken.at.0, taken.permit)
            .map(|_| ())
    }

    fn release(&self, question: &Question<'_>, held: Held) -> Result<bool, Fault> {
        self.on_permit(question, "refund", held.permit)
    }

    fn renew(&self, question: &Question<'_>, held: Held) -> Result<bool, Fault> {
        self.on_permit(question, "renew", held.permit)
    }

    fn reset(&self, key: Key<'_>, limit: &Limit) -> Result<(), Fault> {
        self.with_connection(&[(key, limit.identity())], |connection, keys, deadline| {
            connection.delete(&keys[0], deadline)
        })
    }

    fn status(&self) -> Status {
        Status {
            redis: Some(self.connection_status()),
            ..Status::default()
        }
    }
}

impl Redis {
    fn on_permit(
        &self,
        question: &Question<'_>,
        mode: &str,
        permit: Permit,
    ) -> Result<bool, Fault> {
        let replies = self.evaluate(std::slice::from_ref(question), mode, 0, Some(permit))?;
        Ok(replies
            .first()
            .is_some_and(|reply| reply.answer.decision.allowed))
    }

    fn evaluate_one(
        &self,
        question: &Question<'_>,
        mode: &str,
        extra: u64,
    ) -> Result<Reply, Fault> {
        let mut replies = self.evaluate(std::slice::from_ref(question), mode, extra, None)?;
        replies.pop().ok_or_else(|| Fault::new("no answer"))
    }

    /// Asks all questions in one call, if any needs to be asked at all.
    fn evaluate(
        &self,
        questions: &[Question<'_>],
        mode: &str,
        extra: u64,
        permit: Option<Permit>,
    ) -> Result<Vec<Reply>, Fault> {
        let _whole = self.begin();
        let mut answers: Vec<Option<Reply>> = questions
            .iter()
            .map(|question| {
                let answer = composite::stateless(question, Source::Redis)?;
                let state = None;
                Some(Reply { answer, state })
            })
            .collect();
        let asked: Vec<&Question<'_>> = questions
            .iter()
            .zip(&answers)
            .filter_map(|(question, answer)| answer.is_none().then_some(question))
            .collect();
        let refused = questions.iter().zip(&answers).any(|(question, reply)| {
            !question.dry_run && reply.is_some_and(|reply| !reply.answer.decision.allowed)
        });
        // Beside a limit of 0 nothing may be taken from the others.
        let mode = if refused && mode == "take" {
            "peek"
        } else {
            mode
        };
        if !asked.is_empty() {
            let mut replies = self.ask(&asked, mode, extra, permit)?.into_iter();
            for answer in answers.iter_mut().filter(|answer| answer.is_none()) {
                *answer = replies.next();
            }
        }
        Ok(answers.into_iter().flatten().collect())
    }

    fn ask(
        &self,
        questions: &[&Question<'_>],
        mode: &str,
        extra: u64,
        permit: Option<Permit>,
    ) -> Result<Vec<Reply>, Fault> {
        let bodies: Vec<Body> = questions.iter().filter_map(|q| Body::of(q.limit)).collect();
        let composite = (bodies.len() > 1).then(|| self.scripts.composite(&bodies));
        let script = match &composite {
            Some(script) => script,
            None => self.scripts.single(bodies[0]),
        };
        let named: Vec<_> = questions
            .iter()
            .map(|question| (question.key, question.limit.identity()))
            .collect();
        // A digit each: a number would have too few bits for many limits.
        let dry: Vec<_> = questions
            .iter()
            .map(|question| b'0' + u8::from(question.dry_run))
            .collect();
        // The calendar is ours, the time is the server's: where our clock is
        // far off, the second round has the server's time to go by.
        let mut around = None;
        for _ in 0..3 {
            let permits: Vec<_> = questions
                .iter()
                .map(|question| match (permit, question.limit) {
                    (Some(permit), _) => permit,
                    (None, Limit::Concurrency(_)) => Permit::new(),
                    (None, _) => Permit(0),
                })
                .collect();
            let numbers: Vec<_> = questions
                .iter()
                .map(|question| arguments(question, around))
                .collect();
            let reply = self.with_connection(&named, |connection, keys, deadline| {
                connection
                    .evaluate(
                        script,
                        keys,
                        |command| {
                            for ((numbers, permit), question) in
                                numbers.iter().zip(&permits).zip(questions)
                            {
                                command.arg(question.ask.cost.min(MOST));
                                for number in numbers {
                                    command.arg(*number);
                                }
                                if let Limit::Concurrency(_) = question.limit {
                                    command.arg(permit.name());
                                }
                            }
                            command.arg(mode).arg(extra).arg(&dry);
                        },
                        2 + FIGURES * questions.len(),
                        deadline,
                    )
                    .and_then(|reply| {
                        // Of another form, it is the end of the connection.
                        parts_of(&reply[2..], questions.len()).map_err(Trouble::last)?;
                        Ok(reply)
                    })
            })?;
            let at = Micros(reply[1].max(0) as u64);
            let parts = parts_of(&reply[2..], questions.len()).map_err(Fault::new)?;
            if parts.iter().any(Part::is_outside) {
                around = Some(at);
                continue;
            }
            let mut replies = parts
                .into_iter()
                .zip(questions)
                .zip(permits)
                .map(|((part, question), permit)| reply_of(part, question, at, permit))
                .collect::<Result<Vec<_>, _>>()?;
            let refused = replies
                .iter()
                .zip(questions)
                .any(|(reply, question)| !reply.answer.decision.allowed && !question.dry_run);
            if refused || mode != "take" {
                // Those that would have passed took nothing.
                for reply in &mut replies {
                    reply.answer.permit = None;
                }
            }
            return Ok(replies);
        }
        Err(Fault::new(format!(
            "{}: its clock does not stand still long enough to tell the period",
            self.dsn
        )))
    }
}
