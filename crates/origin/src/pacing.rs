//! Turns off TCP pacing for connections within the machine.
//!
//! If the system's congestion control is BBR, the kernel measures the path to the other side and sends no faster than
//! it can carry, with a timer for every few packets. Within the machine there is no path to measure, and the timers
//! make large answers cost twice as much and take longer. Connections to other machines use what the system says.

use rustix::net::sockopt::{set_tcp_congestion, tcp_congestion};
use std::{net::IpAddr, os::fd::AsFd};

/// Keeps `socket` from being paced if `address` belongs to this machine only. `socket` is a listener, whose connections
/// inherit this, or is about to be connected. An established connection would stay paced.
pub fn spare(socket: impl AsFd, address: IpAddr) {
    let Ok(now) = tcp_congestion(&socket) else {
        return;
    };
    if let Some(unpaced) = unpaced(&now, address) {
        // If this fails, the connection is paced.
        let _ = set_tcp_congestion(socket, unpaced);
    }
}

/// Returns the congestion control to use instead of `now`, if any. Every process may choose `reno` (tcp(7)).
fn unpaced(now: &str, address: IpAddr) -> Option<&'static str> {
    (address.is_loopback() && now.starts_with("bbr")).then_some("reno")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn what_only_this_machine_can_reach_is_not_paced() {
        for (now, address, unpaced) in [
            ("bbr", "127.0.0.1", Some("reno")),
            ("bbr", "127.8.0.1", Some("reno")),
            ("bbr2", "::1", Some("reno")),
            ("bbr", "0.0.0.0", None),
            ("bbr", "::", None),
            ("bbr", "192.0.2.1", None),
            ("cubic", "127.0.0.1", None),
        ] {
            let address = address.parse().unwrap();
            assert_eq!(super::unpaced(now, address), unpaced, "{now} {address}");
        }
    }

    #[test]
    fn connections_inherit_it() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        spare(&listener, address.ip());
        let _client = std::net::TcpStream::connect(address).unwrap();
        let (accepted, _) = listener.accept().unwrap();
        let said = tcp_congestion(&accepted).unwrap();
        assert!(!said.starts_with("bbr"), "{said}");
    }
}
