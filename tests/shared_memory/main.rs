//! What the shared table promises to many processes at once: one slot per key,
//! no tokens twice, nothing stuck when a worker dies, and room for everyone.

#[path = "../support/mod.rs"]
mod support;

mod capacity;
mod claims;
mod crash;
mod files;
mod handover;
mod new_keys;
mod permits;
mod processes;
mod turned_clock;
mod windows;
mod workers;
