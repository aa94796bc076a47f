//! What a `Sluice\Limit` holds: a limit and all that goes with it.

use std::cell::RefCell;
use std::rc::Rc;

use ext_php_rs::ffi::{IS_OBJECT, zval};

use super::target::Asked;
use crate::limit::{Ask, Key, Limit, parse_spec};
use crate::php::call::{Call, Result};
use crate::php::class::{Class, Native, payload_of};
use crate::php::errors;
use crate::php::policies;
use crate::php::signature::Type;
use crate::store::OnFailure;

pub static CLASS: Class = Class::new();

/// `Limit|string`: a limit, the name of a policy, or a spec.
pub const TYPE: Type = Type::class("Sluice\\Limit").or(Type::STRING);

/// A limit and all that goes with it. Never changes once made.
#[derive(Clone)]
pub struct Description {
    pub limit: Limit,
    pub name: String,
    pub key: Option<Vec<u8>>,
    pub cost: u64,
    pub dry_run: bool,
    pub on_failure: Option<OnFailure>,
}

impl Native for Rc<Description> {
    fn class() -> &'static Class {
        &CLASS
    }
}

impl From<Limit> for Description {
    fn from(limit: Limit) -> Self {
        Self {
            limit,
            name: String::new(),
            key: None,
            cost: 1,
            dry_run: false,
            on_failure: None,
        }
    }
}

impl Description {
    /// Argument `number` of a call: a `Limit`, or a string that is a spec if it
    /// starts with a digit, else a policy's name.
    pub fn of(call: &Call<'_>, number: usize) -> Result<Rc<Self>> {
        // SAFETY: the argument was given, and every value knows its type; an
        // object of our class was made by us.
        unsafe {
            let value: &zval = &*call.argument(number);
            if u32::from(value.u1.v.type_) == IS_OBJECT {
                let object = value.value.obj;
                if (*object).ce == CLASS.entry()
                    && let Some(description) = payload_of::<Rc<Self>>(object)
                {
                    return Ok(Rc::clone(description));
                }
            }
        }
        // An object that can be a string is one, for callers that coerce.
        let text = call.bytes_or(number, "Sluice\\Limit|string")?;
        let message = match std::str::from_utf8(text) {
            Ok(text) => match Self::of_text(text) {
                Ok(description) => return Ok(description),
                Err(message) => message,
            },
            Err(_) => "must be UTF-8".to_owned(),
        };
        Err(errors::throw_value(number, &message))
    }

    /// Argument `number` of a call: a `Limit` and nothing else.
    pub fn of_limit(call: &Call<'_>, number: usize) -> Result<Rc<Self>> {
        // SAFETY: as in `of`.
        let known = unsafe {
            let value: &zval = &*call.argument(number);
            (u32::from(value.u1.v.type_) == IS_OBJECT && (*value.value.obj).ce == CLASS.entry())
                .then(|| payload_of::<Rc<Self>>(value.value.obj))
                .flatten()
        };
        known
            .map(Rc::clone)
            .ok_or_else(|| call.type_error(number, "Sluice\\Limit"))
    }

    /// A spec or a policy's name. Specs are read once.
    pub fn of_text(text: &str) -> std::result::Result<Rc<Self>, String> {
        thread_local! {
            static LAST: RefCell<Vec<(String, Rc<Description>)>> = const { RefCell::new(Vec::new()) };
        }
        const REMEMBERED: usize = 32;
        if !text.starts_with(|first: char| first.is_ascii_digit()) {
            return Self::of_policy(text).map(Rc::new);
        }
        LAST.with_borrow_mut(|last| {
            if let Some((_, known)) = last.iter().find(|(known, _)| known == text) {
                return Ok(Rc::clone(known));
            }
            let limit = parse_spec(text).map_err(|error| error.to_string())?;
            let description = Rc::new(Self::from(limit));
            if last.len() == REMEMBERED {
                last.remove(0);
            }
            last.push((text.to_owned(), Rc::clone(&description)));
            Ok(description)
        })
    }

    /// The policy of this name.
    pub fn of_policy(name: &str) -> std::result::Result<Self, String> {
        let policy = policies::find(name)?;
        Ok(Self {
            name: name.to_owned(),
            dry_run: policy.dry_run,
            on_failure: policy.on_failure,
            ..policy.limit.into()
        })
    }

    /// A question about this limit for `key`.
    pub fn ask<'a>(&'a self, key: &'a [u8], ask: Ask) -> Asked<'a> {
        Asked {
            key: Key {
                name: self.name.as_bytes(),
                bytes: key,
            },
            limit: &self.limit,
            ask,
            dry_run: self.dry_run,
            on_failure: self.on_failure,
        }
    }

    /// What kind it is, for a message.
    pub fn kind(&self) -> &'static str {
        match self.limit {
            Limit::TokenBucket(_) => "token bucket",
            Limit::FixedWindow(_) => "fixed window",
            Limit::SlidingWindow(_) => "sliding window",
            Limit::LeakyBucket(_) => "leaky bucket",
            Limit::Quota(_) => "quota",
            Limit::Concurrency(_) => "concurrency limit",
            Limit::None => "limit of none",
            Limit::Deny => "limit that denies all",
        }
    }
}
