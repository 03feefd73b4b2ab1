//! TCP within the machine is not paced.
//!
//! Where the system's congestion control is BBR, the kernel measures the way to a client and sends no faster than that carries, by a
//! timer for each few packets. Within the machine there is no way to measure, and the timers make large answers cost twice as
//! much and take longer. Clients elsewhere are served as the system says.

use rustix::net::sockopt::{set_tcp_congestion, tcp_congestion};
use std::{net::IpAddr, os::fd::AsFd};

/// Has the connections of `listener`, which is bound to `address`, not be paced where only this machine can make them. One that
/// is paced when it is accepted would stay so.
pub(super) fn spare(listener: impl AsFd, address: IpAddr) {
    let Ok(now) = tcp_congestion(&listener) else {
        return;
    };
    if let Some(unpaced) = unpaced(&now, address) {
        // Without it, they are paced.
        let _ = set_tcp_congestion(listener, unpaced);
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
