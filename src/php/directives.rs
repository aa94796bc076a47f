//! The directives of php.ini: their defaults, who may change them, and what is
//! a value. Each is parsed when it changes and never again.

use std::ffi::{CStr, c_int, c_void};

use ext_php_rs::ffi::{
    IS_STRING, PHP_INI_ALL, PHP_INI_SYSTEM, zend_ini_entry, zend_ini_entry_def, zend_string,
};
use ext_php_rs::zend::{IniEntryDef, IniEntryDefs};

use super::call::{FAILURE, SUCCESS};
use super::settings::{Headers, set, set_hot};
use super::zend;
use crate::limit::{Fraction, Micros, Period, Quota};
use crate::store::redis::Dsn;
use crate::store::shm::{MAX_SIZE, MIN_SIZE};
use crate::store::{Enforcing, Failure, parse_duration};

/// One directive: its default, who may change it, and what it means.
struct Directive {
    name: &'static CStr,
    default: &'static CStr,
    changeable: u32,
    /// Parses and keeps a value, or says what is allowed.
    apply: fn(&str) -> Result<(), String>,
    secret: bool,
}

const fn directive(
    name: &'static CStr,
    default: &'static CStr,
    changeable: u32,
    apply: fn(&str) -> Result<(), String>,
) -> Directive {
    Directive {
        name,
        default,
        changeable,
        apply,
        secret: false,
    }
}

static DIRECTIVES: [Directive; 14] = [
    Directive {
        secret: true,
        ..directive(c"sluice.store", c"", PHP_INI_ALL, apply_store)
    },
    directive(c"sluice.prefix", c"sluice:", PHP_INI_ALL, |text| {
        set(|settings| text.clone_into(&mut settings.prefix));
        Ok(())
    }),
    directive(c"sluice.timeout", c"50ms", PHP_INI_ALL, |text| {
        let time = call_time(text)?;
        set(|settings| settings.timeout = time);
        Ok(())
    }),
    directive(c"sluice.connect_timeout", c"", PHP_INI_ALL, |text| {
        let time = if text.is_empty() {
            None
        } else {
            Some(call_time(text)?)
        };
        set(|settings| settings.connect_timeout = time);
        Ok(())
    }),
    directive(c"sluice.on_failure", c"local", PHP_INI_ALL, |text| {
        let policy = one_of(
            text,
            &[
                ("local", Failure::Local),
                ("allow", Failure::Allow),
                ("deny", Failure::Deny),
                ("throw", Failure::Throw),
            ],
        )?;
        set_hot(|hot| hot.on_failure.policy = policy);
        Ok(())
    }),
    directive(c"sluice.local_share", c"1.0", PHP_INI_ALL, |text| {
        let share = factor(text, 1.0)?;
        set_hot(|hot| hot.on_failure.local_share = share);
        Ok(())
    }),
    directive(c"sluice.near", c"1s", PHP_INI_ALL, |text| {
        let near = parse_duration(text)
            .filter(|near| *near <= LONGEST_NEAR)
            .ok_or("must be a time from 0 to 60s, such as 1s; 0 turns the near state off")?;
        set(|settings| settings.near = near);
        Ok(())
    }),
    directive(c"sluice.mode", c"enforce", PHP_INI_ALL, |text| {
        if text.is_empty() {
            zend::warn(
                "sluice.mode is empty, which is how php.ini reads off as well, so nothing is \
                 limited; write it in quotes, \"off\", if this is what you want",
            );
        }
        let mode = one_of(
            text,
            &[
                ("enforce", Enforcing::Enforce),
                ("observe", Enforcing::Observe),
                ("off", Enforcing::Off),
                ("", Enforcing::Off),
            ],
        )?;
        set_hot(|hot| hot.enforcement.mode = mode);
        Ok(())
    }),
    directive(c"sluice.scale", c"1.0", PHP_INI_ALL, |text| {
        let scale = factor(text, 1000.0)?;
        set_hot(|hot| hot.enforcement.scale = scale);
        Ok(())
    }),
    directive(c"sluice.headers", c"ietf,x", PHP_INI_ALL, apply_headers),
    directive(c"sluice.timezone", c"", PHP_INI_ALL, |text| {
        if !text.is_empty() {
            Quota::new(1, Period::Day, text).map_err(|error| error.message)?;
        }
        set(|settings| text.clone_into(&mut settings.timezone));
        Ok(())
    }),
    directive(c"sluice.config", c"", PHP_INI_SYSTEM, |text| {
        if !text.is_empty() && !text.starts_with('/') {
            return Err("must be an absolute path, such as /etc/php/sluice.toml".into());
        }
        set(|settings| text.clone_into(&mut settings.config));
        Ok(())
    }),
    directive(c"sluice.shm_size", c"32M", PHP_INI_SYSTEM, apply_shm_size),
    directive(c"sluice.shm_path", c"", PHP_INI_SYSTEM, |text| {
        if !text.is_empty() && !text.starts_with('/') {
            return Err("must be an absolute path, such as /dev/shm/sluice".into());
        }
        set(|settings| text.clone_into(&mut settings.shm_path));
        Ok(())
    }),
];

/// Longer than this nobody wants to go by what Redis said once.
const LONGEST_NEAR: Micros = Micros(60_000_000);

static TABLE: IniEntryDefs<15> = IniEntryDefs::new(definitions());

const fn definitions() -> [zend_ini_entry_def; 15] {
    let mut entries = [const { IniEntryDef::end() }; 15];
    let mut index = 0;
    while index < DIRECTIVES.len() {
        let directive = &DIRECTIVES[index];
        entries[index] = zend_ini_entry_def {
            name: directive.name.as_ptr(),
            name_length: directive.name.count_bytes() as u16,
            value: directive.default.as_ptr(),
            value_length: directive.default.count_bytes() as u32,
            modifiable: directive.changeable as u8,
            on_modify: Some(on_modify),
            displayer: if directive.secret {
                Some(display_dsn)
            } else {
                None
            },
            mh_arg1: std::ptr::from_ref(directive).cast_mut().cast(),
            mh_arg2: std::ptr::null_mut(),
            mh_arg3: std::ptr::null_mut(),
        };
        index += 1;
    }
    entries
}

/// Registers the directives; each is applied once with its value of php.ini.
pub fn register(module: i32) {
    IniEntryDef::register(TABLE.as_slice(), module);
    warn_of_empty_store();
}

/// `sluice.store = ${REDIS_DSN}` with the variable unset reads as empty, and
/// would quietly limit each host for itself.
fn warn_of_empty_store() {
    let name = c"sluice.store";
    // SAFETY: looks up php.ini's own value, which lives as long as PHP.
    let empty = unsafe {
        zend::cfg_get_entry(name.as_ptr(), name.count_bytes())
            .as_ref()
            .is_some_and(|value| {
                u32::from(value.u1.v.type_) == IS_STRING
                    && zend::bytes_of(value.value.str_).is_empty()
            })
    };
    if empty {
        zend::warn(
            "sluice.store is set to nothing, so limits are kept in this host's shared memory; \
             if it names an environment variable, that one is not set; if this is what you want, \
             remove the line",
        );
    }
}

unsafe extern "C" fn on_modify(
    _entry: *mut zend_ini_entry,
    value: *mut zend_string,
    directive: *mut c_void,
    _: *mut c_void,
    _: *mut c_void,
    _stage: c_int,
) -> c_int {
    // SAFETY: PHP hands back the pointer that `definitions` gave, and a string
    // or null.
    let (directive, value) = unsafe {
        let value = if value.is_null() {
            &[]
        } else {
            zend::bytes_of(value)
        };
        (&*directive.cast::<Directive>(), value)
    };
    let Ok(text) = std::str::from_utf8(value) else {
        return refuse(directive, "text that is not UTF-8", "must be UTF-8");
    };
    match (directive.apply)(text.trim()) {
        Ok(()) => SUCCESS,
        Err(allowed) if directive.secret => refuse(directive, "a value", &allowed),
        Err(allowed) => refuse(directive, &format!("\"{text}\""), &allowed),
    }
}

fn refuse(directive: &Directive, given: &str, allowed: &str) -> c_int {
    let name = directive.name.to_string_lossy();
    zend::warn(&format!(
        "{name} {allowed}; {given} was given and is not used"
    ));
    FAILURE
}

fn apply_store(text: &str) -> Result<(), String> {
    if !text.is_empty() {
        Dsn::parse(text).map_err(|error| format!("is not a DSN: {error}"))?;
    }
    set(|settings| text.clone_into(&mut settings.store));
    Ok(())
}

fn apply_headers(text: &str) -> Result<(), String> {
    let mut headers = Headers {
        ietf: false,
        x: false,
    };
    for family in text.split(',').map(str::trim) {
        match family {
            "ietf" => headers.ietf = true,
            "x" => headers.x = true,
            "" => {}
            _ => return Err("must be a list of ietf and x, or empty".into()),
        }
    }
    set(|settings| settings.headers = headers);
    Ok(())
}

fn apply_shm_size(text: &str) -> Result<(), String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "" => Some(0),
        "k" | "K" => Some(10),
        "m" | "M" => Some(20),
        "g" | "G" => Some(30),
        _ => None,
    };
    let size = unit
        .and_then(|shift| {
            digits
                .trim_end()
                .parse::<usize>()
                .ok()?
                .checked_mul(1 << shift)
        })
        .filter(|size| (MIN_SIZE..=MAX_SIZE).contains(size))
        .ok_or("must be a size from 64K to 64G, such as 32M")?;
    set(|settings| settings.shm_size = size);
    Ok(())
}

fn call_time(text: &str) -> Result<Micros, String> {
    parse_duration(text)
        .filter(|time| (Micros(1000)..=Micros(60_000_000)).contains(time))
        .ok_or_else(|| "must be a time from 1ms to 60s, such as 50ms".into())
}

fn factor(text: &str, most: f64) -> Result<Fraction, String> {
    text.parse::<f64>()
        .ok()
        .filter(|factor| (0.000_001..=most).contains(factor))
        .and_then(Fraction::of_float)
        .ok_or_else(|| format!("must be a number above 0, from 0.000001 to {most}"))
}

fn one_of<T: Copy>(text: &str, allowed: &[(&str, T)]) -> Result<T, String> {
    let text = text.to_ascii_lowercase();
    allowed
        .iter()
        .find(|(name, _)| *name == text)
        .map(|(_, value)| *value)
        .ok_or_else(|| {
            let names: Vec<_> = allowed
                .iter()
                .map(|(name, _)| *name)
                .filter(|name| !name.is_empty())
                .collect();
            format!("must be one of {}", names.join(", "))
        })
}

/// Shows `sluice.store` in phpinfo and `php --ri` without its password.
unsafe extern "C" fn display_dsn(entry: *mut zend_ini_entry, which: c_int) {
    const ORIGINAL: c_int = 1;
    // SAFETY: PHP hands a displayer a live entry.
    let value = unsafe { zend::value_of_entry(entry, which == ORIGINAL) };
    let shown = match std::str::from_utf8(&value) {
        Ok("") => "no value".to_owned(),
        Ok(text) => {
            Dsn::parse(text.trim()).map_or_else(|_| "not a DSN".to_owned(), |dsn| dsn.to_string())
        }
        Err(_) => "not a DSN".to_owned(),
    };
    super::info::print_escaped(&shown);
}
