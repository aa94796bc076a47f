//! Whom a rule counts: a key made of parts of the request.

use super::client::{Client, write_key};
use super::paths::Paths;
use super::pattern::PathPattern;
use super::request::{Header, Request, cookie, query};

/// One part of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// The client's address.
    Address,
    /// The path in its normal form.
    Path,
    /// The host.
    Host,
    /// A header.
    Header(Header),
    /// A cookie.
    Cookie(String),
    /// A query parameter.
    Query(String),
}

/// What keys are made of. Without any part all requests have the same key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Template {
    parts: Vec<Part>,
    /// The parts' names, in front of every key, so that an address and a header
    /// of the same text are two clients.
    label: String,
}

impl Part {
    /// Reads a part.
    ///
    /// # Errors
    /// Says what there is.
    pub fn parse(text: &str) -> Result<Self, String> {
        let named = text.split_once(':').filter(|(_, name)| !name.is_empty());
        match (text, named) {
            ("ip", _) => Some(Self::Address),
            ("path", _) => Some(Self::Path),
            ("host", _) => Some(Self::Host),
            (_, Some(("header", name))) => Header::new(name).map(Self::Header),
            (_, Some(("cookie", name))) => Some(Self::Cookie(name.to_owned())),
            (_, Some(("query", name))) => Some(Self::Query(name.to_owned())),
            _ => None,
        }
        .ok_or_else(|| {
            format!(
                "expected \"ip\", \"path\", \"host\", \"header:NAME\", \"cookie:NAME\" or \
                 \"query:NAME\"; found \"{text}\""
            )
        })
    }

    fn name(&self) -> String {
        match self {
            Self::Address => "ip".to_owned(),
            Self::Path => "path".to_owned(),
            Self::Host => "host".to_owned(),
            Self::Header(header) => format!("header:{}", header.name.to_ascii_lowercase()),
            Self::Cookie(name) => format!("cookie:{name}"),
            Self::Query(name) => format!("query:{name}"),
        }
    }

    /// Whether its value may be a secret, which no log should show.
    fn is_secret(&self) -> bool {
        matches!(self, Self::Header(_) | Self::Cookie(_) | Self::Query(_))
    }
}

/// What values are taken from.
pub struct Facts<'a, R: ?Sized> {
    /// The request.
    pub request: &'a R,
    /// Its client.
    pub client: Client,
    /// Its host.
    pub host: &'a [u8],
    /// Its path.
    pub paths: &'a Paths,
    /// What the rule wants of the path.
    pub patterns: &'a [PathPattern],
}

impl Template {
    /// Keys of these parts, in this order.
    pub fn new(parts: Vec<Part>) -> Self {
        let names: Vec<_> = parts.iter().map(Part::name).collect();
        let label = if names.is_empty() {
            String::new()
        } else {
            format!("{}=", names.join(","))
        };
        Self { parts, label }
    }

    /// Whether keys have this part.
    pub fn has(&self, part: &Part) -> bool {
        self.parts.contains(part)
    }

    /// Whether a key may hold a secret.
    pub fn is_secret(&self) -> bool {
        self.parts.iter().any(Part::is_secret)
    }

    /// The names of the parts.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// Writes the key of a request. A part that the request does not have is
    /// empty: who leaves a header out is counted together with all who do.
    pub fn write<R: Request + ?Sized>(&self, facts: &Facts<'_, R>, into: &mut Vec<u8>) {
        into.extend_from_slice(self.label.as_bytes());
        if let [only] = self.parts.as_slice() {
            only.write(facts, into);
            return;
        }
        for (index, part) in self.parts.iter().enumerate() {
            if index > 0 {
                into.push(b',');
            }
            // With its length in front, so that no value can look like two.
            let start = into.len();
            part.write(facts, into);
            let length = format!("{}:", into.len() - start);
            into.splice(start..start, length.into_bytes());
        }
    }
}

impl Part {
    fn write<R: Request + ?Sized>(&self, facts: &Facts<'_, R>, into: &mut Vec<u8>) {
        match self {
            Self::Address => {
                if let Client::Known(address) = facts.client {
                    write_key(address, into);
                }
            }
            Self::Path => into.extend_from_slice(facts.paths.plainest(facts.patterns)),
            Self::Host => into.extend_from_slice(facts.host),
            Self::Header(header) => {
                into.extend_from_slice(header.of(facts.request).unwrap_or_default());
            }
            Self::Cookie(name) => {
                into.extend(cookie(facts.request, name.as_bytes()).unwrap_or_default());
            }
            Self::Query(name) => {
                into.extend(query(facts.request, name.as_bytes()).unwrap_or_default());
            }
        }
    }
}
