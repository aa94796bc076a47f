//! Bytes to and from a server, none of it later than the deadline.

use std::io::{self, ErrorKind, Read};
use std::mem::MaybeUninit;
use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use redis::{Parser, Value};
use socket2::{Domain, SockAddr, Socket, Type};

/// A connected socket and the parser of what comes from it.
///
/// The socket's own timeouts bound each read and write, so a call that is
/// answered at once takes two system calls; they are set anew only where they
/// do not fit what is left of a deadline.
pub struct Wire {
    socket: Socket,
    parser: Parser,
    armed: Duration,
}

const SLACK: Duration = Duration::from_millis(1);

/// Far more than anything Redis answers to what is asked here. A server gone
/// mad could fill the memory within the deadline.
const LONGEST_REPLY: usize = 64 << 10;

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
            parser: Parser::new(),
            armed: Duration::ZERO,
        }
    }

    /// Sends all of `bytes`.
    pub fn send(&mut self, bytes: &[u8], deadline: Instant) -> io::Result<()> {
        let mut rest = bytes;
        while !rest.is_empty() {
            arm(&self.socket, &mut self.armed, deadline)?;
            // A write to a closed connection is an error here, not a signal
            // that ends a process which does not ignore it.
            match self.socket.send_with_flags(rest, libc::MSG_NOSIGNAL) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(count) => rest = &rest[count..],
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Receives one reply; an error of the server is a reply too.
    pub fn receive(&mut self, deadline: Instant) -> redis::RedisResult<Value> {
        let reader = Reader {
            socket: &self.socket,
            armed: &mut self.armed,
            deadline,
            may_come: LONGEST_REPLY,
        };
        self.parser.parse_value(reader)
    }

    /// Whether nothing has come since the last reply: neither the end of the
    /// connection nor a reply that nobody asked for.
    pub fn is_quiet(&self) -> bool {
        let mut byte = [MaybeUninit::uninit()];
        let look = libc::MSG_PEEK | libc::MSG_DONTWAIT;
        match self.socket.recv_with_flags(&mut byte, look) {
            Ok(_) => false,
            Err(error) => error.kind() == ErrorKind::WouldBlock,
        }
    }
}

/// Reads under a deadline. A server that sends a byte now and then must not
/// stretch it, so what is left is looked at before every read.
struct Reader<'a> {
    socket: &'a Socket,
    armed: &'a mut Duration,
    deadline: Instant,
    may_come: usize,
}

impl Read for Reader<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            arm(self.socket, self.armed, self.deadline)?;
            let mut socket = self.socket;
            match socket.read(into) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Ok(count) if count > self.may_come => {
                    return Err(io::Error::other("the reply has no end"));
                }
                Ok(count) => {
                    self.may_come -= count;
                    return Ok(count);
                }
                Err(error) => return Err(error),
            }
        }
    }
}

/// Sees to it that the socket gives up when the deadline comes.
fn arm(socket: &Socket, armed: &mut Duration, deadline: Instant) -> io::Result<()> {
    let left = left(deadline)?;
    // Too late is wrong at once; a little too early is not worth a system call.
    if *armed > left + SLACK || *armed < left * 3 / 4 {
        socket.set_read_timeout(Some(left))?;
        socket.set_write_timeout(Some(left))?;
        *armed = left;
    }
    Ok(())
}

fn left(deadline: Instant) -> io::Result<Duration> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left < Duration::from_micros(1) {
        return Err(ErrorKind::TimedOut.into());
    }
    Ok(left)
}
