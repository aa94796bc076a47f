//! Bytes to and from a server, none of it later than the deadline.

use std::io::{self, ErrorKind, Read, Write};
use std::mem::MaybeUninit;
use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use redis::{Parser, Value};
use rustls::ClientConnection;
use socket2::{Domain, SockAddr, Socket, Type};

/// A connected socket, what encrypts it if anything does, and the parser of
/// what comes from it.
///
/// The socket's own timeouts bound each read and write, so a call that is
/// answered at once takes two system calls; they are set anew only where they
/// do not fit what is left of a deadline.
pub struct Wire {
    socket: Socket,
    armed: Duration,
    tls: Option<Box<ClientConnection>>,
    parser: Parser,
}

const SLACK: Duration = Duration::from_millis(1);

/// Far more than anything Redis answers to what is asked here. A server gone
/// mad could fill the memory within the deadline.
pub const LONGEST_REPLY: usize = 64 << 10;

impl Wire {
    /// Connects over TCP.
    pub fn tcp(address: SocketAddr, deadline: Instant) -> io::Result<Self> {
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
        socket.set_tcp_nodelay(true)?;
        socket.connect_timeout(&address.into(), left(deadline)?)?;
        Ok(Self::over(socket))
    }

    /// Connects to a Unix socket.
    pub fn unix(path: &Path, deadline: Instant) -> io::Result<Self> {
        let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
        // A server that does not accept lets connects wait for as long as a
        // write may.
        socket.set_write_timeout(Some(left(deadline)?))?;
        socket.connect(&SockAddr::unix(path)?)?;
        Ok(Self::over(socket))
    }

    fn over(socket: Socket) -> Self {
        Self {
            socket,
            armed: Duration::ZERO,
            tls: None,
            parser: Parser::new(),
        }
    }

    /// Shakes hands; from here on everything is encrypted.
    pub fn secure(&mut self, mut tls: ClientConnection, deadline: Instant) -> io::Result<()> {
        let mut until = self.until(deadline).0;
        while tls.is_handshaking() {
            if tls.complete_io(&mut until)? == (0, 0) {
                return Err(ErrorKind::UnexpectedEof.into());
            }
        }
        self.tls = Some(Box::new(tls));
        Ok(())
    }

    /// Sends all of `bytes`.
    pub fn send(&mut self, bytes: &[u8], deadline: Instant) -> io::Result<()> {
        let sent = match self.until(deadline) {
            (mut until, None, _) => until.write_all(bytes),
            (mut until, Some(tls), _) => {
                let mut stream = rustls::Stream::new(tls, &mut until);
                stream.write_all(bytes).and_then(|()| stream.flush())
            }
        };
        // A server that hung up may have said why.
        sent.map_err(|error| match self.take_in() {
            Err(alert) if alert.kind() == ErrorKind::InvalidData => alert,
            _ => error,
        })
    }

    /// Receives one reply of at most so many bytes; an error of the server is a
    /// reply too.
    pub fn receive(&mut self, longest: usize, deadline: Instant) -> redis::RedisResult<Value> {
        match self.until(deadline) {
            (until, None, parser) => parser.parse_value(Bounded(until, longest)),
            (mut until, Some(tls), parser) => {
                let stream = rustls::Stream::new(tls, &mut until);
                parser.parse_value(Bounded(stream, longest))
            }
        }
    }

    /// Whether nothing has come since the last reply: neither the end of the
    /// connection nor a reply that nobody asked for.
    pub fn is_quiet(&mut self) -> bool {
        if self.tls.is_some() {
            return self.take_in().is_ok();
        }
        let mut byte = [MaybeUninit::uninit()];
        let look = libc::MSG_PEEK | libc::MSG_DONTWAIT;
        match self.socket.recv_with_flags(&mut byte, look) {
            Ok(_) => false,
            Err(error) => error.kind() == ErrorKind::WouldBlock,
        }
    }

    /// Reads what has come of TLS's own. An error where anything else has, or
    /// an alert.
    fn take_in(&mut self) -> io::Result<()> {
        let Some(tls) = &mut self.tls else {
            return Ok(());
        };
        let mut socket = &self.socket;
        socket.set_nonblocking(true)?;
        loop {
            match tls.read_tls(&mut socket) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(_) => {}
            }
            let state = tls.process_new_packets();
            let state = state.map_err(|error| io::Error::new(ErrorKind::InvalidData, error))?;
            if state.plaintext_bytes_to_read() > 0 {
                return Err(io::Error::other("a reply that nobody asked for"));
            }
        }
        socket.set_nonblocking(false)
    }

    /// The wire's parts, the socket under a deadline.
    fn until(
        &mut self,
        deadline: Instant,
    ) -> (Until<'_>, Option<&mut ClientConnection>, &mut Parser) {
        let until = Until {
            socket: &self.socket,
            armed: &mut self.armed,
            deadline,
        };
        (until, self.tls.as_deref_mut(), &mut self.parser)
    }
}

/// The socket under a deadline. A server that sends a byte now and then must
/// not stretch it, so what is left is looked at before every read and write.
struct Until<'a> {
    socket: &'a Socket,
    armed: &'a mut Duration,
    deadline: Instant,
}

impl Until<'_> {
    /// Sees to it that the socket gives up when the deadline comes.
    fn arm(&mut self) -> io::Result<()> {
        let left = left(self.deadline)?;
        // Too late is wrong at once; a little too early is not worth a system
        // call.
        if *self.armed > left + SLACK || *self.armed < left * 3 / 4 {
            self.socket.set_read_timeout(Some(left))?;
            self.socket.set_write_timeout(Some(left))?;
            *self.armed = left;
        }
        Ok(())
    }
}

impl Read for Until<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            self.arm()?;
            let mut socket = self.socket;
            match socket.read(into) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                result => return result,
            }
        }
    }
}

impl Write for Until<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            self.arm()?;
            // A write to a closed connection is an error here, not a signal
            // that ends a process which does not ignore it.
            match self.socket.send_with_flags(bytes, libc::MSG_NOSIGNAL) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                result => return result,
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A reader of which only so many bytes may come.
struct Bounded<R>(R, usize);

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.0.read(into)?;
        self.1 = self
            .1
            .checked_sub(count)
            .ok_or_else(|| io::Error::other("the reply has no end"))?;
        Ok(count)
    }
}

fn left(deadline: Instant) -> io::Result<Duration> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left < Duration::from_micros(1) {
        return Err(ErrorKind::TimedOut.into());
    }
    Ok(left)
}
