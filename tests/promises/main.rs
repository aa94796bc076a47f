//! What a limit promises, kept by every store: the pure functions, memory,
//! shared memory, and the Lua scripts on a real Redis.

#[path = "../support/mod.rs"]
mod support;

mod clock_steps;
mod edges;
mod expiry;
mod fixed_window;
mod keys;
mod live_change;
mod names_in_redis;
mod rate_bound;
mod unchanged;
