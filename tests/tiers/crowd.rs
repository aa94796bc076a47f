//! Many threads at one key: what one half wrote and another half wrote is
//! nobody's state, and no token is given out twice.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sluice::limit::{Ask, Key, Limit, Micros, Number, TokenBucket};
use sluice::store::redis::Redis;
use sluice::store::shm::{BootClock, Mapping, Table};
use sluice::store::tiered::Tiered;
use sluice::store::{Source, Store};

use crate::support::limits::{SECOND, question, sliding, window};
use crate::support::redis_server::{PATIENT, RedisServer};

fn on_all_threads(server: &RedisServer, hosts: usize, run: impl Fn(usize, &Tiered) + Sync) {
    let tables: Vec<_> = (0..hosts)
        .map(|_| {
            let mapping = Mapping::anonymous(1 << 20, Micros::ZERO).expect("a mapping");
            Arc::new(Table::new(mapping))
        })
        .collect();
    std::thread::scope(|scope| {
        for number in 0..8 {
            let (table, run) = (Arc::clone(&tables[number % hosts]), &run);
            scope.spawn(move || {
                let redis = Redis::new(server.dsn(), PATIENT);
                run(
                    number,
                    &Tiered::on_host(redis, &table, BootClock, Micros(SECOND)),
                );
            });
        }
    });
}

#[test]
fn eight_threads_are_given_what_there_is() {
    let server = RedisServer::start();
    for limit in [window(500, 3600), sliding(500, Micros(3600 * SECOND))] {
        let (given, near) = (AtomicU64::new(0), AtomicU64::new(0));
        on_all_threads(&server, 2, |_, store| {
            for _ in 0..2000 {
                let asked = question(Key::unnamed(b"k"), &limit, Ask::take(1));
                let answer = store.decide(&asked).expect("an answer");
                given.fetch_add(answer.decision.allowed.into(), Ordering::SeqCst);
                near.fetch_add(
                    (answer.source == Source::NearState).into(),
                    Ordering::SeqCst,
                );
            }
        });
        assert_eq!(given.load(Ordering::SeqCst), 500, "{limit:?}");
        assert!(near.load(Ordering::SeqCst) > 10_000);
    }
}

#[test]
fn a_lease_is_given_out_once() {
    let server = RedisServer::start();
    for round in 0..5 {
        let day = Number::Float(1.0 / 86_400.0);
        let bucket = TokenBucket::new(20_000, day).expect("a bucket");
        let limit = Limit::TokenBucket(bucket.leased());
        let (given, leased) = (AtomicU64::new(0), AtomicU64::new(0));
        let key = format!("{round}");
        on_all_threads(&server, 2, |_, store| {
            let mut refused = 0;
            while refused < 20 {
                let asked = question(Key::unnamed(key.as_bytes()), &limit, Ask::take(1));
                let answer = store.decide(&asked).expect("an answer");
                if answer.decision.allowed {
                    given.fetch_add(1, Ordering::SeqCst);
                    leased.fetch_add((answer.source == Source::Lease).into(), Ordering::SeqCst);
                } else {
                    refused += 1;
                }
            }
        });
        let given = given.load(Ordering::SeqCst);
        assert!(given <= 20_000, "{given}");
        assert!(given > 15_000, "{given}");
        assert!(leased.load(Ordering::SeqCst) > given / 2);
    }
}
