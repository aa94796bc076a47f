//! A server, and this worker's connection to it.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use rustls::{ClientConfig, ClientConnection};

use super::connection::{Connection, Greeting};
use super::dsn::{Address, Dsn};
use super::resolver::Resolver;
use super::scripts::Scripts;
use super::tls;
use super::trouble::{Kind, Trouble, describe};
use super::wire::Wire;

/// A server, and this worker's connection to it, if one is open.
pub struct Link {
    pub address: Address,
    connection: Option<Connection>,
    resolver: Resolver,
}

/// What a call has to get along with: whom to be, and until when to
/// have a connection.
pub struct Way<'a> {
    pub dsn: &'a Dsn,
    pub scripts: &'a Scripts,
    pub trust: &'a mut Trust,
    /// Connections opened so far.
    pub opened: &'a mut u64,
    pub connect_by: Instant,
}

/// The files of TLS, once they were read.
pub type Trust = Option<Arc<ClientConfig>>;

impl Link {
    /// To a server, without a connection yet.
    pub fn to(address: Address) -> Self {
        Self {
            address,
            connection: None,
            resolver: Resolver::default(),
        }
    }

    /// Whether a connection is open.
    pub fn is_open(&self) -> bool {
        self.connection.is_some()
    }

    /// After a fork, before anything else: what is open is the parent's.
    pub fn abandon(&mut self) {
        self.connection = None;
        self.resolver.abandon();
    }

    /// Runs `call` on the connection, opening one if need be, and drops the
    /// connection if anything goes wrong: what it would say next is unknown.
    pub fn call<T>(
        &mut self,
        way: &mut Way<'_>,
        master_only: bool,
        call: impl FnOnce(&mut Connection) -> Result<T, Trouble>,
    ) -> Result<T, Trouble> {
        let kept = self.connection.take().and_then(Connection::if_usable);
        let mut connection = match kept {
            Some(connection) => connection,
            None => self.open(way, master_only)?,
        };
        let result = call(&mut connection);
        let goes_on = match &result {
            Ok(_) => true,
            Err(trouble) => matches!(trouble.kind, Kind::Moved(_) | Kind::Ask(_) | Kind::Apart),
        };
        if goes_on {
            self.connection = Some(connection);
        } else {
            // The name may stand for another server by now: a replica that was
            // the master, or one that hangs, never refuses a connection.
            self.resolver.forget();
        }
        result
    }

    fn open(&mut self, way: &mut Way<'_>, master_only: bool) -> Result<Connection, Trouble> {
        let greeting = Greeting {
            login: &way.dsn.login,
            database: way.dsn.database,
            scripts: way.scripts.singles(),
            master_only,
        };
        let connection = self.greet(way, &greeting, way.connect_by)?;
        *way.opened += 1;
        Ok(connection)
    }

    /// Opens a connection apart from the one that calls are made on.
    pub fn greet(
        &mut self,
        way: &mut Way<'_>,
        greeting: &Greeting<'_>,
        deadline: Instant,
    ) -> Result<Connection, Trouble> {
        let mut wire = self.connect(deadline)?;
        if way.dsn.tls.is_some() && !matches!(self.address, Address::Unix(_)) {
            let secured = self.secure(&mut wire, way, deadline);
            secured.inspect_err(|_| {
                // Another server may have this address now, or the files may
                // be others.
                self.resolver.forget();
                *way.trust = None;
            })?;
        }
        Connection::open(wire, greeting, deadline).inspect_err(|_| self.resolver.forget())
    }

    fn connect(&mut self, deadline: Instant) -> Result<Wire, Trouble> {
        let connected = match &self.address {
            Address::Unix(path) => Wire::unix(path, deadline),
            Address::Tcp { host, port } => {
                let addresses = self
                    .resolver
                    .resolve(host, *port, deadline)
                    .map_err(|error| {
                        let why = describe(&error);
                        Trouble::unreachable(format!("cannot resolve the host: {why}"))
                    })?;
                match connect_to_one(&addresses, deadline) {
                    Ok((wire, address)) => {
                        self.resolver.remember(address);
                        Ok(wire)
                    }
                    Err(error) => {
                        self.resolver.forget();
                        Err(error)
                    }
                }
            }
        };
        connected
            .map_err(|error| Trouble::unreachable(format!("cannot connect: {}", describe(&error))))
    }

    fn secure(&self, wire: &mut Wire, way: &mut Way<'_>, deadline: Instant) -> Result<(), Trouble> {
        let refuse = |why: String| Trouble::unreachable(format!("no TLS: {why}"));
        let (Some(tls), Address::Tcp { host, .. }) = (&way.dsn.tls, &self.address) else {
            return Ok(());
        };
        let config = if let Some(config) = &*way.trust {
            Arc::clone(config)
        } else {
            let config = tls::configure(tls).map_err(refuse)?;
            Arc::clone(way.trust.insert(config))
        };
        let name = tls.server_name.as_deref().unwrap_or(host);
        tls::connection(config, name)
            .and_then(|tls: ClientConnection| wire.secure(tls, deadline))
            .map_err(|error| refuse(describe(&error)))
    }
}

/// Connects to the first of a host's addresses that answers: a server often
/// listens on one of the families only. Each gets its share of the time, so
/// that one which swallows packets leaves some for the next.
fn connect_to_one(addresses: &[SocketAddr], deadline: Instant) -> io::Result<(Wire, SocketAddr)> {
    let mut last = io::Error::from(ErrorKind::NotFound);
    for (index, address) in addresses.iter().enumerate() {
        let now = Instant::now();
        let left = deadline.saturating_duration_since(now);
        let share = left / (addresses.len() - index) as u32;
        match Wire::tcp(*address, now + share) {
            Ok(wire) => return Ok((wire, *address)),
            Err(error) => last = error,
        }
    }
    Err(last)
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::TcpListener;
    use std::time::Duration;

    use super::*;
    use crate::store::redis::scripts::Script;

    const SOON: Duration = Duration::from_secs(5);

    /// Takes one connection and greets it as a server does, or badly.
    fn server(scripts: &Scripts, greets: bool) -> (SocketAddr, std::thread::JoinHandle<()>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let loaded = |one: &Script| ["$40\r\n", &one.sha, "\r\n"].concat();
        let greeting: Vec<_> = if greets {
            scripts.singles().iter().map(loaded).collect()
        } else {
            vec!["-LOADING\r\n".into()]
        };
        let greeting = greeting.concat();
        let thread = std::thread::spawn(move || {
            let (mut client, _) = listener.accept().unwrap();
            client.write_all(greeting.as_bytes()).unwrap();
            // Until the other side hangs up.
            let _ = std::io::copy(&mut client, &mut std::io::sink());
        });
        (address, thread)
    }

    #[test]
    fn a_name_is_resolved_anew_after_any_trouble() {
        let scripts = Scripts::standard();
        let troubles = [
            // Before the call, and in it.
            (false, Kind::Final),
            (true, Kind::NotMaster),
            (true, Kind::Final),
        ];
        for (greets, kind) in troubles {
            let (old, at_old) = server(&scripts, greets);
            let (new, at_new) = server(&scripts, true);
            let mut link = Link::to(Address::Tcp {
                host: "localhost".into(),
                port: new.port(),
            });
            // What the name stood for.
            link.resolver.remember(old);
            let dsn = Dsn::at(link.address.clone());
            let mut way = Way {
                dsn: &dsn,
                scripts: &scripts,
                trust: &mut None,
                opened: &mut 0,
                connect_by: Instant::now() + SOON,
            };
            let what = String::new();
            let failed: Result<(), _> = link.call(&mut way, false, |_| Err(Trouble { kind, what }));
            assert!(failed.is_err());
            assert_eq!(link.call(&mut way, false, |_| Ok(())), Ok(()));
            drop(link);
            at_old.join().unwrap();
            at_new.join().unwrap();
        }
    }
}
