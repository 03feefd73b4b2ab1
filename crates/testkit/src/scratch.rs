//! Directories for temporary files.

use std::{
    cell::RefCell,
    fs,
    path::{Path, PathBuf},
    sync::{
        Once,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

thread_local! {
    static OWN: RefCell<Own> = const { RefCell::new(Own(Vec::new())) };
}

/// The directories of the test that runs on this thread. They go with it, so that all tests together need no more room
/// than those that run at once.
struct Own(Vec<PathBuf>);

/// A new empty directory of this test's own, among the system's temporary files. It is removed when the test ends. What
/// test processes that have ended left behind is removed by the next one.
pub fn scratch_dir() -> PathBuf {
    static SWEEP: Once = Once::new();
    scratch_below(&std::env::temp_dir(), &SWEEP)
}

/// The same in memory, where the system has a place for that: who writes there waits for no device, however busy that is.
pub fn scratch_memory() -> PathBuf {
    static SWEEP: Once = Once::new();
    let memory = Path::new("/dev/shm");
    if memory.is_dir() {
        scratch_below(memory, &SWEEP)
    } else {
        scratch_dir()
    }
}

fn scratch_below(base: &Path, swept: &Once) -> PathBuf {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let all = base.join("larder-tests");
    swept.call_once(|| sweep(&all));
    let own = all.join(std::process::id().to_string());
    let path = own.join(COUNT.fetch_add(1, Ordering::Relaxed).to_string());
    fs::create_dir_all(&path).expect("a directory for temporary files");
    // A test's own thread is named after it. What another thread begins may be used for longer than that runs.
    if thread::current().name().is_some() {
        OWN.with_borrow_mut(|own| own.0.push(path.clone()));
    }
    path
}

impl Drop for Own {
    fn drop(&mut self) {
        for path in &self.0 {
            let _ = fs::remove_dir_all(path);
        }
    }
}

/// Removes the directories of processes that have ended, and of an earlier one with our own number.
fn sweep(all: &Path) {
    let own = std::process::id().to_string();
    for entry in fs::read_dir(all).into_iter().flatten().flatten() {
        let process = entry.file_name();
        if process == *own || !Path::new("/proc").join(&process).exists() {
            // Another test process may be at it as well.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_goes_with_its_test() {
        let run = |name: Option<&str>| {
            let test = thread::Builder::new();
            let test = match name {
                Some(name) => test.name(name.to_owned()),
                None => test,
            };
            let test = test.spawn(|| {
                let path = scratch_dir();
                fs::write(path.join("file"), "text").expect("a file");
                path
            });
            test.expect("a thread").join().expect("a directory")
        };
        assert!(!run(Some("a test")).exists());
        assert!(run(None).exists());
    }
}
