//! Troubles that no real server makes to order: one that speaks as it is told,
//! behind a port, as a master that Sentinels name, as the only node of a
//! Cluster, behind TLS.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

use sluice::store::redis::Dsn;

use crate::certificates::Certificates;
use crate::front::Front;
use crate::support::fake_server::{Asked, FakeServer, Peer, reply_to};
use crate::table::{Expected, Stores};
use crate::troubles::TIMEOUT;

/// One trouble.
pub struct Scripted {
    pub name: &'static str,
    /// What the server does instead of answering. Then it hangs up.
    treat: fn(&mut Peer, &Asked),
}

pub const SCRIPTED: &[Scripted] = &[
    Scripted {
        name: "says nothing",
        treat: |peer, _| peer.be_silent(),
    },
    Scripted {
        name: "answers too late",
        treat: |peer, asked| {
            std::thread::sleep(TIMEOUT * 2);
            peer.send(&asked.reply());
            peer.be_silent();
        },
    },
    Scripted {
        name: "drips a byte at a time",
        treat: |peer, asked| {
            for byte in asked.reply() {
                if !peer.send_some(&[byte]) {
                    return;
                }
                std::thread::sleep(Duration::from_millis(20));
            }
        },
    },
    Scripted {
        name: "says half and falls silent",
        treat: |peer, asked| {
            let reply = asked.reply();
            peer.send(&reply[..reply.len() / 2]);
            peer.be_silent();
        },
    },
    Scripted {
        name: "says half and hangs up",
        treat: |peer, asked| {
            let reply = asked.reply();
            peer.send(&reply[..reply.len() / 2]);
        },
    },
    Scripted {
        name: "hangs up",
        treat: |_, _| (),
    },
    Scripted {
        name: "sends garbage",
        treat: |peer, _| {
            peer.send(b"HTTP/1.1 400 Bad Request\r\n\r\n");
            peer.be_silent();
        },
    },
    Scripted {
        name: "sends a reply too many",
        treat: |peer, asked| {
            let another = reply_to(asked.number(-1).wrapping_sub(1), 7);
            peer.send(&another);
            peer.send(&asked.reply());
            peer.be_silent();
        },
    },
    Scripted {
        name: "sends a reply without end",
        treat: |peer, _| {
            peer.send(b"$9223372036854775807\r\n");
            while peer.send_some(&[b'x'; 1 << 14]) {}
        },
    },
    Scripted {
        name: "is busy with a script (`BUSY`)",
        treat: |peer, _| {
            peer.send(b"-BUSY Redis is busy running a script.\r\n");
            peer.be_silent();
        },
    },
    Scripted {
        name: "cannot save (`MISCONF`)",
        treat: |peer, _| {
            peer.send(b"-MISCONF Redis is configured to save RDB snapshots.\r\n");
            peer.be_silent();
        },
    },
];

impl Scripted {
    /// Brings one about in a layout, sees what comes of it, and that all is
    /// well after it.
    pub fn run(layout: &str, case: &Self) -> String {
        let broken = Arc::new(AtomicBool::new(false));
        let treat = case.treat;
        let server = FakeServer::start({
            let broken = Arc::clone(&broken);
            move |_, peer| {
                while let Some(asked) = peer.next_question() {
                    if broken.load(SeqCst) {
                        treat(peer, &asked);
                        return;
                    }
                    peer.send(&asked.reply());
                }
            }
        });
        let certificates = (layout == "TLS").then(Certificates::new);
        let front = Front::before(&server.socket(), certificates.as_ref());
        server.is_at(front.port());
        let host = format!("127.0.0.1:{}", front.port());
        let text = match (layout, &certificates) {
            (_, Some(certificates)) => {
                format!("rediss://{host}?ca={}", certificates.text("ca.pem"))
            }
            ("Sentinel", _) => format!("redis+sentinel://{host}/the-master"),
            ("Cluster", _) => format!("redis+cluster://{host}"),
            _ => format!("redis://{host}"),
        };
        let dsn = Dsn::parse(&text).expect("a DSN");
        let stores = Stores::at(&dsn);
        stores.are_well();
        broken.store(true, SeqCst);
        let before = server.questions();
        let cell = stores.are_struck(Expected::Policy);
        // By each of four policies, twice: none was sent a second time.
        assert!(server.questions() - before <= 8, "{}", server.questions());
        broken.store(false, SeqCst);
        stores.are_well();
        cell
    }
}
