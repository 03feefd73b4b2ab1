//! What a server answers over HTTP/1.1, as it is read without `hyper`. The first byte says how long the pieces are in
//! which the content comes.
#![no_main]

use bytes::BytesMut;
use libfuzzer_sys::fuzz_target;
use origin::direct::{chunked::Decoder, head};

/// Heads are not longer than this.
const LARGEST: usize = 512;

/// The content, how many bytes were read, and whether the body ended.
fn decoded(coded: &[u8], piece: usize) -> Result<(Vec<u8>, usize, bool), &'static str> {
    let (mut decoder, mut data, mut used) = (Decoder::default(), BytesMut::new(), 0);
    for piece in coded.chunks(piece) {
        used += decoder.decode(piece, &mut data)?;
    }
    Ok((data.to_vec(), used, decoder.is_done()))
}

fuzz_target!(|data: &[u8]| {
    let Some((&piece, bytes)) = data.split_first() else {
        return;
    };
    let whole = decoded(bytes, usize::MAX);
    assert_eq!(
        decoded(bytes, usize::from(piece).max(1)),
        whole,
        "pieces do not matter"
    );
    if let Ok((content, used, done)) = whole {
        assert!(content.len() <= used && used <= bytes.len());
        assert!(done || used == bytes.len(), "it stops at the end only");
        let again = decoded(&bytes[..used], usize::MAX);
        assert_eq!(
            again,
            Ok((content, used, done)),
            "what follows does not matter"
        );
    }
    let Ok(Some(read)) = head::parse(bytes, LARGEST) else {
        return;
    };
    assert!(read.length <= LARGEST);
    let (head, _) = bytes.split_at(read.length);
    let inner = &head[..head.len() - 1];
    let ends = inner.ends_with(b"\n") || inner.ends_with(b"\n\r");
    assert!(ends && head.ends_with(b"\n"), "it ends with an empty line");
    let alone = head::parse(head, LARGEST)
        .unwrap()
        .expect("what follows does not matter");
    assert_eq!((alone.length, alone.keeps), (read.length, read.keeps));
    assert_eq!(alone.response.status(), read.response.status());
    assert_eq!(alone.response.headers(), read.response.headers());
    let part = head::parse(&head[..head.len() - 1], LARGEST);
    assert!(matches!(part, Ok(None)), "a part of a head is no head");
});
