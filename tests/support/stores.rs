//! All stores side by side, each with a clock that a test turns by hand.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use redis::Connection;
use sluice::limit::{Ask, Decision, Key, Limit, Micros};
use sluice::store::clock::{Clock, ManualClock};
use sluice::store::memory::Memory;
use sluice::store::redis::{Redis, Scripts};
use sluice::store::shm::{Mapping, SharedMemory, Table};
use sluice::store::{Answer, Question, Store};

use super::limits::{DAY, question};
use super::model::Model;
use super::redis_server::{PATIENT, RedisServer};

/// What the clocks show at first: a Unix time, so that the doubles of Lua are
/// as large as they are in production.
pub const START: Micros = Micros(1_800_000_000 * 1_000_000);

/// Time of shared-memory tables starts here; clocks are not turned further back.
pub const MADE_AT: Micros = Micros(START.0 - 30 * DAY);

/// What the scripts do about keys that outlive their TTL, now that time is not
/// the server's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ttl {
    /// Keys go when their TTL has passed on the injected clock.
    Applies,
    /// Keys stay.
    Ignored,
}

/// One store under test.
pub struct Subject {
    /// What to call it in a failed assertion.
    pub name: &'static str,
    store: Box<dyn Store>,
    clock: TestClock,
}

/// A manual clock, and the key of a Redis that always says the same.
struct TestClock {
    manual: Rc<ManualClock>,
    redis: Option<RefCell<Connection>>,
}

impl Subject {
    /// The pure functions.
    pub fn model() -> Self {
        Self::over("the model", |clock| Model::new(Rc::clone(clock)))
    }

    /// The map of one process.
    pub fn memory() -> Self {
        Self::over("memory", |clock| Memory::new(Rc::clone(clock)))
    }

    /// A table of its own.
    pub fn shared_memory() -> Self {
        // So large that no key takes the place of one that expired: the clock steps
        // back here, and then the model still knows what was forgotten.
        let mapping = Mapping::anonymous(1 << 25, MADE_AT).expect("a mapping");
        let table = Arc::new(Table::new(mapping));
        Self::over("shared memory", |clock| {
            SharedMemory::with_clock(table, Rc::clone(clock))
        })
    }

    /// The scripts on a server.
    pub fn lua(server: &RedisServer, ttl: Ttl) -> Self {
        let scripts = Rc::new(Scripts::with_clock(&injected(ttl)));
        let mut subject = Self::over("Lua", |_| {
            Redis::with_scripts(server.dsn(), PATIENT, scripts)
        });
        subject.clock.redis = Some(RefCell::new(server.connect()));
        subject.set_time(START);
        subject
    }

    fn over<S: Store + 'static>(
        name: &'static str,
        store: impl FnOnce(&Rc<ManualClock>) -> S,
    ) -> Self {
        let manual = Rc::new(ManualClock::at(START));
        Self {
            name,
            store: Box::new(store(&manual)),
            clock: TestClock {
                manual,
                redis: None,
            },
        }
    }

    /// The store itself.
    pub fn store(&self) -> &dyn Store {
        &*self.store
    }

    /// Whether it only knows the kinds that are pure functions.
    pub fn is_model(&self) -> bool {
        self.name == "the model"
    }

    /// Puts a question that has to be answered.
    pub fn ask(&self, key: Key<'_>, limit: &Limit, ask: Ask) -> Decision {
        match self.store.decide(&question(key, limit, ask)) {
            Ok(answer) => answer.decision,
            Err(fault) => panic!("{}: {fault}", self.name),
        }
    }

    /// Puts a question, and gives all that came of it.
    pub fn answer(&self, key: Key<'_>, limit: &Limit, ask: Ask) -> Answer {
        match self.store.decide(&question(key, limit, ask)) {
            Ok(answer) => answer,
            Err(fault) => panic!("{}: {fault}", self.name),
        }
    }

    /// Puts several questions, all or nothing.
    pub fn ask_all(&self, questions: &[Question<'_>]) -> Vec<Answer> {
        match self.store.decide_all(questions) {
            Ok(answers) => answers,
            Err(fault) => panic!("{}: {fault}", self.name),
        }
    }

    /// Gives back what an answer took, or a part of it.
    pub fn refund(&self, key: Key<'_>, limit: &Limit, cost: u64, taken: &Answer) {
        let given = self
            .store
            .refund(&question(key, limit, Ask::take(cost)), taken);
        if let Err(fault) = given {
            panic!("{}: {fault}", self.name);
        }
    }

    /// Takes tokens from a key without a name.
    pub fn take(&self, key: &str, limit: &Limit, cost: u64) -> Decision {
        self.ask(Key::unnamed(key.as_bytes()), limit, Ask::take(cost))
    }

    /// Looks whether tokens are there.
    pub fn peek(&self, key: &str, limit: &Limit, cost: u64) -> Decision {
        self.ask(Key::unnamed(key.as_bytes()), limit, Ask::peek(cost))
    }

    /// Takes tokens whether they are there or not.
    pub fn charge(&self, key: &str, limit: &Limit, cost: u64) -> Decision {
        self.ask(Key::unnamed(key.as_bytes()), limit, Ask::charge(cost))
    }

    /// Forgets a key.
    pub fn reset(&self, key: Key<'_>, limit: &Limit) {
        if let Err(fault) = self.store.reset(key, limit) {
            panic!("{}: {fault}", self.name);
        }
    }

    /// What the clock shows.
    pub fn now(&self) -> Micros {
        self.clock.manual.now()
    }

    /// Turns the clock.
    pub fn set_time(&self, now: Micros) {
        self.clock.manual.set(now);
        if let Some(connection) = &self.clock.redis {
            redis::cmd("SET")
                .arg("test:clock")
                .arg(now.0)
                .exec(&mut connection.borrow_mut())
                .expect("the clock key can be set");
        }
    }

    /// Turns the clock on.
    pub fn advance(&self, by: u64) {
        self.set_time(self.now().after(Micros(by)));
    }

    /// Turns the clock back.
    pub fn step_back(&self, by: u64) {
        self.set_time(Micros(self.now().0 - by));
    }
}

/// Every store, and the server that one of them needs.
pub struct Subjects {
    all: Vec<Subject>,
    _server: RedisServer,
}

impl Subjects {
    /// All of them, empty, at [`START`].
    pub fn start() -> Self {
        let server = RedisServer::start();
        Self {
            all: vec![
                Subject::model(),
                Subject::memory(),
                Subject::shared_memory(),
                Subject::lua(&server, Ttl::Applies),
            ],
            _server: server,
        }
    }

    /// Each in turn.
    pub fn iter(&self) -> impl Iterator<Item = &Subject> {
        self.all.iter()
    }
}

/// Runs one story on every store by itself.
pub fn on_every_store(story: impl Fn(&Subject)) {
    for subject in Subjects::start().iter() {
        // Shown only if the story fails.
        println!("on {}", subject.name);
        story(subject);
    }
}

/// Lua in front of the scripts: time out of a key, and TTLs by that time.
///
/// `redis` is shadowed, since the server would let keys expire by its own time.
pub fn injected(ttl: Ttl) -> String {
    let keeps = ttl == Ttl::Ignored;
    format!(
        "
local server = redis
local function clock()
  return tonumber(server.call('GET', 'test:clock'))
end
local redis = {{}}
function redis.call(command, key, ...)
  local ends = 'test:ends:' .. (key or '')
  if command == 'SET' then
    local value, px, ttl = ...
    assert(px == 'PX' and tonumber(ttl) > 0, 'a state without a TTL')
    server.call('SET', ends, string.format('%.0f', clock() + ttl * 1000))
    return server.call('SET', key, value)
  end
  if command == 'GET' and not {keeps} then
    local ends_at = server.call('GET', ends)
    if ends_at and clock() >= tonumber(ends_at) then
      return false
    end
  end
  return server.call(command, key, ...)
end
"
    )
}
