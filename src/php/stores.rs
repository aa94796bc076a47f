//! Which store a limiter asks: the shared table, one Redis per DSN, the default
//! of php.ini, and the fake of a test.
//!
//! A store belongs to the worker and outlives the objects and requests that
//! use it, so a limiter made anew in every request costs neither a connection
//! nor a script load.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use once_cell::sync::OnceCell;

use super::settings::{self, Settings};
use crate::limit::Micros;
use crate::store::Store;
use crate::store::clock::{Clock, ManualClock};
use crate::store::memory::Memory;
use crate::store::redis::{Dsn, DsnError, Redis};
use crate::store::shm::{BootClock, Mapping, MappingError, SharedMemory, Table};
use crate::store::tiered::Tiered;

/// The table that every process forked off this one shares.
static TABLE: OnceCell<Arc<Table>> = OnceCell::new();

/// Redis stores kept per worker; an application that makes up DSNs without end
/// must not grow for ever.
const MOST_REDIS: usize = 64;

thread_local! {
    static WORKER: RefCell<Worker> = RefCell::default();
}

#[derive(Default)]
struct Worker {
    default: Option<Rc<dyn Store>>,
    fake: Option<Rc<dyn Store>>,
    redis: HashMap<String, Rc<Tiered>>,
    /// Stands in for shared memory where there is none.
    alone: Option<Rc<dyn Store>>,
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
pub fn with_default<T>(use_it: impl FnOnce(&dyn Store) -> T) -> T {
    WORKER.with_borrow_mut(|worker| {
        let store = match (&worker.fake, &worker.default) {
            (Some(fake), _) => fake,
            (None, Some(default)) => default,
            (None, None) => {
                let default = make_default(worker);
                worker.default.insert(default)
            }
        };
        use_it(&**store)
    })
}

/// The default store itself, whichever it is now.
pub fn default() -> Rc<dyn Store> {
    with_default(|_| ());
    WORKER.with_borrow(|worker| {
        let kept = worker.fake.as_ref().or(worker.default.as_ref());
        kept.map_or_else(|| shared_memory(), Rc::clone)
    })
}

fn make_default(worker: &mut Worker) -> Rc<dyn Store> {
    let settings = settings::get(Settings::clone);
    match Dsn::parse(&settings.store) {
        Ok(dsn) => worker.redis(dsn, &settings.store, &settings),
        // The directive takes only a DSN or nothing.
        Err(_) => match local_table() {
            Some(shared) => Rc::new(shared),
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
pub fn shared_memory() -> Rc<dyn Store> {
    match local_table() {
        Some(shared) => Rc::new(shared),
        None => WORKER.with_borrow_mut(|worker| Rc::clone(worker.alone())),
    }
}

/// A store in this process alone, under real time moved on by `ahead`.
pub fn memory(ahead: Rc<ManualClock>) -> Rc<dyn Store> {
    let clock = Ahead {
        clock: BootClock,
        ahead,
    };
    let unix = unix_now().since(BootClock.now());
    Rc::new(Memory::new(clock, unix))
}

/// Real time, moved on by what a test has added.
struct Ahead {
    clock: BootClock,
    ahead: Rc<ManualClock>,
}

impl Clock for Ahead {
    fn now(&self) -> Micros {
        self.clock.now().after(self.ahead.now())
    }
}

/// Unix time by the system's clock.
pub fn unix_now() -> Micros {
    let since = std::time::SystemTime::UNIX_EPOCH
        .elapsed()
        .unwrap_or_default();
    Micros(since.as_micros() as u64)
}

/// The worker's store for a DSN, by the settings of now.
pub fn redis_at(text: &str) -> Result<Rc<dyn Store>, DsnError> {
    let dsn = Dsn::parse(text)?;
    Ok(redis(dsn, text))
}

/// The worker's store for a DSN with options that its text does not have.
pub fn redis(dsn: Dsn, identity: &str) -> Rc<dyn Store> {
    let settings = settings::get(Settings::clone);
    WORKER.with_borrow_mut(|worker| worker.redis(dsn, identity, &settings))
}

impl Worker {
    fn alone(&mut self) -> &Rc<dyn Store> {
        self.alone
            .get_or_insert_with(|| memory(Rc::new(ManualClock::default())))
    }

    fn redis(&mut self, mut dsn: Dsn, identity: &str, settings: &Settings) -> Rc<dyn Store> {
        let budget = settings.budget();
        let name = format!("{identity}\0{}\0{budget:?}", settings.prefix);
        if let Some(store) = self.redis.get(&name) {
            return Rc::clone(store) as Rc<dyn Store>;
        }
        if self.redis.len() >= MOST_REDIS {
            self.redis.retain(|_, store| Rc::strong_count(store) > 1);
        }
        if dsn.prefix.is_none() {
            dsn.prefix = Some(settings.prefix.clone().into_bytes());
        }
        let store = Rc::new(Tiered::new(
            Redis::new(dsn, budget),
            local_table().map(|shared| Box::new(shared) as Box<dyn Store>),
        ));
        self.redis.insert(name, Rc::clone(&store));
        store
    }
}

fn local_table() -> Option<SharedMemory> {
    Some(SharedMemory::new(Arc::clone(TABLE.get()?)))
}

/// Puts a store in the default's place until [`restore`].
pub fn fake(clock: Rc<ManualClock>) -> Rc<dyn Store> {
    let store: Rc<dyn Store> = Rc::new(Memory::new(clock, Micros::ZERO));
    WORKER.with_borrow_mut(|worker| worker.fake = Some(Rc::clone(&store)));
    store
}

/// Takes the fake away.
pub fn restore() {
    WORKER.with_borrow_mut(|worker| worker.fake = None);
}
