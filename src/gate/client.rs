//! Who is asking: the address behind the proxies that are trusted.

use std::ffi::CStr;
use std::io::Write as _;
use std::net::{IpAddr, Ipv6Addr};

use ipnet::IpNet;

use super::request::{Header, Request};

/// The word for peers on Unix sockets.
pub const UNIX: &str = "unix";

/// Networks, and whether peers on Unix sockets belong to them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Networks {
    nets: Vec<IpNet>,
    unix: bool,
}

impl Networks {
    /// Adds an address, a network in CIDR notation, or `unix`.
    ///
    /// # Errors
    /// Says what it has to be.
    pub fn add(&mut self, text: &str) -> Result<(), String> {
        if text == UNIX {
            self.unix = true;
            return Ok(());
        }
        let net = text
            .parse::<IpNet>()
            .or_else(|_| text.parse::<IpAddr>().map(IpNet::from))
            .map_err(|_| {
                format!(
                    "expected an address or a network such as 10.0.0.0/8, or \"{UNIX}\"; \
                     found \"{text}\""
                )
            })?;
        self.nets.push(canonical(net));
        Ok(())
    }

    /// Whether an address is in one of them.
    pub fn contain(&self, address: IpAddr) -> bool {
        self.find(address).is_some()
    }

    /// The first of the networks that has an address in it, by its number.
    pub fn find(&self, address: IpAddr) -> Option<usize> {
        self.nets.iter().position(|net| net.contains(&address))
    }
}

/// IPv4 networks written as IPv6 are IPv4, as addresses are.
fn canonical(net: IpNet) -> IpNet {
    match (net, net.addr().to_canonical()) {
        (IpNet::V6(v6), IpAddr::V4(v4)) if v6.prefix_len() >= 96 => {
            IpNet::new(IpAddr::V4(v4), v6.prefix_len() - 96).unwrap_or(net)
        }
        _ => net,
    }
}

/// A client as far as it can be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Client {
    /// By its address.
    Known(IpAddr),
    /// The address is likely that of a proxy that nobody declared, or there is
    /// none: all clients would look like one.
    Doubtful,
}

/// Where the address is taken from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trust {
    /// The proxies; `None` if nothing was said about any.
    pub proxies: Option<Networks>,
    /// The header in which they say whom they speak for.
    pub header: Header,
}

impl Trust {
    /// The address of a request's client.
    ///
    /// The list in the header is walked from the right, as each proxy wrote its
    /// own peer at the end. The first that is not a trusted proxy is the client;
    /// what stands left of it anybody may have written.
    pub fn client<R: Request + ?Sized>(&self, request: &R) -> Client {
        let peer = request.filled(c"REMOTE_ADDR");
        let is_unix = peer.is_some_and(|peer| peer.starts_with(b"unix:"));
        let address = peer.and_then(parse_address);
        let Some(proxies) = &self.proxies else {
            return match address {
                Some(address) if !is_private(address) || !is_forwarded(request) => {
                    Client::Known(address)
                }
                _ => Client::Doubtful,
            };
        };
        let trusts = |address: Option<IpAddr>| match address {
            Some(address) => proxies.contain(address),
            None => is_unix && proxies.unix,
        };
        let mut client = address;
        let list = self.header.of(request).unwrap_or_default();
        let mut hops = list.rsplit(|byte| *byte == b',');
        while trusts(client) {
            let Some(hop) = hops.next().and_then(|hop| self.hop(hop)) else {
                break;
            };
            client = Some(hop);
        }
        client.map_or(Client::Doubtful, Client::Known)
    }

    /// The address in an entry of the header.
    fn hop(&self, entry: &[u8]) -> Option<IpAddr> {
        if !self.header.name.eq_ignore_ascii_case("Forwarded") {
            return parse_address(entry);
        }
        // RFC 7239: for="[2001:db8::1]:4711";proto=https
        entry.split(|byte| *byte == b';').find_map(|pair| {
            let pair = pair.trim_ascii();
            let value = pair
                .split_at_checked(4)
                .filter(|(name, _)| name.eq_ignore_ascii_case(b"for="))?
                .1;
            let value = value.strip_prefix(b"\"").unwrap_or(value);
            parse_address(value.strip_suffix(b"\"").unwrap_or(value))
        })
    }
}

/// An address, perhaps with a port. IPv4 in the clothes of IPv6 is IPv4.
pub fn parse_address(text: &[u8]) -> Option<IpAddr> {
    let text = std::str::from_utf8(text.trim_ascii()).ok()?;
    let bare = match text.strip_prefix('[') {
        Some(rest) => rest.split(']').next()?,
        // A single colon stands before a port.
        None if text.matches(':').count() == 1 => text.split(':').next()?,
        None => text,
    };
    // An interface may follow: fe80::1%eth0.
    let bare = bare.split('%').next()?;
    bare.parse::<IpAddr>().ok().map(|ip| ip.to_canonical())
}

/// Whether the request says that it was forwarded.
fn is_forwarded<R: Request + ?Sized>(request: &R) -> bool {
    const NAMES: [&CStr; 3] = [
        c"HTTP_X_FORWARDED_FOR",
        c"HTTP_FORWARDED",
        c"HTTP_X_REAL_IP",
    ];
    NAMES.iter().any(|name| request.filled(name).is_some())
}

/// Whether an address cannot be one of the Internet.
fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => {
            let [first, second, ..] = v4.octets();
            let is_shared = first == 100 && (64..128).contains(&second);
            v4.is_private() || v4.is_loopback() || v4.is_link_local() || is_shared
        }
        IpAddr::V6(v6) => v6.is_loopback() || v6.is_unique_local() || v6.is_unicast_link_local(),
    }
}

/// Writes whom an address counts as: itself, or the /64 that an IPv6 client
/// has to itself.
pub fn write_key(address: IpAddr, into: &mut Vec<u8>) {
    match address {
        IpAddr::V4(v4) => {
            for (index, octet) in v4.octets().into_iter().enumerate() {
                if index > 0 {
                    into.push(b'.');
                }
                // By hand: formatting takes longer than the decision.
                for (least, unit) in [(100, 100), (10, 10), (0, 1)] {
                    if octet >= least {
                        into.push(b'0' + octet / unit % 10);
                    }
                }
            }
        }
        IpAddr::V6(v6) => {
            let network = Ipv6Addr::from_bits(v6.to_bits() >> 64 << 64);
            // A vector takes all that is written to it.
            let _ = write!(into, "{network}/64");
        }
    }
}
