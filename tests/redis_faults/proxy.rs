//! A proxy between the store and a real Redis that spoils replies at random.

use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::thread::JoinHandle;
use std::time::Duration;

use sluice::store::redis::{Address, Dsn};
use tempfile::TempDir;

use crate::support::rng::Rng;

/// Passes everything on to a server; what comes back, not always as it came.
pub struct Proxy {
    dir: TempDir,
    shared: Arc<Shared>,
    listener: Option<JoinHandle<()>>,
}

struct Shared {
    /// The server's socket.
    server: PathBuf,
    /// How long a client waits for a reply.
    timeout: Duration,
    faulty: AtomicBool,
    stopped: AtomicBool,
    spoiled: AtomicU64,
}

/// What happens to a piece of what the server said: mostly a reply.
enum Fate {
    Passes,
    InPieces,
    Late,
    Twice,
    AfterTheLast,
    HalfThenSilence,
    HalfThenTheEnd,
    Lost,
    TheEnd,
}

impl Proxy {
    /// A proxy in front of the server at `socket`, whose clients wait for as
    /// long as `timeout`.
    pub fn before(socket: &Path, timeout: Duration) -> Self {
        let dir = TempDir::new().expect("a directory for the socket");
        let listener = UnixListener::bind(dir.path().join("proxy.sock")).expect("a socket");
        let shared = Arc::new(Shared {
            server: socket.to_owned(),
            timeout,
            faulty: AtomicBool::new(true),
            stopped: AtomicBool::new(false),
            spoiled: AtomicU64::new(0),
        });
        let listener = {
            let shared = Arc::clone(&shared);
            std::thread::spawn(move || shared.listen(&listener))
        };
        Self {
            dir,
            shared,
            listener: Some(listener),
        }
    }

    /// Where clients find it.
    pub fn dsn(&self) -> Dsn {
        Dsn::at(Address::Unix(self.socket()))
    }

    /// From now on all replies pass as they are.
    pub fn behave(&self) {
        self.shared.faulty.store(false, SeqCst);
    }

    /// How many replies did not pass as they were.
    pub fn spoiled(&self) -> u64 {
        self.shared.spoiled.load(SeqCst)
    }

    fn socket(&self) -> PathBuf {
        self.dir.path().join("proxy.sock")
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.stopped.store(true, SeqCst);
        // Wakes the listener, which then sees that it is over.
        let _ = UnixStream::connect(self.socket());
        if let Some(listener) = self.listener.take() {
            let _ = listener.join();
        }
    }
}

impl Shared {
    fn listen(self: &Arc<Self>, listener: &UnixListener) {
        std::thread::scope(|scope| {
            for (number, client) in (1..).zip(listener.incoming()) {
                if self.stopped.load(SeqCst) {
                    return;
                }
                let (Ok(client), Ok(server)) = (client, UnixStream::connect(&self.server)) else {
                    continue;
                };
                scope.spawn(move || self.serve(number, client, server));
            }
        });
    }

    /// Both ways of one connection in one thread, until either side ends it.
    fn serve(&self, number: u64, mut client: UnixStream, mut server: UnixStream) {
        let mut rng = Rng::seeded(number);
        let mut last = Vec::new();
        let short = Some(Duration::from_micros(200));
        let _ = (
            client.set_read_timeout(short),
            server.set_read_timeout(short),
        );
        while !self.stopped.load(SeqCst) {
            let Some(asked) = read(&mut client) else {
                break;
            };
            if server.write_all(&asked).is_err() {
                break;
            }
            let Some(said) = read(&mut server) else {
                break;
            };
            if said.is_empty() {
                continue;
            }
            let fate = self.fate(&mut rng);
            let goes_on = self.deliver(&mut client, &fate, &said, &last);
            if !goes_on {
                break;
            }
            last = said;
        }
        let _ = client.shutdown(Shutdown::Both);
    }

    fn fate(&self, rng: &mut Rng) -> Fate {
        if !self.faulty.load(SeqCst) {
            return Fate::Passes;
        }
        let fate = match rng.below(400) {
            0 => Fate::Late,
            1 => Fate::HalfThenSilence,
            2 => Fate::Lost,
            3..=5 => Fate::HalfThenTheEnd,
            6..=8 => Fate::TheEnd,
            9..=16 => Fate::Twice,
            17..=24 => Fate::AfterTheLast,
            25..=40 => Fate::InPieces,
            _ => return Fate::Passes,
        };
        self.spoiled.fetch_add(1, SeqCst);
        fate
    }

    /// Whether the connection goes on.
    fn deliver(&self, client: &mut UnixStream, fate: &Fate, said: &[u8], last: &[u8]) -> bool {
        let (half, rest) = said.split_at(said.len() / 2);
        let mut send = |bytes: &[u8]| client.write_all(bytes).is_ok();
        match fate {
            Fate::Passes => send(said),
            Fate::InPieces => send(half) && send(rest),
            Fate::Late => {
                std::thread::sleep(self.timeout * 3 / 2);
                send(said)
            }
            Fate::Twice => send(said) && send(said),
            Fate::AfterTheLast => send(last) && send(said),
            Fate::HalfThenSilence => send(half),
            Fate::Lost => true,
            Fate::HalfThenTheEnd => {
                send(half);
                false
            }
            Fate::TheEnd => false,
        }
    }
}

/// What is there to read, if only nothing yet; `None` at the end.
fn read(from: &mut UnixStream) -> Option<Vec<u8>> {
    let mut chunk = [0; 8192];
    match from.read(&mut chunk) {
        Ok(0) => None,
        Ok(count) => Some(chunk[..count].to_vec()),
        Err(error) if error.kind() == ErrorKind::WouldBlock => Some(Vec::new()),
        Err(_) => None,
    }
}
