//! Decides whose requests the admin API answers.
//!
//! A page on the Internet can make a browser send a request to a name of its own that resolves to 127.0.0.1 (DNS
//! rebinding), and read the answer. Such a request names that host. Only addresses and `localhost` are accepted, which
//! nobody else can own. Figures and health are for everybody: monitors know services by name, and nothing there
//! concerns a visitor.

use super::Refusal;
use axum::{
    extract::Request,
    http::{StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use rules::method::is_retrieval;
use std::net::{IpAddr, Ipv6Addr};

/// The paths that answer under any name.
pub(super) const MONITORED: [&str; 3] = ["/metrics", "/healthz", "/readyz"];

pub(super) async fn guard(request: Request, next: Next) -> Response {
    if is_welcome(&request) || is_for_monitors(&request) {
        return next.run(request).await;
    }
    let what = "use an IP address or localhost: under other names, the admin API answers only for figures and health";
    Refusal::new(StatusCode::FORBIDDEN, what).into_response()
}

/// Whether the request asks for something that changes nothing and reveals no visitor.
fn is_for_monitors(request: &Request) -> bool {
    is_retrieval(request.method()) && MONITORED.contains(&request.uri().path())
}

/// Whether every host that the request names is ours. A request without any is HTTP/1.0, which no browser uses.
fn is_welcome(request: &Request) -> bool {
    let fields = request.headers().get_all(header::HOST).iter();
    let mut hosts = fields.map(|host| host.to_str().unwrap_or_default());
    let authority = request.uri().authority();
    hosts.all(is_ours) && authority.is_none_or(|authority| is_ours(authority.as_str()))
}

/// Whether `authority` is an address or `localhost`, with or without a port.
fn is_ours(authority: &str) -> bool {
    if let Some(bracketed) = authority.strip_prefix('[') {
        let Some((address, port)) = bracketed.split_once(']') else {
            return false;
        };
        return address.parse::<Ipv6Addr>().is_ok() && (port.is_empty() || is_port(port));
    }
    let (host, port) = match authority.find(':') {
        Some(at) => authority.split_at(at),
        None => (authority, ":"),
    };
    is_port(port) && (host.eq_ignore_ascii_case("localhost") || host.parse::<IpAddr>().is_ok())
}

/// Whether `text` is a colon followed by digits or by nothing.
fn is_port(text: &str) -> bool {
    let digits = text.strip_prefix(':');
    digits.is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts() {
        for (host, ours) in [
            ("localhost", true),
            ("LocalHost:9180", true),
            ("127.0.0.1", true),
            ("127.0.0.1:9180", true),
            ("192.0.2.7:", true),
            ("[::1]", true),
            ("[::1]:9180", true),
            ("", false),
            ("evil.example", false),
            ("evil.example:9180", false),
            ("localhost.evil.example", false),
            ("127.0.0.1.evil.example", false),
            ("127.0.0.1@evil.example", false),
            ("127.0.0.1:80@evil.example", false),
            ("[::1].evil.example", false),
            ("[::1", false),
            ("[evil]", false),
            ("::1", false),
        ] {
            assert_eq!(is_ours(host), ours, "{host}");
        }
    }
}
