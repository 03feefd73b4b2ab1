//! Whether every address is free for us, and for one purpose only.

use super::{Admin, Sink, listen::Placed};
use crate::config::{Fault, Probe, value::ListenAddress, written};
use std::{io, net::SocketAddr, ops::Range};

/// Reports addresses that are written twice and those that `probe` refuses.
pub(super) fn check(
    listeners: &[Placed],
    written: &written::Config,
    admin: Admin,
    probe: Probe,
    sink: &mut Sink<'_>,
) {
    let mut seen: Vec<(&ListenAddress, Option<&Range<usize>>)> = Vec::new();
    for (listener, span) in listeners {
        let (address, span) = (&listener.address, span.as_ref());
        if seen.iter().any(|(other, _)| *other == address) && !is_free_choice(address) {
            let what = format!("{address} is listened on twice");
            sink.push(place(span, what).instead("choose another port"));
        } else {
            try_listen(address, span, probe, sink);
        }
        seen.push((address, span));
    }
    let Admin::At(admin) = admin else {
        return;
    };
    let admin_span = written.admin.as_ref().map(|text| &text.span);
    let admin = ListenAddress::Tcp(admin);
    let clash = seen.iter().find(|(address, _)| **address == admin);
    if let Some((_, span)) = clash
        && !is_free_choice(&admin)
    {
        let what = format!("{admin} is the admin address too");
        sink.push(place(admin_span.or(*span), what).instead("choose another port"));
    } else {
        try_listen(&admin, admin_span, probe, sink);
    }
}

/// Port 0 is another port each time.
const fn is_free_choice(address: &ListenAddress) -> bool {
    matches!(address, ListenAddress::Tcp(tcp) if tcp.port() == 0)
}

fn try_listen(
    address: &ListenAddress,
    span: Option<&Range<usize>>,
    probe: Probe,
    sink: &mut Sink<'_>,
) {
    if let ListenAddress::Tcp(tcp) = address
        && let Err(error) = probe(*tcp)
    {
        sink.push(refused(*tcp, &error, span));
    }
}

fn refused(address: SocketAddr, error: &io::Error, span: Option<&Range<usize>>) -> Fault {
    let (what, instead) = match error.kind() {
        io::ErrorKind::AddrInUse => (
            format!("another process listens on {address}"),
            "stop it, or choose another port",
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
    };
    place(span, what).instead(instead)
}

fn place(span: Option<&Range<usize>>, what: String) -> Fault {
    match span {
        Some(span) => Fault::at(span, what),
        None => Fault::anywhere(what),
    }
}
