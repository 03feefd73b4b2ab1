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
        // Nor does what is no text.
        (both, "é, 192.0.2.9", "theirs"),
        (both, "192.0.2.9, é, 10.0.0.3", "other"),
        (new, "for=\"é\", for=192.0.2.9", "theirs"),
        (both, "192.0.2.9,", "theirs"),
    ] {
        let answer = say(&larder, "/", &[(name, value)]);
        assert_eq!(answer.header("x-route"), Some(expected), "{name}: {value}");
    }
}

/// A client that the proxy hides, or whose own words cannot be read, is not the proxy: it stands in no network of those
/// who may have more.
#[test]
fn whom_the_proxy_does_not_name_is_not_the_proxy() {
    let (origin, larder) = start_with(
        "trusted = \"127.0.0.1\"\n[[origin]]\nservers = \"{origin}\"\n\
         [[route]]\nname = \"inside\"\nclient = \"127.0.0.0/8\"\nresponse_headers.set = \"X-Route: inside\"\n\
         [[route]]\nresponse_headers.set = \"X-Route: other\"\n",
    );
    origin.otherwise(|_| Reply::ok().cache("no-store"));
    let (both, new) = ("X-Forwarded-For", "Forwarded");
    for (lines, expected) in [
        (&[][..], "inside"),
        (&[(both, "127.0.0.1")], "inside"),
        (&[(both, "")], "inside"),
        (&[(both, "é, 203.0.113.5")], "other"),
        (&[(both, "é")], "other"),
        (&[(both, "é"), (both, "203.0.113.5")], "other"),
        (&[(both, "203.0.113.5"), (both, "é")], "other"),
        (&[(both, "unknown")], "other"),
        (&[(new, "for=\"é\", for=203.0.113.5")], "other"),
        (&[(new, "for=_hidden")], "other"),
        (&[(new, "for=\"127.0.0.1, for=203.0.113.5")], "other"),
    ] {
        let answer = say(&larder, "/", lines);
        assert_eq!(answer.header("x-route"), Some(expected), "{lines:?}");
    }
    // As it comes from nginx, whose own word stands behind that of its client.
    let mut client = larder.client();
    client.send(b"GET /raw HTTP/1.1\r\nHost: a.test\r\nX-Forwarded-For: \xff, 203.0.113.5\r\nX-Forwarded-For: ,\r\n\r\n");
    assert_eq!(client.read().header("x-route"), Some("other"));
    let told = origin.last("/raw").headers("x-forwarded-for").join("|");
    assert!(told.ends_with(", 203.0.113.5, 127.0.0.1"), "{told}");
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
        (
            &[
                (usual, "https"),
                (usual, "http"),
                ("X-Forwarded-For", "192.0.2.9"),
            ],
            false,
        ),
        (
            &[(usual, "é, https"), ("X-Forwarded-For", "é, 192.0.2.9")],
            true,
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
