//! Middle bodies lie in memory that the kernel sends without copying: they are the same in every byte however they are
//! asked for, never another's, and never more than the budget.

use crate::{
    common::{Said, command, sample, serve},
    disk::{content, same},
    nodes::purge,
};
use std::{fs, os::unix::fs::MetadataExt, path::PathBuf, process};
use testkit::{Client, Command, Larder, Origin, Reply, scratch_dir, wait_until};

/// Around the least and the most that lie there.
const SIZES: [usize; 6] = [32_767, 32_768, 40_001, 102_400, 1_048_575, 1_048_576];

/// Pages that are as long as their path says, each with content of its own.
fn application() -> Origin {
    let origin = Origin::start();
    origin.otherwise(|request| {
        let reply = Reply::ok().cache("max-age=600");
        reply.body(page(request.path()))
    });
    origin
}

/// `/102400/name`
fn page(path: &str) -> Vec<u8> {
    let size = path.split('/').nth(1).and_then(|size| size.parse().ok());
    content(path, size.expect("a size"))
}

/// The file in memory, as this process has it open.
fn file(larder: &Larder) -> Option<PathBuf> {
    let open = fs::read_dir(format!("/proc/{}/fd", larder.id())).expect("its files");
    let mut open = open.map(|file| file.expect("a file").path());
    open.find(|file| fs::read_link(file).is_ok_and(|to| to.starts_with("/memfd:larder (deleted)")))
}

/// What lies in it, in bytes.
fn taken(larder: &Larder) -> u64 {
    let file = file(larder).expect("a file in memory");
    fs::metadata(file).expect("its size").blocks() * 512
}

#[test]
fn a_page_is_the_same_however_it_is_asked_for() {
    let origin = application();
    let (certificate, key) = crate::tls::certificate("site.example");
    let socket = scratch_dir().join("socket");
    let config = format!(
        "admin = \"127.0.0.1:0\"\n[[origin]]\nservers = [{:?}]\n[[listen]]\naddress = \"127.0.0.1:0\"\n[[listen]]\naddress = \"unix:{}\"\n[[listen]]\naddress = \"127.0.0.1:0\"\n[[listen.tls]]\ncertificate = {certificate:?}\nkey = {key:?}\n",
        origin.url(),
        socket.display(),
    );
    let larder = command().args(["serve"]).config(&config).start();
    for size in SIZES {
        let path = format!("/{size}/page");
        let wanted = page(&path);
        larder.get(&path).send();
        for mut client in [larder.client(), Client::connect(socket.as_path())] {
            for _ in 0..3 {
                let answer = client.get(&path).send();
                assert!(answer.hit(), "{path}: {}", answer.said());
                same(&answer.body, &wanted, &path);
            }
            let range = format!("bytes=100-{}", size - 100);
            let answer = client.get(&path).header("Range", range).send();
            assert_eq!(answer.status, 206);
            same(&answer.body, &wanted[100..=size - 100], &path);
            // Several at once.
            let request = format!("GET {path} HTTP/1.1\r\nHost: example.test\r\n\r\n");
            client.send(request.repeat(3));
            for _ in 0..3 {
                same(&client.read().body, &wanted, &path);
            }
            let last = client.get(&path).header("Connection", "close").send();
            same(&last.body, &wanted, &path);
        }
        for (scheme, version) in [
            ("http", "--http2-prior-knowledge"),
            ("https", "--http1.1"),
            ("https", "--http2"),
        ] {
            let of_scheme = |url: &&String| url.starts_with(&format!("{scheme}://127"));
            let url = larder
                .listeners()
                .iter()
                .find(of_scheme)
                .expect("a listener");
            let got = process::Command::new("curl")
                .args([
                    "--silent",
                    "--insecure",
                    "--max-time",
                    "20",
                    "--noproxy",
                    "*",
                    version,
                ])
                .args([format!("{url}{path}")])
                .output();
            same(
                &got.expect("curl").stdout,
                &wanted,
                &format!("{version} {path}"),
            );
        }
    }
}

/// All of it is with the system, or some of it still here, when it is purged; then others take its place.
#[test]
fn what_a_client_still_reads_does_not_become_anothers() {
    let origin = application();
    let larder = serve(&origin).start();
    for size in [40_000_u64, 900_000] {
        let path = format!("/{size}/page");
        larder.get(&path).send();
        let sent = || sample(&larder, "larder_sent_bytes_total");
        let before = sent();
        let mut readers: Vec<_> = (0..8).map(|_| larder.get(&path).begin()).collect();
        wait_until("all were sent some", || {
            sent() - before >= 8 * size.min(60_000)
        });
        for round in 0..4 {
            let purged = purge(&larder, &["--all"]);
            assert_eq!(purged.code, Some(0), "{purged:?}");
            for other in 0..16 {
                let other = format!("/{size}/{round}/{other}");
                same(&larder.get(&other).send().body, &page(&other), &other);
                same(&larder.get(&other).send().body, &page(&other), &other);
            }
        }
        for reader in &mut readers {
            same(&reader.read().body, &page(&path), &path);
        }
    }
}

#[test]
fn memory_is_given_back() {
    const BUDGET: u64 = 8 << 20;
    let origin = application();
    let larder = serve(&origin).args(["--memory", "8MiB"]).start();
    let mut client = larder.client();
    for number in 0..300 {
        let path = format!("/100000/{number}");
        same(&client.get(&path).send().body, &page(&path), &path);
    }
    wait_until("what was evicted is given back", || {
        taken(&larder) <= BUDGET
    });
    assert!(taken(&larder) > BUDGET / 2, "there is room");
    assert!(
        taken(&larder) <= sample(&larder, "larder_stored_bytes"),
        "it is counted"
    );
    let purged = purge(&larder, &["--all"]);
    assert_eq!(purged.code, Some(0), "{purged:?}");
    wait_until("what was purged is given back", || taken(&larder) == 0);
}

/// Where the system has no room for addresses, or for files so long, bodies lie elsewhere.
#[test]
fn without_such_memory_pages_are_copied() {
    use std::os::unix::fs::PermissionsExt;
    let origin = application();
    for limit in ["-v 4000000", "-f 1000000"] {
        let script = scratch_dir().join("larder");
        let text = format!(
            "#!/bin/sh\nulimit {limit}\nexec {} \"$@\"\n",
            env!("CARGO_BIN_EXE_larder")
        );
        fs::write(&script, text).expect("a script");
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("may be run");
        let larder = Command::serve(script).args([origin.url()]).start();
        larder.wait_output("bodies are copied");
        assert_eq!(file(&larder), None);
        let path = "/102400/page";
        for _ in 0..2 {
            same(&larder.get(path).send().body, &page(path), path);
        }
        assert!(larder.get(path).send().hit());
    }
}
