//! Hosts in front of one Redis, under clocks that do not run alike.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use redis::Connection;
use sluice::limit::{Ask, Key, Limit, Micros};
use sluice::store::clock::{Clock, ManualClock};
use sluice::store::redis::{Redis, Scripts};
use sluice::store::shm::{Mapping, Table};
use sluice::store::tiered::Tiered;
use sluice::store::{Answer, OnFailure, Question, Store};

use crate::support::limits::{SECOND, by_policy, question};
use crate::support::redis_server::{PATIENT, RedisServer};
use crate::support::stores::{START, Ttl, injected};

/// How long near states are believed in these tests.
pub const NEAR: Micros = Micros(SECOND);

/// A host's clock: it began at another time than Redis', and runs faster or
/// slower by so many millionths.
#[derive(Clone)]
pub struct HostClock {
    redis: Rc<ManualClock>,
    began: Micros,
    fast: i64,
}

impl Clock for HostClock {
    fn now(&self) -> Micros {
        let passed = self.redis.now().since(START).0;
        let ahead = (i128::from(passed) * i128::from(self.fast) / 1_000_000) as i64;
        Micros(self.began.0 + passed.saturating_add_signed(ahead))
    }

    fn unix(&self) -> Micros {
        self.redis.now()
    }
}

/// A host: its workers share a table.
pub struct Host {
    pub workers: Vec<Tiered<HostClock>>,
    table: Arc<Table>,
    clock: HostClock,
}

/// All hosts and their server.
pub struct Fleet {
    pub hosts: Vec<Host>,
    pub server: RedisServer,
    pub time: Rc<ManualClock>,
    connection: RefCell<Connection>,
}

impl Fleet {
    /// So many hosts of so many workers each.
    pub fn start(hosts: usize, workers: usize) -> Self {
        Self::start_with(hosts, workers, NEAR)
    }

    /// The same with another time for near states.
    pub fn start_with(hosts: usize, workers: usize, near: Micros) -> Self {
        let server = RedisServer::start();
        let time = Rc::new(ManualClock::at(START));
        let scripts = scripts();
        let host = |number: usize| {
            let clock = HostClock {
                redis: Rc::clone(&time),
                began: Micros(5_000_000_000 * (number as u64 + 1)),
                fast: [900, -900][number % 2],
            };
            let mapping = Mapping::anonymous(1 << 20, clock.began).expect("a mapping");
            let table = Arc::new(Table::new(mapping));
            let worker = || {
                let redis = Redis::with_scripts(server.dsn(), PATIENT, Rc::clone(&scripts));
                Tiered::on_host(redis, &table, clock.clone(), near)
            };
            Host {
                workers: (0..workers).map(|_| worker()).collect(),
                table: Arc::clone(&table),
                clock: clock.clone(),
            }
        };
        let hosts = (0..hosts).map(host).collect();
        let fleet = Self {
            hosts,
            connection: RefCell::new(server.connect()),
            server,
            time,
        };
        fleet.advance(0);
        fleet
    }

    /// What Redis' clock shows.
    pub fn now(&self) -> Micros {
        self.time.now()
    }

    /// Turns all clocks on.
    pub fn advance(&self, by: u64) {
        self.time.advance(Micros(by));
        redis::cmd("SET")
            .arg("test:clock")
            .arg(self.time.now().0)
            .exec(&mut self.connection.borrow_mut())
            .expect("the clock key can be set");
    }

    /// Turns the hosts' clocks on while Redis' cannot be.
    pub fn advance_hosts(&self, by: u64) {
        self.time.advance(Micros(by));
    }

    /// Script calls that came to the server so far.
    pub fn calls(&self) -> u64 {
        self.server.calls_of("evalsha").all
    }

    /// The server alone.
    pub fn redis(&self) -> Redis {
        Redis::with_scripts(self.server.dsn(), PATIENT, scripts())
    }

    /// The first worker of a host.
    pub fn worker(&self, host: usize) -> &Tiered<HostClock> {
        &self.hosts[host].workers[0]
    }

    /// Another worker, with its own way to where `dsn` leads.
    pub fn worker_at(&self, host: usize, dsn: sluice::store::redis::Dsn) -> Tiered<HostClock> {
        let redis = Redis::with_scripts(dsn, PATIENT, scripts());
        let host = &self.hosts[host];
        Tiered::on_host(redis, &host.table, host.clock.clone(), NEAR)
    }
}

/// The scripts on the clock that tests turn.
fn scripts() -> Rc<Scripts> {
    Rc::new(Scripts::with_clock(&injected(Ttl::Ignored)))
}

/// Puts a question that has to be answered.
pub fn ask<C: Clock>(store: &Tiered<C>, key: &str, limit: &Limit, ask: Ask) -> Answer {
    ask_by(store, key, limit, ask, &by_policy::LOCAL)
}

/// The same by another failure policy.
pub fn ask_by<C: Clock>(
    store: &Tiered<C>,
    key: &str,
    limit: &Limit,
    ask: Ask,
    on_failure: &OnFailure,
) -> Answer {
    let question = Question {
        on_failure,
        ..question(Key::unnamed(key.as_bytes()), limit, ask)
    };
    match store.decide(&question) {
        Ok(answer) => answer,
        Err(fault) => panic!("{fault}"),
    }
}

/// Takes so many tokens.
pub fn take<C: Clock>(store: &Tiered<C>, key: &str, limit: &Limit, cost: u64) -> Answer {
    ask(store, key, limit, Ask::take(cost))
}
