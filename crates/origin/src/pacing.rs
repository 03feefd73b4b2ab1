//! TCP within the machine is not paced.
//!
//! Where the system's congestion control is BBR, the kernel measures the way to the other side and sends no faster than that carries, by
//! a timer for each few packets. Within the machine there is no way to measure, and the timers make large answers cost twice as
//! much and take longer. Servers and clients elsewhere are spoken to as the system says.

use rustix::net::sockopt::{set_tcp_congestion, tcp_congestion};
use std::{net::IpAddr, os::fd::AsFd};

/// Has `socket` not be paced where `address` is of this machine alone: a listener's own, whose connections inherit that, or the one
/// that is connected to next. A connection that is there already would stay paced.
pub fn spare(socket: impl AsFd, address: IpAddr) {
    let Ok(now) = tcp_congestion(&socket) else {
        return;
    };
    if let Some(unpaced) = unpaced(&now, address) {
        // Without it, it is paced.
        let _ = set_tcp_congestion(socket, unpaced);
    }
}

/// The congestion control to take in place of `now`, if any. That one is everybody's to choose (tcp(7)).
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
