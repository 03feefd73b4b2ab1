//! Pages that real applications keep: Flask-Caching in Redis, pymemcache in memcached (`.ci/tools` installs both from
//! `PyPI`).

use crate::{common::start_with, page_store::PATIENT};
use testkit::{Memcached, Redis, Reply};

/// Runs a script of Python, to its end.
fn python(script: &str) {
    let python = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../target/python/bin/python"
    );
    let done = std::process::Command::new(python)
        .args(["-W", "ignore", "-c", script])
        .output();
    let done = done.unwrap_or_else(|error| panic!("{python}: {error}; run .ci/tools"));
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success() && said.is_empty(), "{said}");
}

#[test]
fn what_flask_caching_keeps_of_views_is_answered() {
    let server = Redis::start();
    python(&format!(
        r#"
from flask import Flask, Response
from flask_caching import Cache
app = Flask(__name__)
cache = Cache(app, config={{"CACHE_TYPE": "RedisCache", "CACHE_REDIS_URL": "{}", "CACHE_DEFAULT_TIMEOUT": 600}})
views = {{
    "/": lambda: "<h1>home</h1>",
    "/café": lambda: "<h1>é</h1>" * 500,
    "/bytes": lambda: b"bytes",
    "/response": lambda: Response("response", mimetype="text/plain"),
    "/tuple": lambda: ("tuple", 201),
}}
for number, (path, view) in enumerate(views.items()):
    app.add_url_rule(path, str(number), cache.cached()(view))
client = app.test_client()
for path in views:
    assert client.get(path).status_code < 300
cache.set("view//number", 42)
cache.set("view//list", ["a"])
"#,
        server.url()
    ));
    assert!(
        server.keys().contains(&"flask_cache_view//".to_owned()),
        "{:?}",
        server.keys()
    );
    let config = format!(
        "[[origin]]\nname = \"pages\"\nredis = \"{}\"\nkey = \"flask_cache_view/$uri\"\nformat = \"flask\"\n{PATIENT}\n\
         [[origin]]\nname = \"app\"\nservers = \"{{origin}}\"\n[defaults]\ntry = [\"pages\", \"app\"]",
        server.url()
    );
    let (origin, larder) = start_with(&config);
    origin.otherwise(|_| Reply::ok().body("app"));
    for (target, page) in [
        ("/", "<h1>home</h1>".to_owned()),
        ("/caf%C3%A9", "<h1>é</h1>".repeat(500)),
        ("/bytes", "bytes".to_owned()),
        // Objects are not built from what somebody wrote into a store.
        ("/response", "app".to_owned()),
        ("/tuple", "app".to_owned()),
        ("/number", "app".to_owned()),
        ("/list", "app".to_owned()),
        // Its key says nothing of the query: whether it counts, the application knows.
        ("/?page=2", "app".to_owned()),
    ] {
        assert_eq!(larder.get(target).send().text(), page, "{target}");
    }
    let home = larder.get("/").send();
    assert_eq!(
        home.header("content-type"),
        Some("text/html; charset=utf-8")
    );
}

#[test]
fn what_pymemcache_puts_there_is_answered() {
    let server = Memcached::start();
    let (host, port) = {
        let address = server.address();
        let (host, port) = address.split_once(':').expect("a port");
        (host.to_owned(), port.to_owned())
    };
    python(&format!(
        r#"
from pymemcache.client.base import Client
from pymemcache import serde
client = Client(("{host}", {port}))
client.set("http:shop.example/plain", "<h1>plain</h1>", expire=600)
client.set("http:shop.example/bytes", b"\x00\xff", expire=600)
objects = Client(("{host}", {port}), serde=serde.pickle_serde)
objects.set("http:shop.example/text", "text", expire=600)
objects.set("http:shop.example/object", ["a list"], expire=600)
client.quit(); objects.quit()
"#
    ));
    let config = format!(
        "[[origin]]\nname = \"pages\"\nmemcached = \"{}\"\nkey = \"$scheme:$host$uri\"\n{PATIENT}\n\
         [[origin]]\nname = \"app\"\nservers = \"{{origin}}\"\n[defaults]\ntry = [\"pages\", \"app\"]",
        server.address()
    );
    let (origin, larder) = start_with(&config);
    origin.otherwise(|_| Reply::ok().body("app"));
    for (target, page) in [
        ("/plain", b"<h1>plain</h1>".as_slice()),
        ("/bytes", b"\x00\xff"),
        ("/text", b"text"),
        ("/object", b"app"),
    ] {
        let answer = larder.get(target).header("Host", "shop.example").send();
        assert_eq!(answer.body, page, "{target}");
    }
}
