//! Where Redis is and how to log in, in one line.
//!
//! ```text
//! redis://[user[:password]@]host[:port][/db][?option=value&…]
//! unix:///path/to/socket[?option=value&…]
//! redis+sentinel://[user[:password]@]host[:port][,host[:port]…]/master[/db][?…]
//! redis+cluster://[user[:password]@]host[:port][,host[:port]…][?…]
//! ```
//!
//! `rediss` in place of `redis` is TLS. `docs/topologies.md` has the options.
//! Characters with a meaning in a URL are written `%40` and the like.

mod grammar;
#[cfg(test)]
mod tests;

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use crate::store::parse_duration;

/// A parsed DSN. Printing it, in any way, leaves the passwords out.
#[derive(Clone, PartialEq, Eq)]
pub struct Dsn {
    /// Where the servers listen.
    pub place: Place,
    /// How to log in to them.
    pub login: Login,
    /// How to speak TLS with them, if at all.
    pub tls: Option<Tls>,
    /// The database number.
    pub database: u32,
    /// What every key starts with, if not what php.ini says.
    pub prefix: Option<Vec<u8>>,
    /// The time for a whole call, if not what php.ini says.
    pub timeout: Option<Duration>,
    /// The part of it for connecting, if not what php.ini says.
    pub connect_timeout: Option<Duration>,
}

/// One server, or several and how they belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// One server.
    One(Address),
    /// The master that Sentinels name.
    Sentinel {
        /// Where the Sentinels listen, in the order in which they are asked.
        sentinels: Vec<Address>,
        /// What they call the master.
        master: String,
        /// How to log in to them.
        login: Login,
    },
    /// A Cluster, by some of its nodes.
    Cluster(Vec<Address>),
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

/// Who one is to a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Login {
    /// The ACL user, if not the default one.
    pub user: Option<String>,
    /// The password, if one is wanted.
    pub password: Option<Secret>,
}

/// How a server and its client show each other who they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tls {
    /// A file with the authorities to trust; without it those of the system.
    pub ca: Option<PathBuf>,
    /// A file with the client's certificate and those above it.
    pub certificate: Option<PathBuf>,
    /// A file with its key; without it the certificate's own file.
    pub key: Option<PathBuf>,
    /// The name that the servers' certificates are for, if not their host's.
    pub server_name: Option<String>,
    /// Whether the servers' certificates are looked at.
    pub verify: bool,
}

impl Default for Tls {
    fn default() -> Self {
        Self {
            ca: None,
            certificate: None,
            key: None,
            server_name: None,
            verify: true,
        }
    }
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
            "{}; a DSN is redis://[user[:password]@]host[:port][/db], unix:///path[?db=n], \
             redis+sentinel://host,host/master[/db] or redis+cluster://host,host, \
             with rediss for TLS, and with @ / ? # % in a user name or password written as \
             %40 %2F %3F %23 %25",
            self.0
        )
    }
}

impl std::error::Error for DsnError {}

/// The shortest and the longest time that a call may be given.
const TIMES: std::ops::RangeInclusive<Duration> =
    Duration::from_millis(1)..=Duration::from_secs(60);

const OPTIONS: &str = "db, user, password, prefix, timeout, connect_timeout";
const OPTIONS_OF_SENTINEL: &str = "sentinel_user, sentinel_password";
const OPTIONS_OF_TLS: &str = "ca, cert, key, server_name, verify";

impl Dsn {
    /// Reads a DSN.
    ///
    /// # Errors
    /// Says which part is wrong.
    pub fn parse(text: &str) -> Result<Self, DsnError> {
        grammar::parse(text)
    }

    /// A DSN of one server without login, database and options.
    pub fn at(address: Address) -> Self {
        Self::of(Place::One(address))
    }

    fn of(place: Place) -> Self {
        Self {
            place,
            login: Login::default(),
            tls: None,
            database: 0,
            prefix: None,
            timeout: None,
            connect_timeout: None,
        }
    }

    /// Sets one option.
    ///
    /// # Errors
    /// Where there is no such option, or the value is not one for it.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), DsnError> {
        if value.contains('\0') && name != "prefix" {
            return Err(DsnError(format!("its {name} has a NUL in it")));
        }
        if let Some(tls) = &mut self.tls
            && let Some(set) = tls.set(name, value)
        {
            return set;
        }
        match (name, &mut self.place) {
            ("db", place) => {
                let database = value
                    .parse()
                    .map_err(|_| DsnError("its database must be a number from 0 on".into()))?;
                if database != 0 && matches!(place, Place::Cluster(_)) {
                    return Err(DsnError("a Cluster has only database 0".into()));
                }
                self.database = database;
            }
            ("user", _) => self.login.user = Some(value.to_owned()),
            ("password", _) => self.login.password = Some(Secret(value.to_owned())),
            ("sentinel_user", Place::Sentinel { login, .. }) => {
                login.user = Some(value.to_owned());
            }
            ("sentinel_password", Place::Sentinel { login, .. }) => {
                login.password = Some(Secret(value.to_owned()));
            }
            ("prefix", _) => self.prefix = Some(value.as_bytes().to_owned()),
            ("timeout", _) => self.timeout = Some(time(name, value)?),
            ("connect_timeout", _) => self.connect_timeout = Some(time(name, value)?),
            _ => return Err(self.no_such_option(name)),
        }
        Ok(())
    }

    fn no_such_option(&self, name: &str) -> DsnError {
        let name: String = name.chars().filter(|c| !c.is_control()).take(40).collect();
        let mut allowed = OPTIONS.to_owned();
        if let Place::Sentinel { .. } = self.place {
            allowed = format!("{allowed}, {OPTIONS_OF_SENTINEL}");
        }
        let mut hint = String::new();
        if self.tls.is_some() {
            allowed = format!("{allowed}, {OPTIONS_OF_TLS}");
        } else if OPTIONS_OF_TLS.split(", ").any(|option| option == name) {
            hint = format!(" ({name} goes with rediss)");
        }
        DsnError(format!(
            "it has an option \"{name}\"{hint}, which is none of {allowed}"
        ))
    }

    /// Sees whether the files that it names can be used. Connections read them
    /// again.
    ///
    /// # Errors
    /// Says which file is wrong, and why.
    pub fn check(&self) -> Result<(), DsnError> {
        match &self.tls {
            Some(tls) => super::tls::configure(tls)
                .map(|_| ())
                .map_err(|why| DsnError(format!("its TLS cannot work: {why}"))),
            None => Ok(()),
        }
    }

    /// What to call this way of laying out servers.
    pub fn topology(&self) -> &'static str {
        match &self.place {
            Place::One(_) => "standalone",
            Place::Sentinel { .. } => "sentinel",
            Place::Cluster(_) => "cluster",
        }
    }

    /// Whether what is sent can be read or changed on the way although TLS is
    /// wanted: nobody looks at the server's certificate.
    pub fn is_unverified(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| !tls.verify)
    }
}

impl Tls {
    /// Sets one option, if it is one of these.
    fn set(&mut self, name: &str, value: &str) -> Option<Result<(), DsnError>> {
        match name {
            "ca" => self.ca = Some(value.into()),
            "cert" => self.certificate = Some(value.into()),
            "key" => self.key = Some(value.into()),
            "server_name" => self.server_name = Some(value.to_owned()),
            "verify" => match value {
                "yes" => self.verify = true,
                "no" => self.verify = false,
                _ => return Some(Err(DsnError("its verify must be yes or no".into()))),
            },
            _ => return None,
        }
        Some(Ok(()))
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

impl fmt::Display for Dsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.tls.is_some() {
            "rediss"
        } else {
            "redis"
        };
        let list = |addresses: &[Address]| {
            let texts: Vec<_> = addresses.iter().map(Address::to_string).collect();
            texts.join(",")
        };
        let (login, database) = (&self.login, self.database);
        match &self.place {
            Place::One(Address::Unix(path)) => {
                write!(f, "unix://{}?db={database}", path.display())
            }
            Place::One(address) => write!(f, "{scheme}://{login}{address}/{database}"),
            Place::Sentinel {
                sentinels, master, ..
            } => write!(
                f,
                "{scheme}+sentinel://{login}{}/{master}/{database}",
                list(sentinels)
            ),
            Place::Cluster(nodes) => write!(f, "{scheme}+cluster://{login}{}", list(nodes)),
        }?;
        // Whoever turned this off shall meet it wherever the DSN is shown.
        f.write_str(if self.is_unverified() {
            "?verify=no"
        } else {
            ""
        })
    }
}

impl fmt::Display for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let user = self.user.as_deref().unwrap_or_default();
        match &self.password {
            Some(_) => write!(f, "{user}:***@"),
            None if self.user.is_some() => write!(f, "{user}@"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            Self::Tcp { host, port } => write!(f, "{host}:{port}"),
            Self::Unix(path) => write!(f, "{}", path.display()),
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
