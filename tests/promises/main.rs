//! What a limit promises, kept by every store: the pure functions, memory,
//! shared memory, and the Lua scripts on a real Redis.

#[path = "../support/mod.rs"]
mod support;

mod booking;
mod clock_steps;
mod composite;
mod edges;
mod expiry;
mod fixed_window;
mod keys;
mod leaky;
mod live_change;
mod names_in_redis;
mod quota;
mod rate_bound;
mod scripts;
mod sliding;
mod unchanged;
