//! Whatever happens to Redis or to the way there: the failure policy answers in
//! time, the next call that can be answered is, and no key ever gets the answer
//! of another.

#[path = "../support/mod.rs"]
mod support;

mod certificates;
mod cluster;
mod connecting;
mod economy;
mod front;
mod hostile_replies;
mod interleaved;
mod logins;
mod lost_node;
mod names;
mod proxy;
mod scripted;
mod sentinel;
mod servers;
mod signals;
mod slow_replies;
mod stray_replies;
mod struck;
mod table;
mod tls;
mod troubles;
mod worlds;

/// Says what calls hold at most.
#[global_allocator]
static ALLOCATOR: support::heap::Counting = support::heap::Counting;
