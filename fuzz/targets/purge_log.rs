//! The purge log's file: whatever the bytes, it is read without harm, and what adds up is what was written.
#![no_main]

use libfuzzer_sys::fuzz_target;
use store::purge::journal::format::{Contents, Item, first_line, frame};

fuzz_target!(|data: &[u8]| {
    // As it is, as what follows the first line, and as the content of a frame that adds up.
    let _ = Contents::read(data);
    let mut file = first_line().into_bytes();
    file.extend_from_slice(data);
    read(&file);
    file.truncate(first_line().len());
    file.extend(frame(data));
    read(&file);
});

fn read(file: &[u8]) {
    let Ok(Some(contents)) = Contents::read(file) else {
        panic!("the first line is ours");
    };
    assert!(contents.end <= file.len());
    let mut content = Vec::new();
    for item in &contents.items {
        Item::write(item, &mut content);
    }
    let mut again = first_line().into_bytes();
    again.extend(frame(&content));
    let again = Contents::read(&again);
    assert_eq!(
        again.ok().flatten().map(|again| again.items),
        Some(contents.items)
    );
}
