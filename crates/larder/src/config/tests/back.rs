//! Addresses that lead back to Larder itself.

use super::{ORIGIN, parse, read};
use crate::config::Flags;

/// What is said of a configuration.
#[derive(Debug, PartialEq, Eq)]
enum Said {
    Nothing,
    Warning,
    Fault,
}

/// Returns what is said, and asserts that it is about this.
fn said(text: &str, about: &str) -> Said {
    let (said, list) = match read(text) {
        Ok(config) if config.warnings.list().is_empty() => return Said::Nothing,
        Ok(config) => (Said::Warning, config.warnings),
        Err(faults) => (Said::Fault, faults),
    };
    let [fault] = list.list() else {
        panic!("{list:?}");
    };
    assert!(fault.what.contains(about), "{fault:?}");
    assert!(fault.span.is_some() && fault.instead.is_some(), "{fault:?}");
    said
}

#[test]
fn an_origin_is_not_a_listener() {
    for (listen, server, wanted) in [
        (":8080", "http://127.0.0.1:8080", Said::Fault),
        (":8080", "http://127.0.0.2:8080", Said::Fault),
        (":8080", "https://0.0.0.0:8080", Said::Fault),
        ("127.0.0.1:8080", ":8080", Said::Fault),
        ("127.0.0.1:8080", "http://0.0.0.0:8080", Said::Fault),
        ("127.0.0.1:80", "http://127.0.0.1", Said::Fault),
        ("[::]:8080", "http://[::1]:8080", Said::Fault),
        ("[::]:8080", "http://[::]:8080", Said::Fault),
        ("192.0.2.1:8080", "http://192.0.2.1:8080", Said::Fault),
        (
            "127.0.0.1:8080",
            "http://[::ffff:127.0.0.1]:8080",
            Said::Fault,
        ),
        ("unix:/run/a.sock", "unix:/run/a.sock", Said::Fault),
        // The application may have the other address of this name.
        ("127.0.0.1:8080", "http://localhost:8080", Said::Warning),
        ("[::1]:8080", "http://localhost:8080", Said::Warning),
        (
            "127.0.0.1:8080\", \"[::1]:8080",
            "localhost:8080",
            Said::Fault,
        ),
        (":8080", "http://127.0.0.1:8081", Said::Nothing),
        (":0", "http://127.0.0.1:8080", Said::Nothing),
        ("127.0.0.1:8080", "http://127.0.0.2:8080", Said::Nothing),
        ("0.0.0.0:8080", "http://[::1]:8080", Said::Nothing),
        // It may be the address of another machine.
        (":8080", "http://192.0.2.1:8080", Said::Nothing),
        (":8080", "http://app:8080", Said::Nothing),
        ("unix:/run/a.sock", "unix:/run/b.sock", Said::Nothing),
    ] {
        let text = format!("listen = [\"{listen}\"]\n[[origin]]\nservers = \"{server}\"\n");
        assert_eq!(said(&text, "where Larder itself listens"), wanted, "{text}");
    }
    let scripts = "listen = \"127.0.0.1:9000\"\n[[origin]]\nfastcgi = \"tcp://127.0.0.1:9000\"\nroot = \"/tmp\"\n";
    assert_eq!(said(scripts, "it would ask itself"), Said::Fault);
}

/// What comes back may be for another route, with another origin.
#[test]
fn one_of_several_origins_may_be_a_listener() {
    let text = format!(
        "{ORIGIN}name = \"app\"\n[[origin]]\nname = \"back\"\nservers = \":8080\"\n\
         [[route]]\nclient = \"127.0.0.1\"\norigin = \"app\"\n[defaults]\norigin = \"back\"\n"
    );
    assert_eq!(said(&text, "it would ask itself"), Said::Warning);
}

#[test]
fn the_origin_of_the_command_line_is_not_a_listener() {
    let flags = Flags {
        origin: Some(":8080".parse().unwrap()),
        ..Flags::default()
    };
    let faults = parse("", "the command line", &flags).unwrap_err();
    let told = faults.render(false);
    assert!(
        told.contains("127.0.0.1:8080 is where Larder itself listens"),
        "{told}"
    );
    // The socket is somewhere else.
    parse("", "the command line", &Flags { handed: 1, ..flags }).unwrap();
}

#[test]
fn a_redirect_does_not_lead_to_a_listener_without_tls() {
    let redirect =
        |from: u32, to: u32| format!("{{ address = \":{from}\", redirect_https = {to} }}");
    let both = format!("{}, {}", redirect(80, 81), redirect(81, 443));
    let proxied = "{ address = \":443\", proxy_protocol = \"192.0.2.1\" }";
    for (listen, wanted) in [
        (redirect(80, 80), Said::Fault),
        (both, Said::Fault),
        (format!("{}, \":443\"", redirect(80, 443)), Said::Warning),
        (format!("{}, {proxied}", redirect(80, 443)), Said::Nothing),
        (redirect(80, 443), Said::Nothing),
    ] {
        let text = format!("listen = [{listen}]\n{ORIGIN}");
        assert_eq!(said(&text, "has no `tls`"), wanted, "{text}");
    }
    let listen = format!("listen = [{}, \":443\"]\n", redirect(80, 443));
    let text = format!("{listen}trusted = \"192.0.2.1\"\n{ORIGIN}");
    assert_eq!(said(&text, ""), Said::Nothing, "a proxy speaks TLS");
}
