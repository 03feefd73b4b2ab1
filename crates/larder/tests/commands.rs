//! The commands that need no running cache, as a person types them: what they print, and how they end.

#![allow(
    clippy::unwrap_used,
    reason = "the lint knows tests by their attribute, not the functions they share"
)]

use std::{
    fs,
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Command, Output},
};

fn larder(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_larder"))
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap()
}

fn code(output: &Output) -> i32 {
    output.status.code().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// An empty folder of this test's own.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// The file with every port replaced by one that the kernel chooses, so that a test needs no port of its own.
fn without_ports(text: &str) -> String {
    ["127.0.0.1:8080", "127.0.0.1:8443"]
        .iter()
        .fold(text.to_owned(), |text, address| {
            text.replace(address, "127.0.0.1:0")
        })
}

#[test]
fn every_example_is_in_order() {
    let folder = folder("examples");
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    fs::write(folder.join("site.pem"), made.cert.pem()).unwrap();
    fs::write(folder.join("site.key"), made.signing_key.serialize_pem()).unwrap();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut seen = 0;
    for example in fs::read_dir(examples)
        .unwrap()
        .map(|entry| entry.unwrap().path())
    {
        if example
            .extension()
            .is_none_or(|extension| extension != "toml")
        {
            continue;
        }
        let config = fs::read_to_string(&example).unwrap();
        // The folder of a site; any that is there.
        let config = config.replace("\"/srv/site\"", &format!("{folder:?}"));
        let config = format!("admin = \"off\"\n{}", without_ports(&config));
        fs::write(folder.join("larder.toml"), config).unwrap();
        let output = larder(&folder, &["check", "--explain"]);
        assert_eq!(
            code(&output),
            0,
            "{}: {}",
            example.display(),
            text(&output.stderr)
        );
        seen += 1;
    }
    assert!(seen >= 5, "{seen} examples");
}

#[test]
fn explain_names_what_passes_the_store_by() {
    let folder = folder("bypass");
    let config = "admin = \"off\"\nlisten = \"127.0.0.1:0\"\n[[origin]]\nservers = \":5001\"\n[defaults.bypass]\n\
        cookies = [\"session_*\", \"cart\"]\nheaders = \"X-Preview\"\npaths = [\"/admin/*\", \"~ ^/a[0-9]+$\"]\n\
        query = \"preview\"\n";
    fs::write(folder.join("larder.toml"), config).unwrap();
    let output = larder(&folder, &["check", "--explain"]);
    let said = text(&output.stdout);
    assert_eq!(code(&output), 0, "{said}{}", text(&output.stderr));
    for line in [
        "passed by with the cookie session_* or cart",
        "passed by with the header x-preview",
        "passed by for the path /admin/* or ~ ",
        "passed by with the parameter preview",
    ] {
        assert!(said.contains(line), "{line} is missing in {said}");
    }
}

#[test]
fn a_certificate_and_the_key_of_another_are_refused() {
    let folder = folder("keys");
    let make = || rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    fs::write(folder.join("site.pem"), make().cert.pem()).unwrap();
    fs::write(folder.join("site.key"), make().signing_key.serialize_pem()).unwrap();
    let config = "admin = \"off\"\n\
        listen = [{ address = \"127.0.0.1:0\", tls = [{ certificate = \"site.pem\", key = \"site.key\" }] }]\n\
        origin = [{ servers = \":5001\" }]\n";
    fs::write(folder.join("larder.toml"), config).unwrap();
    let output = larder(&folder, &["check"]);
    assert_eq!(code(&output), 1);
    assert!(text(&output.stderr).contains("cannot use site.pem with site.key"));
}

#[test]
fn an_address_in_use_is_told_with_its_line() {
    let folder = folder("in-use");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let config =
        format!("listen = \"{address}\"\nadmin = \"off\"\n[[origin]]\nservers = \":5001\"\n");
    fs::write(folder.join("larder.toml"), config).unwrap();
    let output = larder(&folder, &["check", "larder.toml"]);
    assert_eq!(code(&output), 1);
    let told = text(&output.stderr);
    assert!(
        told.contains(&format!("another process listens on {address}")),
        "{told}"
    );
    assert!(told.contains("larder.toml:1:10"), "{told}");
}

#[test]
fn what_is_wrong_use_and_what_is_refused() {
    let folder = folder("use");
    for (arguments, wanted, told) in [
        (
            &["check", "no-such.toml"][..],
            1,
            "cannot read no-such.toml",
        ),
        (&["serve"], 1, "no origin"),
        (
            &["serve", "ftp://app"],
            2,
            "the scheme `ftp` is not known; write http://app",
        ),
        (
            &["serve", ":1", "--memory", "512"],
            2,
            "the size has no unit; write 512MiB",
        ),
        (
            &["serve", ":1", "--workers", "0"],
            2,
            "0 is not in 1..=1024",
        ),
        (&["serve", ":1", "--listen", "8080"], 2, "write :8080"),
        (&["sreve"], 2, "serve"),
        (&[], 2, "Usage"),
    ] {
        let output = larder(&folder, arguments);
        assert_eq!(code(&output), wanted, "{arguments:?}");
        assert!(
            text(&output.stderr).contains(told),
            "{arguments:?}: {}",
            text(&output.stderr)
        );
    }
}

#[test]
fn the_schema_is_json_and_the_completions_are_made() {
    let folder = folder("schema");
    let output = larder(&folder, &["schema"]);
    assert_eq!(code(&output), 0);
    let schema: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(schema["properties"]["memory"]["$ref"], "#/$defs/Memory");
    assert_eq!(schema["additionalProperties"], false);
    let output = larder(&folder, &["completions", "bash"]);
    assert_eq!(code(&output), 0);
    assert!(text(&output.stdout).contains("_larder"));
}
