//! Whether every address is free, and used for one purpose only.

use super::{Admin, Sink, listen::Placed};
use crate::config::{Fault, Probe, Vacancy, value::ListenAddress, written};
use socket2::{Domain, Socket, Type};
use std::{
    io,
    net::{IpAddr, SocketAddr},
    ops::Range,
    path::Path,
};

/// Reports addresses that are written twice. With a `probe` also reports those that it refuses, and those that cannot
/// be listened on together. Without it the latter are allowed, because inherited sockets are opened by another program,
/// which may be able to have both.
pub(super) fn check(
    listeners: &[Placed],
    written: &written::Config,
    admin: Admin,
    probe: Option<Probe>,
    sink: &mut Sink<'_>,
) {
    let clash = |one: &ListenAddress, other: &ListenAddress| {
        let matters = probe.is_some() || one == other;
        matters && meet(one, other)
    };
    let mut seen: Vec<(&ListenAddress, Option<&Range<usize>>)> = Vec::new();
    for (listener, span) in listeners {
        let (address, span) = (&listener.address, span.as_ref());
        match seen.iter().find(|(other, _)| clash(other, address)) {
            Some((other, _)) if *other == address => {
                let what = format!("two listeners have the address {address}");
                sink.push(place(span, what).instead("choose another port"));
            }
            Some((other, beside)) => sink.push(overlap(address, span, other, *beside)),
            None => try_listen(address, span, probe, sink),
        }
        seen.push((address, span));
    }
    let Admin::At(admin) = admin else {
        return;
    };
    let admin_span = written.admin.as_ref().map(|text| &text.span);
    let admin = ListenAddress::Tcp(admin);
    match seen.iter().find(|(other, _)| clash(other, &admin)) {
        Some((other, span)) if **other == admin => {
            let what = format!("{admin} is also the admin address");
            sink.push(place(admin_span.or(*span), what).instead("choose another port"));
        }
        Some((other, beside)) => sink.push(overlap(&admin, admin_span, other, *beside)),
        None => try_listen(&admin, admin_span, probe, sink),
    }
}

/// Whether the kernel refuses to open both: they have the same port, and are the same or one includes the other.
pub fn meet(one: &ListenAddress, other: &ListenAddress) -> bool {
    let (ListenAddress::Tcp(one), ListenAddress::Tcp(other)) = (one, other) else {
        return one == other;
    };
    // Port 0 is a different port each time.
    one.port() == other.port()
        && one.port() != 0
        && (takes_in(one.ip(), other.ip()) || takes_in(other.ip(), one.ip()))
}

/// Whether a listener at `one` accepts connections to `other`, if this machine has that address.
pub(super) fn takes_in(one: IpAddr, other: IpAddr) -> bool {
    let (one, other) = (one.to_canonical(), other.to_canonical());
    let of_one_family = one.is_ipv4() == other.is_ipv4();
    one == other || one.is_unspecified() && (of_one_family || one.is_ipv6() && ipv6_takes_ipv4())
}

/// Whether `[::]` includes IPv4 on this machine (`net.ipv6.bindv6only`).
fn ipv6_takes_ipv4() -> bool {
    Socket::new(Domain::IPV6, Type::STREAM, None)
        .and_then(|socket| socket.only_v6())
        .is_ok_and(|only| !only)
}

fn overlap(
    address: &ListenAddress,
    span: Option<&Range<usize>>,
    other: &ListenAddress,
    beside: Option<&Range<usize>>,
) -> Fault {
    let what = format!("cannot listen on both {address} and {other}");
    let fault = match (span, beside) {
        (None, Some(only)) => Fault::at(only, what),
        _ => place(span, what).beside(beside),
    };
    fault.instead("one includes the other: leave out the narrower one, or choose another port")
}

fn try_listen(
    address: &ListenAddress,
    span: Option<&Range<usize>>,
    probe: Option<Probe>,
    sink: &mut Sink<'_>,
) {
    match probe.map(|probe| probe(address)) {
        None | Some(Ok(Vacancy::Free)) => {}
        Some(Ok(Vacancy::Unsure)) => {
            let what = format!("somebody listens on {address} already");
            let instead = "if that is Larder, or systemd for it (socket activation), all is well; \
                           if it is another program, stop it, or choose another address";
            sink.warn(place(span, what).instead(instead));
        }
        Some(Err(error)) => {
            let (what, instead) = match address {
                ListenAddress::Tcp(tcp) => refused(*tcp, &error),
                ListenAddress::Unix(path) => obstructed(path, &error),
            };
            sink.push(place(span, what).instead(instead));
        }
    }
}

fn obstructed(path: &Path, error: &io::Error) -> (String, &'static str) {
    let shown = path.display();
    match error.kind() {
        io::ErrorKind::NotFound => {
            let folder = path.parent().unwrap_or(path).display();
            let what = format!("there is no folder {folder}");
            (what, "create it, or choose another path")
        }
        io::ErrorKind::AlreadyExists => (
            format!("{shown} is a file that is not a socket"),
            "move it away, or choose another path",
        ),
        io::ErrorKind::AddrInUse => (
            format!("another process listens on {shown}"),
            "stop it, or choose another path",
        ),
        _ => (
            format!("cannot listen on {shown}: {error}"),
            "choose another path",
        ),
    }
}

fn refused(address: SocketAddr, error: &io::Error) -> (String, &'static str) {
    match error.kind() {
        io::ErrorKind::AddrInUse => (
            format!("another process listens on {address}"),
            "stop it, or choose another port (if it is Larder, run the check as its user)",
        ),
        io::ErrorKind::PermissionDenied => (
            format!("no permission to listen on {address}"),
            "choose a port from 1024 on, or give Larder CAP_NET_BIND_SERVICE",
        ),
        io::ErrorKind::AddrNotAvailable => (
            format!("this machine has no address {}", address.ip()),
            "write an address of this machine, or leave it out as in `:8080`",
        ),
        _ => (
            format!("cannot listen on {address}: {error}"),
            "choose another address",
        ),
    }
}

fn place(span: Option<&Range<usize>>, what: String) -> Fault {
    match span {
        Some(span) => Fault::at(span, what),
        None => Fault::anywhere(what),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_takes_in_the_other_meets_it() {
        let both = ipv6_takes_ipv4();
        for (one, other, expected) in [
            ("0.0.0.0:80", "0.0.0.0:80", true),
            ("0.0.0.0:80", "127.0.0.1:80", true),
            ("0.0.0.0:80", "127.0.0.1:81", false),
            ("0.0.0.0:0", "127.0.0.1:0", false),
            ("0.0.0.0:80", "[::]:80", both),
            ("[::]:80", "127.0.0.1:80", both),
            ("[::]:80", "[::1]:80", true),
            ("0.0.0.0:80", "[::1]:80", false),
            ("127.0.0.1:80", "[::1]:80", false),
            ("127.0.0.1:80", "127.0.0.2:80", false),
            ("127.0.0.1:80", "[::ffff:127.0.0.1]:80", true),
        ] {
            let [a, b] = [one, other].map(|text| ListenAddress::Tcp(text.parse().unwrap()));
            assert_eq!(
                (meet(&a, &b), meet(&b, &a)),
                (expected, expected),
                "{one} {other}"
            );
        }
    }
}
