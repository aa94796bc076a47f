//! What PHP code sees: one file per class.

mod decision;
mod enums;
pub mod fixed_window_limiter;
mod store;
mod target;
pub mod token_bucket_limiter;

/// Registers all of it.
pub fn register() {
    enums::register();
    decision::register();
    store::register();
    token_bucket_limiter::register();
    fixed_window_limiter::register();
}
