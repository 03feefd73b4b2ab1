//! Ports for servers that must be told theirs, and that may stop and start on it again.

use std::{
    net::{Ipv4Addr, TcpListener, UdpSocket},
    process,
    sync::{Mutex, PoisonError},
};

/// The system gives outgoing connections, and who asks for any port, none of these.
const RANGE: std::ops::Range<u16> = 12_000..32_000;

/// A datagram socket of the same number for each port that was given away: it is how processes that run tests keep off
/// each other's.
static HELD: Mutex<Vec<UdpSocket>> = Mutex::new(Vec::new());

/// A port of 127.0.0.1 that is the caller's as long as this process lives, whether anybody listens on it or not.
pub fn free_port() -> u16 {
    let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
    let numbers = u32::from(RANGE.end - RANGE.start);
    // Processes begin at different places, lest each try what all before it have taken.
    let from = process::id()
        .wrapping_mul(997)
        .wrapping_add(held.len() as u32);
    let found = (0..numbers).find_map(|step| {
        let offset = (from.wrapping_add(step) % numbers) as u16;
        let address = (Ipv4Addr::LOCALHOST, RANGE.start + offset);
        let socket = UdpSocket::bind(address).ok()?;
        TcpListener::bind(address)
            .is_ok()
            .then_some((address.1, socket))
    });
    let (port, socket) = found.expect("a free port");
    held.push(socket);
    port
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn a_port_is_given_once() {
        let all: Vec<_> = (0..100).map(|_| free_port()).collect();
        assert_eq!(all.iter().collect::<HashSet<_>>().len(), 100);
        for port in all {
            let address = (Ipv4Addr::LOCALHOST, port);
            assert!(TcpListener::bind(address).is_ok(), "{port} is free");
            assert!(UdpSocket::bind(address).is_err(), "{port} is held");
        }
    }
}
