//! A port before a server that listens on a Unix socket, with TLS or without.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread::JoinHandle;
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::certificates::Certificates;

/// Passes bytes on as they come. Dropping it closes everything.
pub struct Front {
    port: u16,
    stopped: Arc<AtomicBool>,
    listener: Option<JoinHandle<()>>,
}

trait Stream: Read + Write {}
impl<T: Read + Write> Stream for T {}

impl Front {
    /// A port before the socket at `server`.
    pub fn before(server: &Path, certificates: Option<&Certificates>) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let stopped = Arc::new(AtomicBool::new(false));
        let config = certificates.map(server_config);
        let server = server.to_owned();
        let listener = {
            let stopped = Arc::clone(&stopped);
            std::thread::spawn(move || listen(&listener, &server, config.as_ref(), &stopped))
        };
        Self {
            port,
            stopped,
            listener: Some(listener),
        }
    }

    /// Its port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }
}

impl Drop for Front {
    fn drop(&mut self) {
        self.stopped.store(true, SeqCst);
        // Wakes the listener, which then sees that it is over.
        let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port));
        if let Some(listener) = self.listener.take() {
            let _ = listener.join();
        }
    }
}

fn server_config(certificates: &Certificates) -> Arc<ServerConfig> {
    let chain = CertificateDer::pem_file_iter(certificates.path("server.pem"))
        .and_then(Iterator::collect)
        .expect("a certificate");
    let key = PrivateKeyDer::from_pem_file(certificates.path("server.key")).expect("a key");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key));
    Arc::new(config.expect("a configuration"))
}

fn listen(
    listener: &TcpListener,
    server: &Path,
    config: Option<&Arc<ServerConfig>>,
    stopped: &AtomicBool,
) {
    std::thread::scope(|scope| {
        for client in listener.incoming() {
            if stopped.load(SeqCst) {
                return;
            }
            let (Ok(client), Ok(server)) = (client, UnixStream::connect(server)) else {
                continue;
            };
            let config = config.cloned();
            scope.spawn(move || pass_on(client, server, config, stopped));
        }
    });
}

/// Both ways of one connection in one thread, until either side ends it.
fn pass_on(
    client: TcpStream,
    mut server: UnixStream,
    config: Option<Arc<ServerConfig>>,
    stopped: &AtomicBool,
) {
    let short = Some(Duration::from_millis(1));
    let _ = (
        client.set_read_timeout(short),
        client.set_nodelay(true),
        server.set_read_timeout(short),
    );
    let (Ok(client_end), Ok(server_end)) = (client.try_clone(), server.try_clone()) else {
        return;
    };
    let mut client: Box<dyn Stream> = match config {
        Some(config) => {
            let tls = ServerConnection::new(config).expect("a configuration that serves");
            Box::new(StreamOwned::new(tls, client))
        }
        None => Box::new(client),
    };
    while !stopped.load(SeqCst)
        && await_either(client_end.as_fd(), server_end.as_fd())
        && pass(&mut client, &mut server)
        && pass(&mut server, &mut client)
    {}
}

/// Waits a while for one of them to have something. `false` if that fails.
fn await_either(one: BorrowedFd<'_>, other: BorrowedFd<'_>) -> bool {
    let fd = |fd| PollFd::new(fd, PollFlags::POLLIN);
    poll(&mut [fd(one), fd(other)], PollTimeout::from(50_u8)).is_ok()
}

/// Passes on what is there, and says whether both sides are still there.
fn pass(from: &mut dyn Stream, to: &mut dyn Stream) -> bool {
    let mut chunk = [0; 16 << 10];
    match from.read(&mut chunk) {
        Ok(0) => false,
        Ok(count) => to
            .write_all(&chunk[..count])
            .and_then(|()| to.flush())
            .is_ok(),
        Err(error) => error.kind() == ErrorKind::WouldBlock,
    }
}
