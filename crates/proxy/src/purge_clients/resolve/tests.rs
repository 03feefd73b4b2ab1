use super::*;
use crate::{
    policy::{HostPattern, Matcher},
    purge_clients::Dialect,
    sample,
};

/// Keys hosts, except below `together.example`.
fn site() -> Site {
    let mut together = sample::policy(sample::key_spec());
    together.key.host = false;
    let matcher = Matcher {
        hosts: vec![HostPattern::Suffix("together.example".to_owned())],
        ..Matcher::default()
    };
    let mut site = sample::site(sample::policy(sample::key_spec()));
    let mut routes = site.routes.to_vec();
    routes.insert(0, sample::route(matcher, together));
    site.routes = routes.into();
    site
}

fn resolved(wishes: Vec<Wish>) -> Result<Vec<What>, Malformed> {
    let command = Command {
        wishes,
        soft: true,
        dialect: Dialect::Plain,
    };
    let purges = resolve(&site(), &command)?;
    assert!(purges.iter().all(|purge| purge.soft));
    Ok(purges.into_iter().map(|purge| purge.what).collect())
}

fn url(host: &str, target: &str) -> Wish {
    let (host, target) = (host.to_owned(), target.to_owned());
    Wish::Url { host, target }
}

#[test]
fn urls_are_found_in_each_form_in_which_they_are_keyed() {
    for (host, target, keyed) in [
        ("A.example", "/%7ea", &["//a.example/~a"][..]),
        ("a.example:443", "/", &["//a.example/", "//a.example:443/"]),
        ("a.example:8080", "/", &["//a.example:8080/"]),
        // Both routes may match, as far as is known here.
        (
            "x.together.example",
            "/p",
            &["///p", "//x.together.example/p"],
        ),
    ] {
        let keyed: Vec<_> = keyed.iter().map(|&text| text.to_owned()).collect();
        let found = resolved(vec![url(host, target)]);
        assert_eq!(found, Ok(vec![What::Url(keyed)]), "{host}{target}");
    }
    for (host, target) in [
        ("", "/a b"),
        ("a b", "/"),
        ("a.example:x", "/"),
        ("a.example", "/a b"),
    ] {
        assert!(resolved(vec![url(host, target)]).is_err(), "{host}{target}");
    }
}

#[test]
fn a_cache_named_by_its_address_means_every_host() {
    for host in [
        "",
        "127.0.0.1",
        "[::1]:6081",
        "localhost:80",
        "10.0.0.7:8080",
    ] {
        let all = resolved(vec![Wish::Host(host.to_owned())]);
        assert_eq!(all, Ok(vec![What::Everything]), "{host}");
        let prefix = Wish::Prefix {
            host: host.to_owned(),
            path: "/%61".to_owned(),
        };
        let everywhere = What::Prefix {
            host: None,
            path: "/a".to_owned(),
        };
        assert_eq!(resolved(vec![prefix]), Ok(vec![everywhere]), "{host}");
    }
    let named = resolved(vec![Wish::Host("a.example".to_owned())]);
    let hosts = ["", "a.example"].map(|host| What::Host(host.to_owned()));
    assert_eq!(
        named,
        Ok(hosts.to_vec()),
        "and where hosts are kept together"
    );
}

#[test]
fn a_url_of_the_cache_itself_means_what_begins_so_on_every_host() {
    for (target, on_every_host) in [
        (
            "/%61?b",
            What::Prefix {
                host: None,
                path: "/a?b".to_owned(),
            },
        ),
        (
            "/",
            What::Pattern(Box::new(
                Pattern::default()
                    .with(On::Target, "^/$")
                    .expect("an expression"),
            )),
        ),
    ] {
        let found = resolved(vec![url("127.0.0.1:8080", target)]).expect("purges");
        assert_eq!(found.len(), 2, "{found:?}");
        assert_eq!(found[0], on_every_host);
        assert!(matches!(found[1], What::Url(_)), "{found:?}");
        let without_host = resolved(vec![url("", target)]);
        assert_eq!(without_host, Ok(vec![on_every_host]));
    }
}

#[test]
fn an_expression_on_hosts_that_are_kept_together_is_everything() {
    let wish = Wish::Matching(Box::new(Matching {
        host: Some("^(a|b)".to_owned()),
        ..Matching::default()
    }));
    assert_eq!(resolved(vec![wish]), Ok(vec![What::Everything]));
}

#[test]
fn one_on_names_is_held_against_them_where_hosts_are_kept_apart() {
    let matching = Matching {
        souin: Some("^GET-https?-a[.]example-/x".to_owned()),
        ..Matching::default()
    };
    let wish = Wish::Matching(Box::new(matching.clone()));
    assert_eq!(resolved(vec![wish]), Ok(vec![What::Everything]));
    let apart = sample::site(sample::policy(sample::key_spec()));
    let pattern = pattern(&apart, &matching).expect("an expression");
    let names = |scheme: &str| format!("GET-{scheme}-a.example-/xy");
    let both = [names("http"), names("https")].join("\n");
    assert!(pattern.matches(|_| &both));
    assert!(!pattern.matches(|_| "GET-http-b.a.example-/x"));
}

#[test]
fn one_bad_wish_spoils_all() {
    let everything = Wish::Everything;
    let bad = Wish::Matching(Box::new(Matching {
        tags: Some("(".to_owned()),
        ..Matching::default()
    }));
    assert!(resolved(vec![everything, bad]).is_err());
}
