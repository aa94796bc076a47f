//! Every trouble, in every layout of servers, before every failure policy; and
//! the table of it in `docs/faults.md`.

use std::time::{Duration, Instant};

use sluice::store::redis::Dsn;
use sluice::store::{Answer, Fault, OnFailure, Source, Store};

use crate::scripted::{SCRIPTED, Scripted};
use crate::struck::{STRUCK, Scene};
use crate::support::limits::by_policy;
use crate::troubles::{
    Guarded, TIMEOUT, assert_by_policy, assert_redis_answers, guarded, reset, take, take_from_well,
};
use crate::worlds::{World, wait_for};

/// The layouts, in the order of the table's columns.
pub const LAYOUTS: [&str; 4] = ["standalone", "TLS", "Sentinel", "Cluster"];

/// Set by `make test-faults`: where the table goes.
const TABLE: &str = "SLUICE_FAULTS_TABLE";

/// What is expected of calls while the trouble lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// The policy answers until the trouble is over.
    Policy,
    /// Redis answers as if there were none.
    Redis,
    /// One call may be answered by the policy, the next is by Redis.
    Once,
    /// The policy answers until another server has taken over.
    Failover,
}

/// One row of the table: its name, and its cells by layout.
type Row = (&'static str, [String; 4]);

#[test]
fn every_trouble_in_every_layout_before_every_policy() {
    let columns: Vec<Vec<(&str, String)>> = std::thread::scope(|scope| {
        let columns = LAYOUTS.map(|layout| scope.spawn(move || column(layout)));
        columns
            .map(|column| column.join().expect("a column"))
            .into()
    });
    let names = STRUCK
        .iter()
        .map(|case| case.name)
        .chain(SCRIPTED.iter().map(|case| case.name));
    let rows: Vec<Row> = names
        .enumerate()
        .map(|(row, name)| {
            let cell = |column: usize| {
                assert_eq!(columns[column][row].0, name);
                columns[column][row].1.clone()
            };
            (name, [cell(0), cell(1), cell(2), cell(3)])
        })
        .collect();
    let text = page(&rows);
    if let Some(file) = std::env::var_os(TABLE) {
        std::fs::write(file, text).expect("the page can be written");
    }
}

/// All cells of one layout.
fn column(layout: &str) -> Vec<(&'static str, String)> {
    let mut cells = Vec::new();
    let mut scene = Scene::in_world(match layout {
        "TLS" => World::tls(),
        "Sentinel" => World::sentinel(),
        "Cluster" => World::cluster(),
        _ => World::standalone(),
    });
    for case in STRUCK {
        let cell = match (case.expected)(&scene.world) {
            None => "–".to_owned(),
            Some(expected) => {
                println!("{layout}: {}", case.name);
                scene.run(case, expected)
            }
        };
        cells.push((case.name, cell));
    }
    drop(scene);
    for case in SCRIPTED {
        println!("{layout}: {}", case.name);
        cells.push((case.name, Scripted::run(layout, case)));
    }
    cells
}

/// A store for each policy, on connections of its own.
pub struct Stores(Vec<(OnFailure, Guarded)>);

impl Stores {
    pub fn at(dsn: &Dsn) -> Self {
        let policies = [
            by_policy::LOCAL,
            by_policy::ALLOW,
            by_policy::DENY,
            by_policy::THROW,
        ];
        Self(policies.map(|policy| (policy, guarded(dsn))).into())
    }

    /// Has every one of them answered by Redis.
    pub fn are_well(&self) {
        for (policy, store) in &self.0 {
            let answer = take_from_well(store, policy).0;
            assert!(is_well(&answer), "{answer:?} {:?}", store.status());
            assert_redis_answers(&answer);
        }
        reset(&self.0[0].1);
    }

    /// The server that the first of them asked.
    pub fn node(&self) -> String {
        let status = self.0[0].1.status();
        let redis = status.redis.expect("there is a Redis behind it");
        redis.node.expect("it was asked")
    }

    /// Sees that calls are answered as expected, and says so in a cell.
    pub fn are_struck(&self, expected: Expected) -> String {
        let mut quickest = Duration::MAX;
        for (policy, store) in &self.0 {
            let started = Instant::now();
            let first = match expected {
                Expected::Redis => take_from_well(store, policy).0,
                _ => take(store, policy),
            };
            quickest = quickest.min(started.elapsed());
            let second = match expected {
                Expected::Redis | Expected::Once => take_from_well(store, policy).0,
                _ => take(store, policy),
            };
            match expected {
                Expected::Redis => {
                    assert_redis_answers(&first);
                    assert_redis_answers(&second);
                }
                Expected::Once => assert_redis_answers(&second),
                Expected::Policy => {
                    assert_by_policy(policy, &first);
                    assert_by_policy(policy, &second);
                }
                Expected::Failover => assert_by_policy(policy, &first),
            }
        }
        if expected == Expected::Failover {
            for (policy, store) in &self.0 {
                wait_for("another server that answers", || {
                    is_well(&take(store, policy))
                });
            }
        }
        let when = if quickest < TIMEOUT / 2 {
            "at once"
        } else {
            "at the deadline"
        };
        match expected {
            Expected::Policy => format!("policy, {when}"),
            Expected::Redis => "Redis".into(),
            Expected::Once => "Redis, but for one call at most".into(),
            Expected::Failover => "policy, until another server takes over".into(),
        }
    }
}

fn is_well(answer: &Result<Answer, Fault>) -> bool {
    answer
        .as_ref()
        .is_ok_and(|answer| answer.source == Source::Redis)
}

fn page(rows: &[Row]) -> String {
    let mut table = format!(
        "| what happens | {} |\n|---|---|---|---|---|\n",
        LAYOUTS.join(" | ")
    );
    for (name, cells) in rows {
        table.extend(["| ", name, " | ", &cells.join(" | "), " |\n"]);
    }
    format!(
        "{}{table}{}",
        include_str!("faults_head.md"),
        include_str!("faults_foot.md")
    )
}
