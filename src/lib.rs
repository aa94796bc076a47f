//! Sluice decides, inside the PHP worker, whether a request may go on.
//!
//! Arrows point down only: `php` uses `gate`, `gate` uses `store`, `store` uses
//! `limit`, and `limit` uses nothing of ours. `docs/architecture.md` draws the house.

pub mod gate;
pub mod limit;
#[cfg(feature = "php")]
pub mod php;
pub mod store;
