//! The access log between the requests that it tells of and whoever reads it.

use crate::common::{counted, start_with};
use std::{fs::File, path::Path, process::Command};
use testkit::{Larder, Origin, scratch_dir, wait_until};

/// A larder that logs to a pipe, and the pipe's other end.
fn piped(path: &Path) -> (Origin, Larder, File) {
    let made = Command::new("mkfifo").arg(path).status();
    assert!(made.is_ok_and(|status| status.success()), "a pipe");
    // For both directions: opened for one, it waits for the other.
    let reader = File::options().read(true).write(true).open(path);
    let (origin, larder) = start_with(&format!(
        "[log]\naccess = {:?}\n[[origin]]\nservers = \"{{origin}}\"\n",
        path.display().to_string()
    ));
    origin.otherwise(|request| counted(request).cache("max-age=60"));
    (origin, larder, reader.expect("its other end"))
}

/// More than the pipe and the writer's buffer take.
fn fill(larder: &Larder) {
    let target = format!("/{}", "x".repeat(6000));
    let mut client = larder.client();
    for _ in 0..50 {
        assert_eq!(client.get(&target).send().status, 200);
    }
}

#[test]
fn a_reader_that_stalls_does_not_hold_up_a_stop() {
    for signals in [1, 2] {
        let path = scratch_dir().join("access.pipe");
        let (_origin, mut larder, _reader) = piped(&path);
        fill(&larder);
        for _ in 0..signals {
            larder.terminate();
            larder.wait_output("stopping");
        }
        let finished = larder.wait();
        assert_eq!(finished.code, Some(0), "{}", finished.stderr);
        let said = finished.stderr.contains("access log");
        assert!(said, "what is lost is told of: {}", finished.stderr);
    }
}

/// Whatever of it is keyed, and however that is spelled there.
#[test]
fn targets_are_told_as_the_client_wrote_them() {
    let path = scratch_dir().join("access.log");
    let (origin, larder) = start_with(&format!(
        "[log]\naccess = {:?}\n[[origin]]\nservers = \"{{origin}}\"\n",
        path.display().to_string()
    ));
    origin.otherwise(|request| counted(request).cache("max-age=60"));
    let targets = ["/a/../b%7e?utm_source=x&z=1&a=2", "/c?", "http://a?d"];
    for target in targets {
        larder.get(target).send();
    }
    let told = |target: &str| format!("\"GET {target} HTTP/1.1\"");
    let told = ["/a/../b%7e?utm_source=x&z=1&a=2", "/c?", "/?d"].map(told);
    wait_until("all are logged", || {
        std::fs::read_to_string(&path).is_ok_and(|text| text.lines().count() == told.len())
    });
    let text = std::fs::read_to_string(&path).expect("a log");
    for (line, told) in text.lines().zip(told) {
        assert!(line.contains(&told), "{line}");
    }
}
