//! The section of phpinfo and `php --ri sluice`.

use ext_php_rs::ffi::zend_module_entry;
use ext_php_rs::zend::ModuleEntry;
use ext_php_rs::{info_table_end, info_table_row, info_table_start};

use super::{stores, zend};
use crate::store::{Status, Store};

/// Prints the section.
pub extern "C" fn print(module: *mut ModuleEntry) {
    let status = stores::default().status();
    info_table_start!();
    info_table_row!("Sluice", "enabled");
    info_table_row!("Version", env!("CARGO_PKG_VERSION"));
    for (name, value) in rows(&status) {
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
        rows.push(("Connection of this worker", state.to_owned()));
        rows.push((
            "Connections, calls, faults",
            format!("{}, {}, {}", redis.connections, redis.calls, redis.faults),
        ));
        if let Some(fault) = &redis.last_fault {
            rows.push(("Last fault", fault.clone()));
        }
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
