//! A host's addresses, without ever waiting longer than the deadline for them.
//!
//! `getaddrinfo` cannot be bounded, so a thread of its own calls it. The
//! address that a connection was made to is remembered until that fails.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Instant;

use nix::sys::signal::{SigSet, SigmaskHow};

/// Resolves one host for one worker.
#[derive(Default)]
pub struct Resolver {
    known: Option<SocketAddr>,
    asked: Option<Receiver<Answer>>,
}

type Answer = io::Result<Vec<SocketAddr>>;

impl Resolver {
    /// The addresses of `host` in the system's order, or the one that is known
    /// to be good.
    pub fn resolve(&mut self, host: &str, port: u16, deadline: Instant) -> Answer {
        if let Ok(address) = host.parse::<IpAddr>() {
            return Ok(vec![SocketAddr::new(address, port)]);
        }
        if let Some(address) = self.known {
            return Ok(vec![address]);
        }
        // A question that is still on its way is waited for, not asked again.
        let asked = match self.asked.take() {
            Some(asked) => asked,
            None => ask(host.to_owned(), port)?,
        };
        let left = deadline.saturating_duration_since(Instant::now());
        match asked.recv_timeout(left) {
            Ok(answer) => answer,
            Err(RecvTimeoutError::Timeout) => {
                self.asked = Some(asked);
                Err(ErrorKind::TimedOut.into())
            }
            Err(RecvTimeoutError::Disconnected) => Err(io::Error::other("the resolver ended")),
        }
    }

    /// Remembers an address that answered.
    pub fn remember(&mut self, address: SocketAddr) {
        self.known = Some(address);
    }

    /// Forgets an address that did not answer: it may be an old one.
    pub fn forget(&mut self) {
        self.known = None;
    }

    /// After a fork: the thread that was asked stayed with the parent.
    pub fn abandon(&mut self) {
        // Its channel may be half way through a change; leave it alone.
        std::mem::forget(self.asked.take());
    }
}

fn ask(host: String, port: u16) -> io::Result<Receiver<Answer>> {
    let (answer, asked) = sync_channel(1);
    // PHP handles signals in its own thread only.
    let mask = SigSet::all().thread_swap_mask(SigmaskHow::SIG_SETMASK)?;
    let thread = std::thread::Builder::new()
        .name("sluice-resolver".into())
        .spawn(move || {
            let found = (host.as_str(), port).to_socket_addrs();
            // Nobody may be waiting any more.
            let _ = answer.send(found.map(Iterator::collect));
        });
    mask.thread_set_mask()?;
    thread.map(|_| asked)
}
