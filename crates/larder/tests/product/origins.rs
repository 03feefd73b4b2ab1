//! Which origin answers, and what it is told.

use super::routes::site;
use crate::common::{Said, counted, sample, start_with};
use testkit::{Command, Origin, Reply, wait_until};

#[test]
fn routes_are_tried_in_order_and_choose_the_origin() {
    let (shop, blog) = (Origin::start(), Origin::start());
    shop.otherwise(|_| Reply::ok().body("shop"));
    blog.otherwise(|_| Reply::ok().body("blog"));
    let config = format!(
        "[[origin]]\nname = \"shop\"\nservers = \"{}\"\n[[origin]]\nname = \"blog\"\nservers = [\"{}\"]\n\
         [[route]]\npath = \"/blog/shop/*\"\norigin = \"shop\"\n[[route]]\npath = \"/blog/*\"\norigin = \"blog\"\n\
         [[route]]\norigin = \"shop\"\n",
        shop.url(),
        blog.url()
    );
    let larder = Command::serve(env!("CARGO_BIN_EXE_larder"))
        .config(&config)
        .start();
    for (path, from) in [
        ("/", "shop"),
        ("/blog/", "blog"),
        ("/blog/a", "blog"),
        ("/blog/shop/a", "shop"),
        ("/blogs", "shop"),
    ] {
        assert_eq!(larder.get(path).send().text(), from, "{path}");
    }
}

#[test]
fn headers_are_edited_both_ways() {
    let (origin, larder) = site(
        &[
            ("Cache-Control", "max-age=60"),
            ("Server", "app"),
            ("X-Powered-By", "app"),
        ],
        "[defaults.request_headers]\nset = \"X-Set: ours\"\nadd = \"X-Add: ours\"\nremove = \"X-Drop\"\n\
         [defaults.response_headers]\nset = \"X-Frame-Options: DENY\"\nadd = [\"X-Add: one\", \"X-Add: two\"]\nremove = [\"X-Powered-By\", \"Server\"]\n",
    );
    for expected in [false, true] {
        let answer = larder
            .get("/")
            .header("X-Set", "theirs")
            .header("X-Add", "theirs")
            .header("X-Drop", "1")
            .send();
        assert_eq!(answer.hit(), expected);
        assert_eq!(answer.headers("x-frame-options"), ["DENY"]);
        assert_eq!(answer.headers("x-add"), ["one", "two"]);
        assert_eq!(
            (answer.header("server"), answer.header("x-powered-by")),
            (None, None)
        );
    }
    let asked = origin.last("/");
    assert_eq!(asked.headers("x-set"), ["ours"]);
    assert_eq!(asked.headers("x-add"), ["theirs", "ours"]);
    assert_eq!(asked.header("x-drop"), None);
}

#[test]
fn a_trusted_proxy_in_front_is_believed() {
    let (origin, larder) =
        start_with("trusted = \"127.0.0.0/8\"\n[[origin]]\nservers = \"{origin}\"\n");
    origin.otherwise(|request| counted(request).cache("no-store"));
    larder
        .get("/")
        .header("X-Forwarded-For", "192.0.2.7")
        .header("X-Forwarded-Proto", "https")
        .send();
    let asked = origin.last("/");
    assert_eq!(
        asked.headers("x-forwarded-for").join(", "),
        "192.0.2.7, 127.0.0.1"
    );
    assert_eq!(asked.header("x-forwarded-proto"), Some("https"));
}

#[test]
fn the_origin_may_be_given_a_host_of_its_own() {
    let (origin, larder) = site(
        &[("Cache-Control", "max-age=60")],
        "[defaults]\norigin_host = \"app.internal\"\n",
    );
    larder.get("/").header("Host", "shop.test").send();
    assert_eq!(origin.last("/").headers("host"), ["app.internal"]);
    assert!(
        !larder.get("/").header("Host", "other.test").send().hit(),
        "the key is the client's host"
    );
}

#[test]
fn several_servers_take_turns_and_one_that_is_down_is_left_out() {
    let servers: Vec<Origin> = (0..3).map(|_| Origin::start()).collect();
    for (number, server) in servers.iter().enumerate() {
        server.otherwise(move |_| Reply::ok().cache("no-store").body(number.to_string()));
    }
    let urls: Vec<String> = servers
        .iter()
        .map(|server| format!("{:?}", server.url()))
        .collect();
    let config = format!("workers = 1\n[[origin]]\nservers = [{}]\n", urls.join(", "));
    let larder = Command::serve(env!("CARGO_BIN_EXE_larder"))
        .config(&config)
        .start();
    let ask = || larder.get("/").send().text();
    let mut seen: Vec<String> = (0..9).map(|_| ask()).collect();
    seen.sort();
    assert_eq!(seen.concat(), "000111222", "round robin");
    servers[1].stop();
    let seen: Vec<String> = (0..12).map(|_| ask()).collect();
    assert!(
        !seen.concat().contains('1') && seen.iter().all(|text| text == "0" || text == "2"),
        "{seen:?}"
    );
}

#[test]
fn a_server_whose_check_fails_is_left_out_until_it_is_well() {
    let (servers, larder) = two_servers(
        "health = { path = \"/health\", every = \"100ms\", timeout = \"1m\", healthy_after = 1, unhealthy_after = 1 }",
    );
    let ask = || larder.get("/").send().text();
    servers[0].reply("/health", Reply::status(503).body("sick"));
    let named = format!(
        "larder_server_healthy{{origin=\"origin\",server=\"{}\"}}",
        servers[0].url().trim_start_matches("http://")
    );
    wait_until("the sick one is left out", || sample(&larder, &named) == 0);
    for _ in 0..6 {
        assert_eq!(ask(), "1", "it answers, but its check says that it is sick");
    }
    servers[0].reply("/health", Reply::ok().body("well"));
    wait_until("it is asked again", || ask() == "0");
}

#[test]
fn an_origin_on_a_unix_socket_works() {
    let path = testkit::scratch_dir().join("app.sock");
    let origin = Origin::start_unix(&path);
    origin.otherwise(|request| counted(request).cache("max-age=60"));
    let config = format!("[[origin]]\nservers = \"unix:{}\"\n", path.display());
    let larder = Command::serve(env!("CARGO_BIN_EXE_larder"))
        .config(&config)
        .start();
    assert_eq!(larder.get("/").send().text(), "1");
    assert!(larder.get("/").send().hit());
    assert_eq!(origin.last("/").header("host"), Some("example.test"));
}

/// A larder before two servers that say their number, with these lines in the origin's table.
pub(crate) fn two_servers(lines: &str) -> ([Origin; 2], testkit::Larder) {
    let servers = [Origin::start(), Origin::start()];
    for (number, server) in servers.iter().enumerate() {
        server.otherwise(move |_| Reply::ok().cache("no-store").body(number.to_string()));
    }
    let config = format!(
        "workers = 1\n[[origin]]\nservers = [{:?}, {:?}]\n{lines}\n",
        servers[0].url(),
        servers[1].url()
    );
    let larder = Command::serve(env!("CARGO_BIN_EXE_larder"))
        .config(&config)
        .start();
    (servers, larder)
}

#[test]
fn a_url_stays_with_its_server_where_that_is_asked_for() {
    let (_servers, larder) = two_servers("balance = \"consistent-hash\"");
    let mut seen = std::collections::BTreeSet::new();
    for number in 0..20 {
        let path = format!("/{number}");
        let first = larder.get(&path).send().text();
        for _ in 0..2 {
            assert_eq!(larder.get(&path).send().text(), first, "{path}");
        }
        seen.insert(first);
    }
    assert_eq!(seen.len(), 2, "both have their URLs");
}

#[test]
fn the_server_with_the_fewest_fetches_is_asked_where_that_is_asked_for() {
    let (servers, larder) = two_servers("balance = \"least-connections\"");
    let gate = testkit::Gate::new();
    for (number, server) in servers.iter().enumerate() {
        let reply = Reply::ok().cache("no-store").hold_head(&gate);
        server.reply("/slow", reply.body(number.to_string()));
    }
    let mut slow = larder.get("/slow").begin();
    gate.wait_reached();
    let busy = usize::from(servers[1].requests("/slow") == 1);
    for _ in 0..5 {
        let text = larder.get("/").send().text();
        assert_eq!(text, (1 - busy).to_string(), "the other one is idle");
    }
    gate.open();
    assert_eq!(slow.read().text(), busy.to_string());
}

#[test]
fn a_websocket_counts_as_a_fetch_for_as_long_as_it_is_open() {
    let (servers, larder) = two_servers("balance = \"least-connections\"");
    for server in &servers {
        server.reply("/chat", Reply::upgrade("websocket"));
    }
    let mut chat = larder.client();
    chat.get("/chat")
        .header("Connection", "Upgrade")
        .header("Upgrade", "websocket")
        .begin();
    assert_eq!(chat.read_head().status, 101);
    let busy = usize::from(servers[1].requests("/chat") == 1);
    for _ in 0..4 {
        assert_eq!(larder.get("/").send().text(), (1 - busy).to_string());
    }
    chat.end();
    assert_eq!(chat.read_to_end(), b"");
    testkit::wait_until("both have their turns", || {
        larder.get("/").send().text() == busy.to_string()
    });
}

#[test]
fn a_fetch_that_broke_is_tried_on_another_server_where_that_is_safe() {
    let (servers, larder) = two_servers("balance = \"consistent-hash\"");
    for server in &servers {
        server.on("/", |request| match request.nth {
            1 => Reply::close(),
            _ => Reply::ok().cache("no-store").body("well"),
        });
    }
    // The first attempt breaks, and so does the only further one that is allowed: nothing is tried for ever.
    assert_eq!(larder.get("/").send().status, 502);
    assert_eq!(
        servers[0].requests("/") + servers[1].requests("/"),
        2,
        "one further attempt, on the other server"
    );
    assert_eq!(larder.get("/").send().text(), "well");
}
