//! What stands between a host's workers and its Redis: near state, leases,
//! breaker, and the host's own count. Each host is a table of its own; all ask
//! one server, whose time, like theirs, is turned by hand.

#[path = "../support/mod.rs"]
mod support;

mod agreement;
mod breaker;
mod crowd;
mod fallback;
mod fleet;
mod leases;
mod near;
