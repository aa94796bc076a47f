//! A DSN's text, taken apart.

use std::net::{Ipv4Addr, Ipv6Addr};

use percent_encoding::percent_decode_str;

use super::{Address, Dsn, DsnError, Login, Place, Secret, Tls};
use super::{OPTIONS, OPTIONS_OF_SENTINEL, OPTIONS_OF_TLS};

const PORT: u16 = 6379;
const PORT_OF_SENTINEL: u16 = 26379;

/// More than anybody has Sentinels, or needs of a Cluster to find it.
const MOST_HOSTS: usize = 64;

pub fn parse(text: &str) -> Result<Dsn, DsnError> {
    if text.contains('\0') || text.contains("%00") {
        return refuse("it has a NUL in it");
    }
    let Some((scheme, rest)) = text.split_once("://") else {
        return refuse("it has no scheme");
    };
    if rest.contains('#') {
        return refuse("it has a # in it");
    }
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let mut dsn = match scheme {
        "redis" | "rediss" => of_one(rest)?,
        "redis+sentinel" | "rediss+sentinel" => of_sentinels(rest)?,
        "redis+cluster" | "rediss+cluster" => of_cluster(rest)?,
        "unix" => of_path(rest)?,
        _ => {
            return refuse(
                "its scheme is neither redis nor unix, redis+sentinel or redis+cluster, \
                 nor one of them with rediss",
            );
        }
    };
    dsn.0.tls = scheme.starts_with("rediss").then(Tls::default);
    let (mut dsn, database) = dsn;
    if !database.is_empty() {
        dsn.set("db", &decode(database)?)?;
    }
    // A ? in a password that nobody escaped is still before the @.
    let mut after_password = query.contains('@');
    for option in query.split('&').filter(|option| !option.is_empty()) {
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        let name = decode(name)?;
        if after_password && !is_option(&name) {
            // It may be the end of the password, so it is not shown.
            return refuse(
                "what follows its password is no option; ? and & in it are written %3F and %26",
            );
        }
        dsn.set(&name, &decode(value)?)?;
        after_password |= name.ends_with("password");
    }
    Ok(dsn)
}

fn is_option(name: &str) -> bool {
    [OPTIONS, OPTIONS_OF_SENTINEL, OPTIONS_OF_TLS]
        .iter()
        .any(|options| options.split(", ").any(|option| option == name))
}

/// A DSN, and what its path says of the database.
type Parsed<'a> = Result<(Dsn, &'a str), DsnError>;

fn of_one(rest: &str) -> Parsed<'_> {
    let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
    let (login, mut hosts) = of_authority(authority, PORT)?;
    if hosts.len() > 1 {
        return refuse(
            "it names several hosts, which is for redis+sentinel:// and redis+cluster://",
        );
    }
    Ok((with(Place::One(hosts.swap_remove(0)), login), database))
}

fn of_sentinels(rest: &str) -> Parsed<'_> {
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let (master, database) = path.split_once('/').unwrap_or((path, ""));
    let (login, sentinels) = of_authority(authority, PORT_OF_SENTINEL)?;
    if master.is_empty() {
        return refuse("it names no master: redis+sentinel://host,host/master");
    }
    let place = Place::Sentinel {
        sentinels,
        master: decode(master)?,
        login: Login::default(),
    };
    Ok((with(place, login), database))
}

fn of_cluster(rest: &str) -> Parsed<'_> {
    let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
    let (login, nodes) = of_authority(authority, PORT)?;
    Ok((with(Place::Cluster(nodes), login), database))
}

fn of_path(path: &str) -> Parsed<'_> {
    if !path.starts_with('/') {
        return refuse("it names no absolute path: unix:// is followed by a third slash");
    }
    Ok((Dsn::at(Address::Unix(decode(path)?.into())), ""))
}

fn with(place: Place, login: Login) -> Dsn {
    Dsn {
        login,
        ..Dsn::of(place)
    }
}

fn of_authority(authority: &str, port: u16) -> Result<(Login, Vec<Address>), DsnError> {
    // An @ in a password that nobody escaped is still before the last one.
    let (login, hosts) = match authority.rsplit_once('@') {
        Some((login, hosts)) => (of_login(login)?, hosts),
        None => (Login::default(), authority),
    };
    let hosts = hosts
        .split(',')
        .map(|host| of_host(host, port))
        .collect::<Result<Vec<_>, _>>()?;
    if hosts.len() > MOST_HOSTS {
        return Err(DsnError(format!("it names more than {MOST_HOSTS} hosts")));
    }
    Ok((login, hosts))
}

fn of_login(text: &str) -> Result<Login, DsnError> {
    let secret = |text| decode(text).map(Secret).map(Some);
    match text.split_once(':') {
        None if text.is_empty() => Ok(Login::default()),
        // redis://secret@host: one word alone is a password to Redis' own
        // tools of old, and a user to a URL. Better asked than guessed.
        None => refuse("it has a user without a password; a password alone is written :password@"),
        Some(("", password)) => Ok(Login {
            user: None,
            password: secret(password)?,
        }),
        Some((user, password)) => Ok(Login {
            user: Some(decode(user)?),
            password: secret(password)?,
        }),
    }
}

fn of_host(text: &str, port: u16) -> Result<Address, DsnError> {
    let (host, rest) = if let Some(bracketed) = text.strip_prefix('[') {
        let (host, rest) = bracketed
            .split_once(']')
            .ok_or_else(|| DsnError("it has a [ without a ] in its host".into()))?;
        let address: Ipv6Addr = host
            .parse()
            .map_err(|_| DsnError("it has in [] what is no IPv6 address".into()))?;
        (address.to_string(), rest)
    } else {
        let end = text.find(':').unwrap_or(text.len());
        (of_name(&text[..end])?, &text[end..])
    };
    let port = match rest.strip_prefix(':') {
        None if rest.is_empty() => port,
        // Other readers of URLs take an empty port for the usual one.
        Some("") => port,
        Some(number) => number
            .parse()
            .ok()
            .filter(|port| *port > 0)
            .ok_or_else(|| DsnError("it has an invalid port, not 1 to 65535".into()))?,
        None => return refuse("it has something between ] and the port"),
    };
    Ok(Address::Tcp { host, port })
}

/// A host's name: what a resolver may be asked for.
fn of_name(text: &str) -> Result<String, DsnError> {
    let name = decode(text)?;
    let fits = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_');
    if name.is_empty() {
        return refuse("it names no host");
    }
    if !name.chars().all(fits) || name.len() > 253 {
        return refuse("its host is no name: letters, digits, dots, - and _");
    }
    // All digits and dots is meant to be an address.
    let numeric = name.chars().all(|c| c.is_ascii_digit() || c == '.');
    if numeric && name.parse::<Ipv4Addr>().is_err() {
        return refuse("its host is no IPv4 address");
    }
    Ok(name)
}

fn decode(text: &str) -> Result<String, DsnError> {
    percent_decode_str(text)
        .decode_utf8()
        .map(std::borrow::Cow::into_owned)
        .map_err(|_| DsnError("it is not UTF-8 once its %-escapes are read".into()))
}

fn refuse<T>(what: &str) -> Result<T, DsnError> {
    Err(DsnError(what.to_owned()))
}
