//! Where a Redis is and how to log in, in one line.
//!
//! ```text
//! redis://[user[:password]@]host[:port][/db][?option=value&…]
//! unix:///path/to/socket[?option=value&…]
//! ```
//!
//! Options: `db`, `user`, `password`, `prefix`, `timeout`, `connect_timeout`.
//! Characters with a meaning in a URL are written `%40` and the like.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use percent_encoding::percent_decode_str;
use url::Url;

use crate::store::parse_duration;

/// A parsed DSN. Printing it, in any way, leaves the password out.
#[derive(Clone, PartialEq, Eq)]
pub struct Dsn {
    /// Where the server listens.
    pub address: Address,
    /// The ACL user, if not the default one.
    pub user: Option<String>,
    /// The password, if one is wanted.
    pub password: Option<Secret>,
    /// The database number.
    pub database: u32,
    /// What every key starts with, if not what php.ini says.
    pub prefix: Option<Vec<u8>>,
    /// The time for a whole call, if not what php.ini says.
    pub timeout: Option<Duration>,
    /// The part of it for connecting, if not what php.ini says.
    pub connect_timeout: Option<Duration>,
}

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A host name or address, and a port.
    Tcp {
        /// A name, or an address without brackets.
        host: String,
        /// The port.
        port: u16,
    },
    /// The path of a socket.
    Unix(PathBuf),
}

/// A password. Has no way to be printed by accident.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// The password itself.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

/// Why a DSN is not one. Never quotes what may be a password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DsnError(String);

impl fmt::Display for DsnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}; a DSN is redis://[user[:password]@]host[:port][/db] or unix:///path[?db=n], \
             with @ / ? # % in a user name or password written as %40 %2F %3F %23 %25",
            self.0
        )
    }
}

impl std::error::Error for DsnError {}

/// The shortest and the longest time that a call may be given.
const TIMES: std::ops::RangeInclusive<Duration> =
    Duration::from_millis(1)..=Duration::from_secs(60);

impl Dsn {
    /// Reads a DSN.
    ///
    /// # Errors
    /// Says which part is wrong.
    pub fn parse(text: &str) -> Result<Self, DsnError> {
        let refuse = |what: &str| Err(DsnError(what.to_owned()));
        if text.contains('\0') || text.contains("%00") {
            return refuse("it has a NUL in it");
        }
        let Some((scheme, rest)) = text.split_once("://") else {
            return refuse("it has no scheme");
        };
        let mut dsn = match scheme {
            "redis" => Self::of_url(text)?,
            "unix" => Self::of_path(rest.split('?').next().unwrap_or_default())?,
            "rediss" | "redis+sentinel" | "redis+cluster" => {
                return Err(DsnError(format!(
                    "{scheme}:// is a scheme this version does not support"
                )));
            }
            _ => return refuse("its scheme is neither redis nor unix"),
        };
        if let Some((_, query)) = text.split_once('?') {
            for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
                dsn.set(&name, &value)?;
            }
        }
        Ok(dsn)
    }

    /// A DSN without login, database and options.
    pub fn at(address: Address) -> Self {
        Self {
            address,
            user: None,
            password: None,
            database: 0,
            prefix: None,
            timeout: None,
            connect_timeout: None,
        }
    }

    fn of_url(text: &str) -> Result<Self, DsnError> {
        // The parser's own messages are short and quote nothing.
        let url = Url::parse(text).map_err(|error| DsnError(format!("it has an {error}")))?;
        let host = match url.host() {
            Some(url::Host::Domain(name)) => decode(name)?,
            Some(url::Host::Ipv4(address)) => address.to_string(),
            Some(url::Host::Ipv6(address)) => address.to_string(),
            None => String::new(),
        };
        if host.is_empty() {
            return Err(DsnError("it names no host".into()));
        }
        if url.fragment().is_some() {
            return Err(DsnError("it has a # in it".into()));
        }
        let mut dsn = Self::at(Address::Tcp {
            host,
            port: url.port().unwrap_or(6379),
        });
        match (url.username(), url.password()) {
            ("", None) => {}
            ("", Some(password)) => dsn.password = Some(Secret(decode(password)?)),
            // redis://secret@host: one word alone is a password to Redis' own
            // tools of old, and a user to a URL. Better asked than guessed.
            (_, None) => {
                return Err(DsnError(
                    "it has a user without a password; a password alone is written :password@"
                        .into(),
                ));
            }
            (user, Some(password)) => {
                dsn.user = Some(decode(user)?);
                dsn.password = Some(Secret(decode(password)?));
            }
        }
        match url.path().trim_start_matches('/') {
            "" => {}
            database => dsn.set("db", database)?,
        }
        Ok(dsn)
    }

    fn of_path(path: &str) -> Result<Self, DsnError> {
        if !path.starts_with('/') {
            return Err(DsnError(
                "it names no absolute path: unix:// is followed by a third slash".into(),
            ));
        }
        Ok(Self::at(Address::Unix(decode(path)?.into())))
    }

    /// Sets one option.
    ///
    /// # Errors
    /// Where there is no such option, or the value is not one for it.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), DsnError> {
        if value.contains('\0') && name != "prefix" {
            return Err(DsnError(format!("its {name} has a NUL in it")));
        }
        match name {
            "db" => {
                self.database = value
                    .parse()
                    .map_err(|_| DsnError("its database must be a number from 0 on".into()))?;
            }
            "user" => self.user = Some(value.to_owned()),
            "password" => self.password = Some(Secret(value.to_owned())),
            "prefix" => self.prefix = Some(value.as_bytes().to_owned()),
            "timeout" => self.timeout = Some(time(name, value)?),
            "connect_timeout" => self.connect_timeout = Some(time(name, value)?),
            _ => {
                let name: String = name.chars().filter(|c| !c.is_control()).take(40).collect();
                return Err(DsnError(format!(
                    "it has an option \"{name}\", which is none of db, user, password, \
                     prefix, timeout, connect_timeout"
                )));
            }
        }
        Ok(())
    }
}

fn time(name: &str, value: &str) -> Result<Duration, DsnError> {
    parse_duration(value)
        .map(|micros| Duration::from_micros(micros.0))
        .filter(|time| TIMES.contains(time))
        .ok_or_else(|| {
            DsnError(format!(
                "its {name} must be a time from 1ms to 60s, such as 50ms"
            ))
        })
}

fn decode(text: &str) -> Result<String, DsnError> {
    percent_decode_str(text)
        .decode_utf8()
        .map(std::borrow::Cow::into_owned)
        .map_err(|_| DsnError("it is not UTF-8 once its %-escapes are read".into()))
}

impl fmt::Display for Dsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let login = match (&self.user, &self.password) {
            (None, None) => String::new(),
            (user, password) => format!(
                "{}{}@",
                user.as_deref().unwrap_or_default(),
                if password.is_some() { ":***" } else { "" }
            ),
        };
        match &self.address {
            Address::Tcp { host, port } if host.contains(':') => {
                write!(f, "redis://{login}[{host}]:{port}/{}", self.database)
            }
            Address::Tcp { host, port } => {
                write!(f, "redis://{login}{host}:{port}/{}", self.database)
            }
            Address::Unix(path) => {
                write!(f, "unix://{}?db={}", path.display(), self.database)
            }
        }
    }
}

impl fmt::Debug for Dsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tcp(text: &str) -> (String, u16, u32) {
        let dsn = Dsn::parse(text).unwrap();
        let Address::Tcp { host, port } = dsn.address else {
            panic!("{text} is not TCP");
        };
        (host, port, dsn.database)
    }

    #[test]
    fn hosts_ports_and_databases() {
        assert_eq!(tcp("redis://127.0.0.1"), ("127.0.0.1".into(), 6379, 0));
        assert_eq!(tcp("redis://cache:7000/3"), ("cache".into(), 7000, 3));
        assert_eq!(tcp("redis://[::1]:7000/"), ("::1".into(), 7000, 0));
        assert_eq!(tcp("redis://cache?db=4"), ("cache".into(), 6379, 4));
        let unix = Dsn::parse("unix:///run/redis.sock?db=2").unwrap();
        assert_eq!(unix.address, Address::Unix("/run/redis.sock".into()));
        assert_eq!(unix.database, 2);
    }

    #[test]
    fn logins_and_options() {
        let dsn =
            Dsn::parse("redis://app:p%40ss@cache/1?timeout=20ms&connect_timeout=0.01&prefix=x:")
                .unwrap();
        assert_eq!(dsn.user.as_deref(), Some("app"));
        assert_eq!(dsn.password.as_ref().unwrap().reveal(), "p@ss");
        assert_eq!(dsn.timeout, Some(Duration::from_millis(20)));
        assert_eq!(dsn.connect_timeout, Some(Duration::from_millis(10)));
        assert_eq!(dsn.prefix.as_deref(), Some(&b"x:"[..]));
        let alone = Dsn::parse("redis://:secret@cache").unwrap();
        assert_eq!(
            (alone.user, alone.password.unwrap().reveal()),
            (None, "secret")
        );
    }

    #[test]
    fn what_is_not_a_dsn_says_why_and_never_the_password() {
        for (text, reason) in [
            ("", "no scheme"),
            ("127.0.0.1:6379", "no scheme"),
            ("http://user:hunter2@host", "neither redis nor unix"),
            ("rediss://:hunter2@host", "does not support"),
            ("redis://", "no host"),
            ("redis:///3", "no host"),
            ("redis://:hunter2@", "host"),
            ("redis://:hunter2@host:port", "port"),
            ("redis://:hunter2@host:99999", "port"),
            ("redis://hunter2@host", "user without a password"),
            ("redis://:hunter2@host/x", "database"),
            ("redis://:hunter2@host/-1", "database"),
            ("redis://:hunter2@host/99999999999", "database"),
            ("redis://:hunter2@host?tiemout=1s", "\"tiemout\""),
            ("redis://:hunter2@host?timeout=50", "1ms to 60s"),
            ("redis://:hunter2@host?timeout=fast", "1ms to 60s"),
            ("redis://:hunter2@host?timeout=0", "1ms to 60s"),
            ("redis://:hun#ter2@host", ""),
            ("unix://run/redis.sock", "absolute path"),
            ("unix:///run/\0redis.sock", "NUL"),
            ("redis://us%00er:hunter2@host", "NUL"),
        ] {
            let message = match Dsn::parse(text) {
                Ok(dsn) if text.contains("=50") => {
                    assert_eq!(dsn.timeout, Some(Duration::from_secs(50)));
                    continue;
                }
                Ok(dsn) => panic!("{text} became {dsn}"),
                Err(error) => error.to_string(),
            };
            assert!(message.contains(reason), "{text}: {message}");
            assert!(
                !message.contains("hunter2") && !message.contains("hun#"),
                "{message}"
            );
        }
    }

    #[test]
    fn printing_hides_the_password() {
        let dsn = Dsn::parse("redis://app:hunter2@cache/1").unwrap();
        assert_eq!(dsn.to_string(), "redis://app:***@cache:6379/1");
        assert_eq!(
            format!("{dsn:?} {:?}", dsn.password),
            "redis://app:***@cache:6379/1 Some(***)"
        );
    }
}
