//! The permits that this request holds, until they are released or it ends.
//!
//! Not until a variable goes out of scope: a temporary in an `if` must not free
//! the slot before the work starts, and a streamed response must still hold it.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use super::settings;
use super::stores::AnyStore;
use crate::limit::{Ask, Key, Limit};
use crate::store::{Fault, Held, Question, Store, fork};

/// A permit and all that is needed to give it back.
pub struct HeldPermit {
    store: Rc<AnyStore>,
    limit: Limit,
    name: Vec<u8>,
    key: Vec<u8>,
    /// `None` where nothing had to be taken.
    held: Option<Held>,
    released: Cell<bool>,
    /// The process that took it: a child's copy is not its own.
    forks: u32,
}

thread_local! {
    static REQUEST: RefCell<Vec<Rc<HeldPermit>>> = const { RefCell::new(Vec::new()) };
}

impl HeldPermit {
    /// Keeps a permit for this request.
    pub fn keep(store: Rc<AnyStore>, limit: Limit, key: Key<'_>, held: Held) -> Rc<Self> {
        let permit = Rc::new(Self {
            store,
            limit,
            name: key.name.to_vec(),
            key: key.bytes.to_vec(),
            held: Some(held),
            released: Cell::new(false),
            forks: fork::forks(),
        });
        REQUEST.with_borrow_mut(|request| request.push(Rc::clone(&permit)));
        permit
    }

    /// A permit that stands for no slot: there was no limit, or nobody could
    /// tell and the request was let through.
    pub fn of_nothing(store: Rc<AnyStore>, limit: Limit) -> Rc<Self> {
        Rc::new(Self {
            store,
            limit,
            name: Vec::new(),
            key: Vec::new(),
            held: None,
            released: Cell::new(false),
            forks: fork::forks(),
        })
    }

    fn is_ours(&self) -> bool {
        !self.released.get() && self.forks == fork::forks()
    }

    fn ask<T>(&self, act: impl FnOnce(&AnyStore, &Question<'_>) -> T) -> T {
        settings::with_hot(|hot| {
            let question = Question {
                key: Key {
                    name: &self.name,
                    bytes: &self.key,
                },
                limit: &self.limit,
                ask: Ask::take(1),
                on_failure: &hot.on_failure,
                dry_run: false,
            };
            act(&self.store, &question)
        })
    }

    /// Gives it back. A second time, or in a child of the process that took
    /// it, does nothing.
    pub fn release(&self) {
        if self.is_ours() {
            self.released.set(true);
            REQUEST.with_borrow_mut(|request| {
                request.retain(|permit| !std::ptr::eq(&raw const **permit, self));
            });
            if let Some(held) = self.held {
                // Where Redis cannot be reached, the lease ends it.
                let _ = self.ask(|store, question| store.release(question, held));
            }
        }
    }

    /// Makes it last another lease; `false` if it is no longer held.
    pub fn renew(&self) -> Result<bool, Fault> {
        if !self.is_ours() {
            return Ok(false);
        }
        match self.held {
            Some(held) => self.ask(|store, question| store.renew(question, held)),
            None => Ok(true),
        }
    }
}

/// Gives all of the request's permits back.
pub fn release_all() {
    let permits = REQUEST.with_borrow_mut(std::mem::take);
    for permit in permits {
        permit.release();
    }
}
