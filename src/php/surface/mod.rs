//! What PHP code sees: one file per class.

mod client_address;
mod composite;
mod decision;
mod description;
mod enums;
pub mod fixed_window_limiter;
mod gate;
pub mod headers;
mod limit;
mod limiter;
mod networks;
mod permit;
mod store;
mod target;
pub mod token_bucket_limiter;

/// Registers all of it.
pub fn register() {
    enums::register();
    decision::register();
    permit::register();
    store::register();
    limit::register();
    limiter::register();
    token_bucket_limiter::register();
    fixed_window_limiter::register();
    gate::register();
    networks::register();
    client_address::register();
}
