//! The only room that knows PHP.
//!
//! `surface` is what PHP code sees. `call` and `class` carry it across, with
//! PHP's own coercion and real types. `stores` keeps what outlives a request,
//! `settings` what php.ini says. Nothing here decides anything.
//!
//! **Bailouts.** A fatal error or `exit` leaves by `longjmp` and runs no
//! destructor. So no lock or borrow is held while PHP is called.

// What PHP calls must have C's types, whatever they are.
#![allow(missing_docs)]

mod alias;
mod call;
mod claims;
mod class;
mod directives;
mod errors;
mod gate;
mod info;
mod lifecycle;
mod permits;
mod policies;
mod settings;
mod signature;
mod sleep;
mod stores;
mod surface;
mod zend;

use ext_php_rs::prelude::*;

use lifecycle::startup;

#[php_module]
#[php(startup = "startup")]
pub fn get_module(module: ModuleBuilder) -> ModuleBuilder {
    module
        .request_startup_function(lifecycle::request_startup)
        .request_shutdown_function(lifecycle::request_shutdown)
        .info_function(info::print)
}
