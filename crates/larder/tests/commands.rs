//! The commands that need no running cache, as a person types them: what they print, and how they end.

#![allow(
    clippy::unwrap_used,
    reason = "the lint knows tests by their attribute, not the functions they share"
)]

use std::{
    fs,
    io::Write,
    net::TcpListener,
    os::unix::net::UnixListener,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
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
        let said = (code(&output), text(&output.stderr));
        assert_eq!(said, (0, ""), "{}", example.display());
        seen += 1;
    }
    assert!(seen >= 5, "{seen} examples");
}

/// A pipe gives its content once.
#[test]
fn a_configuration_may_come_through_a_pipe() {
    let config = "admin = \"off\"\nlisten = \"127.0.0.1:0\"\n[[origin]]\nservers = \":5001\"\n\
        [defaults]\npreset = \"django\"\n";
    let mut check = Command::new(env!("CARGO_BIN_EXE_larder"));
    check.args(["check", "--explain", "/dev/stdin"]);
    check.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut check = check.spawn().unwrap();
    let mut pipe = check.stdin.take().unwrap();
    pipe.write_all(config.as_bytes()).unwrap();
    drop(pipe);
    let output = check.wait_with_output().unwrap();
    let said = text(&output.stdout);
    assert_eq!(code(&output), 0, "{said}");
    assert!(said.contains("# Without presets"), "{said}");
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
        "bypassed with the cookie session_* or cart",
        "bypassed with the header x-preview",
        "bypassed for the path /admin/* or ~ ^/a[0-9]+$",
        "bypassed with the parameter preview",
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
    let said = text(&output.stderr);
    assert!(
        said.contains("the key in site.key does not belong to the certificate in site.pem"),
        "{said}"
    );
}

/// Said where the two may be the wrong way round.
const TURNED: &str = "its private key in `key`";

/// A folder with a certificate and its key, and both in forms that are not read.
fn forms() -> PathBuf {
    let folder = folder("forms");
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    fs::write(folder.join("site.pem"), made.cert.pem()).unwrap();
    fs::write(folder.join("site.key"), made.signing_key.serialize_pem()).unwrap();
    fs::write(folder.join("site.der"), made.cert.der()).unwrap();
    fs::write(folder.join("key.der"), made.signing_key.serialized_der()).unwrap();
    let pem = |label: &str, base64: &str| {
        format!("-----BEGIN {label}-----\n{base64}\n-----END {label}-----\n")
    };
    let locked = pem("ENCRYPTED PRIVATE KEY", "MAA=");
    fs::write(folder.join("locked.key"), locked).unwrap();
    fs::write(folder.join("odd.key"), pem("PRIVATE KEY", "MAA=")).unwrap();
    folder
}

/// Each kind of file that is no PEM key is told with what makes one of it.
#[test]
fn certificates_and_keys_in_other_forms_are_told_from_each_other() {
    let folder = forms();
    for (certificate, key, said, instead) in [
        (
            "site.der",
            "site.key",
            "site.der is no PEM file: it is DER",
            "openssl x509 -inform der -in site.der",
        ),
        (
            "site.pem",
            "key.der",
            "key.der is no PEM file: it is DER",
            "openssl pkey -inform der -in key.der",
        ),
        (
            "site.pem",
            "locked.key",
            "the key in locked.key is encrypted",
            "openssl pkey -in locked.key",
        ),
        (
            "site.pem",
            "odd.key",
            "the key in odd.key is damaged, or is not one of RSA",
            "one of these kinds",
        ),
        (
            "site.key",
            "site.pem",
            "site.key holds a key and no certificate",
            TURNED,
        ),
        (
            "site.pem",
            "site.pem",
            "site.pem holds a certificate and no key",
            TURNED,
        ),
    ] {
        let config = format!(
            "admin = \"off\"\n\
             listen = [{{ address = \"127.0.0.1:0\", tls = [{{ certificate = \"{certificate}\", key = \"{key}\" }}] }}]\n\
             origin = [{{ servers = \":5001\" }}]\n"
        );
        fs::write(folder.join("larder.toml"), config).unwrap();
        let output = larder(&folder, &["check"]);
        assert_eq!(code(&output), 1, "{certificate} {key}");
        let told = text(&output.stderr)
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ");
        assert!(told.contains(said) && told.contains(instead), "{told}");
    }
}

/// Whatever a route says that is not as usual stands in its explanation, as it was written.
#[test]
fn explain_tells_all_that_holds_on_a_route() {
    let folder = folder("holds");
    let config = r#"
admin = "off"
listen = "127.0.0.1:0"

[[origin]]
servers = ":5001"

[[route]]
name = "shop"
path = "~ /shop/[a-z]+"
header = ["Accept: *json*", "X-Preview"]
cookie = ["lang=de", "~ (dev|test)_.*"]
query = ["page[]", "preview=1"]
redirect_https = true
origin_host = "app.example"
set_cookie = "strip"
browser_ttl = "0s"
largest_body = "1MiB"
client_may_force = false
heuristic = false
esi = true
pass_fields = "X-Forwarded-Host"
key = { scheme = false, host = false, query = ["a", "b_*"], drop = "c", drop_tracking = true, sort = true, headers = "X-Country", cookies = "lang" }
stale = { if_error = "1d", statuses = ["404", "5xx"] }
response_headers = { set = "X-Served-By: larder", remove = "Server" }
request_headers.set = "X-Key: secret"

[[route]]
path = "/off"
cache = false
response_headers.add = "X-Off: 1"

[[route]]
name = "other"
host = "other.example"
path = "/*"
"#;
    fs::write(folder.join("larder.toml"), config).unwrap();
    let output = larder(&folder, &["check", "--explain"]);
    let said = text(&output.stdout);
    assert_eq!(code(&output), 0, "{said}{}", text(&output.stderr));
    for line in [
        "1. shop: path ~ /shop/[a-z]+, header accept: *json* or x-preview, cookie lang=de or ~ (dev|test)_.*, parameter page[] or preview=1",
        "3. other: host other.example, path /*",
        "http requests are redirected to https",
        "the application gets the host app.example",
        "answers that set a cookie are stored without it",
        "browsers get the lifetime 0s",
        "stale for 1day when the origin answers with 404 or 5xx",
        "bodies up to 1.0 MiB are stored",
        "clients may not force a fetch",
        "no lifetime is guessed from Last-Modified",
        "ESI is processed in all HTML and XML",
        "the origin gets x-forwarded-host as clients send it",
        "http and https share what is stored",
        "all hosts share what is stored",
        "only these parameters are in the key: a, b_*",
        "dropped parameters: c, all tracking parameters",
        "the order of parameters does not matter",
        "headers in the key: x-country",
        "cookies in the key: lang",
        "answers are sent with x-served-by: larder",
        "answers are sent without server",
        "requests are sent with x-key as configured",
        "nothing is stored\n   answers are sent with a further x-off: 1",
    ] {
        assert!(said.contains(line), "{line} is missing in {said}");
    }
    assert!(!said.contains("secret") && !said.contains(r"\A"), "{said}");
}

#[test]
fn without_an_application_both_ways_to_name_one_are_told() {
    let folder = folder("nobody");
    let output = larder(&folder, &["serve"]);
    assert_eq!(code(&output), 2);
    let told = text(&output.stderr);
    for way in ["larder serve http://127.0.0.1:5001", "--config larder.toml"] {
        assert!(told.contains(way), "{way}: {told}");
    }
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
    let path = folder.join("taken.sock");
    let _taken = UnixListener::bind(&path).unwrap();
    let config = format!(
        "listen = \"unix:{}\"\nadmin = \"off\"\n[[origin]]\nservers = \":5001\"\n",
        path.display()
    );
    fs::write(folder.join("larder.toml"), config).unwrap();
    let output = larder(&folder, &["check", "larder.toml"]);
    assert_eq!(code(&output), 1);
    let told = text(&output.stderr);
    assert!(told.contains("another process listens on"), "{told}");
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
        (&["serve"], 2, "no origin"),
        (&["serve", "my.toml"], 2, "a file; write --config my.toml"),
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

/// Whatever command reads it: in one line, with what to write instead.
#[test]
fn a_value_is_refused_as_the_configuration_refuses_it() {
    let folder = folder("values");
    for (line, wanted) in [
        ("warm a --every 10", "the duration has no unit; write 10s"),
        (
            "warm a --via ftp://x",
            "the scheme `ftp` is not known; write http://x",
        ),
        (
            "publish --to site --from http://x/shop",
            "the URL of a server has no path: requests keep their own; write http://x",
        ),
        ("publish --to site --from :1 --exclude shop", "write /shop"),
        (
            "publish --to site --from :1 --watch-purges 1",
            "`1` is a port without an address; write 127.0.0.1:1",
        ),
        (
            "simulate a.log --ttl 60",
            "the duration has no unit; write 60s",
        ),
        (
            "simulate a.log --memory 64",
            "the size has no unit; write 64MiB",
        ),
        (
            "simulate a.log --memory 1KiB",
            "the store needs at least 1MiB; for example 512MiB",
        ),
        (
            "bench http://127.0.0.1:1/ --duration 10",
            "the duration has no unit; write 10s",
        ),
        (
            "purge --all --wait=10",
            "the duration has no unit; write 10s",
        ),
    ] {
        let output = larder(&folder, &line.split(' ').collect::<Vec<_>>());
        let told = text(&output.stderr);
        assert_eq!(code(&output), 2, "{line}: {told}");
        let first = told.lines().next().unwrap_or_default();
        assert!(first.ends_with(wanted), "{line}: {told}");
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
