//! A server that speaks as much of Redis as the store does, and can be told
//! exactly how to misbehave.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use sluice::store::redis::{Address, Dsn};
use tempfile::TempDir;

use super::stores::START;

/// Listens on a Unix socket; each connection runs the script in a thread.
pub struct FakeServer {
    dir: TempDir,
    shared: Arc<Shared>,
    listener: Option<JoinHandle<()>>,
}

/// A reply to the call of this number: allowed, and so much left.
pub fn reply_to(sequence: u64, left: u64) -> Vec<u8> {
    let now = START.0;
    let figures = [sequence, now, 1, left, 0, 1_000_000, 0];
    let figures = figures.map(|figure| format!(":{figure}\r\n"));
    format!("*{}\r\n{}", figures.len(), figures.concat()).into_bytes()
}

/// The host of a server that says where it is.
const HOST: &str = "$9\r\n127.0.0.1\r\n";

/// What is done with the connection of this number.
type Script = dyn Fn(u64, &mut Peer) + Send + Sync;

#[derive(Default)]
struct Shared {
    stopped: AtomicBool,
    questions: AtomicU64,
    /// The port by which it names itself to those who ask who is master.
    port: AtomicU16,
    /// How many slots it does not have, by its own words.
    lacks: AtomicU16,
    peers: Mutex<Vec<(UnixStream, JoinHandle<()>)>>,
}

impl FakeServer {
    /// A server that runs `script` with each connection; they count from 1.
    pub fn start(script: impl Fn(u64, &mut Peer) + Send + Sync + 'static) -> Self {
        let dir = TempDir::new().expect("a directory for the socket");
        let socket = UnixListener::bind(dir.path().join("fake.sock")).expect("a socket");
        let shared = Arc::new(Shared::default());
        let script: Arc<Script> = Arc::new(script);
        let listener = {
            let shared = Arc::clone(&shared);
            std::thread::spawn(move || shared.listen(&socket, &script))
        };
        Self {
            dir,
            shared,
            listener: Some(listener),
        }
    }

    /// Where it is.
    pub fn dsn(&self) -> Dsn {
        Dsn::at(Address::Unix(self.socket()))
    }

    /// How many script calls have come, on all connections.
    pub fn questions(&self) -> u64 {
        self.shared.questions.load(Ordering::SeqCst)
    }

    /// Where it listens.
    pub fn socket(&self) -> PathBuf {
        self.dir.path().join("fake.sock")
    }

    /// Has it say, as a node of a Cluster, that nobody has the last so many
    /// slots.
    pub fn lacks(&self, slots: u16) {
        self.shared.lacks.store(slots, Ordering::SeqCst);
    }

    /// Has it name this port of 127.0.0.1 as the master of everything, as a
    /// Sentinel or a node of a Cluster does.
    pub fn is_at(&self, port: u16) {
        self.shared.port.store(port, Ordering::SeqCst);
    }
}

impl Drop for FakeServer {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::SeqCst);
        // Wakes the listener, which then sees that it is over.
        let _ = UnixStream::connect(self.socket());
        if let Some(listener) = self.listener.take() {
            let _ = listener.join();
        }
        let peers = std::mem::take(&mut *self.shared.peers());
        for (stream, thread) in peers {
            let _ = stream.shutdown(Shutdown::Both);
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn peers(&self) -> std::sync::MutexGuard<'_, Vec<(UnixStream, JoinHandle<()>)>> {
        self.peers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn listen(self: &Arc<Self>, socket: &UnixListener, script: &Arc<Script>) {
        for (number, stream) in (1..).zip(socket.incoming()) {
            if self.stopped.load(Ordering::SeqCst) {
                return;
            }
            let Ok(stream) = stream else { return };
            let Ok(handle) = stream.try_clone() else {
                return;
            };
            let mut peer = Peer {
                stream,
                unread: Vec::new(),
                shared: Arc::clone(self),
            };
            let script = Arc::clone(script);
            let thread = std::thread::spawn(move || {
                script(number, &mut peer);
                // The handle kept for the end would hold it open.
                let _ = peer.stream.shutdown(Shutdown::Both);
            });
            self.peers().push((handle, thread));
        }
    }
}

/// One client, as the server sees it.
pub struct Peer {
    stream: UnixStream,
    unread: Vec<u8>,
    shared: Arc<Shared>,
}

/// One call of a script.
pub struct Asked {
    words: Vec<Vec<u8>>,
}

impl Peer {
    /// Answers everything as a server does until a script is called. `None`
    /// when the client has gone.
    pub fn next_question(&mut self) -> Option<Asked> {
        loop {
            let words = self.next_command()?;
            match words.first().map(Vec::as_slice) {
                Some(b"EVALSHA") => {
                    self.shared.questions.fetch_add(1, Ordering::SeqCst);
                    return Some(Asked { words });
                }
                Some(b"SCRIPT") => {
                    let source = String::from_utf8_lossy(words.last()?);
                    let script = redis::Script::new(&source);
                    let sha = script.get_hash();
                    self.send(format!("${}\r\n{sha}\r\n", sha.len()).as_bytes());
                }
                Some(b"DEL") => self.send(b":1\r\n"),
                Some(b"ROLE") => self.send(b"*1\r\n$6\r\nmaster\r\n"),
                Some(b"SENTINEL") => {
                    let port = self.port().to_string();
                    let reply = format!("*2\r\n{HOST}${}\r\n{port}\r\n", port.len());
                    self.send(reply.as_bytes());
                }
                Some(b"CLUSTER") => {
                    let node = format!("*2\r\n{HOST}:{}\r\n", self.port());
                    let last = 16383 - self.shared.lacks.load(Ordering::SeqCst);
                    self.send(format!("*1\r\n*3\r\n:0\r\n:{last}\r\n{node}").as_bytes());
                }
                _ => self.send(b"+OK\r\n"),
            }
        }
    }

    fn port(&self) -> u16 {
        self.shared.port.load(Ordering::SeqCst)
    }

    /// Answers everything as a server does until the client goes.
    pub fn serve(&mut self) {
        while let Some(asked) = self.next_question() {
            self.send(&asked.reply());
        }
    }

    /// Answers so many questions. `false` when the client has gone.
    pub fn serve_some(&mut self, questions: usize) -> bool {
        (0..questions).all(|_| {
            self.next_question()
                .is_some_and(|asked| self.send_some(&asked.reply()))
        })
    }

    /// Sends bytes, whatever they are.
    pub fn send(&mut self, bytes: &[u8]) {
        // A client that has gone is no business of a server.
        let _ = self.send_some(bytes);
    }

    /// The same, and whether the client took them.
    pub fn send_some(&mut self, bytes: &[u8]) -> bool {
        self.stream.write_all(bytes).is_ok()
    }

    /// Says nothing until the client goes, but counts what it asks.
    pub fn be_silent(&mut self) {
        while self.next_question().is_some() {}
    }

    fn next_command(&mut self) -> Option<Vec<Vec<u8>>> {
        loop {
            if let Some((words, length)) = parse_command(&self.unread) {
                self.unread.drain(..length);
                return Some(words);
            }
            let mut chunk = [0; 4096];
            let count = self
                .stream
                .read(&mut chunk)
                .ok()
                .filter(|count| *count > 0)?;
            self.unread.extend_from_slice(&chunk[..count]);
        }
    }
}

impl Asked {
    /// How many keys it is about.
    pub fn keys(&self) -> usize {
        let count = String::from_utf8_lossy(&self.words[2]);
        count.parse().expect("a number of keys")
    }

    /// What a server would say: allowed, with what is left of the limit.
    pub fn reply(&self) -> Vec<u8> {
        self.reply_numbered(self.number(-1))
    }

    /// The same with another number at its end.
    pub fn reply_numbered(&self, sequence: u64) -> Vec<u8> {
        // The words end with cost, limit, length, as opened, mode, extra, dry and
        // number for a window.
        let left = self.number(-7) - self.number(-8);
        reply_to(sequence, left)
    }

    /// A number among the words, counted from the end.
    pub fn number(&self, from_end: isize) -> u64 {
        let index = self.words.len().wrapping_add_signed(from_end);
        let text = String::from_utf8_lossy(&self.words[index]);
        text.parse().expect("a number among the arguments")
    }
}

/// An array of strings at the start of `bytes`, and its length there.
fn parse_command(bytes: &[u8]) -> Option<(Vec<Vec<u8>>, usize)> {
    let mut at = 0;
    let header = |mark: u8, at: &mut usize| -> Option<usize> {
        let end = *at + bytes[*at..].windows(2).position(|two| two == b"\r\n")?;
        assert_eq!(bytes[*at], mark, "the client sends arrays of strings");
        let number = std::str::from_utf8(&bytes[*at + 1..end])
            .ok()?
            .parse()
            .ok()?;
        *at = end + 2;
        Some(number)
    };
    let count = header(b'*', &mut at)?;
    let mut words = Vec::new();
    for _ in 0..count {
        let length = header(b'$', &mut at)?;
        words.push(bytes.get(at..at + length)?.to_vec());
        at += length + 2;
    }
    (at <= bytes.len()).then_some((words, at))
}
