//! The PROXY protocol, versions 1 and 2 (`HAProxy`'s `proxy-protocol.txt`), by which a load balancer names its client.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// The most bytes of a header: version 1 has 107 with its line end, version 2 what we allow for its TLVs.
pub(super) const LONGEST: usize = 4096;

const SIGNATURE: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";
const LONGEST_LINE: usize = 107;
/// TLV types of version 2.
const TLV_SSL: u8 = 0x20;

/// The meaning of a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Header {
    /// `LOCAL` or `UNKNOWN`: the balancer speaks for itself (a health check), or does not name its client.
    Direct,
    /// The balancer speaks for a client.
    For {
        /// The client.
        source: SocketAddr,
        /// The address that the client reached.
        destination: SocketAddr,
        /// Whether the client spoke TLS to the balancer (version 2 only).
        tls: bool,
    },
}

/// Why bytes are not a header. It is the balancer's fault, and the connection is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Neither signature.
    #[error("no PROXY protocol header where one must be")]
    NoHeader,
    /// Version 1: not `PROXY SP family SP source SP destination SP port SP port CRLF`.
    #[error("malformed PROXY protocol line")]
    BadLine,
    /// Version 2: unknown version, command, or lengths that do not add up.
    #[error("malformed PROXY protocol block")]
    BadBlock,
    /// Version 2: longer than 4096 bytes.
    #[error("PROXY protocol block too long")]
    TooLong,
}

/// Parses a header at the start of `bytes`. Returns it with its length; `None` if more bytes are needed.
pub fn parse(bytes: &[u8]) -> Result<Option<(Header, usize)>, Error> {
    if starts_alike(bytes, SIGNATURE) {
        return parse_block(bytes);
    }
    if starts_alike(bytes, b"PROXY ") {
        return parse_line(bytes);
    }
    Err(Error::NoHeader)
}

/// Whether one is the beginning of the other.
fn starts_alike(bytes: &[u8], mark: &[u8]) -> bool {
    bytes.iter().zip(mark).all(|(a, b)| a == b)
}

/// Parses version 1 (section 2.1).
fn parse_line(bytes: &[u8]) -> Result<Option<(Header, usize)>, Error> {
    let within = bytes.get(..LONGEST_LINE).unwrap_or(bytes);
    let Some(end) = memchr::memchr(b'\n', within) else {
        let more = within.len() < LONGEST_LINE;
        return if more { Ok(None) } else { Err(Error::BadLine) };
    };
    let line = within.get(..end).and_then(|line| line.strip_suffix(b"\r"));
    let line = line.and_then(|line| std::str::from_utf8(line).ok());
    let header = line.and_then(read_line).ok_or(Error::BadLine)?;
    Ok(Some((header, end + 1)))
}

fn read_line(line: &str) -> Option<Header> {
    let mut words = line.split(' ');
    if words.next()? != "PROXY" {
        return None;
    }
    let family = words.next()?;
    if family == "UNKNOWN" {
        // "the receiver must ignore anything presented before the CRLF".
        return Some(Header::Direct);
    }
    let mut address = || {
        let word = words.next()?;
        match family {
            "TCP4" => word.parse().map(IpAddr::V4).ok(),
            "TCP6" => word.parse().map(IpAddr::V6).ok(),
            _ => None,
        }
    };
    let (source, destination) = (address()?, address()?);
    let (source_port, destination_port) = (port(words.next()?)?, port(words.next()?)?);
    words.next().is_none().then_some(Header::For {
        source: SocketAddr::new(source, source_port),
        destination: SocketAddr::new(destination, destination_port),
        tls: false,
    })
}

/// Parses a decimal port without sign or leading zeros.
fn port(word: &str) -> Option<u16> {
    let plain = word == "0" || word.starts_with(|first: char| ('1'..='9').contains(&first));
    plain.then(|| word.parse().ok()).flatten()
}

/// Parses version 2 (section 2.2).
fn parse_block(bytes: &[u8]) -> Result<Option<(Header, usize)>, Error> {
    let Some((&[version_command, family, high, low], rest)) = bytes
        .get(SIGNATURE.len()..)
        .and_then(<[u8]>::split_first_chunk)
    else {
        // The bytes that have come may already be wrong.
        let wrong = bytes.get(12).is_some_and(|byte| byte >> 4 != 2);
        return if wrong {
            Err(Error::BadBlock)
        } else {
            Ok(None)
        };
    };
    let length = usize::from(u16::from_be_bytes([high, low]));
    let whole = SIGNATURE.len() + 4 + length;
    if !matches!(version_command, 0x20 | 0x21) {
        return Err(Error::BadBlock);
    }
    if whole > LONGEST {
        return Err(Error::TooLong);
    }
    let Some(block) = rest.get(..length) else {
        return Ok(None);
    };
    if version_command == 0x20 {
        return Ok(Some((Header::Direct, whole)));
    }
    let header = read_block(family, block).ok_or(Error::BadBlock)?;
    Ok(Some((header, whole)))
}

fn read_block(family: u8, block: &[u8]) -> Option<Header> {
    let (source, destination, tlvs) = match family {
        // TCP over IPv4.
        0x11 => {
            let (a, rest) = block.split_first_chunk::<4>()?;
            let (b, rest) = rest.split_first_chunk::<4>()?;
            (
                IpAddr::V4(Ipv4Addr::from(*a)),
                IpAddr::V4(Ipv4Addr::from(*b)),
                rest,
            )
        }
        // TCP over IPv6.
        0x21 => {
            let (a, rest) = block.split_first_chunk::<16>()?;
            let (b, rest) = rest.split_first_chunk::<16>()?;
            (
                IpAddr::V6(Ipv6Addr::from(*a)),
                IpAddr::V6(Ipv6Addr::from(*b)),
                rest,
            )
        }
        // Unspecified, UDP, Unix: none of these names a client of ours.
        0x00 | 0x12 | 0x22 | 0x31 | 0x32 => return Some(Header::Direct),
        _ => return None,
    };
    let (&[s1, s2, d1, d2], tlvs) = tlvs.split_first_chunk::<4>()?;
    Some(Header::For {
        source: SocketAddr::new(source, u16::from_be_bytes([s1, s2])),
        destination: SocketAddr::new(destination, u16::from_be_bytes([d1, d2])),
        tls: says_tls(tlvs)?,
    })
}

/// Whether the TLVs (section 2.2) have `PP2_TYPE_SSL` with `PP2_CLIENT_SSL` set; `None` if their lengths do not add up.
fn says_tls(mut tlvs: &[u8]) -> Option<bool> {
    let mut encrypted = false;
    while let Some((&[kind, high, low], rest)) = tlvs.split_first_chunk::<3>() {
        let (value, rest) = rest.split_at_checked(usize::from(u16::from_be_bytes([high, low])))?;
        if kind == TLV_SSL {
            encrypted = value.first().is_some_and(|client| client & 1 == 1);
        }
        tlvs = rest;
    }
    tlvs.is_empty().then_some(encrypted)
}

#[cfg(test)]
mod tests;
