//! The end of a segment that a crash left without its index: torn, or damaged.

use super::{check::What, *};

const MANY: u64 = 20;
const LENGTH: usize = 500;

/// What a crash left: all were replaced in a second run, whose segment has no index yet. Returns the segment, its bytes,
/// where its records begin, and its bytes as they are when it is sealed.
fn crashed() -> (Dir, PathBuf, Vec<u8>, Vec<usize>, Vec<u8>) {
    let (dir, copy) = (Dir::new(), Dir::new());
    let disk = dir.open();
    (0..MANY).for_each(|number| put(&disk, number, LENGTH));
    drop(disk);
    let disk = dir.open();
    for number in 0..MANY {
        assert!(disk.offer(&key(number), &response(number + MANY, LENGTH)));
    }
    disk.flush();
    fs::create_dir(&copy.0).expect("made");
    for path in [dir.files("segment-"), dir.files("about")].concat() {
        fs::copy(&path, copy.0.join(path.file_name().expect("a name"))).expect("copied");
    }
    drop(disk);
    let sealed = fs::read(&dir.files("segment-")[1]).expect("sealed");
    let path = copy.files("segment-").remove(1);
    let bytes = fs::read(&path).expect("a segment");
    let is_record = |at: &usize| bytes[at + 8..].starts_with(b"LREC");
    let places = (format::FILE_HEAD..bytes.len()).step_by(format::ALIGN as usize);
    let places: Vec<_> = places.filter(is_record).collect();
    assert_eq!(places.len(), MANY as usize);
    (copy, path, bytes, places, sealed)
}

/// How many of the latest versions are found, and how many of the older ones.
fn found(disk: &Disk) -> (usize, usize) {
    let found = (0..MANY).flat_map(|wanted| find(disk, &key(wanted)));
    let (latest, older): (Vec<_>, Vec<_>) = found.partition(|found| number(found) >= MANY);
    (latest.len(), older.len())
}

#[test]
fn a_segment_that_is_damaged_where_no_crash_comes_is_told_of_and_brings_nothing_older_back() {
    let (dir, path, bytes, places, _) = crashed();
    let older = dir.files("segment-").remove(0);
    let replaced = fs::read(&older).expect("a segment");
    let (middle, last) = (places[8], places[MANY as usize - 1]);
    let flip = |at: usize| {
        let mut bytes = bytes.clone();
        bytes[at] ^= 1;
        bytes
    };
    let fill = |from: usize, to: usize, byte: u8| {
        let mut bytes = bytes.clone();
        bytes[from..to].fill(byte);
        bytes
    };
    for (what, damaged, at) in [
        ("a field in the middle", flip(middle + 100), middle),
        ("what says that a record begins", flip(middle + 9), middle),
        ("a length, beyond the end", flip(middle + 18), middle),
        ("the first", flip(format::FILE_HEAD + 9), format::FILE_HEAD),
        ("the last", flip(last + 100), last),
        ("all from there on", fill(middle, bytes.len(), 7), middle),
        ("a hole", fill(middle, middle + 1024, 0), middle),
    ] {
        fs::write(&older, &replaced).expect("written");
        fs::write(&path, damaged).expect("written");
        let mut faults = Vec::new();
        let verified = verify(&dir.0, &mut |fault| faults.push(fault.clone()));
        assert_eq!(verified.expect("a tier").faults, 1, "{what}");
        assert_eq!(
            (faults[0].offset, faults[0].what),
            (at as u64, What::Record)
        );
        let disk = dir.open();
        assert_eq!(found(&disk), (0, 0), "{what}");
        assert_eq!(disk.statistics().damaged, 1, "{what}");
        let events = disk.events();
        let said = format!("damaged at byte {at}");
        let is_told = |event: &Event| matches!(event, Event::Unreadable { file, error, older: 1 } if *file == path && *error == said);
        assert!(events.iter().any(is_told), "{what}: {events:?}");
        drop(disk);
        assert_eq!(found(&dir.open()), (0, 0), "{what}: at the next start");
    }
}

#[test]
fn what_a_crash_leaves_at_the_end_is_no_damage() {
    let (dir, path, bytes, places, sealed) = crashed();
    let older = dir.files("segment-").remove(0);
    let replaced = fs::read(&older).expect("a segment");
    let (all, last) = (MANY as usize, places[MANY as usize - 1]);
    let index = bytes.len();
    let zeros = |mut bytes: Vec<u8>, from: usize| {
        bytes[from..].fill(0);
        bytes
    };
    let sector = |at: usize| at.next_multiple_of(512);
    let flip = |at: usize| {
        let mut bytes = sealed.clone();
        bytes[at] ^= 1;
        bytes
    };
    let middle = places.iter().filter(|place| **place < 4096).count() - 1;
    for (what, torn, left) in [
        ("nothing", bytes.clone(), all),
        ("a header", bytes[..last + 20].to_vec(), all - 1),
        ("a record", bytes[..last + 300].to_vec(), all - 1),
        ("a head of zeros", zeros(bytes.clone(), last), all - 1),
        (
            "the end of a body",
            zeros(bytes.clone(), sector(last + 300)),
            all - 1,
        ),
        (
            "pages",
            zeros(bytes.clone(), sector(places[middle] + 1)),
            middle,
        ),
        ("half an index", sealed[..index + 40].to_vec(), all),
        ("an index", flip(index + 40), all),
        ("a trailer", flip(sealed.len() - 9), all),
        ("labels of zeros", zeros(sealed.clone(), index + 40), all),
        ("an index of zeros", zeros(sealed.clone(), index), all),
    ] {
        fs::write(&older, &replaced).expect("written");
        fs::write(&path, torn).expect("written");
        let verified = verify(&dir.0, &mut |_| {}).expect("a tier");
        assert_eq!(verified.faults, 0, "{what}");
        let disk = dir.open();
        assert_eq!(found(&disk), (left, all - left), "{what}");
        assert_eq!(disk.statistics().damaged, 0, "{what}");
        let events = disk.events();
        assert!(
            matches!(events[..], [Event::Loaded { .. }]),
            "{what}: {events:?}"
        );
    }
}
