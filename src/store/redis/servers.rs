//! The servers behind one DSN: which of them a call goes to.

use std::time::Instant;

use super::cluster::Cluster;
use super::connection::Connection;
use super::dsn::{Dsn, Place};
use super::link::{Link, Trust, Way};
use super::scripts::Scripts;
use super::sentinel::Sentinels;
use super::trouble::{Kind, Trouble};

/// The servers behind one DSN, and this worker's connections to them.
pub struct Servers {
    kind: Layout,
    trust: Trust,
    /// Connections opened so far, those to Sentinels not counted.
    pub opened: u64,
}

enum Layout {
    One(Link),
    Sentinel(Sentinels),
    Cluster(Cluster),
}

impl Servers {
    /// Those of a DSN; nothing is connected yet.
    pub fn of(dsn: &Dsn) -> Self {
        let kind = match &dsn.place {
            Place::One(address) => Layout::One(Link::to(address.clone())),
            Place::Sentinel {
                sentinels,
                master,
                login,
            } => Layout::Sentinel(Sentinels::new(sentinels, master, login)),
            Place::Cluster(nodes) => Layout::Cluster(Cluster::new(nodes)),
        };
        Self {
            kind,
            trust: None,
            opened: 0,
        }
    }

    /// After a fork, before anything else: what is open is the parent's.
    pub fn abandon(&mut self) {
        match &mut self.kind {
            Layout::One(link) => link.abandon(),
            Layout::Sentinel(sentinels) => sentinels.abandon(),
            Layout::Cluster(cluster) => cluster.abandon(),
        }
    }

    /// Runs `call` where `key` is. It runs anew, on another connection, only
    /// after a trouble that says that nothing of it was written.
    pub fn call<T>(
        &mut self,
        dsn: &Dsn,
        scripts: &Scripts,
        connect_by: Instant,
        key: &[u8],
        mut call: impl FnMut(&mut Connection) -> Result<T, Trouble>,
    ) -> Result<T, Trouble> {
        let mut way = Way {
            dsn,
            scripts,
            trust: &mut self.trust,
            opened: &mut self.opened,
            connect_by,
        };
        match &mut self.kind {
            Layout::One(link) => link
                .call(&mut way, false, call)
                .map_err(|trouble| match trouble.kind {
                    Kind::Moved(_) | Kind::Ask(_) => Trouble::last(format!(
                        "{}: it is a node of a Cluster; write redis+cluster://",
                        trouble.what
                    )),
                    _ => trouble,
                }),
            Layout::Sentinel(sentinels) => sentinels.call(&mut way, call),
            Layout::Cluster(cluster) => cluster.call(&mut way, key, &mut call),
        }
    }

    /// The Cluster, if it is one.
    pub fn cluster(&self) -> Option<&Cluster> {
        match &self.kind {
            Layout::Cluster(cluster) => Some(cluster),
            Layout::One(_) | Layout::Sentinel(_) => None,
        }
    }

    /// See [`Cluster::doubt`].
    pub fn doubt(&mut self) {
        if let Layout::Cluster(cluster) = &mut self.kind {
            cluster.doubt();
        }
    }

    /// The server that the last call went to, and whether it is connected.
    pub fn node(&self) -> Option<(String, bool)> {
        let link = match &self.kind {
            Layout::One(link) => Some(link),
            Layout::Sentinel(sentinels) => sentinels.master(),
            Layout::Cluster(cluster) => cluster.last(),
        }?;
        Some((link.address.to_string(), link.is_open()))
    }
}
