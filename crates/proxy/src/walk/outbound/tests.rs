use super::*;
use crate::sample::{self, key_spec, policy, site};
use std::net::SocketAddr;
use trust::names::{OF_ADDRESS, POISONOUS};

fn ask(peer: Option<&str>, lines: &[(&'static str, &str)]) -> Ask {
    let peer = peer.map(|peer| SocketAddr::new(peer.parse().expect("an address"), 4711));
    sample::ask(site(policy(key_spec())), peer, sample::fields(lines))
}

/// Returns the lines of `name` as the origin gets them.
fn sent(ask: &Ask, name: &str) -> Vec<String> {
    let fields = fields(ask).expect("no loop");
    let lines = fields.get_all(name).iter();
    lines
        .map(|line| String::from_utf8_lossy(line.as_bytes()).into_owned())
        .collect()
}

const TRUSTED: Option<&str> = Some("10.0.0.1");
const UNKNOWN: Option<&str> = Some("192.0.2.7");

/// Who sends, what it says (if anything), and what the origin gets.
type Row<'a> = (Option<&'a str>, Option<&'a str>, Option<&'a str>);

fn check(name: &'static str, rows: &[Row<'_>]) {
    for (peer, said, expected) in rows {
        let lines: Vec<_> = said.map(|said| (name, said)).into_iter().collect();
        let found = sent(&ask(*peer, &lines), name);
        let expected: Vec<_> = expected.iter().copied().collect();
        assert_eq!(found, expected, "{name}: {said:?} from {peer:?}");
    }
}

const SAID: Option<&str> = Some("1.2.3.4");

#[test]
fn addresses_are_added_to_what_a_trusted_peer_says_and_replace_anything_else() {
    let rows = [
        (UNKNOWN, None, UNKNOWN),
        (UNKNOWN, SAID, UNKNOWN),
        (TRUSTED, None, TRUSTED),
        (TRUSTED, SAID, Some("1.2.3.4, 10.0.0.1")),
        (TRUSTED, Some("é, 1.2.3.4"), Some("é, 1.2.3.4, 10.0.0.1")),
        // RFC 9110 section 5.6.1.1: no empty members.
        (TRUSTED, Some(""), TRUSTED),
        (TRUSTED, Some(" , 1.2.3.4,\t,"), Some("1.2.3.4, 10.0.0.1")),
        // A Unix socket has no address and is trusted.
        (None, SAID, SAID),
        (None, None, None),
    ];
    check("x-forwarded-for", &rows);
    check("x-real-ip", &[(UNKNOWN, SAID, None), (TRUSTED, SAID, SAID)]);
}

#[test]
fn scheme_and_host_are_ours_unless_a_trusted_peer_tells_of_another_host() {
    let (https, http) = (Some("https"), Some("http"));
    check(
        "x-forwarded-proto",
        &[(UNKNOWN, https, http), (UNKNOWN, None, http)],
    );
    let (ours, other) = (Some("shop.example"), Some("www.example"));
    let rows = [
        (UNKNOWN, other, ours),
        (TRUSTED, other, other),
        (TRUSTED, None, ours),
    ];
    check("x-forwarded-host", &rows);
}

/// RFC 7239 sections 4 and 6: an element for each hop, an IPv6 address in brackets and quotes.
#[test]
fn forwarded_gets_an_element_for_this_hop() {
    let element = |node: &str| format!("for={node};host=\"shop.example\";proto=http");
    let (unknown, trusted) = (element("192.0.2.7"), element("10.0.0.1"));
    let (long, said) = (element("\"[2001:db8::1]\""), Some("for=1.2.3.4"));
    let both = format!("for=1.2.3.4, {trusted}");
    let rows = [
        (UNKNOWN, None, Some(unknown.as_str())),
        (UNKNOWN, said, Some(unknown.as_str())),
        (TRUSTED, None, Some(trusted.as_str())),
        (TRUSTED, said, Some(both.as_str())),
        (TRUSTED, Some(""), Some(trusted.as_str())),
        (Some("2001:db8::1"), None, Some(long.as_str())),
        (None, said, said),
    ];
    check("forwarded", &rows);
}

/// A client that names capabilities makes applications use them in answers that are stored for all.
#[test]
fn only_a_trusted_peer_tells_what_surrogates_before_it_understand() {
    let (ours, esi) = (CAPABILITY, ESI_CAPABILITY);
    let (ours, esi) = (ours.to_str().expect("text"), esi.to_str().expect("text"));
    let theirs = "x=\"ESI/1.0\"";
    for (peer, expected) in [(UNKNOWN, &[ours, esi][..]), (TRUSTED, &[theirs, ours, esi])] {
        let lines = [("surrogate-capability", "x=\"ESI/1.0\"")];
        assert_eq!(sent(&ask(peer, &lines), "surrogate-capability"), expected);
    }
    let name = HeaderName::from_static("surrogate-capability");
    for peer in [UNKNOWN, TRUSTED] {
        assert_eq!(
            sent_as(&ask(peer, &[]), &name),
            FieldForwarding::AsAsked,
            "set aside"
        );
    }
}

#[test]
fn lines_of_a_trusted_peer_are_joined_in_their_order() {
    let lines = [
        ("x-forwarded-for", "1.1.1.1"),
        ("x-forwarded-for", "2.2.2.2"),
    ];
    let found = sent(&ask(TRUSTED, &lines), "x-forwarded-for");
    assert_eq!(found, ["1.1.1.1, 2.2.2.2, 10.0.0.1"]);
}

/// An application that prefers the other way would take the peer for the client.
#[test]
fn who_is_named_in_one_way_is_not_hidden_behind_the_peer_in_the_other() {
    let lines = [("x-forwarded-for", "1.1.1.1"), ("forwarded", "for=1.1.1.1")];
    for (said, other) in [(&lines[..1], "forwarded"), (&lines[1..], "x-forwarded-for")] {
        assert!(sent(&ask(TRUSTED, said), other).is_empty(), "{said:?}");
        assert_eq!(
            sent(&ask(UNKNOWN, said), other).len(),
            1,
            "a stranger's word is none"
        );
        assert_eq!(
            sent(&ask(TRUSTED, &lines), other).len(),
            1,
            "both are added to"
        );
    }
}

/// A field that could change the answer unseen by the key would let one client poison it for all.
#[test]
fn poisonous_fields_pass_only_when_trusted_wanted_or_keyed() {
    let rewritten = ["x-forwarded-host", "forwarded"];
    for field in POISONOUS
        .iter()
        .chain(&OF_ADDRESS)
        .filter(|field| !rewritten.contains(&field.as_str()))
    {
        let name = field.as_str();
        let lines = [(name, "poison")];
        assert!(sent(&ask(UNKNOWN, &lines), name).is_empty(), "{name}");
        // By this one the peer names itself.
        let told: &[&str] = match name {
            "x-forwarded-server" => &[],
            _ => &["poison"],
        };
        assert_eq!(sent(&ask(TRUSTED, &lines), name), told, "{name}");
        let mut wanted = policy(key_spec());
        wanted.to_origin.pass_fields = vec![field.clone()];
        let mut keyed = policy(key_spec());
        keyed.key.headers = vec![field.clone()];
        for policy in [wanted, keyed] {
            let peer = "192.0.2.7:4711".parse().ok();
            let ask = sample::ask(site(policy), peer, sample::fields(&lines));
            assert_eq!(sent(&ask, name), ["poison"]);
        }
    }
}

/// RFC 9110 section 7.6.1 (hop-by-hop), 7.6.3 (`Via`), 10.1.1 (`Expect`).
#[test]
fn what_ends_here_is_not_passed_on() {
    let ask = ask(
        UNKNOWN,
        &[
            ("connection", "close, x-hop"),
            ("x-hop", "1"),
            ("te", "trailers"),
            ("expect", "100-continue"),
            ("via", "1.1 other"),
            ("accept", "text/html"),
            ("host", "Shop.Example:80"),
        ],
    );
    for gone in ["connection", "x-hop", "te", "expect"] {
        assert!(sent(&ask, gone).is_empty(), "{gone}");
    }
    assert_eq!(sent(&ask, "accept"), ["text/html"]);
    assert_eq!(sent(&ask, "host"), ["shop.example"]);
    let passes = sent(&ask, "via").join(", ");
    let own = format!("1.1 other, 1.1 larder {}", own_comment());
    assert_eq!(passes, own);
}

#[test]
fn a_request_that_comes_round_too_often_is_refused() {
    let lines = |count| vec![("via", "1.1 larder"); count];
    assert!(fields(&ask(UNKNOWN, &lines(MOST_PASSES - 1))).is_ok());
    let refused = fields(&ask(UNKNOWN, &lines(MOST_PASSES)));
    assert!(matches!(refused, Err(Failure::Loop)));
    // As proxies join them, after whatever a client wrote before.
    for member in [
        "1.1 larder",
        "2.0 larder (a, b)",
        "HTTP/1.1\tlarder,",
        "1.1 larder, 1.1 node",
    ] {
        for before in ["", "1.0 é, ", "1.1 x (, "] {
            let line = |count| format!("{before}{}", vec![member; count].join(", "));
            let passes = |count| fields(&ask(UNKNOWN, &[("via", &line(count))]));
            assert!(passes(MOST_PASSES - 1).is_ok(), "{before}{member}");
            let refused = passes(MOST_PASSES);
            assert!(matches!(refused, Err(Failure::Loop)), "{before}{member}");
        }
    }
    for other in [
        "1.1 larder2",
        "1.1 other larder",
        "larder",
        "larder 1.1",
        "1.1 a (larder)",
    ] {
        let line = [other; MOST_PASSES].join(", ");
        assert!(fields(&ask(UNKNOWN, &[("via", &line)])).is_ok(), "{other}");
    }
}

#[test]
fn the_sites_own_changes_come_last() {
    let mut policy = policy(key_spec());
    policy.to_origin.edits = vec![
        Edit::Set(header::ACCEPT, HeaderValue::from_static("a/b")),
        Edit::Add(header::ACCEPT, HeaderValue::from_static("c/d")),
        Edit::Remove(HeaderName::from_static("x-forwarded-for")),
    ];
    let lines = sample::fields(&[("accept", "text/html")]);
    let ask = sample::ask(site(policy), "192.0.2.7:4711".parse().ok(), lines);
    assert_eq!(sent(&ask, "accept"), ["a/b", "c/d"]);
    assert!(sent(&ask, "x-forwarded-for").is_empty());
}
