//! The frames of an HTTP/2 client: how far its heads have come, and how many small frames there were, wherever what it
//! sends is cut.
#![no_main]

use libfuzzer_sys::fuzz_target;
use origin::http2::Frames;

/// Bytes that a head may take.
const MOST: usize = 32 * 1024;

fuzz_target!(|data: (Vec<u8>, Vec<u8>)| {
    let (bytes, cuts) = data;
    let mut frames = Frames::new(MOST);
    let (whole, all_small) = (frames.go_on(&bytes), frames.take_small());
    let (mut frames, mut rest, mut last, mut small) = (Frames::new(MOST), &bytes[..], 0, 0);
    for cut in cuts {
        let (piece, behind) = rest.split_at(rest.len().min(cut.into()));
        (last, rest) = (frames.go_on(piece), behind);
        small += frames.take_small();
    }
    if !rest.is_empty() {
        last = frames.go_on(rest);
    }
    assert_eq!((last, small + frames.take_small()), (whole, all_small));
    assert!(whole == MOST || whole <= bytes.len());
});
