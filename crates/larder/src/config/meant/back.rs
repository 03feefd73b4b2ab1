//! What would lead back to Larder itself: an origin at its own address, a redirect to a listener without TLS.

use super::{Sink, listen::Placed};
use crate::config::{
    Fault, Flags,
    value::{HttpsPort, ListenAddress},
    written,
};
use origin::config::Address;
use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    ops::Range,
};

/// Reports origins and redirects that lead back here. Sockets that were handed over are not where the first listeners
/// are configured to be.
pub(super) fn check(
    listeners: &[Placed],
    written: &written::Config,
    flags: &Flags,
    sink: &mut Sink<'_>,
) {
    let own = listeners.get(flags.handed..).unwrap_or_default();
    let is_only = written.origin.as_ref().is_none_or(|list| list.len() < 2);
    for (server, span) in servers(written, flags) {
        asks_itself(own, server, (span, is_only), sink);
    }
    if flags.listen.is_empty() {
        redirects(written, flags.handed, sink);
    }
}

type Where<'a> = Option<&'a Range<usize>>;

/// Returns the servers of all origins.
fn servers<'a>(written: &'a written::Config, flags: &'a Flags) -> Vec<(&'a Address, Where<'a>)> {
    if let Some(url) = &flags.origin {
        return vec![(&url.address, None)];
    }
    let tables = || written.origin.iter().flatten().map(|table| &table.value);
    let urls = tables().flat_map(|table| table.servers.iter().flat_map(|list| &list.list));
    let urls = urls.filter_map(|server| server.value.url.as_ref());
    let scripts = tables().flat_map(|table| table.fastcgi.iter().flat_map(|list| &list.list));
    let urls = urls.map(|url| (&url.value.address, Some(&url.span)));
    urls.chain(scripts.map(|url| (&url.value.0, Some(&url.span))))
        .collect()
}

/// Reports a server that is a listener. With other origins, a site could mean it: another route may answer what comes
/// back.
fn asks_itself(
    own: &[Placed],
    server: &Address,
    (span, is_only): (Where<'_>, bool),
    sink: &mut Sink<'_>,
) {
    let found = found(own, server);
    let Some((listener, at)) = found.iter().copied().flatten().next() else {
        return;
    };
    let is_certain = found.iter().all(Option::is_some);
    let (what, instead) = if is_certain {
        (
            format!("{server} is where Larder itself listens: it would ask itself"),
            "write where the application listens, or listen elsewhere",
        )
    } else {
        (
            format!(
                "{server} is also {}, where Larder itself listens: it may ask itself",
                listener.address
            ),
            "write the IP address at which the application listens, or listen elsewhere",
        )
    };
    let at = at.as_ref();
    let fault = span.or(at).map_or_else(
        || Fault::anywhere(what.clone()),
        |place| Fault::at(place, what.clone()),
    );
    let fault = fault.beside(at.filter(|_| span.is_some())).instead(instead);
    if is_certain && is_only {
        sink.push(fault);
    } else {
        sink.warn(fault);
    }
}

/// Returns the listener at each place to which connections to the server go. Empty if a resolver would have to say
/// which places these are.
fn found<'a>(own: &'a [Placed], server: &Address) -> Vec<Option<&'a Placed>> {
    let at = |is_there: &dyn Fn(&ListenAddress) -> bool| {
        own.iter().find(|(listener, _)| is_there(&listener.address))
    };
    let Address::Tcp { host, port } = server else {
        let is_there = |own: &ListenAddress| match (own, server) {
            (ListenAddress::Unix(own), Address::Unix(path)) => own == path,
            _ => false,
        };
        return vec![at(&is_there)];
    };
    let places = places(host).into_iter();
    let found = places.map(|ip| {
        at(&|own| match own {
            ListenAddress::Tcp(own) => own.port() == *port && is_at(own.ip(), ip),
            ListenAddress::Unix(_) => false,
        })
    });
    found.collect()
}

/// Returns the addresses of a host that are certain.
fn places(host: &str) -> Vec<IpAddr> {
    const LOCAL: [IpAddr; 2] = [
        IpAddr::V6(Ipv6Addr::LOCALHOST),
        IpAddr::V4(Ipv4Addr::LOCALHOST),
    ];
    let [six, four] = LOCAL;
    match host.parse::<IpAddr>().map(|ip| ip.to_canonical()) {
        // A connection to no address in particular goes to this machine.
        Ok(ip) if ip.is_unspecified() => vec![if ip.is_ipv6() { six } else { four }],
        Ok(ip) => vec![ip],
        Err(_) if host == "localhost" => LOCAL.to_vec(),
        Err(_) => Vec::new(),
    }
}

/// Whether a listener at `own` certainly accepts connections to `ip`. Which other addresses this machine has is not
/// known.
fn is_at(own: IpAddr, ip: IpAddr) -> bool {
    own.to_canonical() == ip || ip.is_loopback() && super::addresses::takes_in(own, ip)
}

/// Reports redirects to the port of a listener without TLS.
fn redirects(written: &written::Config, handed: usize, sink: &mut Sink<'_>) {
    let listeners = written.listen.iter().flat_map(|list| &list.list);
    let listeners: Vec<_> = listeners.skip(handed).map(|one| &one.value).collect();
    let is_trusting = written
        .trusted
        .as_ref()
        .is_some_and(|list| !list.list.is_empty());
    for redirect in listeners.iter().filter(|one| one.tls.is_none()) {
        let Some(to) = &redirect.redirect_https else {
            continue;
        };
        let HttpsPort(port) = to.value.0;
        let there = listeners.iter().filter(|one| self::port(one) == Some(port));
        let there: Vec<_> = there.collect();
        if there.iter().any(|one| one.tls.is_some()) {
            continue;
        }
        if there.iter().any(|one| one.redirect_https.is_some()) {
            let what = format!(
                "the listener on port {port} has no `tls`, and redirects as well: nothing would be answered"
            );
            sink.push(
                Fault::at(&to.span, what)
                    .instead("write the port of a listener with `tls`: `redirect_https = 443`"),
            );
        } else if there.iter().any(|one| one.proxy_protocol.is_none()) && !is_trusting {
            // Behind a proxy that speaks TLS for it, it need not.
            let what =
                format!("the listener on port {port} has no `tls`: nobody could use `https` there");
            sink.warn(Fault::at(&to.span, what).instead(
                "give it `tls = [{ certificate = \"site.pem\", key = \"site.key\" }]`, or write the port of a listener that has it",
            ));
        }
    }
}

fn port(listener: &written::Listen) -> Option<u16> {
    match listener.address.as_ref()?.value {
        ListenAddress::Tcp(address) => Some(address.port()),
        ListenAddress::Unix(_) => None,
    }
}
