//! What a reload leaves as it is, and one that does not end.

use crate::{
    common::{Said, reload_as, sample},
    disk::{self, LARGE, MIDDLE, ending, keep},
    nodes::wait_follows,
    page_store::{PATIENT, put},
    static_root::folder,
};
use rustix::fs::{CWD, Mode, OFlags, mkfifoat};
use std::{
    fs::{self, File},
    io::Write,
    iter,
    os::unix::{fs::OpenOptionsExt, net::UnixDatagram},
    path::{Path, PathBuf},
};
use testkit::{Gate, Larder, Memcached, Origin, Redis, Reply, scratch_dir, wait_until};

/// An origin that is checked each hour, and is down after the first check that fails.
fn checked(name: &str, origin: &Origin) -> String {
    format!(
        "[[origin]]\nname = {name:?}\nservers = {:?}\nhealth = {{ path = \"/health\", every = \"1h\", timeout = \"1h\", unhealthy_after = 1 }}\n",
        origin.url()
    )
}

/// A check that is under way goes on, and what was found out before counts: no server is checked anew.
#[test]
fn a_reload_leaves_the_checks_of_what_it_does_not_change() {
    let [stays, comes] = [Origin::start(), Origin::start()];
    let gate = Gate::new();
    stays.reply("/health", Reply::status(503).hold_head(&gate));
    comes.reply("/health", Reply::ok().hang());
    let routed = "[defaults]\norigin = \"stays\"\n";
    let first = checked("stays", &stays);
    let both = first.clone() + &checked("comes", &comes) + routed;
    let larder = testkit::Command::serve(env!("CARGO_BIN_EXE_larder"))
        .config(&first)
        .start();
    gate.wait_reached();
    reload_as(&larder, &both, "2");
    // By then all that the reload is to start has been started.
    comes.wait_requests("/health", 1);
    reload_as(&larder, &first, "3");
    wait_until("what is gone is not checked any more", || {
        comes.abandoned("/health") == 1
    });
    gate.open();
    wait_until("the check takes the server out", || {
        larder.output().contains("server is down")
    });
    assert_eq!(stays.requests("/health"), 1);
}

/// Another size of memory, or none on disk, waits for a restart.
#[test]
fn after_a_reload_bodies_are_as_large_as_the_store_that_runs_keeps_them() {
    let site = disk::Site::of_sizes(|path| if path == "/large" { LARGE } else { MIDDLE });
    let larder = site.start();
    let smaller = format!(
        "[memory]\nsize = \"1MiB\"\n[[origin]]\nservers = {:?}\n",
        site.origin.url()
    );
    reload_as(&larder, &smaller, "2");
    larder.wait_output("memory, disk changes only with a restart");
    keep(&larder, &["/large"]);
    site.wait_holds(&ending("/large"));
    assert!(larder.get("/large").send().hit());
    assert_eq!(site.origin.requests("/large"), 2);
}

/// Servers, a folder and a page store.
#[test]
fn a_reload_keeps_what_was_counted_of_origins_that_it_does_not_change() {
    let (origin, store) = (Origin::start(), Memcached::start());
    let root = folder(&[("files/a", b"a")]);
    let config = format!(
        "[[origin]]\nname = \"app\"\nservers = {:?}\n\
         [[origin]]\nname = \"files\"\nstatic = {root:?}\n\
         [[origin]]\nname = \"pages\"\nmemcached = {:?}\nkey = \"$uri\"\n{PATIENT}\n\
         [[route]]\npath = \"/files/*\"\norigin = \"files\"\n\
         [[route]]\npath = \"/pages/*\"\norigin = \"pages\"\n\
         [defaults]\norigin = \"app\"\n",
        origin.url(),
        store.address()
    );
    let larder = testkit::Command::serve(env!("CARGO_BIN_EXE_larder"))
        .config(&config)
        .start();
    put(&store, "/pages/a", b"a");
    for path in ["/files/a", "/pages/a"] {
        assert_eq!(larder.get(path).send().text(), "a");
    }
    reload_as(&larder, &config, "2");
    for name in [
        "larder_origin_latency_seconds_count{origin=\"files\"}",
        "larder_origin_latency_seconds_count{origin=\"pages\"}",
        "larder_page_store_answers_total{origin=\"pages\",outcome=\"found\"}",
    ] {
        assert_eq!(sample(&larder, name), 1, "{name}");
    }
}

/// A larder whose file a test puts a pipe in the place of.
struct Site {
    folder: PathBuf,
    origin: Origin,
    /// Where systemd would listen.
    systemd: UnixDatagram,
    larder: Larder,
}

impl Site {
    fn start() -> Self {
        let folder = scratch_dir();
        let origin = Origin::start();
        origin.reply("/", Reply::ok().cache("no-store"));
        let socket = folder.join("notify");
        let systemd = UnixDatagram::bind(&socket).expect("a socket");
        let config = folder.join("larder.toml");
        fs::write(&config, generation(&folder, &origin, 1)).expect("a configuration file");
        let larder = testkit::Command::serve(env!("CARGO_BIN_EXE_larder"))
            .args(["--config".into(), config.into_os_string()])
            .env("NOTIFY_SOCKET", socket)
            .start();
        Self {
            folder,
            origin,
            systemd,
            larder,
        }
    }

    /// Has a pipe read in the place of the file; gives the end of it from which nothing has come yet.
    fn hang(&self) -> File {
        let config = self.folder.join("larder.toml");
        fs::remove_file(&config).expect("it is there");
        mkfifoat(CWD, &config, Mode::RWXU).expect("a pipe");
        self.larder.reload();
        let mut opened = None;
        wait_until("it reads", || {
            opened = write_end(&config);
            opened.is_some()
        });
        opened.expect("it was waited for")
    }

    /// Has a good file read in the place of the pipe.
    fn mend(&self, number: usize) {
        let config = self.folder.join("larder.toml");
        fs::remove_file(&config).expect("it is there");
        fs::write(&config, self.text(number)).expect("a configuration file");
        self.larder.reload();
    }

    /// As [`mend()`](Self::mend), and the access log is moved away before.
    fn mend_and_rotate(&self, number: usize) {
        let log = self.folder.join("access.log");
        fs::rename(log, self.folder.join("access.log.1")).expect("a log");
        self.mend(number);
    }

    fn text(&self, number: usize) -> String {
        generation(&self.folder, &self.origin, number)
    }

    fn serves(&self, number: usize) -> bool {
        let answer = self.larder.get("/").send();
        answer.header("x-generation") == Some(number.to_string().as_str())
    }

    fn wait_log(&self) {
        wait_until("the log is opened again", || {
            self.folder.join("access.log").exists()
        });
    }

    /// Whether a thread reads the file.
    fn reads(&self) -> bool {
        reads(&self.larder)
    }

    /// What systemd was told so far.
    fn told(&self) -> Vec<String> {
        self.systemd.set_nonblocking(true).expect("a socket");
        let next = || {
            let mut buffer = [0; 1000];
            let count = self.systemd.recv(&mut buffer).ok()?;
            let text = String::from_utf8_lossy(&buffer[..count]);
            text.lines().next().map(str::to_owned)
        };
        iter::from_fn(next).collect()
    }
}

/// The end of a pipe from which something is read; nothing where nobody does.
fn write_end(pipe: &Path) -> Option<File> {
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let mut options = File::options();
    options.write(true).custom_flags(flags).open(pipe).ok()
}

/// Whether a thread reads the configuration.
fn reads(larder: &Larder) -> bool {
    let threads = fs::read_dir(format!("/proc/{}/task", larder.id()));
    threads.expect("a process").flatten().any(|thread| {
        let name = fs::read_to_string(thread.path().join("comm"));
        name.is_ok_and(|name| name.trim_end() == "larder-reload")
    })
}

fn generation(folder: &Path, origin: &Origin, number: usize) -> String {
    format!(
        "[log]\naccess = {:?}\n[[origin]]\nservers = {:?}\n[defaults.response_headers]\nset = \"X-Generation: {number}\"\n",
        folder.join("access.log").display().to_string(),
        origin.url()
    )
}

#[test]
fn a_file_that_cannot_be_read_to_its_end_does_not_hold_up_a_stop() {
    let mut site = Site::start();
    let _writer = site.hang();
    site.larder.terminate();
    let finished = site.larder.wait();
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
}

/// Nor does it keep what is put in its place from being read, nor the log from being rotated.
#[test]
fn a_file_that_cannot_be_read_to_its_end_does_not_hold_up_a_reload() {
    let site = Site::start();
    let _writer = site.hang();
    assert!(site.serves(1), "meanwhile it serves");
    site.mend_and_rotate(2);
    site.wait_log();
    wait_until("the good one is taken", || site.serves(2));
}

/// The file may have changed since it was read: the read that began last holds, and systemd is told of the end of that.
#[test]
fn a_reload_that_is_asked_for_during_another_takes_its_place() {
    let mut site = Site::start();
    let mut writer = site.hang();
    site.mend(3);
    wait_until("the later one is taken", || site.serves(3));
    let text = site.text(2);
    writer.write_all(text.as_bytes()).expect("it has room");
    drop(writer);
    wait_until("the earlier one is read, too", || !site.reads());
    assert!(site.serves(3));
    site.larder.terminate();
    let finished = site.larder.wait();
    let reloaded = finished.stderr.matches("configuration reloaded").count();
    assert_eq!(reloaded, 1, "{}", finished.stderr);
    let told = [
        "READY=1",
        "RELOADING=1",
        "RELOADING=1",
        "READY=1",
        "STOPPING=1",
    ];
    assert_eq!(site.told(), told);
}

/// A thread for each would be without end.
#[test]
fn of_many_files_that_cannot_be_read_to_their_end_one_is_waited_for() {
    let site = Site::start();
    let mut writers: Vec<File> = (0..4).map(|_| site.hang()).collect();
    site.mend_and_rotate(2);
    site.larder.wait_output("configuration not read yet");
    site.wait_log();
    assert!(site.serves(1));
    // Nothing comes from it any more: it is read to its end.
    drop(writers.remove(0));
    wait_until("the good one is taken", || site.serves(2));
}

/// Where signals are waited for they would hold up a stop.
#[test]
fn certificates_are_read_with_the_configuration_and_nowhere_else() {
    let pair = crate::tls::certificate("site.test");
    let (_origin, mut larder) = crate::tls::secure_with(&[&pair], "");
    let (certificate, _) = pair;
    let text = fs::read(&certificate).expect("it is there");
    fs::remove_file(&certificate).expect("it is there");
    mkfifoat(CWD, &certificate, Mode::RWXU).expect("a pipe");
    larder.reload();
    wait_until("it reads", || reads(&larder));
    // Whoever else reads the certificate comes to no end.
    wait_until("the configuration is read", || {
        let writer = write_end(&certificate);
        let is_read = !reads(&larder);
        if let Some(mut writer) = writer.filter(|_| !is_read) {
            // It may be closed again already.
            let _ = writer.write_all(&text);
        }
        is_read
    });
    larder.wait_output("configuration reloaded");
    larder.terminate();
    let finished = larder.wait();
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
}

/// A site before this origin in which who waits for another's fetch waits for ever.
fn waiting(origin: &Origin) -> String {
    let url = origin.url();
    format!("workers = 1\n[[origin]]\nservers = {url:?}\n[defaults]\ncollapse_wait = \"1h\"\n")
}

/// It may hang, and what it would bring is not the new application's page. Nor does its refresh stand for one.
#[test]
fn after_a_reload_nobody_waits_for_the_application_that_it_replaced() {
    let redis = Redis::start();
    let shared = format!(
        "[shared]\nurl = {:?}\ntimeout = \"20s\"\nlease = \"1h\"\n",
        redis.url()
    );
    for shared in ["", &shared] {
        let [old, new] = [Origin::start(), Origin::start()];
        let [page, refresh] = [Gate::new(), Gate::new()];
        let held = refresh.clone();
        old.reply(
            "/page",
            Reply::ok().cache("max-age=60").hold_head(&page).body("old"),
        );
        old.on("/stale", move |request| {
            let reply = Reply::ok().cache("max-age=0, stale-while-revalidate=600");
            if request.nth == 1 {
                reply
            } else {
                reply.hold_head(&held)
            }
        });
        for path in ["/page", "/stale"] {
            new.reply(path, Reply::ok().cache("max-age=60").body("new"));
        }
        let config = |origin| format!("{}{shared}", waiting(origin));
        let larder = testkit::Command::serve(env!("CARGO_BIN_EXE_larder"))
            .config(&config(&old))
            .start();
        wait_follows(&larder);
        for _ in 0..2 {
            larder.get("/stale").send();
        }
        refresh.wait_reached();
        let mut before = larder.get("/page").begin();
        page.wait_reached();
        reload_as(&larder, &config(&new), "2");
        assert_eq!(larder.get("/page").send().text(), "new");
        larder.get("/stale").send();
        new.wait_requests("/stale", 1);
        page.open();
        refresh.open();
        assert_eq!(before.read().text(), "old");
        let after = larder.get("/page").send();
        assert!(after.hit() && after.text() == "new", "{}", after.said());
    }
}

#[test]
fn a_reload_leaves_those_together_who_wait_for_an_application_that_stays() {
    let (origin, gate) = (Origin::start(), Gate::new());
    origin.reply(
        "/page",
        Reply::ok().cache("max-age=60").hold_head(&gate).body("all"),
    );
    let larder = testkit::Command::serve(env!("CARGO_BIN_EXE_larder"))
        .config(&waiting(&origin))
        .start();
    let mut before = larder.get("/page").begin();
    gate.wait_reached();
    reload_as(&larder, &waiting(&origin), "2");
    let mut after = larder.get("/page").begin();
    // The one worker has begun with that.
    larder.get("/").send();
    gate.open();
    for client in [&mut before, &mut after] {
        assert_eq!(client.read().text(), "all");
    }
    assert_eq!(origin.requests("/page"), 1);
}
