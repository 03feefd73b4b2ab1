//! What `larder check` says of the table of an origin, and what `larder serve` makes of it beside a server on the
//! command line.

use crate::common::{command, faults};
use std::fs;
use testkit::{Origin, Reply, scratch_dir};

const SERVERS: &str = "servers = \"http://127.0.0.1:5001\"\n";
const SCRIPTS: &str = "fastcgi = \"tcp://127.0.0.1:9000\"\nroot = \"/tmp\"\n";
const FOLDER: &str = "static = \"/tmp\"\n";
const PAGES: &str = "memcached = \"127.0.0.1:11211\"\nkey = \"$uri\"\n";

/// What is said, and the same table once that has been followed. Then it is in order.
#[test]
fn what_is_proposed_for_an_origin_of_two_kinds_is_accepted() {
    let key = "key = \"$scheme:$host$uri\"\n";
    let rows: [(String, &[&str], String); 13] = [
        (
            format!("{FOLDER}format = \"headers\"\n"),
            &["`format` is for page stores", "leave `format` out"],
            FOLDER.to_owned(),
        ),
        (
            format!("{SERVERS}content_type = \"text/plain\"\nroot = \"/tmp\"\n"),
            &["leave `content_type` out", "leave `root` out"],
            SERVERS.to_owned(),
        ),
        (
            format!("{SCRIPTS}{key}"),
            &["no effect on FastCGI servers", "leave `key` out"],
            SCRIPTS.to_owned(),
        ),
        (
            "root = \"/tmp\"\nformat = \"headers\"\n".to_owned(),
            &[
                "add `fastcgi = \"unix:/run/php/php-fpm.sock\"`",
                "leave `format` out",
            ],
            "root = \"/tmp\"\nfastcgi = \"unix:/run/php/php-fpm.sock\"\n".to_owned(),
        ),
        (
            "root = \"/tmp\"\n".to_owned(),
            &["write `static` in place of `root`"],
            FOLDER.to_owned(),
        ),
        (
            "index = \"index.php\"\nfront = \"off\"\n".to_owned(),
            &[
                "`index` and `front` are for scripts",
                "add `fastcgi = \"unix:/run/php/php-fpm.sock\"`",
                "add `root = \"/srv/site\"`",
            ],
            format!("{SCRIPTS}index = \"index.php\"\nfront = \"off\"\n"),
        ),
        (
            "format = \"headers\"\n".to_owned(),
            &[
                "add `memcached = \"127.0.0.1:11211\"`",
                "add `key = \"$scheme:$host$uri\"`",
            ],
            format!("format = \"headers\"\nmemcached = \"127.0.0.1:11211\"\n{key}"),
        ),
        (
            format!("{PAGES}{SERVERS}"),
            &[
                "an origin has `memcached` or `servers`, not both",
                "called `memcached` and `app`",
                "`try = [\"memcached\", \"app\"]`",
            ],
            several(&[("memcached", PAGES), ("app", SERVERS)]),
        ),
        (
            format!("name = \"shop\"\n{FOLDER}{SCRIPTS}"),
            &["`try = [\"static\", \"shop\"]`"],
            several(&[("static", FOLDER), ("shop", SCRIPTS)]),
        ),
        (
            format!("name = \"static\"\n{FOLDER}{SERVERS}"),
            &["`try = [\"static\", \"app\"]`"],
            several(&[("static", FOLDER), ("app", SERVERS)]),
        ),
        (
            format!("{FOLDER}{PAGES}"),
            &["`try = [\"static\", \"memcached\"]`"],
            several(&[("static", FOLDER), ("memcached", PAGES)]),
        ),
        (
            format!("{FOLDER}{PAGES}{SERVERS}retry.attempts = 1\n"),
            &["`try = [\"static\", \"memcached\", \"app\"]`"],
            several(&[
                ("static", FOLDER),
                ("memcached", PAGES),
                ("app", &format!("{SERVERS}retry.attempts = 1\n")),
            ]),
        ),
        (
            format!("{SERVERS}{SCRIPTS}"),
            &["under `[defaults]` or in a route which one answers: `origin = …`"],
            format!(
                "name = \"a\"\n{SERVERS}[[origin]]\nname = \"b\"\n{SCRIPTS}[defaults]\norigin = \"a\"\n"
            ),
        ),
    ];
    for (written, said, followed) in rows {
        let told = faults(&format!("[[origin]]\n{written}"));
        let plain = told.replace("\n  │ ", " ").replace("\n        ", " ");
        for said in said {
            assert!(plain.contains(said), "{said}: {told}");
        }
        let proposals = told.matches("help: ").count();
        let counted = said.iter().filter(|said| said.contains('`')).count();
        assert!(proposals <= counted, "{told}");
        assert_eq!(faults(&format!("[[origin]]\n{followed}")), "", "{written}");
    }
}

/// Several origins in turn, as they stand behind `[[origin]]`.
fn several(origins: &[(&str, &str)]) -> String {
    let tables = origins
        .iter()
        .map(|(name, table)| format!("name = {name:?}\n{table}"));
    let tables: Vec<String> = tables.collect();
    let names: Vec<&str> = origins.iter().map(|(name, _)| *name).collect();
    format!(
        "{}[defaults]\ntry = {names:?}\n",
        tables.join("[[origin]]\n")
    )
}

/// Each key by itself, at its own place.
#[test]
fn keys_without_effect_are_told_where_they_stand() {
    let of_servers = [
        "balance = \"consistent-hash\"",
        "protocol = \"http2\"",
        "tls = {}",
        "idle_connections = 7",
        "idle_time = \"7s\"",
        "retry = {}",
        "passive = {}",
        "health = {}",
        "slow_start = \"7s\"",
        "header_size = \"7KiB\"",
        "resolve_every = \"7s\"",
        "timeouts.connect = \"7s\"",
        "timeouts.first_byte = \"7s\"",
        "timeouts.between_bytes = \"7s\"",
    ];
    let of_pages = [
        "key = \"$uri\"",
        "format = \"flask\"",
        "content_type = \"a/b\"",
    ];
    let of_scripts = [
        "root = \"/tmp\"",
        "index = \"a.php\"",
        "front = \"off\"",
        "script = \"*.php\"",
        "no_script = \"/a/*\"",
        "no_file = \"/a/*\"",
        "params = \"A=b\"",
    ];
    let whole = ["timeouts.whole = \"7s\""];
    let http = ["protocol = \"http2\"", "tls = {}"];
    for (kind, keys) in [
        (FOLDER, [&of_servers[..], &of_pages, &of_scripts, &whole]),
        (PAGES, [&of_servers[..], &of_scripts, &[], &[]]),
        (SERVERS, [&of_pages[..], &of_scripts, &[], &[]]),
        (SCRIPTS, [&of_pages[..], &http, &[], &[]]),
    ] {
        for line in keys.into_iter().flatten() {
            let told = faults(&format!("[[origin]]\n{line}\n{kind}"));
            let (key, _) = line.split_once(" = ").expect("a key");
            let own = key.rsplit('.').next().unwrap_or(key);
            let place = "larder.toml:4:";
            assert!(
                told.contains(place) && told.contains(&format!("leave `{own}` out")),
                "{kind}{line}: {told}"
            );
            assert!(told.contains("1 fault in"), "{kind}{line}: {told}");
        }
    }
}

/// The server of the command line answers in place of what the file says, which is told in one line.
#[test]
fn what_the_server_of_the_command_line_replaces_is_told() {
    let server = Origin::start();
    server.otherwise(|_| Reply::ok().body("the server"));
    let file = scratch_dir().join("larder.toml");
    for (table, said) in [
        (
            format!("{SCRIPTS}no_file = \"/private/*\"\n"),
            "the server of the command line answers: `fastcgi`, `root` and `no_file` have no effect",
        ),
        (
            "index = \"index.htm\"\n".to_owned(),
            "the server of the command line answers: `index` has no effect",
        ),
        (
            FOLDER.to_owned(),
            "the server of the command line answers: `static` has no effect",
        ),
        (
            format!("{PAGES}format = \"headers\"\n"),
            "the server of the command line answers: `memcached`, `key` and `format` have no effect",
        ),
        (
            "servers = \"https://127.0.0.1:1\"\ntls.insecure = true\n".to_owned(),
            "the server of the command line has no `https`: `tls` has no effect",
        ),
        (format!("{SERVERS}timeouts.whole = \"9s\"\n"), ""),
    ] {
        let text = format!("admin = \"off\"\nlisten = \"127.0.0.1:0\"\n[[origin]]\n{table}");
        fs::write(&file, text).expect("a file");
        let serve = command()
            .args(["serve", "--config"])
            .args([file.as_os_str()]);
        let larder = serve.args([server.url()]).start();
        assert_eq!(larder.get("/").send().text(), "the server", "{table}");
        let told = larder.stop().stderr;
        let lines = told.lines().filter(|line| line.contains("no effect"));
        let lines: Vec<&str> = lines.collect();
        match lines.as_slice() {
            [] => assert_eq!(said, "", "{table}{told}"),
            [line] => assert!(!said.is_empty() && line.contains(said), "{told}"),
            _ => panic!("{told}"),
        }
    }
}

/// What a listener of the file has is not had by the address of the command line.
#[test]
fn what_the_address_of_the_command_line_replaces_is_told() {
    let server = Origin::start();
    let file = scratch_dir().join("larder.toml");
    let socket = scratch_dir().join("socket");
    for (listen, said) in [
        (
            format!(
                "[{{ address = \"unix:{}\", mode = \"660\", redirect_https = 443 }}]",
                socket.display()
            ),
            "the command line says where to listen: `redirect_https` and `mode` have no effect",
        ),
        (
            "[{ address = \":443\", tls = [{ certificate = \"a.pem\", key = \"a.key\" }] }]"
                .to_owned(),
            "the command line says where to listen: `tls` has no effect",
        ),
        ("\":443\"".to_owned(), ""),
    ] {
        let text = format!("admin = \"off\"\nlisten = {listen}\n");
        fs::write(&file, text).expect("a file");
        let serve = command().args(["serve", "--listen", "127.0.0.1:0", "--config"]);
        let larder = serve.args([file.as_os_str()]).args([server.url()]).start();
        let told = larder.stop().stderr;
        assert_eq!(told.contains("no effect"), !said.is_empty(), "{told}");
        assert!(told.contains(said), "{told}");
    }
}
