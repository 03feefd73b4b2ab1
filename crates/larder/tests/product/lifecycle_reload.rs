//! What a reload leaves as it is, and one that does not end.

use crate::common::reload_as;
use rustix::fs::{CWD, Mode, OFlags, mkfifoat};
use std::{
    fs::{self, File},
    io::Write,
    os::unix::fs::OpenOptionsExt,
    path::Path,
};
use testkit::{Gate, Larder, Origin, Reply, scratch_dir, wait_until};

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

/// A larder that reads its file again, which is a pipe by now, and the end of that from which nothing has come yet.
fn reading(config: &Path, origin: &Origin) -> (Larder, File) {
    fs::write(config, generation(origin, 1)).expect("a configuration file");
    let larder = testkit::Command::serve(env!("CARGO_BIN_EXE_larder"))
        .args(["--config".into(), config.as_os_str().to_owned()])
        .start();
    fs::remove_file(config).expect("it was there");
    mkfifoat(CWD, config, Mode::RWXU).expect("a pipe");
    larder.reload();
    let mut writer = File::options();
    writer
        .write(true)
        .custom_flags(OFlags::NONBLOCK.bits().cast_signed());
    let mut opened = None;
    wait_until("it reads", || {
        // Refused where nobody does.
        opened = writer.open(config).ok();
        opened.is_some()
    });
    (larder, opened.expect("it was waited for"))
}

fn generation(origin: &Origin, number: usize) -> String {
    format!(
        "[[origin]]\nservers = {:?}\n[defaults.response_headers]\nset = \"X-Generation: {number}\"\n",
        origin.url()
    )
}

#[test]
fn a_file_that_cannot_be_read_to_its_end_does_not_hold_up_a_stop() {
    let origin = Origin::start();
    let config = scratch_dir().join("larder.toml");
    let (mut larder, _writer) = reading(&config, &origin);
    larder.terminate();
    let finished = larder.wait();
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
}

/// The file may have changed since it was read: what comes while it is has it read once more.
#[test]
fn a_reload_that_is_asked_for_during_another_comes_after_it() {
    let origin = Origin::start();
    origin.reply("/", Reply::ok().cache("no-store"));
    let config = scratch_dir().join("larder.toml");
    let (larder, mut writer) = reading(&config, &origin);
    fs::remove_file(&config).expect("it is there");
    fs::write(&config, generation(&origin, 3)).expect("a configuration file");
    larder.reload();
    assert_eq!(
        larder.get("/").send().header("x-generation"),
        Some("1"),
        "meanwhile it serves"
    );
    let text = generation(&origin, 2);
    writer.write_all(text.as_bytes()).expect("it has room");
    drop(writer);
    wait_until("both are taken", || {
        larder.output().matches("configuration reloaded").count() == 2
    });
    assert_eq!(larder.get("/").send().header("x-generation"), Some("3"));
}
