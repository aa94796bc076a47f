//! Which store a limiter asks: the shared table, one Redis per DSN, the default
//! of php.ini, and the fake of a test.
//!
//! A store belongs to the worker and outlives the objects and requests that
//! use it, so a limiter made anew in every request costs neither a connection
//! nor a script load.

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use once_cell::sync::OnceCell;

use super::call::Thrown;
use super::settings::{self, Settings};
use super::{errors, zend};
use crate::limit::{Key, Limit, Micros};
use crate::store::clock::{Clock, ManualClock};
use crate::store::memory::Memory;
use crate::store::redis::{Dsn, DsnError, Redis};
use crate::store::shm::{BootClock, Mapping, MappingError, SharedMemory, Table};
use crate::store::tiered::Tiered;
use crate::store::{Answer, Failure, Fault, Held, Question, Status, Store, unix_now};

/// The table that every process forked off this one shares.
static TABLE: OnceCell<Arc<Table>> = OnceCell::new();

/// Redis stores kept per worker; an application that makes up DSNs without end
/// must not grow for ever.
const MOST_REDIS: usize = 64;

thread_local! {
    static WORKER: RefCell<Worker> = const {
        RefCell::new(Worker {
            default: None,
            fake: None,
            redis: Vec::new(),
            alone: None,
        })
    };
}

/// The stores that PHP code can hold. Not `dyn Store`: on the way through
/// shared memory the compiler then sees one function from PHP to the slot, and
/// leaves out what its caller does not use.
pub enum AnyStore {
    SharedMemory(SharedMemory),
    Redis(Box<Tiered>),
    Memory(Memory<MovableClock>),
}

macro_rules! each {
    ($any:expr, $store:ident => $use_it:expr) => {
        match $any {
            AnyStore::SharedMemory($store) => $use_it,
            AnyStore::Redis($store) => $use_it,
            AnyStore::Memory($store) => $use_it,
        }
    };
}

impl Store for AnyStore {
    #[inline(always)]
    fn decide(&self, question: &Question<'_>) -> Result<Answer, Fault> {
        each!(self, store => store.decide(question))
    }

    fn decide_all(&self, questions: &[Question<'_>]) -> Result<Vec<Answer>, Fault> {
        each!(self, store => store.decide_all(questions))
    }

    fn refund(&self, question: &Question<'_>, taken: &Answer) -> Result<(), Fault> {
        each!(self, store => store.refund(question, taken))
    }

    fn release(&self, question: &Question<'_>, held: Held) -> Result<bool, Fault> {
        each!(self, store => store.release(question, held))
    }

    fn renew(&self, question: &Question<'_>, held: Held) -> Result<bool, Fault> {
        each!(self, store => store.renew(question, held))
    }

    fn reset(&self, key: Key<'_>, limit: &Limit) -> Result<(), Fault> {
        each!(self, store => store.reset(key, limit))
    }

    fn status(&self) -> Status {
        each!(self, store => store.status())
    }

    fn unix_time(&self) -> Option<Micros> {
        each!(self, store => store.unix_time())
    }
}

impl AnyStore {
    /// Moves the store's clock on, if it is one that can be moved.
    pub fn advance(&self, by: Micros) -> bool {
        let Self::Memory(memory) = self else {
            return false;
        };
        memory.clock().ahead.advance(by);
        true
    }
}

/// Unix time that `advance()` moves on: the system's, or one that otherwise
/// stands still.
pub struct MovableClock {
    runs: bool,
    ahead: ManualClock,
}

impl Clock for MovableClock {
    fn now(&self) -> Micros {
        let running = if self.runs { unix_now() } else { Micros::ZERO };
        running.after(self.ahead.now())
    }
}

struct Worker {
    default: Option<Rc<AnyStore>>,
    fake: Option<Rc<AnyStore>>,
    /// By everything that makes one differ from another.
    redis: Vec<(String, Rc<AnyStore>)>,
    /// Stands in for shared memory where there is none.
    alone: Option<Rc<AnyStore>>,
}

/// Maps the shared memory. In MINIT, before php-fpm forks its workers.
pub fn map_shared_memory() -> Result<(), MappingError> {
    let (size, path) = settings::get(|s| (s.shm_size, s.shm_path.clone()));
    let made_at = BootClock.now();
    let mapping = if path.is_empty() {
        Mapping::anonymous(size, made_at)
    } else {
        Mapping::file(Path::new(&path), size, made_at)
    }?;
    // A second MINIT (Apache has two) keeps the first table.
    let _ = TABLE.set(Arc::new(Table::new(mapping)));
    Ok(())
}

/// Asks `use_it` with the store that a limiter without one of its own uses.
#[inline(always)]
pub fn with_default<T>(use_it: impl FnOnce(&AnyStore) -> T) -> T {
    WORKER.with_borrow_mut(|worker| {
        let store = match (&worker.fake, &worker.default) {
            (Some(fake), _) => fake,
            (None, Some(default)) => default,
            (None, None) => {
                let default = make_default(worker);
                worker.default.insert(default)
            }
        };
        use_it(store)
    })
}

/// The default store itself, whichever it is now.
pub fn default() -> Rc<AnyStore> {
    with_default(|_| ());
    WORKER.with_borrow(|worker| {
        let kept = worker.fake.as_ref().or(worker.default.as_ref());
        kept.map_or_else(shared_memory, Rc::clone)
    })
}

fn make_default(worker: &mut Worker) -> Rc<AnyStore> {
    let settings = settings::get(Settings::clone);
    match Dsn::parse(&settings.store) {
        Ok(dsn) => worker.redis(dsn, &settings.store, &settings),
        // The directive takes only a DSN or nothing.
        Err(_) => match local_table() {
            Some(shared) => Rc::new(AnyStore::SharedMemory(shared)),
            None => Rc::clone(worker.alone()),
        },
    }
}

/// Forgets which store is the default: a directive has changed.
pub fn forget_default() {
    // During a borrow PHP is never called, so no directive changes then.
    let _ = WORKER.try_with(|worker| worker.borrow_mut().default = None);
}

/// This host's shared memory; where there is none, this process alone.
pub fn shared_memory() -> Rc<AnyStore> {
    match local_table() {
        Some(shared) => Rc::new(AnyStore::SharedMemory(shared)),
        None => WORKER.with_borrow_mut(|worker| Rc::clone(worker.alone())),
    }
}

/// A store in this process alone, under the system's time.
pub fn memory() -> Rc<AnyStore> {
    Rc::new(AnyStore::Memory(Memory::new(MovableClock {
        runs: true,
        ahead: ManualClock::default(),
    })))
}

/// What came of something that has no answer of its own to give after a fault:
/// the policy `throw` gets the fault, the others `otherwise`.
pub fn unless_thrown<T>(result: Result<T, Fault>, otherwise: T) -> Result<T, Thrown> {
    let policy = settings::with_hot(|hot| hot.on_failure.policy);
    match result {
        Ok(value) => Ok(value),
        Err(fault) if policy == Failure::Throw => Err(errors::throw_store(&fault.message)),
        Err(_) => Ok(otherwise),
    }
}

/// The worker's store for a DSN, by the settings of now.
pub fn redis_at(text: &str) -> Result<Rc<AnyStore>, DsnError> {
    redis(Dsn::parse(text)?, text)
}

/// The worker's store for a DSN with options that its text does not have.
///
/// # Errors
/// Where the DSN names files that are not what they should be.
pub fn redis(dsn: Dsn, identity: &str) -> Result<Rc<AnyStore>, DsnError> {
    let settings = settings::get(Settings::clone);
    let known = WORKER.with_borrow(|worker| worker.known(&name_of(identity, &settings)));
    if let Some(store) = known {
        return Ok(store);
    }
    dsn.check()?;
    Ok(WORKER.with_borrow_mut(|worker| worker.redis(dsn, identity, &settings)))
}

/// Everything that makes one store of Redis differ from another.
fn name_of(identity: &str, settings: &Settings) -> String {
    format!(
        "{identity}\0{}\0{:?}\0{:?}",
        settings.prefix,
        settings.budget(),
        settings.near
    )
}

impl Worker {
    fn alone(&mut self) -> &Rc<AnyStore> {
        self.alone.get_or_insert_with(memory)
    }

    fn known(&self, name: &str) -> Option<Rc<AnyStore>> {
        let mut stores = self.redis.iter();
        stores.find_map(|(known, store)| (known == name).then(|| Rc::clone(store)))
    }

    fn redis(&mut self, mut dsn: Dsn, identity: &str, settings: &Settings) -> Rc<AnyStore> {
        let name = name_of(identity, settings);
        if let Some(store) = self.known(&name) {
            return store;
        }
        if dsn.is_unverified() {
            // To the log, once a worker; this calls nothing of PHP's.
            zend::log(&format!(
                "sluice: {dsn}: nobody looks at the server's certificate (verify=no), so whoever \
                 is on the way can read the password and answer in its place"
            ));
        }
        if self.redis.len() >= MOST_REDIS {
            self.redis.retain(|(_, store)| Rc::strong_count(store) > 1);
        }
        if dsn.prefix.is_none() {
            dsn.prefix = Some(settings.prefix.clone().into_bytes());
        }
        let redis = Redis::new(dsn, settings.budget());
        let tiered = match TABLE.get() {
            Some(table) => Tiered::on_host(redis, table, BootClock, settings.near),
            None => Tiered::new(redis, None),
        };
        let store = Rc::new(AnyStore::Redis(Box::new(tiered)));
        self.redis.push((name, Rc::clone(&store)));
        store
    }
}

fn local_table() -> Option<SharedMemory> {
    let table = Arc::clone(TABLE.get()?);
    let prefix = settings::get(|settings| settings.prefix.clone());
    Some(SharedMemory::new(table).with_prefix(prefix.as_bytes()))
}

/// Puts a store in the default's place until [`restore`]. Its time stands
/// still at `at` until it is advanced.
pub fn fake(at: Micros) -> Rc<AnyStore> {
    let clock = MovableClock {
        runs: false,
        ahead: ManualClock::at(at),
    };
    let store = Rc::new(AnyStore::Memory(Memory::new(clock)));
    WORKER.with_borrow_mut(|worker| worker.fake = Some(Rc::clone(&store)));
    store
}

/// Takes the fake away.
pub fn restore() {
    WORKER.with_borrow_mut(|worker| worker.fake = None);
}
