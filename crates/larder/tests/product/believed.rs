//! What a trusted proxy says of its client is believed, in whichever of the usual ways it says it.

use crate::common::start_with;
use testkit::{Larder, Origin, Reply, Response};

fn behind_a_proxy() -> (Origin, Larder) {
    let (origin, larder) = start_with(
        "trusted = [\"127.0.0.0/8\", \"10.0.0.0/8\"]\n[[origin]]\nservers = \"{origin}\"\n\
         [[route]]\nname = \"theirs\"\nclient = [\"192.0.2.0/24\", \"2001:db8::/32\"]\nresponse_headers.set = \"X-Route: theirs\"\n\
         [[route]]\nresponse_headers.set = \"X-Route: other\"\n",
    );
    origin.otherwise(|_| Reply::ok().cache("no-store"));
    (origin, larder)
}

fn say(larder: &Larder, path: &str, lines: &[(&str, &str)]) -> Response {
    let ask = larder.get(path);
    lines
        .iter()
        .fold(ask, |ask, (name, value)| ask.header(name, value))
        .send()
}

#[test]
fn the_client_is_whom_the_proxy_names() {
    let (_origin, larder) = behind_a_proxy();
    let (both, new) = ("X-Forwarded-For", "Forwarded");
    for (name, value, expected) in [
        (both, "192.0.2.9", "theirs"),
        (both, "192.0.2.9:4711", "theirs"),
        (both, "[2001:db8::1]", "theirs"),
        (both, "[2001:db8::1]:443", "theirs"),
        (both, "192.0.2.9:1, 10.0.0.3:2", "theirs"),
        (both, "192.0.2.9, 198.51.100.1:80", "other"),
        (new, "for=192.0.2.9", "theirs"),
        (new, "for=\"192.0.2.9:4711\";proto=https", "theirs"),
        (new, "For=\"[2001:db8::1]:443\"", "theirs"),
        (new, "for=192.0.2.9, for=10.0.0.3", "theirs"),
        (new, "for=192.0.2.9, for=198.51.100.1", "other"),
        (new, "for=192.0.2.9, for=unknown", "other"),
        // A quote that the client leaves open hides nothing of what the proxy says.
        (new, "for=\"x, for=192.0.2.9", "theirs"),
        (new, "for=192.0.2.9;x=\", for=198.51.100.1", "other"),
    ] {
        let answer = say(&larder, "/", &[(name, value)]);
        assert_eq!(answer.header("x-route"), Some(expected), "{name}: {value}");
    }
}

#[test]
fn the_scheme_is_the_one_that_the_proxy_names() {
    let (origin, larder) = start_with(
        "trusted = [\"127.0.0.0/8\", \"10.0.0.0/8\"]\n[[origin]]\nservers = \"{origin}\"\n[defaults]\nredirect_https = true\n",
    );
    origin.otherwise(|_| Reply::ok().cache("no-store"));
    let (usual, new) = ("X-Forwarded-Proto", "Forwarded");
    for (lines, secure) in [
        (&[(usual, "https")][..], true),
        (&[(usual, "HTTPS")], true),
        (&[(usual, "https, http")], true),
        (&[(usual, "http")], false),
        (&[(usual, "http, https")], false),
        (&[(usual, "ftp")], false),
        (
            &[
                (usual, "https, http"),
                ("X-Forwarded-For", "192.0.2.9, 10.0.0.3"),
            ],
            true,
        ),
        // The first word is the client's own.
        (
            &[(usual, "https, http"), ("X-Forwarded-For", "192.0.2.9")],
            false,
        ),
        (&[(new, "for=192.0.2.9;proto=https")], true),
        (&[(new, "proto=\"HTTPS\"")], true),
        (
            &[(new, "for=192.0.2.9;proto=https, for=10.0.0.3;proto=http")],
            true,
        ),
        (
            &[(new, "for=10.9.9.9;proto=https, for=192.0.2.9;proto=http")],
            false,
        ),
        (
            &[(new, "for=\"x;proto=https, for=192.0.2.9;proto=http")],
            false,
        ),
        // Whoever says it in both ways means the one that more proxies know.
        (
            &[(usual, "http"), (new, "for=192.0.2.9;proto=https")],
            false,
        ),
        (&[], false),
    ] {
        let answer = say(&larder, "/", lines);
        assert_eq!(answer.status == 200, secure, "{lines:?}");
        if secure {
            assert_eq!(
                origin.last("/").headers("x-forwarded-proto"),
                ["https"],
                "{lines:?}"
            );
        }
    }
}
