//! The breakers of one DSN: one for each server that can be away by itself.
//!
//! Behind most DSNs that is one. In a Cluster each node has its own, so that one
//! which is lost turns away the callers of its slots and nobody else. Where it
//! is not known yet who has a slot, all of it counts as one.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use super::breaker::{Breaker, BreakerStatus, Pass};
use crate::limit::Micros;
use crate::store::shm::Table;

/// The breakers of one DSN, as one worker holds them.
pub struct Breakers {
    table: Option<Arc<Table>>,
    /// What tells this DSN from others.
    name: Vec<u8>,
    whole: Rc<Breaker>,
    /// Those of nodes, by the nodes' names.
    nodes: RefCell<Vec<(String, Rc<Breaker>)>>,
}

/// Breakers of nodes that a worker holds: more than a Cluster has masters.
const MOST_NODES: usize = 1024;

/// Leave to call the servers that a call needs, whose end has to be told.
pub struct Entered(Vec<(Rc<Breaker>, Pass)>);

impl Breakers {
    /// Those of the DSN of this name, in `table` or of this worker alone.
    pub fn new(table: Option<&Arc<Table>>, name: Vec<u8>) -> Self {
        Self {
            whole: Rc::new(Breaker::new(table, &name, &name)),
            table: table.cloned(),
            name,
            nodes: RefCell::default(),
        }
    }

    fn of_node(&self, node: &str) -> Rc<Breaker> {
        let mut nodes = self.nodes.borrow_mut();
        if let Some((_, breaker)) = nodes.iter().find(|(name, _)| name == node) {
            return Rc::clone(breaker);
        }
        if nodes.len() == MOST_NODES {
            nodes.clear();
        }
        let name = [&self.name, &b"\0node\0"[..], node.as_bytes()].concat();
        let breaker = Rc::new(Breaker::new(self.table.as_ref(), &self.name, &name));
        nodes.push((node.to_owned(), Rc::clone(&breaker)));
        breaker
    }

    /// Leave for a call to these nodes, or to whoever it is if none is named.
    ///
    /// # Errors
    /// The faults of the one that is away.
    pub fn enter(&self, nodes: &[String], now: Micros) -> Result<Entered, u16> {
        let enter = |breaker: Rc<Breaker>| match breaker.enter(now) {
            Some(pass) => Ok((breaker, pass)),
            None => Err(BreakerStatus::of(breaker.circuit(), now).faults),
        };
        if nodes.is_empty() {
            return Ok(Entered(vec![enter(Rc::clone(&self.whole))?]));
        }
        let entered = nodes.iter().map(|node| enter(self.of_node(node)));
        entered.collect::<Result<_, _>>().map(Entered)
    }

    /// The same for a node that a call was sent to although it was not known to
    /// be needed before.
    pub fn entered(&self, node: &str) -> Entered {
        Entered(vec![(self.of_node(node), Pass::Closed)])
    }

    /// How they do, all together.
    pub fn status(&self, now: Micros) -> BreakerStatus {
        let of = |circuit| BreakerStatus::of(circuit, now);
        match &self.table {
            // Those of nodes that this worker does not know as well.
            Some(table) if self.whole.is_shared() => {
                let circuits = table.mapping.circuits_of(table.realm(&self.name));
                circuits
                    .map(of)
                    .fold(BreakerStatus::default(), BreakerStatus::and)
            }
            _ => {
                let nodes = self.nodes.borrow();
                let nodes = nodes.iter().map(|(_, node)| of(node.circuit()));
                nodes.fold(of(self.whole.circuit()), BreakerStatus::and)
            }
        }
    }
}

impl Entered {
    /// Whether this call is to show if a server is back.
    pub fn probes(&self) -> bool {
        self.0.iter().any(|(_, pass)| *pass == Pass::Probe)
    }

    /// Only the server at this place among those that were named.
    pub fn only(mut self, place: usize) -> Self {
        Self(vec![self.0.swap_remove(place)])
    }

    /// They have answered.
    pub fn succeeded(&self) {
        self.0.iter().for_each(|(breaker, _)| breaker.succeeded());
    }

    /// They have not.
    pub fn failed(&self, now: Micros) {
        let failed = |(breaker, pass): &(Rc<Breaker>, Pass)| breaker.failed(*pass, now);
        self.0.iter().for_each(failed);
    }
}
