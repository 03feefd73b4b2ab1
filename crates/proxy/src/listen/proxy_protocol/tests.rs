use super::{Error, Header, LONGEST, parse};
use proptest::prelude::*;
use std::net::SocketAddr;

fn client(source: &str, destination: &str, tls: bool) -> Header {
    Header::For {
        source: source.parse().unwrap(),
        destination: destination.parse().unwrap(),
        tls,
    }
}

#[test]
fn lines() {
    let v4 = client("192.0.2.1:1", "192.0.2.2:65535", false);
    for (line, expected) in [
        ("PROXY TCP4 192.0.2.1 192.0.2.2 1 65535\r\n", Ok(v4)),
        (
            "PROXY TCP6 ::1 2001:db8::2 0 80\r\n",
            Ok(client("[::1]:0", "[2001:db8::2]:80", false)),
        ),
        ("PROXY UNKNOWN\r\n", Ok(Header::Direct)),
        ("PROXY UNKNOWN ::1 ::2 1 2\r\n", Ok(Header::Direct)),
        (
            "PROXY TCP4 192.0.2.1 192.0.2.2 1 65535\n",
            Err(Error::BadLine),
        ),
        (
            "PROXY TCP4 192.0.2.1 192.0.2.2 1 65536\r\n",
            Err(Error::BadLine),
        ),
        (
            "PROXY TCP4 192.0.2.1 192.0.2.2 +1 2\r\n",
            Err(Error::BadLine),
        ),
        (
            "PROXY TCP4 192.0.2.1 192.0.2.2 01 2\r\n",
            Err(Error::BadLine),
        ),
        ("PROXY TCP4 192.0.2.1 192.0.2.2 1\r\n", Err(Error::BadLine)),
        (
            "PROXY TCP4 192.0.2.1 192.0.2.2 1 2 3\r\n",
            Err(Error::BadLine),
        ),
        (
            "PROXY TCP4  192.0.2.1 192.0.2.2 1 2\r\n",
            Err(Error::BadLine),
        ),
        ("PROXY TCP4 ::1 ::2 1 2\r\n", Err(Error::BadLine)),
        (
            "PROXY TCP6 192.0.2.1 192.0.2.2 1 2\r\n",
            Err(Error::BadLine),
        ),
        (
            "PROXY TCP5 192.0.2.1 192.0.2.2 1 2\r\n",
            Err(Error::BadLine),
        ),
        ("PROXY \r\n", Err(Error::BadLine)),
        ("GET / HTTP/1.1\r\n", Err(Error::NoHeader)),
        (
            "proxy TCP4 192.0.2.1 192.0.2.2 1 2\r\n",
            Err(Error::NoHeader),
        ),
    ] {
        let expected = expected.map(|header| Some((header, line.len())));
        assert_eq!(parse(line.as_bytes()), expected, "{line:?}");
    }
    let endless = format!("PROXY UNKNOWN {}", "x".repeat(200));
    assert_eq!(parse(endless.as_bytes()), Err(Error::BadLine));
    assert_eq!(parse(&endless.as_bytes()[..100]), Ok(None));
}

fn block(version_command: u8, family: u8, block: &[u8]) -> Vec<u8> {
    let length = u16::try_from(block.len()).unwrap().to_be_bytes();
    let head = [version_command, family, length[0], length[1]];
    [b"\r\n\r\n\0\r\nQUIT\n".as_slice(), &head, block].concat()
}

#[test]
#[allow(clippy::too_many_lines, reason = "a table")]
fn blocks() {
    let v4 = [192, 0, 2, 1, 192, 0, 2, 2, 0, 1, 255, 255];
    let v6 = [[0; 15].as_slice(), &[1], &[0; 15], &[2], &[0, 1, 0, 2]].concat();
    let ours = client("192.0.2.1:1", "192.0.2.2:65535", false);
    let tls = client("192.0.2.1:1", "192.0.2.2:65535", true);
    let tlv = |tlvs: &[u8]| [&v4, tlvs].concat();
    for (what, bytes, expected) in [
        ("IPv4", block(0x21, 0x11, &v4), Ok(ours)),
        (
            "IPv6",
            block(0x21, 0x21, &v6),
            Ok(client("[::1]:1", "[::2]:2", false)),
        ),
        ("LOCAL", block(0x20, 0, &[]), Ok(Header::Direct)),
        (
            "LOCAL, whatever follows",
            block(0x20, 0x11, &[9; 7]),
            Ok(Header::Direct),
        ),
        ("unspecified", block(0x21, 0, &[9; 7]), Ok(Header::Direct)),
        ("Unix", block(0x21, 0x31, &[0; 216]), Ok(Header::Direct)),
        ("a TLV", block(0x21, 0x11, &tlv(&[4, 0, 1, 9])), Ok(ours)),
        (
            "TLS",
            block(0x21, 0x11, &tlv(&[4, 0, 0, 0x20, 0, 5, 1, 0, 0, 0, 0])),
            Ok(tls),
        ),
        (
            "no TLS",
            block(0x21, 0x11, &tlv(&[0x20, 0, 5, 0, 0, 0, 0, 0])),
            Ok(ours),
        ),
        (
            "a TLV cut short",
            block(0x21, 0x11, &tlv(&[4, 0, 2, 9])),
            Err(Error::BadBlock),
        ),
        (
            "half a TLV",
            block(0x21, 0x11, &tlv(&[4, 0])),
            Err(Error::BadBlock),
        ),
        (
            "too short",
            block(0x21, 0x11, &v4[..11]),
            Err(Error::BadBlock),
        ),
        ("version 3", block(0x31, 0x11, &v4), Err(Error::BadBlock)),
        (
            "a third command",
            block(0x22, 0x11, &v4),
            Err(Error::BadBlock),
        ),
        (
            "an unknown family",
            block(0x21, 0x41, &v4),
            Err(Error::BadBlock),
        ),
        (
            "too long",
            block(0x21, 0x11, &[0; LONGEST]),
            Err(Error::TooLong),
        ),
    ] {
        let expected = expected.map(|header| Some((header, bytes.len())));
        assert_eq!(parse(&bytes), expected, "{what}");
    }
}

proptest! {
    #[test]
    fn never_panics_and_takes_no_more_than_there_is(bytes: Vec<u8>, start in 0..3_usize) {
        let start: &[u8] = [&b""[..], b"PROXY ", b"\r\n\r\n\0\r\nQUIT\n"][start];
        let bytes = [start, &bytes].concat();
        if let Ok(Some((_, used))) = parse(&bytes) {
            prop_assert!(used <= bytes.len() && used <= LONGEST);
        }
    }

    #[test]
    fn what_is_written_is_read(
        source: SocketAddr,
        destination_port: u16,
        rest: Vec<u8>,
        binary: bool,
    ) {
        let destination = SocketAddr::new(source.ip(), destination_port);
        let header = if binary { write_block(source, destination) } else { write_line(source, destination) };
        // The bytes behind the header are not looked at, and every beginning of it needs more.
        let whole = [&header[..], &rest].concat();
        let expected = Header::For { source: plain(source), destination: plain(destination), tls: false };
        prop_assert_eq!(parse(&whole), Ok(Some((expected, header.len()))));
        for end in 1..header.len() {
            prop_assert_eq!(parse(&header[..end]), Ok(None));
        }
    }
}

/// Removes flow information and scope, which a header does not carry.
fn plain(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip(), address.port())
}

fn write_line(source: SocketAddr, destination: SocketAddr) -> Vec<u8> {
    let family = if source.is_ipv4() { "TCP4" } else { "TCP6" };
    let (from, to) = (source.ip(), destination.ip());
    let ports = format!("{} {}", source.port(), destination.port());
    format!("PROXY {family} {from} {to} {ports}\r\n").into_bytes()
}

fn write_block(source: SocketAddr, destination: SocketAddr) -> Vec<u8> {
    let mut bytes = Vec::new();
    for address in [source, destination] {
        match address {
            SocketAddr::V4(v4) => bytes.extend(v4.ip().octets()),
            SocketAddr::V6(v6) => bytes.extend(v6.ip().octets()),
        }
    }
    bytes.extend(source.port().to_be_bytes());
    bytes.extend(destination.port().to_be_bytes());
    block(0x21, if source.is_ipv4() { 0x11 } else { 0x21 }, &bytes)
}
