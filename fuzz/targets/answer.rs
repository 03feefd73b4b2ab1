//! What a server answers to `larder bench`: whatever the bytes and however they are cut, the same is read, and no panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use load::http1::{Answer, Broken, Reader, Step};

/// The answer and how many bytes belong to it; `None` where more is needed.
fn read(bytes: &[u8], to_head: bool, cut: usize) -> Result<Option<(Answer, usize)>, Broken> {
    let mut reader = Reader::new(true);
    reader.begin(to_head);
    let (first, second) = bytes.split_at(cut.min(bytes.len()));
    let mut before = 0;
    for piece in [first, second] {
        if let Step::Done { used } = reader.feed(piece)? {
            assert!(used <= piece.len(), "no more than there was");
            return Ok(Some((reader.take(), before + used)));
        }
        before += piece.len();
    }
    Ok(reader.end().then(|| (reader.take(), bytes.len())))
}

fuzz_target!(|data: &[u8]| {
    let Some(([flags, cut], bytes)) = data.split_first_chunk() else {
        return;
    };
    let to_head = flags & 1 == 1;
    let whole = read(bytes, to_head, bytes.len());
    // What follows an answer is never looked at, so a cut changes nothing but where that is found wrong.
    let cut = read(bytes, to_head, usize::from(*cut));
    assert_eq!(whole, cut, "pieces change nothing");
    if let Ok(Some((answer, used))) = whole {
        assert!(answer.status >= 200 && answer.body <= used as u64);
    }
});
