//! What is allowed, but hardly meant.

use super::{ORIGIN, good};
use std::fs;

/// Returns the warnings, one a line.
fn warnings(text: &str) -> String {
    let lines: Vec<_> = good(text).warnings.lines().collect();
    lines.join("\n")
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
