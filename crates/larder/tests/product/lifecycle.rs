//! Starting, reloading, stopping.

use crate::common::{
    Said, command, command_of_anybody, counted, reload_as, serve, start, start_with,
};
use std::{
    net::TcpListener,
    os::{
        linux::net::SocketAddrExt,
        unix::{
            fs::PermissionsExt,
            net::{SocketAddr, UnixDatagram, UnixStream},
        },
    },
    path::Path,
};
use testkit::{Address, Client, Command, Gate, Larder, Origin, Reply, scratch_dir, wait_until};

#[test]
fn sigterm_lets_requests_under_way_finish() {
    let (origin, larder) = start();
    let gate = Gate::new();
    origin.reply(
        "/",
        Reply::ok()
            .cache("no-store")
            .body("first ")
            .hold(&gate)
            .body("second"),
    );
    origin.reply("/quick", Reply::ok().body("x"));
    let mut client = larder.get("/").begin();
    let mut idle = larder.client();
    assert_eq!(idle.get("/quick").send().text(), "x");
    gate.wait_reached();
    larder.terminate();
    assert_eq!(idle.read_to_end(), b"", "idle connections are closed");
    gate.open();
    let answer = client.read();
    assert!(answer.complete && answer.text() == "first second");
    let mut larder = larder;
    let finished = larder.wait();
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
}

/// The worker that fetches may have nobody to answer any more.
#[test]
fn sigterm_lets_those_finish_who_read_what_another_worker_fetches() {
    // Which worker takes a connection is the kernel's choice.
    for round in 0..12 {
        let (origin, larder) = start_with("workers = 2\n[[origin]]\nservers = \"{origin}\"\n");
        let gate = Gate::new();
        let reply = Reply::ok().cache("max-age=60").length(12).body("first ");
        origin.reply("/", reply.hold(&gate).body("second"));
        assert_eq!(larder.ask("HEAD", "/").send().status, 200);
        gate.wait_reached();
        let mut follower = larder.get("/").begin();
        follower.read_head();
        larder.terminate();
        larder.wait_output("stopping");
        gate.open();
        let answer = follower.read_to_end();
        assert_eq!(String::from_utf8_lossy(&answer), "first second", "{round}");
    }
}

#[test]
fn sigterm_stops_accepting_at_once() {
    let (origin, larder) = start();
    let gate = Gate::new();
    origin.reply("/", Reply::ok().hold_head(&gate).body("x"));
    let mut client = larder.get("/").begin();
    gate.wait_reached();
    let Address::Tcp(address) = larder.address() else {
        panic!("a TCP address")
    };
    larder.terminate();
    wait_until("new connections are refused", || {
        std::net::TcpStream::connect(address).is_err()
    });
    gate.open();
    assert_eq!(client.read().text(), "x");
}

#[test]
fn a_stop_is_bounded() {
    let (origin, larder) =
        start_with("[limits]\ndrain_time = \"50ms\"\n[[origin]]\nservers = \"{origin}\"\n");
    origin.reply("/", Reply::ok().hang());
    let _client = larder.get("/").begin();
    origin.wait_requests("/", 1);
    let finished = larder.stop();
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
}

#[test]
fn a_second_signal_ends_what_is_under_way() {
    let (origin, larder) =
        start_with("[limits]\ndrain_time = \"1h\"\n[[origin]]\nservers = \"{origin}\"\n");
    let gate = Gate::new();
    let events = Reply::ok().cache("no-store").chunked().body("one\n");
    origin.reply("/events", events.hold(&gate).body("two\n"));
    let mut client = larder.get("/events").begin();
    client.read_head();
    larder.terminate();
    larder
        .wait_output("stopping; a second signal (Ctrl-C again) ends requests in progress at once");
    larder.terminate();
    let mut larder = larder;
    let finished = larder.wait();
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let said = finished.stderr.matches("second signal to stop").count();
    assert_eq!(said, 1, "{}", finished.stderr);
}

#[test]
fn a_stop_with_nothing_to_do_is_quick_and_quiet() {
    let (_origin, larder) = start();
    let finished = larder.stop();
    assert_eq!(finished.code, Some(0));
    assert!(
        !finished.stderr.contains("panicked") && !finished.stderr.to_lowercase().contains("error"),
        "{}",
        finished.stderr
    );
}

#[test]
fn a_reload_brings_the_new_configuration_and_keeps_the_rest() {
    let base = "[[origin]]\nservers = \"{origin}\"\n";
    let (origin, larder) = start_with(base);
    origin.otherwise(|request| counted(request).cache("max-age=60"));
    let mut kept = larder.client();
    assert_eq!(kept.get("/").send().text(), "1");
    reload_as(&larder, &base.replace("{origin}", &origin.url()), "2");
    let answer = kept.get("/").send();
    assert!(
        answer.hit() && answer.text() == "1",
        "no connection and no stored response is dropped: {}",
        answer.said()
    );
    assert_eq!(answer.header("x-generation"), Some("2"));
}

#[test]
fn a_bad_file_changes_nothing_and_is_reported() {
    let base = "[[origin]]\nservers = \"{origin}\"\n";
    let (origin, larder) = start_with(&format!(
        "{base}[defaults.response_headers]\nset = \"X-Generation: 1\"\n"
    ));
    origin.otherwise(|request| counted(request).cache("max-age=60"));
    larder.get("/").send();
    let good = base.replace("{origin}", &origin.url());
    for (bad, said) in [
        (
            format!(
                "{good}[defaults.response_headers]\nset = \"X-Generation: 2\"\n[defaults]\nttll = \"1s\"\n"
            ),
            "ttll",
        ),
        (
            format!(
                "{good}[defaults.response_headers]\nset = \"X-Generation: 2\"\n[[route]]\norigin = \"nowhere\"\n"
            ),
            "nowhere",
        ),
        ("this is not TOML [".to_owned(), "larder.toml"),
    ] {
        larder.rewrite_config(&bad);
        larder.reload();
        larder.wait_output(said);
        let answer = larder.get("/").send();
        assert!(answer.hit());
        assert_eq!(answer.header("x-generation"), Some("1"), "all or nothing");
    }
    larder.rewrite_config(&format!(
        "{good}[defaults.response_headers]\nset = \"X-Generation: 3\"\n"
    ));
    larder.reload();
    wait_until("a good file holds again", || {
        larder.get("/").send().header("x-generation") == Some("3")
    });
}

/// What is known of an application stays known: how much it is asked at a time, and which of its servers are down.
#[test]
fn a_reload_leaves_alone_what_it_does_not_change() {
    let base = "[[origin]]\nservers = \"{origin}\"\nmost_concurrent = 1\nqueue = { length = 1, time = \"10ms\" }\n";
    let (origin, larder) = start_with(base);
    let gate = Gate::new();
    origin.otherwise(|_| Reply::ok().cache("no-store"));
    origin.reply("/held", Reply::ok().cache("no-store").hold_head(&gate));
    let mut held = larder.get("/held").begin();
    gate.wait_reached();
    let base = base.replace("{origin}", &origin.url());
    for (generation, changed, status) in [("2", "", 503), ("3", "retry.attempts = 0\n", 200)] {
        larder.rewrite_config(&format!(
            "{base}{changed}[defaults.response_headers]\nset = \"X-Generation: {generation}\"\n"
        ));
        larder.reload();
        let mut answer = larder.get("/other").send();
        wait_until("the new configuration holds", || {
            answer = larder.get("/other").send();
            answer.header("x-generation") == Some(generation)
        });
        assert_eq!(answer.status, status, "{generation}");
    }
    gate.open();
    assert_eq!(held.read().status, 200);
}

#[test]
fn a_reload_moves_to_another_origin() {
    let other = Origin::start();
    other.otherwise(|_| Reply::ok().cache("no-store").body("other"));
    let (origin, larder) = start_with("[[origin]]\nservers = \"{origin}\"\n");
    origin.otherwise(|_| Reply::ok().cache("no-store").body("one"));
    assert_eq!(larder.get("/").send().text(), "one");
    larder.rewrite_config(&format!("[[origin]]\nservers = {:?}\n", other.url()));
    larder.reload();
    wait_until("the other origin answers", || {
        larder.get("/").send().text() == "other"
    });
}

/// Who never runs `larder check` reads them too.
#[test]
fn what_is_hardly_meant_is_logged_at_the_start_and_at_a_reload() {
    let config = |route: &str| {
        format!("[[origin]]\nservers = \":9\"\n[[route]]\npath = \"{route}\"\ncache = false\n")
    };
    let serve = || Command::serve(env!("CARGO_BIN_EXE_larder"));
    let told = |larder: &Larder| larder.output().matches(" WARN ").count();
    let larder = serve().config(&config("/admin/")).start();
    larder.wait_output("larder.toml:4:8: `/admin/` matches this path alone");
    assert_eq!(told(&larder), 1, "{}", larder.output());
    let reload = |config: &str, count: usize| {
        larder.rewrite_config(config);
        larder.reload();
        wait_until("it is reloaded", || {
            larder.output().matches("configuration reloaded").count() == count
        });
    };
    reload(&config("/intern/"), 1);
    larder.wait_output("larder.toml:4:8: `/intern/` matches this path alone");
    assert_eq!(told(&larder), 2, "{}", larder.output());
    reload(&config("/intern/*"), 2);
    assert_eq!(told(&larder), 2, "{}", larder.output());
    let quiet = format!("[log]\nlevel = \"error\"\n{}", config("/admin/"));
    let finished = serve().config(&quiet).start().stop();
    assert!(!finished.stderr.contains("/admin/"), "{}", finished.stderr);
}

#[test]
fn a_port_in_use_is_one_clear_line() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = taken.local_addr().expect("an address").to_string();
    let origin = Origin::start();
    for flags in [
        ["--listen", &address, "--admin", "127.0.0.1:0"],
        ["--listen", "127.0.0.1:0", "--admin", &address],
    ] {
        let finished = command().args(["serve", &origin.url()]).args(flags).run();
        assert_eq!(finished.code, Some(1), "{}", finished.stderr);
        assert!(
            finished.stderr.contains(&address) && finished.stderr.contains("in use"),
            "{}",
            finished.stderr
        );
        assert!(!finished.stderr.contains("panicked"));
        assert_eq!(
            finished.stderr.trim().lines().count(),
            1,
            "{}",
            finished.stderr
        );
        assert!(!finished.stdout.contains("ready"));
    }
}

#[test]
fn no_permission_is_one_clear_line() {
    let folder = scratch_dir().join("of-others");
    std::fs::create_dir(&folder).expect("a folder");
    let read_only = std::fs::Permissions::from_mode(0o500);
    std::fs::set_permissions(&folder, read_only).expect("its mode");
    let socket = folder.join("larder.sock");
    let origin = Origin::start();
    let log = folder.join("access.log");
    let unix = format!("unix:{}", socket.display());
    for (place, flags) in [
        (&socket, ["--listen", &unix, "--access-log", "off"]),
        (
            &log,
            [
                "--listen",
                "127.0.0.1:0",
                "--access-log",
                &log.display().to_string(),
            ],
        ),
    ] {
        let finished = command_of_anybody()
            .args(["serve", &origin.url(), "--admin", "off"])
            .args(flags)
            .run();
        assert_eq!(finished.code, Some(1), "{}", finished.stderr);
        let said = finished.stderr.trim();
        assert!(
            said.to_lowercase().contains("permission") && said.contains(&*place.to_string_lossy()),
            "{said}"
        );
        assert_eq!(said.lines().count(), 1, "{said}");
        assert!(!finished.stdout.contains("ready"));
    }
}

#[test]
fn a_faulty_configuration_is_told_and_nothing_starts() {
    let finished = Command::serve(env!("CARGO_BIN_EXE_larder"))
        .config("workerz = 2\n[[origin]]\nservers = \"ftp://x\"\n")
        .run();
    assert_eq!(finished.code, Some(1));
    assert!(
        finished.stderr.contains("workerz") && finished.stderr.contains("workers"),
        "{}",
        finished.stderr
    );
    assert!(
        finished.stderr.contains("ftp://x"),
        "every fault at once: {}",
        finished.stderr
    );
    let finished = command()
        .args(["serve", "--config", "/nonexistent/larder.toml"])
        .run();
    assert_eq!(finished.code, Some(1));
    assert!(
        finished.stderr.contains("/nonexistent/larder.toml"),
        "{}",
        finished.stderr
    );
}

#[test]
fn check_and_serve_agree() {
    let path = scratch_dir().join("bad.toml");
    std::fs::write(&path, "[defaults]\nttl = \"60\"\n").expect("a file");
    let finished = command()
        .args(["check".into(), path.into_os_string()])
        .run();
    assert_eq!(finished.code, Some(1));
    let said = finished.stdout + &finished.stderr;
    assert!(
        said.contains("60") && said.contains("60s"),
        "a lifetime without unit: {said}"
    );
}

#[test]
fn wrong_use_of_the_command_line_is_2() {
    for args in [
        &["serve", "--nonsense"][..],
        &["nonsense"],
        &["serve", "--memory", "lots"],
        &["serve", "--workers", "0"],
        // Nothing but the command line says what to do.
        &["serve"],
        &["serve", ":5001", "--memory", "1KiB"],
    ] {
        assert_eq!(
            command().args(args.iter().copied()).run().code,
            Some(2),
            "{args:?}"
        );
    }
    assert_eq!(command().args(["--version"]).run().code, Some(0));
    assert_eq!(command().args(["--help"]).run().code, Some(0));
}

/// Nothing is wrong with the command line where the machine lacks something.
#[test]
fn a_machine_without_authorities_is_1() {
    for (args, code) in [
        (&["serve", "https://app.test"][..], 1),
        (&["serve", "https://app.test", "--memory", "200TiB"], 2),
    ] {
        let run = command().args(args.iter().copied());
        let folder = scratch_dir();
        let run = run.env("SSL_CERT_FILE", folder.join("none.pem"));
        let finished = run.env("SSL_CERT_DIR", folder).run();
        assert_eq!(finished.code, Some(code), "{args:?}");
        let said = finished.stderr;
        assert!(said.contains("no certificate authorities"), "{said}");
    }
}

#[test]
fn systemd_hands_over_its_sockets() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    let origin = Origin::start();
    origin.reply("/", Reply::ok().body("through"));
    let larder = command()
        .args(["serve", &origin.url(), "--admin", "127.0.0.1:0"])
        .inherit(listener)
        .start();
    assert_eq!(larder.listeners(), [format!("http://{address}")]);
    assert_eq!(Client::connect(address).get("/").send().text(), "through");
    drop(larder);
    let path = testkit::scratch_dir().join("handed.sock");
    let listener = std::os::unix::net::UnixListener::bind(&path).expect("a socket");
    let larder = command()
        .args(["serve", &origin.url(), "--admin", "127.0.0.1:0"])
        .inherit(listener)
        .start();
    assert_eq!(larder.listeners(), [format!("unix:{}", path.display())]);
    let mut client = Client::connect(path.as_path());
    assert_eq!(client.get("/").send().text(), "through");
}

/// Whoever opened its socket.
#[test]
fn an_address_is_in_order_on_which_larder_itself_listens() {
    let origin = Origin::start();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address").to_string();
    let name = format!("unix:{}", scratch_dir().join("own.sock").display());
    let config = |listen: &str| {
        let url = origin.url();
        format!("listen = {listen:?}\n[[origin]]\nservers = {url:?}\n")
    };
    let serve = |listen: &str| {
        let config = format!("admin = \"off\"\n{}", config(listen));
        command().args(["serve"]).config(&config)
    };
    let larders = [
        (serve(&address).inherit(listener).start(), &address),
        (serve(&name).start(), &name),
    ];
    for (_larder, listen) in &larders {
        assert_eq!(crate::common::faults_of(&config(listen)), "", "{listen}");
    }
}

/// The listener in its place has it, under whatever address.
#[test]
fn a_socket_that_was_handed_over_outlives_a_reload() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    let origin = Origin::start();
    origin.reply("/", Reply::ok().body("through"));
    let config = |listen: &str, generation: u32| {
        format!(
            "listen = [{listen}]\nadmin = \"127.0.0.1:0\"\n[[origin]]\nservers = \"{}\"\n\
             [defaults.response_headers]\nset = \"X-Generation: {generation}\"\n",
            origin.url()
        )
    };
    let larder = command()
        .args(["serve"])
        .config(&config("\"127.0.0.1:0\"", 1))
        .inherit(listener)
        .start();
    assert_eq!(larder.listeners(), [format!("http://{address}")]);
    for (listen, generation) in [
        ("\"127.0.0.2:0\", \"127.0.0.1:0\"", 2),
        ("\"127.0.0.3:0\"", 3),
    ] {
        larder.rewrite_config(&config(listen, generation));
        larder.reload();
        wait_until("the new configuration holds on the socket", || {
            let answer = Client::connect(address).get("/").send();
            assert_eq!(answer.text(), "through");
            answer.header("x-generation") == Some(generation.to_string().as_str())
        });
    }
}

/// It would pass each request to itself until it refuses it.
#[test]
fn a_server_is_not_its_own_origin() {
    let address = format!("127.0.0.1:{}", testkit::free_port());
    let serve = ["serve", &address, "--listen", &address, "--admin", "off"];
    let finished = command().args(serve).run();
    assert_eq!(finished.code, Some(2), "{}", finished.stderr);
    let said = format!("{address} is where Larder itself listens");
    assert!(finished.stderr.contains(&said), "{}", finished.stderr);
}

/// What is configured is then not where Larder listens, and may be where the application does.
#[test]
fn the_address_of_a_socket_that_was_handed_over_is_the_sockets() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let origin = Origin::start();
    origin.reply("/", Reply::ok().body("through"));
    let url = origin.url();
    let address = url.split("://").last().expect("an address");
    let config = format!(
        "listen = \"{address}\"\nadmin = \"127.0.0.1:0\"\n[[origin]]\nservers = \"{url}\"\n"
    );
    let larder = command()
        .args(["serve"])
        .config(&config)
        .inherit(listener)
        .start();
    assert_eq!(larder.get("/").send().text(), "through");
    crate::common::reload_as(&larder, &config, "2");
}

#[test]
fn what_systemd_hands_over_is_served_or_refused() {
    let origin = Origin::start();
    for (sockets, said) in [
        ("1", "socket 1 is not a TCP or Unix stream socket"),
        ("2", "2 sockets were handed over"),
    ] {
        let hand_over = r#"exec 3</dev/null 4</dev/null; LISTEN_FDS=$0 LISTEN_PID=$$ exec "$@""#;
        let finished = Command::new("sh")
            .args(["-c", hand_over, sockets, env!("CARGO_BIN_EXE_larder")])
            .args(["serve", &origin.url(), "--listen", "127.0.0.1:0"])
            .args(["--admin", "off"])
            .run();
        assert_eq!(finished.code, Some(1), "{}", finished.stderr);
        assert!(finished.stderr.contains(said), "{}", finished.stderr);
        assert_eq!(finished.stderr.trim().lines().count(), 1);
    }
}

#[test]
fn systemd_is_told_when_it_is_ready_and_when_it_stops() {
    let path = scratch_dir().join("notify");
    let socket = UnixDatagram::bind(&path).expect("a socket");
    is_told(&socket, &path.display().to_string());
    // Where the service may not reach the file, systemd's socket has a name that is none.
    let name = format!("larder-test-{}", std::process::id());
    let address = SocketAddr::from_abstract_name(&name).expect("a name");
    let socket = UnixDatagram::bind_addr(&address).expect("a socket");
    is_told(&socket, &format!("@{name}"));
}

fn is_told(socket: &UnixDatagram, name: &str) {
    socket
        .set_read_timeout(Some(testkit::BOUND))
        .expect("a bound");
    let origin = Origin::start();
    let larder = serve(&origin).env("NOTIFY_SOCKET", name).start();
    let told = |what: &str| {
        let mut buffer = [0; 1000];
        loop {
            let count = socket
                .recv(&mut buffer)
                .unwrap_or_else(|error| panic!("waited for {what}: {error}"));
            if String::from_utf8_lossy(&buffer[..count])
                .lines()
                .any(|line| line == what)
            {
                return;
            }
        }
    };
    told("READY=1");
    larder.reload();
    told("RELOADING=1");
    told("READY=1");
    larder.terminate();
    told("STOPPING=1");
}

#[test]
fn it_listens_on_several_addresses_and_unix_sockets() {
    let path = scratch_dir().join("larder.sock");
    let origin = Origin::start();
    origin.reply("/", Reply::ok().body("x"));
    let unix = format!("unix:{}", path.display());
    let larder = serve(&origin)
        .args(["--listen", &unix, "--listen", "127.0.0.2:0"])
        .start();
    assert_eq!(larder.listeners().len(), 3, "{:?}", larder.listeners());
    assert_eq!(Client::connect(path.as_path()).get("/").send().text(), "x");
    for url in larder
        .listeners()
        .iter()
        .filter(|url| url.starts_with("http://"))
    {
        let address: std::net::SocketAddr = url
            .trim_start_matches("http://")
            .parse()
            .expect("an address");
        assert_eq!(
            Client::connect(address).get("/").send().text(),
            "x",
            "{url}"
        );
    }
    larder.stop();
    assert!(!path.exists(), "the socket's file is removed");
}

#[test]
fn a_socket_file_left_behind_is_no_obstacle() {
    let path = scratch_dir().join("larder.sock");
    drop(std::os::unix::net::UnixListener::bind(&path).expect("a socket"));
    let origin = Origin::start();
    let unix = format!("unix:{}", path.display());
    let larder = command()
        .args(["serve", &origin.url(), "--listen", &unix, "--admin", "off"])
        .start();
    assert_eq!(larder.listeners(), [unix]);
}

#[test]
fn killed_and_started_again_it_serves() {
    let (origin, larder) = start();
    origin.reply("/", Reply::ok().cache("max-age=60").body("x"));
    larder.get("/").send();
    drop(larder);
    let again = serve(&origin).start();
    assert!(!again.get("/").send().hit());
    assert!(again.get("/").send().hit());
}

#[test]
fn an_answer_under_way_survives_a_reload() {
    let (origin, larder) = start_with("[[origin]]\nservers = \"{origin}\"\n");
    let gate = Gate::new();
    origin.reply(
        "/",
        Reply::ok()
            .cache("max-age=60")
            .length(12)
            .body("first ")
            .hold(&gate)
            .body("second"),
    );
    let mut client = larder.get("/").begin();
    let mut response = client.read_head();
    gate.wait_reached();
    let other = Origin::start();
    other.otherwise(|_| Reply::ok().cache("no-store").body("other"));
    larder.rewrite_config(&format!("[[origin]]\nservers = {:?}\n", other.url()));
    larder.reload();
    wait_until("the other origin answers", || {
        larder.get("/new").send().text() == "other"
    });
    gate.open();
    client.read_content(&mut response);
    assert!(response.complete && response.text() == "first second");
    assert!(larder.get("/").send().hit(), "it was stored all the same");
}

#[test]
fn many_reloads_in_a_row_do_no_harm() {
    let (origin, larder) = start_with("[[origin]]\nservers = \"{origin}\"\n");
    origin.otherwise(|request| counted(request).cache("no-store"));
    let mut client = larder.client();
    for _ in 0..50 {
        larder.reload();
        assert_eq!(client.get("/").send().status, 200);
    }
    assert_eq!(larder.stop().code, Some(0));
}

#[test]
fn a_signal_is_obeyed_from_the_moment_it_is_ready() {
    for _ in 0..20 {
        let (_origin, larder) = start_with("[[origin]]\nservers = \"{origin}\"\n");
        larder.reload();
        larder.wait_output("configuration reloaded");
        let finished = larder.stop();
        assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    }
}

#[test]
fn a_reload_that_is_refused_does_not_even_change_how_long_a_stop_takes() {
    let origin = Origin::start();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let path = scratch_dir().join("larder.sock");
    let config = |drain_time: &str, more: &str| {
        format!(
            "admin = \"off\"\n[limits]\ndrain_time = {drain_time:?}\n[[origin]]\nservers = {:?}\n[[listen]]\naddress = \"unix:{}\"\n{more}",
            origin.url(),
            path.display()
        )
    };
    let larder = command()
        .args(["serve"])
        .config(&config("70ms", ""))
        .start();
    let address = taken.local_addr().expect("an address");
    larder.rewrite_config(&config(
        "1h",
        &format!("[[listen]]\naddress = \"{address}\"\n"),
    ));
    larder.reload();
    larder.wait_output("configuration not applied");
    let finished = larder.stop();
    assert_eq!(finished.code, Some(0));
    let said = finished.stdout + &finished.stderr;
    assert!(said.contains("within=70ms"), "all or nothing: {said}");
}

#[test]
fn a_reload_opens_new_listeners_and_drains_those_that_are_gone() {
    let origin = Origin::start();
    let gate = Gate::new();
    origin.reply("/slow", Reply::ok().hold_head(&gate).body("slow"));
    origin.reply("/", Reply::ok().body("x"));
    let directory = scratch_dir();
    let (old, new) = (directory.join("old.sock"), directory.join("new.sock"));
    let config = |path: &Path, more: &str| {
        format!(
            "admin = \"off\"\n[[origin]]\nservers = {:?}\n[[listen]]\naddress = \"unix:{}\"\n{more}",
            origin.url(),
            path.display()
        )
    };
    let is_open = |path: &Path| UnixStream::connect(path).is_ok();
    let larder = command().args(["serve"]).config(&config(&old, "")).start();
    let mut slow = Client::connect(old.as_path());
    slow.get("/slow").begin();
    gate.wait_reached();
    larder.rewrite_config(&config(&new, ""));
    larder.reload();
    wait_until("the new one is open", || is_open(&new));
    wait_until("the old one is closed", || !is_open(&old));
    assert_eq!(Client::connect(new.as_path()).get("/").send().text(), "x");
    gate.open();
    assert_eq!(slow.read().text(), "slow", "what was under way is finished");
    let no_certificate = "[[listen.tls]]\ncertificate = \"/nowhere.pem\"\nkey = \"/nowhere.key\"\n";
    larder.rewrite_config(&config(&old, no_certificate));
    larder.reload();
    larder.wait_output("configuration not applied");
    assert!(!is_open(&old), "all or nothing");
    assert_eq!(Client::connect(new.as_path()).get("/").send().text(), "x");
}
