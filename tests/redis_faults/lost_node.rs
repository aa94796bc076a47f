//! A node of a Cluster is lost: its callers are turned away, and nobody else.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use sluice::limit::{Ask, Key, Limit, Micros};
use sluice::store::clock::Clock;
use sluice::store::redis::{Budget, Redis};
use sluice::store::shm::{BootClock, Mapping, Table};
use sluice::store::tiered::{BreakerStatus, Tiered};
use sluice::store::{Source, Store};

use crate::cluster::keys_apart;
use crate::support::limits::{SECOND, question, window};
use crate::support::redis_server::PATIENT;
use crate::worlds::{World, wait_for};

/// One clock for all workers, which stands still.
#[derive(Clone, Default)]
struct Turned(Arc<AtomicU64>);

impl Clock for Turned {
    fn now(&self) -> Micros {
        Micros(self.0.load(Ordering::SeqCst))
    }
}

struct Host {
    table: Arc<Table>,
    clock: Turned,
    budget: Budget,
}

impl Host {
    fn new(budget: Budget) -> Self {
        let mapping = Mapping::anonymous(1 << 16, Micros::ZERO).expect("a mapping");
        Self {
            table: Arc::new(Table::new(mapping)),
            clock: Turned::default(),
            budget,
        }
    }

    fn worker(&self, world: &World) -> Tiered<Turned> {
        let redis = Redis::new(world.dsn(), self.budget);
        Tiered::on_host(redis, &self.table, self.clock.clone(), Micros(SECOND))
    }
}

fn source(store: &Tiered<Turned>, limit: &Limit, key: &[u8]) -> Source {
    let asked = question(Key::unnamed(key), limit, Ask::take(1));
    store.decide(&asked).expect("an answer").source
}

fn breaker(store: &Tiered<Turned>) -> BreakerStatus {
    store.status().tiers.expect("a host").breaker
}

#[test]
fn one_that_fails_turns_away_its_own_callers_only() {
    let world = World::cluster();
    let host = Host::new(PATIENT);
    let limit = window(1000, 3600);
    let [(well, _), (lost, node)] = keys_apart(&world, &Redis::new(world.dsn(), PATIENT), &limit);
    let worker = host.worker(&world);
    assert_eq!(source(&worker, &limit, &well), Source::Redis);
    world.servers[node].command(&["CONFIG", "SET", "maxmemory", "1"]);
    for _ in 0..20 {
        assert_eq!(source(&worker, &limit, &lost), Source::Fallback);
    }
    let status = breaker(&worker);
    assert_eq!((status.open, status.opened), (true, 1));
    assert_eq!(worker.status().redis.expect("a Redis").faults, 5);
    // Also where the map is not known yet, and the fault comes first.
    let new = host.worker(&world);
    assert_eq!(source(&new, &limit, &lost), Source::Fallback);
    for worker in [&worker, &new, &host.worker(&world)] {
        for _ in 0..10 {
            assert_eq!(source(worker, &limit, &well), Source::Redis);
            assert_eq!(source(worker, &limit, &lost), Source::Fallback);
        }
        let both = [&well, &lost].map(|key| question(Key::unnamed(key), &limit, Ask::take(1)));
        for _ in 0..10 {
            let answers = worker.decide_all(&both).expect("answers");
            assert_eq!(answers[0].source, Source::Fallback);
        }
        assert_eq!(source(worker, &limit, &well), Source::Redis);
    }
    world.servers[node].command(&["CONFIG", "SET", "maxmemory", "0"]);
    assert_eq!(
        source(&new, &limit, &lost),
        Source::Fallback,
        "nobody probes yet"
    );
    host.clock.0.fetch_add(4 * SECOND, Ordering::SeqCst);
    assert_eq!(source(&new, &limit, &lost), Source::Redis);
    assert_eq!(source(&worker, &limit, &lost), Source::Redis);
    assert!(!breaker(&worker).open);
}

#[test]
fn faults_of_several_keys_at_once_count_for_the_node_that_failed() {
    let world = World::cluster();
    let host = Host::new(PATIENT);
    let limit = window(1000, 3600);
    let [(well, _), (lost, node)] = keys_apart(&world, &Redis::new(world.dsn(), PATIENT), &limit);
    let worker = host.worker(&world);
    assert_eq!(source(&worker, &limit, &well), Source::Redis);
    world.servers[node].command(&["CONFIG", "SET", "maxmemory", "1"]);
    let both = [&well, &lost].map(|key| question(Key::unnamed(key), &limit, Ask::take(1)));
    for _ in 0..10 {
        let answers = worker.decide_all(&both).expect("answers");
        assert_eq!(answers[0].source, Source::Fallback);
    }
    assert!(breaker(&worker).open);
    assert_eq!(source(&worker, &limit, &lost), Source::Fallback);
    assert_eq!(source(&worker, &limit, &well), Source::Redis);
}

#[test]
fn who_is_turned_away_finds_the_new_master_without_a_probe() {
    let mut world = World::cluster();
    let budget = Budget {
        timeout: Duration::from_millis(100),
        connect: None,
    };
    let host = Host::new(budget);
    let limit = window(1000, 3600);
    let [(well, _), (lost, node)] = keys_apart(&world, &Redis::new(world.dsn(), PATIENT), &limit);
    let workers = [(); 2].map(|()| host.worker(&world));
    for worker in &workers {
        for key in [&well, &lost] {
            assert_eq!(source(worker, &limit, key), Source::Redis);
        }
    }
    world.servers[node].stop();
    for _ in 0..5 {
        assert_eq!(source(&workers[0], &limit, &lost), Source::Fallback);
    }
    assert!(breaker(&workers[0]).open);
    let look = Redis::new(world.dsn(), PATIENT);
    let asked = question(Key::unnamed(&lost), &limit, Ask::peek(1));
    wait_for("a failover", || look.decide(&asked).is_ok());
    for worker in &workers {
        assert_eq!(source(worker, &limit, &lost), Source::Fallback);
        // The clock stands still, so no probe is ever due. Not every node knows
        // the new master as soon as the first does.
        wait_for("the new master", || {
            let well = source(worker, &limit, &well);
            well == Source::Redis && source(worker, &limit, &lost) == Source::Redis
        });
    }
}

#[test]
fn nobody_goes_on_to_be_refused_for_what_was_given_back() {
    let world = World::cluster();
    let host = Host::new(PATIENT);
    let one = window(1, 3600);
    let [(first, _), (second, node)] = keys_apart(&world, &Redis::new(world.dsn(), PATIENT), &one);
    let worker = || {
        let redis = Redis::new(world.dsn(), PATIENT);
        Tiered::on_host(redis, &host.table, BootClock, Micros(60 * SECOND))
    };
    let look = |worker: &Tiered, key: &[u8]| {
        let asked = question(Key::unnamed(key), &one, Ask::peek(1));
        worker.decide(&asked).expect("an answer").decision.allowed
    };
    // It can be looked at still, but not written.
    world.servers[node].command(&["CONFIG", "SET", "maxmemory", "1"]);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let worker = worker();
            let both = [&first, &second].map(|key| question(Key::unnamed(key), &one, Ask::take(1)));
            for _ in 0..200 {
                worker.decide_all(&both).expect("answers");
                assert!(look(&worker, &second), "which is a sign of life, too");
            }
            done.store(true, Ordering::SeqCst);
        });
        let other = worker();
        let mut refused = false;
        while !done.load(Ordering::SeqCst) {
            refused |= !look(&other, &first);
        }
        assert!(refused, "it was never there at the moment");
        assert!(look(&other, &first));
    });
}
