//! Parts of a body with more bytes than 32 bits can count: only what was fetched of it is stored, and a range reads
//! only its own chunks.

use super::*;

/// The most bytes that files may take. A body may have half of that.
const SIZE: u64 = 10 << 30;
/// Length of the whole.
const WHOLE: u64 = (4 << 30) + 50_000_000;
/// Where the second part begins: beyond 32 bits.
const FAR: u64 = (4 << 30) + 1_234_567;
const LENGTH: usize = 3_000_000;

/// The bytes of a range, if it is held and its chunks are good.
fn range(disk: &Disk, first: u64, last: u64) -> Option<Result<Vec<u8>, Failed>> {
    let found = find(disk, &key(7));
    let [found] = &found[..] else { return None };
    let pieces = found.body.slice(Span { first, last })?;
    let mut pieces = crate::Pieces::from(pieces);
    let mut got = Vec::new();
    while let Some(piece) = wait(|context| pieces.poll_next(context)) {
        match piece {
            Ok(piece) => got.extend_from_slice(&piece),
            Err(failed) => return Some(Err(failed)),
        }
    }
    Some(Ok(got))
}

#[test]
fn a_range_beyond_four_gigabytes_reads_its_own_chunks_of_what_was_fetched() {
    let dir = Dir::new();
    let disk = dir.open_with(SIZE);
    let (near, far) = (noise(1, LENGTH), noise(2, LENGTH));
    let part = |first, bytes: &[u8]| Parts::new(WHOLE, first, Bytes::copy_from_slice(bytes));
    let parts = part(0, &near).combined(&part(FAR, &far), u64::MAX);
    let stored = sample::with_body(Body::Parts(Arc::new(parts)));
    assert!(disk.offer(&key(7), &Arc::new(stored)));
    disk.flush();
    drop(disk);
    assert!(dir.bytes() < 6_100_000, "what was fetched: {}", dir.bytes());

    // Damages a chunk in the middle of the second part. The parts lie one behind the other.
    let path = dir.files("large-").remove(0);
    let mut bytes = fs::read(&path).expect("read");
    let chunk = (LENGTH as u64 + 1_500_000) / 65_536;
    let at = layout::offset(chunk) as usize;
    bytes[at + 100] ^= 1;
    fs::write(&path, &bytes).expect("written");
    // Where that chunk begins and ends in the whole.
    let from = FAR + chunk * 65_536 - LENGTH as u64;
    let until = from + 65_536;

    let disk = dir.open_with(SIZE);
    let end = FAR + LENGTH as u64 - 1;
    for (first, last) in [(FAR, FAR), (FAR, from - 1), (until, end), (0, 2_999_999)] {
        let got = range(&disk, first, last).expect("held").expect("good");
        let wanted = if first < FAR {
            near[first as usize..=last as usize].to_vec()
        } else {
            far[(first - FAR) as usize..=(last - FAR) as usize].to_vec()
        };
        assert!(got == wanted, "{first}-{last}");
    }
    for (first, last) in [(FAR - 1, FAR), (end, end + 1), (3_000_000, 3_000_000)] {
        assert!(range(&disk, first, last).is_none(), "{first}: not fetched");
    }
    assert_eq!(disk.statistics().damaged, 0, "nobody has read that chunk");
    let got = range(&disk, until - 1, until).expect("held");
    assert!(got.is_err(), "it was read now");
    assert!(disk.statistics().damaged > 0);
}

/// A tenth of a megabyte of a film of five gigabytes was fetched: only that wears out the device.
#[test]
fn a_part_takes_of_the_write_rate_what_is_written_of_it() {
    let dir = Dir::new();
    let config = Config {
        write_rate: Some(1 << 20),
        ..dir.config(SIZE)
    };
    let disk = Disk::open(config, Arc::default()).expect("opens");
    let part = Parts::new(WHOLE, FAR, Bytes::from(noise(1, 100_000)));
    let stored = sample::with_body(Body::Parts(Arc::new(part)));
    assert!(disk.offer(&key(7), &Arc::new(stored)));
    assert!(
        disk.offer(&key(1), &response(1, 1000)),
        "there is room left"
    );
}
