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
    let admin_span = written.admin.as_ref().map(|text| &text.span);
    let mut seen: Vec<ListenAddress> = Vec::new();
    let listeners = listeners
        .iter()
        .map(|(listener, span)| (listener.address.clone(), span.as_ref()));
    let admin = match admin {
        Admin::At(address) => Some((ListenAddress::Tcp(address), admin_span)),
        Admin::Off => None,
    };
    for (address, span) in listeners.chain(admin) {
        // Port 0 is another port each time.
        let fixed = !matches!(&address, ListenAddress::Tcp(tcp) if tcp.port() == 0);
        if fixed && seen.contains(&address) {
            let what = format!("{address} is listened on twice");
            sink.push(place(span, what).instead("choose another port"));
        } else if let ListenAddress::Tcp(tcp) = &address
            && let Err(error) = probe(*tcp)
        {
            sink.push(refused(*tcp, &error, span));
        }
        seen.push(address);
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
