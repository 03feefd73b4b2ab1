//! Routes that redirect to HTTPS where no request can come by it.

use super::{Sink, listen::Placed};
use crate::config::{
    Fault, Flags,
    value::ListenAddress,
    written::{self, Defaults, Route},
};
use http::header::FORWARDED;

const X_FORWARDED_PROTO: &str = "x-forwarded-proto";

/// The port of `https`, to which routes redirect.
const HTTPS: u16 = 443;

/// The port of `http`. Clients of a listener there come to us directly, and not by a port that is mapped to another one.
const HTTP: u16 = 80;

/// Warns of routes that redirect to a port where no listener has TLS.
pub(super) fn check(
    listeners: &[Placed],
    written: &written::Config,
    flags: &Flags,
    sink: &mut Sink<'_>,
) {
    let trusted = written.trusted.as_ref();
    let is_told = trusted.is_some_and(|list| !list.list.is_empty())
        || listeners.iter().any(|(one, _)| {
            let is_unix = matches!(one.address, ListenAddress::Unix(_));
            is_unix || !one.proxy_protocol.is_empty()
        });
    // A proxy that ends TLS says by which scheme its clients came. What a socket is that was handed over is not known.
    if is_told || flags.handed > 0 {
        return;
    }
    let at = |port: u16, is_tls: bool| {
        listeners.iter().any(|(one, _)| {
            let is_there = matches!(one.address, ListenAddress::Tcp(own) if own.port() == port);
            is_there && one.tls.is_some() == is_tls && one.redirect_https.is_none()
        })
    };
    let (what, instead) = if listeners.iter().all(|(one, _)| one.tls.is_none()) {
        (
            "requests are redirected to `https`, and none can come by it: no listener has `tls`, and no proxy is in `trusted`",
            "give a listener `tls = [{ certificate = \"site.pem\", key = \"site.key\" }]`, or name the proxy that speaks TLS: \
             `trusted = [\"10.0.0.0/8\"]`",
        )
    } else if !at(HTTPS, true) && at(HTTP, false) {
        (
            "a route redirects to port 443, where no listener has `tls`",
            "listen with `tls` on port 443, or write `redirect_https` with the port into the `[[listen]]` without `tls`",
        )
    } else {
        return;
    };
    // One that is for requests whose proxy says that they came by HTTP does not meet the others again.
    let is_told = |route: &Route| {
        let mut headers = route.header.iter().flat_map(|list| &list.list);
        headers.any(|header| {
            [X_FORWARDED_PROTO, FORWARDED.as_str()].contains(&header.value.name.as_str())
        })
    };
    let own = written.route.iter().flatten();
    let own = own
        .filter(|table| !is_told(&table.value))
        .map(|table| table.value.policy(&Defaults::default()));
    let all: Vec<_> = written.defaults.iter().cloned().chain(own).collect();
    let wanted = all
        .iter()
        .filter_map(|policy| policy.redirect_https.as_ref());
    for redirect in wanted.filter(|redirect| redirect.value) {
        sink.warn(Fault::at(&redirect.span, what).instead(instead));
    }
}
