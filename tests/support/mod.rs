//! What the tests share: servers, clocks, stores to compare, and small words.

// Every test binary compiles all of this and uses its own part of it.
#![allow(dead_code)]

pub mod fake_server;
pub mod heap;
pub mod limits;
pub mod model;
pub mod redis_server;
pub mod rng;
pub mod stores;
