//! What is allowed, but hardly meant.

use super::{ORIGIN, good};
use std::fs;

/// Returns the warnings, one a line.
fn warnings(text: &str) -> String {
    let lines: Vec<_> = good(text).warnings.lines().collect();
    lines.join("\n")
}

const OTHERS_READ: &str = "is stored for everybody";
const NO_EFFECT: &str = "no effect on requests with cookies";

#[test]
fn lifetimes_without_a_word_on_cookies() {
    let forced = "[defaults]\nttl = \"1m\"\nttl_mode = \"override\"\n";
    let graphql = "[[route]]\npath = \"/graphql\"\n";
    for (config, told, line) in [
        ("[defaults]\nttl = \"1m\"\n", OTHERS_READ, ":4:"),
        (
            "[[route]]\npath = \"/a/*\"\nttl = \"1m\"\n",
            OTHERS_READ,
            ":5:",
        ),
        (forced, "even if it says `private`", ":4:"),
        // Pages get it too where the application gives none.
        (
            "[defaults]\nttl = \"1m\"\nttl_mode = \"static\"\n",
            OTHERS_READ,
            ":4:",
        ),
        (
            "[defaults]\nttl = { any = \"1m\" }\nset_cookie = \"never\"\n",
            OTHERS_READ,
            ":4:",
        ),
        (
            "[defaults]\nttl = \"1m\"\nbypass.headers = \"Authorization\"\n",
            OTHERS_READ,
            ":4:",
        ),
        // What the defaults say of cookies is replaced, and the lifetime is not.
        (
            "[defaults]\nttl = \"1m\"\nkey.drop_cookies = true\n[[route]]\npath = \"/a/*\"\nkey.sort = true\n",
            "repeat here",
            ":6:",
        ),
        (
            "[defaults]\nbypass.cookies = \"session\"\n[[route]]\npath = \"/a/*\"\nbypass.query = \"preview\"\n",
            "that names a lifetime",
            ":5:",
        ),
        (
            &format!("{graphql}ttl = \"1m\"\n[route.graphql]\n"),
            NO_EFFECT,
            ":5:",
        ),
        (
            &format!(
                "{graphql}bypass.cookies = []\n[[route.graphql.operation]]\nname = \"A\"\nttl = \"1m\"\n"
            ),
            NO_EFFECT,
            ":8:",
        ),
    ] {
        let said = warnings(&format!("{ORIGIN}{config}"));
        assert!(
            said.contains(told) && said.contains(line),
            "{config}: {said}"
        );
        assert!(
            said.contains("nothing here says what cookies mean"),
            "{said}"
        );
        assert_eq!(said.lines().count(), 1, "{config}: {said}");
    }
}

#[test]
fn lifetimes_of_which_nothing_need_be_said() {
    let ttl = "ttl = \"1m\"\n";
    let signed_in = "[[route]]\ncookie = \"session\"\ncache = false\n";
    for config in [
        "[defaults]\nttl = { \"404\" = \"1m\", \"5xx\" = \"1s\" }\n".to_owned(),
        "[defaults]\nttl = \"0s\"\n".to_owned(),
        "[defaults]\nkey.drop_cookies = true\n[[route]]\npath = \"/a/*\"\nkey.sort = true\n"
            .to_owned(),
        format!("[defaults]\n{ttl}bypass.cookies = \"session\"\n"),
        format!("[defaults]\n{ttl}bypass.cookies = []\n"),
        format!("[defaults]\n{ttl}bypass.misses_with = \"csrf\"\n"),
        format!("[defaults]\n{ttl}bypass.headers = \"Cookie\"\n"),
        format!("[defaults]\n{ttl}key.cookies = \"session\"\n"),
        format!("[defaults]\n{ttl}key.drop_cookies = true\n"),
        format!("[defaults]\n{ttl}request_headers.remove = \"Cookie\"\n"),
        format!("[defaults]\n{ttl}user_context = \"/_hash\"\n"),
        format!("[defaults]\n{ttl}refuse = \"403\"\n"),
        format!("{signed_in}[[route]]\n{ttl}"),
        format!("[[route]]\npath = \"/a/*\"\n{ttl}ttl_mode = \"static\"\n"),
        format!("[[route]]\npath = \"/graphql\"\n{ttl}key.drop_cookies = true\n[route.graphql]\n"),
    ] {
        assert_eq!(warnings(&format!("{ORIGIN}{config}")), "", "{config}");
    }
    let folder = format!(
        "[[origin]]\nname = \"files\"\nstatic = \"/tmp\"\n[[route]]\norigin = \"files\"\n{ttl}"
    );
    assert_eq!(warnings(&folder), "", "a folder has no users");
}

#[test]
fn a_route_redirects_to_https_where_nobody_answers() {
    let made = rcgen::generate_simple_self_signed(["site.test".to_owned()]).unwrap();
    let [certificate, key] = ["site.pem", "site.key"].map(|name| testkit::scratch_dir().join(name));
    fs::write(&certificate, made.cert.pem()).unwrap();
    fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    let tls = format!("tls = [{{ certificate = {certificate:?}, key = {key:?} }}]");
    let listen = |port: u16, more: &str| format!("[[listen]]\naddress = \":{port}\"\n{more}\n");
    let route = "[[route]]\npath = \"/a/*\"\nredirect_https = true\n";
    let (nobody, elsewhere) = ("none can come by it", "redirects to port 443");
    for (before, told) in [
        (String::new(), nobody),
        (listen(80, ""), nobody),
        (listen(80, "") + &listen(443, ""), nobody),
        (listen(80, "") + &listen(8443, &tls), elsewhere),
        (listen(80, "") + &listen(443, &tls), ""),
        (
            listen(80, "redirect_https = 8443") + &listen(8443, &tls),
            "",
        ),
        // Clients may come by other ports, which lead to these.
        (listen(8080, "") + &listen(8443, &tls), ""),
        (listen(443, &tls), ""),
        ("trusted = \"192.0.2.1\"\n".to_owned(), ""),
        (listen(80, "proxy_protocol = \"192.0.2.1\""), ""),
        ("listen = \"unix:/run/larder.sock\"\n".to_owned(), ""),
    ] {
        let said = warnings(&format!("{before}{ORIGIN}{route}"));
        assert_eq!(said.is_empty(), told.is_empty(), "{before}: {said}");
        assert!(said.contains(told), "{before}: {said}");
        assert!(said.lines().count() < 2, "{said}");
    }
    let defaults =
        |value: bool| warnings(&format!("{ORIGIN}[defaults]\nredirect_https = {value}\n"));
    assert!(defaults(true).contains(nobody));
    assert_eq!(defaults(false), "");
}

#[test]
fn keys_that_hold_less_than_is_needed_or_more() {
    let graphql = "[[route]]\npath = \"/graphql\"\n";
    let end = "[route.graphql]\n";
    let (query, extensions) = ("without their `query`", "without their `extensions`");
    for (key, told) in [
        ("key.query = \"none\"\n", query),
        (
            "key.query = [\"query\", \"operationName\", \"variables\"]\n",
            extensions,
        ),
        ("key.query_except = [\"utm_*\", \"ext*\"]\n", extensions),
        ("key.drop = \"query\"\n", query),
        (
            "key.query = [\"query\", \"operationName\", \"variables\", \"extensions\"]\n",
            "",
        ),
        ("key.query_except = \"utm_*\"\n", ""),
        ("key.drop_tracking = true\n", ""),
    ] {
        let said = warnings(&format!("{ORIGIN}{graphql}{key}{end}"));
        assert!(
            said.contains(told) && said.is_empty() == told.is_empty(),
            "{key}: {said}"
        );
        let elsewhere = warnings(&format!("{ORIGIN}{graphql}{key}"));
        assert_eq!(elsewhere, "", "{key}: it is no GraphQL");
    }
    let coded = "[defaults]\nkey.headers = [\"Accept-Language\", \"Accept-Encoding\"]\n";
    let said = warnings(&format!("{ORIGIN}{coded}"));
    assert!(
        said.contains("`Accept-Encoding`") && said.lines().count() == 1,
        "{said}"
    );
    assert_eq!(warnings(&format!("{ORIGIN}{coded}compress = false\n")), "");
}
