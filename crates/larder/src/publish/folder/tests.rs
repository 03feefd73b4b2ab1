use super::*;
use std::{sync::Barrier, thread};
use testkit::scratch_dir;

const THREADS: usize = 4;

/// Pages are written several at a time, and each may be the first in its folder or the last.
#[test]
fn files_come_and_go_in_one_folder_at_the_same_time() {
    let home = scratch_dir();
    let folder = Folder::open(&home).unwrap();
    let together = Barrier::new(THREADS);
    let write = |number: usize, round: usize| {
        let name = format!("news/{round}/{number}");
        let draft = folder.draft()?;
        together.wait();
        folder.place(&draft, &name, Whose::Others)?;
        folder.remove(&name).map_err(PlaceError::from)
    };
    thread::scope(|scope| {
        let start =
            |number| scope.spawn(move || (0..200).map(|round| write(number, round)).collect());
        let threads: Vec<_> = (0..THREADS).map(start).collect();
        for thread in threads {
            let ends: Vec<Result<(), PlaceError>> = thread.join().unwrap();
            for end in ends {
                end.unwrap();
            }
        }
    });
    assert!(!folder.path("news").exists());
}
