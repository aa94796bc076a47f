//! One call: where it goes, how long it may take, and what is counted of it.

use std::io::Write;
use std::time::Instant;

use sha2::{Digest, Sha256};
use siphasher::sip::SipHasher13;

use super::Redis;
use super::connection::Connection;
use super::dsn::{Dsn, Login, Place};
use super::servers::Servers;
use super::trouble::{Kind, Trouble};
use crate::limit::{Identity, Key};
use crate::store::{Fault, fork};

/// Keys up to this many bytes stand in Redis as they are, so that an operator
/// can read them; longer ones by their SHA-256.
const LONGEST_PLAIN_KEY: usize = 200;

/// What a worker keeps between calls.
pub(super) struct Inner {
    servers: Servers,
    /// [`fork::forks`] when their connections were made.
    forks: u32,
    /// The keys under which states are kept, written anew for each call.
    keys: Vec<Vec<u8>>,
    /// When the call that is under way ends, if it takes several trips.
    until: Option<Instant>,
    /// How often keys could not be asked about in one go: from the first time
    /// on, those of one slot are.
    pub(super) apart: u64,
    calls: u64,
    faults: u64,
    last_fault: Option<String>,
}

impl Inner {
    pub(super) fn of(dsn: &Dsn) -> Self {
        Self {
            servers: Servers::of(dsn),
            forks: fork::forks(),
            keys: Vec::new(),
            until: None,
            apart: matches!(dsn.place, Place::Cluster(_)).into(),
            calls: 0,
            faults: 0,
            last_fault: None,
        }
    }
}

/// How the connection of this worker does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConnectionStatus {
    /// The DSN, without its password.
    pub dsn: String,
    /// How the servers are laid out: `standalone`, `sentinel` or `cluster`.
    pub topology: &'static str,
    /// The server that was asked last, if it is known by now.
    pub node: Option<String>,
    /// Whether the connection to it is open now.
    pub connected: bool,
    /// Connections opened by this worker so far.
    pub connections: u64,
    /// Calls answered or not.
    pub calls: u64,
    /// Calls that Redis did not answer in time, or with an error.
    pub faults: u64,
    /// What the last fault was.
    pub last_fault: Option<String>,
}

impl Redis {
    /// Runs `call` on a live connection within the budget. It runs once more
    /// only where nothing of it was written the first time.
    pub(super) fn with_connection<T>(
        &self,
        named: &[(Key<'_>, Identity<'_>)],
        mut call: impl FnMut(&mut Connection, &[Vec<u8>], Instant) -> Result<T, Trouble>,
    ) -> Result<T, Fault> {
        let inner = &mut *self.inner.borrow_mut();
        let started = Instant::now();
        let deadline = started + self.budget.timeout;
        let deadline = inner.until.map_or(deadline, |until| until.min(deadline));
        let connect_by = match self.budget.connect {
            Some(connect) => deadline.min(started + connect),
            None => deadline,
        };
        inner.calls += 1;
        // One buffer per key, kept: a decision allocates none of them.
        if inner.keys.len() < named.len() {
            inner.keys.resize(named.len(), Vec::new());
        }
        for (into, (key, identity)) in inner.keys.iter_mut().zip(named) {
            self.write_key(into, *key, *identity);
        }

        let forks = fork::forks();
        if inner.forks != forks {
            inner.forks = forks;
            inner.servers.abandon();
        }
        let keys = &inner.keys[..named.len()];
        let first = keys.first().map_or(&[][..], Vec::as_slice);
        let result =
            inner
                .servers
                .call(&self.dsn, &self.scripts, connect_by, first, |connection| {
                    call(connection, keys, deadline)
                });
        result.map_err(|trouble| {
            inner.apart += u64::from(trouble.kind == Kind::Apart);
            let message = format!("{}: {}", self.dsn, trouble.what);
            inner.faults += 1;
            inner.last_fault = Some(message.clone());
            let mut fault = Fault::new(message);
            fault.of_key = trouble.kind == Kind::OfKey;
            let cluster = inner.servers.cluster();
            fault.node = cluster.map(|cluster| cluster.last_name().into());
            fault
        })
    }

    /// The nodes of a Cluster that have these keys, each once; an empty name
    /// stands for slots that nobody has. None where that is not known, or where
    /// there is only one server.
    pub fn nodes_of(&self, named: &[(Key<'_>, Identity<'_>)]) -> Vec<String> {
        let inner = self.inner.borrow();
        let Some(cluster) = inner.servers.cluster() else {
            return Vec::new();
        };
        let (mut nodes, mut key) = (Vec::new(), Vec::new());
        for (name, identity) in named {
            self.write_key(&mut key, *name, *identity);
            let Some(node) = cluster.name_of_owner(&key) else {
                return Vec::new();
            };
            if !nodes.contains(&node) {
                nodes.push(node);
            }
        }
        nodes
    }

    /// Has the next call to a Cluster see first who has its slot.
    pub fn doubt(&self) {
        self.inner.borrow_mut().servers.doubt();
    }

    /// What it takes to get an answer, beside a server that is there: logins,
    /// certificates, time. For a hash, never to be shown.
    pub fn means(&self) -> Vec<u8> {
        let password = |login: &Login| {
            let password = login.password.as_ref();
            password.map_or_else(String::new, |secret| secret.reveal().to_owned())
        };
        let sentinel = match &self.dsn.place {
            Place::Sentinel { login, .. } => (login.user.clone(), password(login)),
            Place::One(_) | Place::Cluster(_) => (None, String::new()),
        };
        let own = password(&self.dsn.login);
        format!("{:?}", (own, sentinel, &self.dsn.tls, self.budget)).into_bytes()
    }

    /// From here on all trips together take no longer than a call may, until
    /// what is returned is dropped.
    pub(super) fn begin(&self) -> Begun<'_> {
        let until = &mut self.inner.borrow_mut().until;
        let outermost = until.is_none();
        until.get_or_insert_with(|| Instant::now() + self.budget.timeout);
        Begun(self, outermost)
    }

    /// Keeps the last quarter of the time for giving back. Says when all of it
    /// ends.
    pub(super) fn hurry(&self) -> Instant {
        let mut inner = self.inner.borrow_mut();
        let now = Instant::now();
        let until = inner.until.unwrap_or(now);
        inner.until = Some(now + until.saturating_duration_since(now) * 3 / 4);
        until
    }

    pub(super) fn take_until(&self, deadline: Instant) {
        self.inner.borrow_mut().until = Some(deadline);
    }

    /// `prefix{tag}kind:window:name length:name:marker:key`.
    ///
    /// The tag keeps all limits of one key in one slot of a Cluster. It is a
    /// hash, because a key may be empty or hold braces; that two keys may share
    /// a tag does not matter.
    pub(super) fn write_key(&self, into: &mut Vec<u8>, key: Key<'_>, identity: Identity<'_>) {
        use std::hash::Hasher;

        let mut tag = SipHasher13::new();
        tag.write(key.bytes);
        into.clear();
        into.extend_from_slice(self.dsn.prefix.as_deref().unwrap_or(b"sluice:"));
        // Writing to a Vec cannot fail.
        let _ = write!(
            into,
            "{{{:016x}}}{}:{}{}:{}:",
            tag.finish(),
            identity.letter as char,
            identity.window,
            identity.zone,
            key.name.len()
        );
        into.extend_from_slice(key.name);
        if key.bytes.len() <= LONGEST_PLAIN_KEY {
            into.extend_from_slice(b":=");
            into.extend_from_slice(key.bytes);
        } else {
            let _ = write!(into, ":#{:x}", Sha256::digest(key.bytes));
        }
    }

    pub(super) fn connection_status(&self) -> ConnectionStatus {
        let inner = self.inner.borrow();
        let node = inner.servers.node();
        ConnectionStatus {
            dsn: self.dsn.to_string(),
            topology: self.dsn.topology(),
            connected: node.as_ref().is_some_and(|(_, open)| *open),
            node: node.map(|(address, _)| address),
            connections: inner.servers.opened,
            calls: inner.calls,
            faults: inner.faults,
            last_fault: inner.last_fault.clone(),
        }
    }
}

/// A call under way, which may take several trips.
pub(super) struct Begun<'a>(&'a Redis, bool);

impl Drop for Begun<'_> {
    fn drop(&mut self) {
        if self.1 {
            self.0.inner.borrow_mut().until = None;
        }
    }
}
