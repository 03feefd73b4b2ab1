//! The frames of an HTTP/2 client: how far its heads have come, wherever what it sends is cut.
#![no_main]

use libfuzzer_sys::fuzz_target;
use origin::http2::Frames;

/// Bytes that a head may take.
const MOST: usize = 32 * 1024;

fuzz_target!(|data: (Vec<u8>, Vec<u8>)| {
    let (bytes, cuts) = data;
    let whole = Frames::new(MOST).go_on(&bytes);
    let (mut frames, mut rest, mut last) = (Frames::new(MOST), &bytes[..], 0);
    for cut in cuts {
        let (piece, behind) = rest.split_at(rest.len().min(cut.into()));
        (last, rest) = (frames.go_on(piece), behind);
    }
    if !rest.is_empty() {
        last = frames.go_on(rest);
    }
    assert_eq!(last, whole);
    assert!(whole == MOST || whole <= bytes.len());
});
