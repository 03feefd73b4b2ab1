//! The access log between the requests that it tells of and whoever reads it.

use crate::common::{counted, start_with};
use std::{fs::File, path::Path, process::Command};
use testkit::{Larder, Origin, scratch_dir};

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
