//! The section of phpinfo and `php --ri sluice`.

use ext_php_rs::ffi::zend_module_entry;
use ext_php_rs::zend::ModuleEntry;
use ext_php_rs::{info_table_end, info_table_row, info_table_start};

use super::{gate, stores, zend};
use crate::store::{Status, Store};

/// Prints the section.
pub extern "C" fn print(module: *mut ModuleEntry) {
    let status = stores::default().status();
    info_table_start!();
    info_table_row!("Sluice", "enabled");
    info_table_row!("Version", env!("CARGO_PKG_VERSION"));
    for (name, value) in rows(&status).into_iter().chain(gate_rows()) {
        // A prefix or a server's words may have any byte in them.
        info_table_row!(name, value.replace('\0', "\\0"));
    }
    info_table_end!();
    // SAFETY: PHP hands the module's own entry.
    unsafe { zend::display_ini_entries(module.cast::<zend_module_entry>()) };
}

fn rows(status: &Status) -> Vec<(&'static str, String)> {
    let mut rows = Vec::new();
    let store = match (&status.redis, &status.shared_memory) {
        (Some(_), _) => "redis",
        (None, Some(_)) => "shared memory",
        (None, None) => "this process alone",
    };
    rows.push(("Store", store.to_owned()));
    if let Some(redis) = &status.redis {
        let state = if redis.connected { "open" } else { "not open" };
        rows.push(("Redis", redis.dsn.clone()));
        let node = redis.node.as_deref().unwrap_or("not known yet");
        rows.push(("Topology", format!("{}, node: {node}", redis.topology)));
        rows.push(("Connection of this worker", state.to_owned()));
        rows.push((
            "Connections, calls, faults",
            format!("{}, {}, {}", redis.connections, redis.calls, redis.faults),
        ));
        if let Some(fault) = &redis.last_fault {
            rows.push(("Last fault", fault.clone()));
        }
    }
    if let Some(tiers) = &status.tiers {
        let breaker = &tiers.breaker;
        let state = match breaker.probe_in {
            Some(left) => format!("open, next probe in {:.1} s", left.as_secs_f64()),
            None => "closed".to_owned(),
        };
        rows.push(("Breaker of this host", state));
        rows.push((
            "Faults in a row, times opened",
            format!("{}, {}", breaker.faults, breaker.opened),
        ));
        rows.push((
            "Answered here by near state, by lease",
            format!("{}, {}", tiers.near_refusals, tiers.leased),
        ));
    }
    if let Some(table) = &status.shared_memory {
        let place = table.path.as_deref().unwrap_or("anonymous");
        rows.push((
            "Shared memory",
            format!("{} KiB, {} slots ({place})", table.size >> 10, table.slots),
        ));
        rows.push(("Keys in shared memory", table.live.to_string()));
        rows.push(("Evictions of live keys", table.evictions.to_string()));
    }
    rows
}

fn gate_rows() -> Vec<(&'static str, String)> {
    let rules = match gate::rule_names().len() {
        0 => return vec![("Gate", "no rules".to_owned())],
        1 => "1 rule".to_owned(),
        many => format!("{many} rules"),
    };
    let how = if gate::is_installed() {
        "before PHP runs"
    } else {
        "called by scripts"
    };
    let counts = gate::counters::NAMES.iter().zip(gate::counters::read());
    let counts: Vec<_> = counts
        .map(|(name, count)| format!("{name} {count}"))
        .collect();
    vec![
        ("Gate", format!("{rules}, {how}")),
        ("Requests at the gate", counts.join(", ")),
    ]
}

/// Prints text where phpinfo may be printing HTML.
pub fn print_escaped(text: &str) {
    // SAFETY: the SAPI's own description, constant after start.
    let plain = unsafe {
        zend::raw::ext_php_rs_sapi_module()
            .as_ref()
            .is_none_or(|sapi| sapi.phpinfo_as_text != 0)
    };
    if plain {
        zend::print(text.as_bytes());
    } else {
        let escaped = text
            .replace('&', "&amp;")
            .replace('<', "&lt;")
            .replace('>', "&gt;");
        zend::print(escaped.as_bytes());
    }
}
