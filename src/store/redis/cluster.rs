//! A Cluster: which node has a key's slot, and what to do where it has moved.

use std::time::{Duration, Instant};

use redis::Value;

use super::connection::Connection;
use super::dsn::Address;
use super::link::{Link, Way};
use super::sentinel::share;
use super::trouble::{Kind, Node, Trouble, named};

/// How many slots there are.
pub const SLOTS: u16 = 16384;

/// How often a call may be sent on to another node.
const MOST_HOPS: usize = 2;

/// A map younger than this is not asked for again: while nodes are lost and
/// slots move, not every call should ask.
const FRESH: Duration = Duration::from_millis(100);

/// More than any map takes: 500 nodes with two replicas each, and slots that
/// are strewn about.
const LONGEST_MAP: usize = 8 << 20;

/// Ten times what Redis advises. One gone mad could name ever more.
const MOST_NODES: usize = 10_000;

/// The slots that nobody has.
const NOBODY: u16 = u16::MAX;

/// The nodes of a Cluster, and the slots that they have.
pub struct Cluster {
    /// The first ones are those of the DSN.
    nodes: Vec<Link>,
    named: usize,
    /// By slot, an index into `nodes`. Empty until it is learned.
    owners: Vec<u16>,
    learned: Option<Instant>,
    /// Whether something spoke against the map since then.
    doubtful: bool,
    /// Which node is asked for the map next, so that none which knows it wrong
    /// is asked for ever.
    turn: usize,
    /// The node that was called last, unless nobody had the slot.
    last: Option<usize>,
}

impl Cluster {
    pub fn new(nodes: &[Address]) -> Self {
        Self {
            nodes: nodes.iter().cloned().map(Link::to).collect(),
            named: nodes.len(),
            owners: Vec::new(),
            learned: None,
            doubtful: true,
            // Workers that start together need not all ask the same one.
            turn: std::process::id() as usize,
            last: None,
        }
    }

    pub fn abandon(&mut self) {
        self.nodes.iter_mut().for_each(Link::abandon);
    }

    /// The node that was called last.
    pub fn last(&self) -> Option<&Link> {
        self.nodes.get(self.last?)
    }

    /// Its name; empty where nobody had the slot.
    pub fn last_name(&self) -> String {
        let last = self.last();
        last.map_or_else(String::new, |node| node.address.to_string())
    }

    /// Has the map asked for before the next call.
    pub fn doubt(&mut self) {
        self.doubtful = true;
    }

    /// The node that has the slot of `key`, by its name, which is empty where
    /// nobody has it. `None` while there is no map.
    pub fn name_of_owner(&self, key: &[u8]) -> Option<String> {
        match *self.owners.get(usize::from(slot_of(key)))? {
            NOBODY => Some(String::new()),
            owner => Some(self.nodes[usize::from(owner)].address.to_string()),
        }
    }

    /// Runs `call` on the node that has the slot of `key`.
    pub fn call<T>(
        &mut self,
        way: &mut Way<'_>,
        key: &[u8],
        call: &mut impl FnMut(&mut Connection) -> Result<T, Trouble>,
    ) -> Result<T, Trouble> {
        let slot = slot_of(key);
        if self.doubtful {
            let learned = self.learn(way);
            if self.owners.is_empty() {
                learned?;
            }
        }
        let mut node = self.owner(slot)?;
        let mut asking = false;
        let mut hops = 0;
        loop {
            self.last = Some(node);
            let result = self.nodes[node].call(way, false, |connection| {
                connection.asking = asking;
                call(connection)
            });
            let Err(trouble) = result else {
                return result;
            };
            let goes_on = hops < MOST_HOPS;
            hops += 1;
            asking = false;
            match trouble.kind {
                Kind::Moved(to) if goes_on => {
                    node = self.node(to.seen_by(&self.nodes[node].address))?;
                    self.owners[usize::from(slot)] = node as u16;
                    self.doubtful = true;
                }
                Kind::Ask(to) if goes_on => {
                    node = self.node(to.seen_by(&self.nodes[node].address))?;
                    asking = true;
                }
                Kind::Unreachable | Kind::NotMaster if goes_on => {
                    self.doubtful = true;
                    let before = self.nodes[node].address.clone();
                    self.learn(way)?;
                    node = self.owner(slot)?;
                    if self.nodes[node].address == before {
                        return Err(self.by(node, trouble));
                    }
                }
                Kind::Apart => return Err(trouble),
                _ => {
                    self.doubtful = true;
                    return Err(self.by(node, trouble));
                }
            }
        }
    }

    /// Says which of the nodes it was.
    fn by(&self, node: usize, trouble: Trouble) -> Trouble {
        Trouble {
            what: format!("{}: {}", self.nodes[node].address, trouble.what),
            ..trouble
        }
    }

    fn owner(&mut self, slot: u16) -> Result<usize, Trouble> {
        match self.owners.get(usize::from(slot)) {
            Some(owner) if *owner != NOBODY => Ok(usize::from(*owner)),
            _ => {
                self.doubtful = true;
                self.last = None;
                Err(Trouble::last(format!("no node has slot {slot}")))
            }
        }
    }

    /// The node at an address, which may be new.
    fn node(&mut self, address: Address) -> Result<usize, Trouble> {
        let known = self.nodes.iter().position(|node| node.address == address);
        if known.is_none() && self.nodes.len() == MOST_NODES {
            return Err(Trouble::last("it names more nodes than a Cluster can have"));
        }
        Ok(known.unwrap_or_else(|| {
            self.nodes.push(Link::to(address));
            self.nodes.len() - 1
        }))
    }

    /// Asks one node after the other for the map, those first that we are
    /// connected to.
    fn learn(&mut self, way: &mut Way<'_>) -> Result<(), Trouble> {
        if self.learned.is_some_and(|at| at.elapsed() < FRESH) {
            return Ok(());
        }
        let count = self.nodes.len();
        self.turn += 1;
        let mut order: Vec<usize> = (0..count).map(|step| (step + self.turn) % count).collect();
        order.sort_by_key(|node| !self.nodes[*node].is_open());
        let mut trouble = Trouble::last("it has no nodes");
        for (asked, node) in order.into_iter().enumerate() {
            let until = share(way.connect_by, asked + 1 == count);
            let connect_by = std::mem::replace(&mut way.connect_by, until);
            let reply = self.nodes[node].call(way, false, |connection| {
                connection.ask(&["CLUSTER", "SLOTS"], LONGEST_MAP, until)
            });
            way.connect_by = connect_by;
            let heard = reply.and_then(|reply| match ranges(&reply, &self.nodes[node].address) {
                Some(ranges) if !ranges.is_empty() => Ok(ranges),
                _ => Err(Trouble::of_reply("CLUSTER SLOTS was ", &reply)),
            });
            match heard {
                Ok(ranges) => return self.adopt(ranges),
                Err(why) => trouble = self.by(node, why),
            }
        }
        Err(trouble)
    }

    fn adopt(&mut self, ranges: Vec<Range>) -> Result<(), Trouble> {
        let mut owners = vec![NOBODY; usize::from(SLOTS)];
        // Until it is whole, there is none: it counts nodes by their places.
        self.owners.clear();
        // Nodes that have nothing any more go; those of the DSN stay.
        let mut before = std::mem::take(&mut self.nodes);
        self.nodes.extend(before.drain(..self.named));
        for range in ranges {
            let known = before.iter().position(|node| node.address == range.master);
            if let Some(known) = known {
                self.nodes.push(before.swap_remove(known));
            }
            let node = self.node(range.master)? as u16;
            owners[usize::from(range.first)..=usize::from(range.last)].fill(node);
        }
        self.owners = owners;
        self.learned = Some(Instant::now());
        self.doubtful = false;
        Ok(())
    }
}

/// Slots that follow each other and have one master.
struct Range {
    first: u16,
    last: u16,
    master: Address,
}

/// Reads the reply to CLUSTER SLOTS.
fn ranges(reply: &Value, speaker: &Address) -> Option<Vec<Range>> {
    let Value::Array(ranges) = reply else {
        return None;
    };
    ranges.iter().map(|range| read(range, speaker)).collect()
}

fn read(range: &Value, speaker: &Address) -> Option<Range> {
    let Value::Array(parts) = range else {
        return None;
    };
    let [
        Value::Int(first),
        Value::Int(last),
        Value::Array(master),
        ..,
    ] = parts.as_slice()
    else {
        return None;
    };
    let [host, Value::Int(port), ..] = master.as_slice() else {
        return None;
    };
    let host = match host {
        Value::Nil => None,
        Value::BulkString(host) => named(std::str::from_utf8(host).ok()?),
        _ => return None,
    };
    let port = u16::try_from(*port).ok()?;
    let number = |number: i64| u16::try_from(number).ok().filter(|slot| *slot < SLOTS);
    let (first, last) = (number(*first)?, number(*last)?);
    (first <= last).then(|| Range {
        first,
        last,
        master: Node { host, port }.seen_by(speaker),
    })
}

/// The slot of a key: a checksum of what stands in its first braces, if
/// anything does, else of all of it.
pub fn slot_of(key: &[u8]) -> u16 {
    let find = |byte, bytes: &[u8]| bytes.iter().position(|other| *other == byte);
    let tag = find(b'{', key)
        .map(|open| &key[open + 1..])
        .and_then(|rest| Some(&rest[..find(b'}', rest)?]))
        .filter(|tag| !tag.is_empty())
        .unwrap_or(key);
    // CRC-16/XMODEM.
    let checksum = tag.iter().fold(0_u16, |sum, byte| {
        (0..8).fold(sum ^ u16::from(*byte) << 8, |sum, _| {
            sum << 1 ^ if sum & 0x8000 == 0 { 0 } else { 0x1021 }
        })
    });
    checksum % SLOTS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_those_of_redis() {
        // As CLUSTER KEYSLOT says.
        for (key, slot) in [
            ("123456789", 0x31c3),
            ("", 0),
            ("foo", 12182),
            ("{user1000}.following", 3443),
            ("foo{}{bar}", 8363),
            ("foo{{bar}}zap", 4015),
            ("foo{bar}{zap}", 5061),
        ] {
            assert_eq!(slot_of(key.as_bytes()), slot, "{key}");
        }
    }
}
