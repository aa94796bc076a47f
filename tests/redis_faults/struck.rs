//! Troubles of real servers: how each is brought about, and how it ends.

use std::rc::Rc;
use std::time::Duration;

use redis::Connection;
use sluice::limit::{Ask, Key, Micros};
use sluice::store::Store;
use sluice::store::redis::{Dsn, Redis, Scripts};

use crate::names::{HANGS, let_resolve};
use crate::support::limits::{question, window};
use crate::support::redis_server::PATIENT;
use crate::table::{Expected, Stores};
use crate::worlds::{PASSWORD, USER, World, let_in, wait_for};

/// One trouble.
pub struct Struck {
    pub name: &'static str,
    /// What comes of it, if it makes sense there.
    pub expected: fn(&World) -> Option<Expected>,
    dsn: fn(&World) -> Dsn,
    /// Whether calls are answered before it strikes.
    well_at_first: bool,
    strike: fn(&mut Scene),
    heal: fn(&mut Scene),
}

const USUAL: Struck = Struck {
    name: "",
    expected: |_| Some(Expected::Policy),
    dsn: World::dsn,
    well_at_first: true,
    strike: |_| (),
    heal: |_| (),
};

/// A world, and which of its servers has the key.
pub struct Scene {
    pub world: World,
    server: usize,
    /// There before the trouble, and through it.
    admin: Option<Connection>,
}

const ALONE: fn(&World) -> Option<Expected> =
    |world| (!world.fails_over()).then_some(Expected::Policy);
const UNTIL_FAILOVER: fn(&World) -> Option<Expected> = |world| {
    Some(if world.fails_over() {
        Expected::Failover
    } else {
        Expected::Policy
    })
};

pub const STRUCK: &[Struck] = &[
    Struck {
        name: "killed",
        expected: UNTIL_FAILOVER,
        strike: |scene| scene.world.servers[scene.server].stop(),
        heal: |scene| scene.world.revive(scene.server),
        ..USUAL
    },
    Struck {
        name: "stands still (`SIGSTOP`)",
        expected: UNTIL_FAILOVER,
        strike: |scene| scene.world.servers[scene.server].pause(),
        heal: |scene| {
            scene.world.servers[scene.server].resume();
            scene.world.settle();
        },
        ..USUAL
    },
    Struck {
        name: "restarted, empty",
        expected: |_| Some(Expected::Once),
        strike: |scene| {
            scene.world.servers[scene.server].restart_empty();
            let_in(&scene.world.servers[scene.server]);
            scene.world.settle();
        },
        ..USUAL
    },
    Struck {
        name: "handed over, old master `READONLY`",
        expected: |world| {
            Some(if world.fails_over() {
                Expected::Once
            } else {
                Expected::Policy
            })
        },
        strike: |scene| {
            if scene.world.fails_over() {
                scene.world.hand_over(scene.server);
            } else {
                scene.command("REPLICAOF 127.0.0.1 1");
            }
        },
        heal: |scene| {
            if !scene.world.fails_over() {
                scene.command("REPLICAOF NO ONE");
            }
            scene.world.settle();
        },
        ..USUAL
    },
    Struck {
        name: "`LOADING` its data",
        expected: ALONE,
        strike: |scene| {
            let mut fill = redis::pipe();
            for key in 0..10_000 {
                fill.cmd("SET").arg(key).arg("x").ignore();
            }
            let server = &mut scene.world.servers[scene.server];
            fill.exec(&mut server.connect()).expect("keys to load");
            server.command(&["SAVE"]);
            // So many microseconds a key, and clients are heard in between.
            let slowly = ["--key-load-delay", "500"];
            let heard = ["--loading-process-events-interval-bytes", "1024"];
            server.restart_with(&[slowly, heard].concat());
            scene.admin = Some(server.connect());
            scene.let_in_while_loading();
        },
        heal: |scene| {
            scene.command("CONFIG SET key-load-delay 0");
            let server = &scene.world.servers[scene.server];
            wait_for("loaded data", || {
                server
                    .command(&["INFO", "persistence"])
                    .contains("\nloading:0")
            });
            server.command(&["FLUSHALL"]);
            std::fs::remove_file(server.dir().join("dump.rdb")).expect("it was saved");
        },
        ..USUAL
    },
    Struck {
        name: "out of memory (`OOM`)",
        strike: |scene| scene.command("CONFIG SET maxmemory 1"),
        heal: |scene| scene.command("CONFIG SET maxmemory 0"),
        ..USUAL
    },
    Struck {
        name: "wants a login (`NOAUTH`)",
        expected: ALONE,
        dsn: |world| world.dsn_by("127.0.0.1", ""),
        strike: |scene| {
            scene.command("CONFIG SET requirepass correct-horse");
            scene.command("CLIENT KILL TYPE normal");
        },
        heal: |scene| scene.command("ACL SETUSER default nopass"),
        ..USUAL
    },
    Struck {
        name: "another password (`WRONGPASS`)",
        strike: |scene| {
            scene.command(&format!("ACL SETUSER {USER} resetpass >another"));
            scene.command(&format!("CLIENT KILL USER {USER}"));
        },
        heal: |scene| scene.command(&format!("ACL SETUSER {USER} >{PASSWORD}")),
        ..USUAL
    },
    Struck {
        name: "may not run scripts (`NOPERM`)",
        strike: |scene| scene.command(&format!("ACL SETUSER {USER} -evalsha")),
        heal: |scene| scene.command(&format!("ACL SETUSER {USER} +evalsha")),
        ..USUAL
    },
    Struck {
        name: "has all its clients (`maxclients`)",
        strike: |scene| {
            scene.command("CONFIG SET maxclients 1");
            scene.command(&format!("CLIENT KILL USER {USER}"));
        },
        heal: |scene| scene.command("CONFIG SET maxclients 1000"),
        ..USUAL
    },
    Struck {
        name: "forgot the scripts (`SCRIPT FLUSH`)",
        expected: |_| Some(Expected::Redis),
        strike: |scene| scene.command("SCRIPT FLUSH"),
        ..USUAL
    },
    Struck {
        name: "closes connections",
        expected: |_| Some(Expected::Once),
        strike: |scene| scene.command(&format!("CLIENT KILL USER {USER}")),
        ..USUAL
    },
    Struck {
        name: "closes idle connections",
        expected: |_| Some(Expected::Redis),
        strike: |scene| {
            scene.command(&format!("CLIENT KILL USER {USER}"));
            // Connections are looked at once they were idle for a second.
            std::thread::sleep(Duration::from_millis(1050));
        },
        ..USUAL
    },
    Struck {
        name: "keys in several slots (`CROSSSLOT`)",
        expected: |_| Some(Expected::Redis),
        strike: |scene| several_slots(&scene.world),
        ..USUAL
    },
    Struck {
        name: "its clock steps back an hour",
        expected: |_| Some(Expected::Redis),
        strike: |scene| clock_steps_back(&scene.world),
        ..USUAL
    },
    Struck {
        name: "a name that takes for ever to resolve",
        dsn: |world| world.dsn_by(&slow_name(world), &format!("{USER}:{PASSWORD}@")),
        well_at_first: false,
        heal: |scene| {
            let_resolve(&slow_name(&scene.world));
            // The question was on its way; its answer is taken when it comes.
            std::thread::sleep(Duration::from_millis(20));
        },
        ..USUAL
    },
];

impl Scene {
    pub fn in_world(world: World) -> Self {
        Self {
            world,
            server: 0,
            admin: None,
        }
    }

    /// Strikes, sees what comes of it, heals, sees that all is well.
    pub fn run(&mut self, case: &Struck, expected: Expected) -> String {
        let dsn = (case.dsn)(&self.world);
        let stores = Stores::at(&dsn);
        if case.well_at_first {
            stores.are_well();
            self.server = self.world.at(&stores.node());
        }
        self.admin = Some(self.world.servers[self.server].connect());
        (case.strike)(self);
        let cell = stores.are_struck(expected);
        (case.heal)(self);
        if self.world.fails_over() {
            // A map of a Cluster may be a moment old.
            std::thread::sleep(Duration::from_millis(150));
        }
        stores.are_well();
        cell
    }

    /// A command to the server that is struck.
    fn command(&mut self, command: &str) {
        let words: Vec<_> = command.split(' ').collect();
        let admin = self.admin.as_mut().expect("it was there before");
        let done = redis::cmd(words[0]).arg(&words[1..]).exec(admin);
        done.expect("the server does as it is told");
    }

    fn let_in_while_loading(&mut self) {
        let admin = self.admin.as_mut().expect("just connected");
        let mut command = redis::cmd("ACL");
        command.arg(crate::worlds::user_words());
        command.exec(admin).expect("ACL works while it loads");
    }
}

fn slow_name(world: &World) -> String {
    format!("{}.{HANGS}", world.name)
}

/// All or nothing over keys that no node has together.
fn several_slots(world: &World) {
    let store = Redis::new(world.dsn(), PATIENT);
    let (wide, narrow) = (window(100, 3600), window(1, 3600));
    let ask = || {
        let one = |key: &'static [u8], limit| question(Key::unnamed(key), limit, Ask::take(1));
        let questions = [
            one(b"first", &wide),
            one(b"second", &wide),
            one(b"third", &narrow),
        ];
        store.decide_all(&questions).expect("they are answered")
    };
    let passed = ask();
    assert!(
        passed.iter().all(|part| part.decision.allowed),
        "{passed:?}"
    );
    for _ in 0..2 {
        let refused = ask();
        let allowed: Vec<_> = refused.iter().map(|part| part.decision.allowed).collect();
        assert_eq!(allowed, [true, true, false]);
        // Nothing was taken of the others.
        assert_eq!(refused[0].decision.remaining, 99);
        assert_eq!(refused[1].decision.remaining, 99);
    }
    for (key, limit) in [
        (&b"first"[..], &wide),
        (b"second", &wide),
        (b"third", &narrow),
    ] {
        store
            .reset(Key::unnamed(key), limit)
            .expect("it is forgotten");
    }
}

/// A state that was made an hour ahead blocks its key no longer than a window.
fn clock_steps_back(world: &World) {
    let minute = window(1, 60);
    let key = Key::unnamed(b"ahead");
    let ahead = "local function clock() local time = redis.call('TIME') \
                 return time[1] * 1000000 + time[2] + 3600000000 end";
    let scripts = Rc::new(Scripts::with_clock(ahead));
    let before = Redis::with_scripts(world.dsn(), PATIENT, scripts);
    let after = Redis::new(world.dsn(), PATIENT);
    let take = |store: &Redis| store.decide(&question(key, &minute, Ask::take(1)));
    assert!(take(&before).is_ok_and(|answer| answer.decision.allowed));
    let refused = take(&after).expect("an answer").decision;
    let retry = refused.retry_after.expect("it may come back");
    assert!(
        !refused.allowed && retry <= Micros(60_000_000),
        "{refused:?}"
    );
    // The repair was written: the wait runs down.
    let later = take(&after).expect("an answer").decision.retry_after;
    assert!(later.is_some_and(|later| later <= retry));
    after.reset(key, &minute).expect("it is forgotten");
}
