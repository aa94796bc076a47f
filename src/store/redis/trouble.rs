//! What can go wrong with a call, sorted by what may be done about it.

use std::io::{self, ErrorKind};
use std::sync::Arc;

use redis::{ErrorKind as RedisErrorKind, RedisError, ServerError, Value};

use super::dsn::Address;

/// Why a call got no answer. Never holds a password.
#[derive(Debug, PartialEq, Eq)]
pub struct Trouble {
    /// What may be done about it.
    pub kind: Kind,
    /// What happened, in words.
    pub what: String,
}

/// What may be done about a trouble.
#[derive(Debug, PartialEq, Eq)]
pub enum Kind {
    /// Nothing was sent, since no connection came about. The call may go to
    /// another server.
    Unreachable,
    /// Nothing was written: this server is not the master, or not any more.
    /// The call may go to the one that is.
    NotMaster,
    /// Nothing ran: another node has the slot.
    Moved(Node),
    /// Nothing ran: for now another node may be asked about this key.
    Ask(Node),
    /// Nothing ran: the keys do not all lie in one place. They may be asked
    /// about one at a time.
    Apart,
    /// Somebody else keeps something at this key. The server is well.
    OfKey,
    /// What came of the call is unknown, or it would come to the same again.
    Final,
}

/// A node, as another one names it.
#[derive(Debug, PartialEq, Eq)]
pub struct Node {
    /// The host, unless it is that of the node that speaks.
    pub host: Option<String>,
    /// The port.
    pub port: u16,
}

impl Node {
    /// Where the node listens, if `speaker` said so.
    pub fn seen_by(self, speaker: &Address) -> Address {
        let host = match (self.host, speaker) {
            (Some(host), _) => host,
            (None, Address::Tcp { host, .. }) => host.clone(),
            (None, Address::Unix(_)) => "localhost".into(),
        };
        Address::Tcp {
            host,
            port: self.port,
        }
    }
}

impl Trouble {
    /// One after which nothing more can be done.
    pub fn last(what: impl Into<String>) -> Self {
        let kind = Kind::Final;
        Self {
            kind,
            what: what.into(),
        }
    }

    /// No connection came about.
    pub fn unreachable(what: impl Into<String>) -> Self {
        let kind = Kind::Unreachable;
        Self {
            kind,
            what: what.into(),
        }
    }

    /// Bytes could not be sent.
    pub fn of_sending(error: &io::Error) -> Self {
        Self::last(format!("cannot send: {}", describe(error)))
    }

    /// No reply came.
    pub fn of_receiving(error: &RedisError) -> Self {
        let io = std::error::Error::source(error)
            .and_then(|source| source.downcast_ref::<Arc<io::Error>>());
        let why = match io {
            _ if error.is_timeout() => "the time was up".into(),
            // What TLS has to say.
            Some(io) if io.kind() == ErrorKind::InvalidData => io.to_string(),
            _ if error.kind() == RedisErrorKind::Io => "the server closed the connection".into(),
            _ => "what came is not a reply of Redis".to_owned(),
        };
        Self::last(format!("no reply: {why}"))
    }

    /// A reply came that is no answer to `asked`. This is the one place that
    /// knows the errors of servers.
    pub fn of_reply(asked: &str, reply: &Value) -> Self {
        let kind = match reply {
            Value::ServerError(error) => kind_of(error),
            _ => Kind::Final,
        };
        let what = format!("{asked}answered with {}", show(reply));
        Self { kind, what }
    }

    /// The same, but not to be acted on.
    pub fn and_no_more(self) -> Self {
        Self::last(self.what)
    }
}

/// Whether a reply says that the server does not know a script.
pub fn is_no_script(reply: &Value) -> bool {
    matches!(reply, Value::ServerError(error) if error.code() == "NOSCRIPT")
}

fn kind_of(error: &ServerError) -> Kind {
    let details = error.details().unwrap_or_default();
    match error.code() {
        "READONLY" | "MASTERDOWN" | "LOADING" => Kind::NotMaster,
        // Redis before 7 wraps what a script met.
        "ERR" if details.contains("-READONLY") => Kind::NotMaster,
        "MOVED" => node(details).map_or(Kind::Final, Kind::Moved),
        "ASK" => node(details).map_or(Kind::Final, Kind::Ask),
        "CROSSSLOT" | "TRYAGAIN" => Kind::Apart,
        "WRONGTYPE" => Kind::OfKey,
        "ERR" if details.contains("WRONGTYPE") => Kind::OfKey,
        // Proxies before a Cluster have words of their own.
        "ERR" if details.contains("same slot") => Kind::Apart,
        _ => Kind::Final,
    }
}

/// Reads the node in `3999 127.0.0.1:6381`.
fn node(details: &str) -> Option<Node> {
    let (_slot, address) = details.split_once(' ')?;
    // An address of IPv6 stands there without brackets.
    let (host, port) = address.trim().rsplit_once(':')?;
    Some(Node {
        host: named(host),
        port: port.parse().ok()?,
    })
}

/// A host, unless the server says that it does not know its own.
pub fn named(host: &str) -> Option<String> {
    (!host.is_empty() && host != "?").then(|| host.to_owned())
}

/// An error of a socket, in words.
pub fn describe(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => "the time was up".into(),
        _ => error.to_string(),
    }
}

/// A reply in an error message: the server's own words if it is an error,
/// cut short, or only its type, since anything could be in it.
fn show(reply: &Value) -> String {
    match reply {
        Value::ServerError(error) => {
            let text = format!("{} {}", error.code(), error.details().unwrap_or_default());
            text.chars().take(200).collect()
        }
        Value::Array(values) => format!("{} values", values.len()),
        Value::Nil => "nothing".into(),
        _ => "something unexpected".into(),
    }
}
