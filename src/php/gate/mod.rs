//! The gate in PHP: when a request is judged, and what is done with a verdict.

pub mod counters;
mod current;
mod hook;
mod log;
mod requests;
mod response;

pub use current::{Current, decision, finish, judge, keep_decision, with};
pub use hook::{deactivate, install, is_installed, request_shutdown, request_startup};
pub use requests::{Variables, with_server_variables};
pub use response::of_current;

use super::policies;
use super::surface::headers;

/// The names of the rules in force.
pub fn rule_names() -> Vec<String> {
    let gate = policies::gate();
    let rules = gate.iter().flat_map(|gate| gate.rules());
    rules.map(|rule| rule.name.clone()).collect()
}

fn send_header(name: &str, value: &str) {
    headers::send_header(&format!("{name}: {value}"));
}
