//! Tests with many records.

use super::*;

/// Prints how long it takes to find a million stored responses again, and how much memory their index takes.
#[test]
#[ignore = "writes a million records; run with --ignored --nocapture, in release"]
fn a_million_records() {
    const MANY: u64 = 1_000_000;
    let dir = Dir::new();
    let disk = dir.open_with(8 << 30);
    for number in 0..MANY {
        while !disk.offer(&key(number), &response(number, 100)) {
            disk.flush();
        }
    }
    disk.flush();
    report(&disk, "written");
    drop(disk);
    let started = std::time::Instant::now();
    let disk = Disk::open(dir.config(8 << 30), Arc::default()).expect("opens");
    println!("open returned after {:?}", started.elapsed());
    disk.flush();
    for event in disk.events() {
        println!("{event}");
    }
    report(&disk, "found again");
    for number in (0..MANY).step_by(997) {
        assert!(holds(&disk, number, 100));
    }
}

fn report(disk: &Disk, what: &str) {
    let statistics = disk.statistics();
    assert_eq!(statistics.records, 1_000_000);
    let each = statistics.index_bytes.div_ceil(statistics.records);
    println!(
        "{what}: {each} bytes of index a record, {} segments",
        statistics.segments
    );
    assert!(each <= 64);
}
