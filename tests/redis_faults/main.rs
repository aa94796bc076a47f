//! Whatever happens to Redis or to the way there: the failure policy answers in
//! time, the next call that can be answered is, and no key ever gets the answer
//! of another.

#[path = "../support/mod.rs"]
mod support;

mod connecting;
mod economy;
mod hostile_replies;
mod interleaved;
mod logins;
mod proxy;
mod servers;
mod signals;
mod slow_replies;
mod stray_replies;
mod troubles;

/// Says what calls hold at most.
#[global_allocator]
static ALLOCATOR: support::heap::Counting = support::heap::Counting;
