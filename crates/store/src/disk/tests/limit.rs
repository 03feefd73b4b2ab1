//! The size is a hard limit, and what is asked for stays longest.

use super::*;

#[test]
fn the_files_never_take_more_than_they_may() {
    let dir = Dir::new();
    let size = 2 << 20;
    let disk = dir.open_with(size);
    let mut written = 0;
    for number in 0..400 {
        let length = match number % 10 {
            0 => 200_000,
            1..4 => 20_000,
            _ => 1000,
        };
        written += u64::from(disk.offer(&key(number), &response(number, length)));
        disk.flush();
        assert!(dir.bytes() <= size, "{} bytes at {number}", dir.bytes());
        let counted = disk.statistics().bytes;
        assert!(counted <= size && counted >= dir.bytes(), "{counted}");
    }
    assert_eq!(written, 400);
    let statistics = disk.statistics();
    assert!(
        statistics.bytes > size * 3 / 4,
        "it is used: {statistics:?}"
    );
    let is_large = |number: u64| number.is_multiple_of(10);
    let held = (0..400).filter(|number| disk.knows(&key(*number)));
    assert_eq!(held.count() as u64, statistics.records);
    assert!(disk.knows(&key(399)) && !disk.knows(&key(0)));
    for number in 0..400 {
        let length = [1000, 20_000][usize::from((1..4).contains(&(number % 10)))];
        holds(
            &disk,
            number,
            if is_large(number) { 200_000 } else { length },
        );
    }
    drop(disk);
    let disk = dir.open_with(size / 2);
    assert!(dir.bytes() <= size / 2, "a lower limit holds at once");
    assert!(disk.knows(&key(399)));
}

#[test]
fn what_was_asked_for_gets_a_second_chance() {
    let dir = Dir::new();
    let disk = dir.open_with(1 << 20);
    put(&disk, 0, 1000);
    for number in 1..1500 {
        put(&disk, number, 1000);
        if number % 100 == 0 {
            assert!(holds(&disk, 0, 1000), "at {number}");
        }
    }
    assert!(!disk.knows(&key(1)));
    let statistics = disk.statistics();
    assert!(statistics.forwarded > 0 && statistics.forwarded < 20);
    drop(disk);
    assert!(holds(&dir.open_with(1 << 20), 0, 1000));
}

#[test]
fn a_large_body_that_is_asked_for_stays() {
    let dir = Dir::new();
    let disk = dir.open_with(1 << 20);
    put(&disk, 0, 100_000);
    assert_eq!(disk.statistics().large_files, 1);
    for number in 1..1200 {
        put(&disk, number, 1000);
        if number % 100 == 0 {
            assert!(holds(&disk, 0, 100_000), "at {number}");
        }
    }
    for number in 1200..3500 {
        put(&disk, number, 1000);
    }
    assert!(!disk.knows(&key(0)), "nobody asks any more");
    assert_eq!(disk.statistics().large_files, 0);
    assert!(dir.files("large-").is_empty());
}

/// The last to close a deleted file waits until its blocks are given back.
#[test]
fn a_segment_that_goes_while_it_is_read_is_closed_by_the_keeper() {
    let dir = Dir::new();
    let disk = dir.open_with(1 << 20);
    put(&disk, 0, 1000);
    let reading = disk.shared.segments().values().next().cloned();
    let reading = reading.expect("a segment");
    let mut number = 1;
    while disk.shared.segments().contains_key(&reading.id) {
        put(&disk, number, 1000);
        number += 1;
    }
    assert_eq!(Arc::strong_count(&reading), 2, "the keeper holds it too");
    let file = Arc::downgrade(&reading);
    drop(reading);
    testkit::wait_until("the keeper lets go of it", || file.strong_count() == 0);
}
