//! What a FastCGI server sends. The first byte says how long the pieces are in which it comes.
#![no_main]

use bytes::BytesMut;
use libfuzzer_sys::fuzz_target;
use origin::fastcgi::{
    head::{self, Head},
    record::{Decoder, Event, Wrong},
};

/// Output and complaints, and whether the request ended.
type Read = Result<(Vec<u8>, Vec<u8>, bool), Wrong>;

fn read(bytes: &[u8], piece: usize) -> Read {
    let (mut decoder, mut input) = (Decoder::default(), BytesMut::new());
    let (mut output, mut complaints, mut ended) = (Vec::new(), Vec::new(), false);
    for piece in bytes.chunks(piece) {
        input.extend_from_slice(piece);
        while let Some(event) = decoder.next(&mut input)? {
            assert!(!ended, "nothing comes after the end");
            match event {
                Event::Output(piece) => output.extend(piece),
                Event::Complaint(piece) => complaints.extend(piece),
                Event::End(_) => ended = true,
            }
        }
    }
    Ok((output, complaints, ended))
}

/// The same end of a head is found whatever the pieces.
fn head_end(output: &[u8], piece: usize) -> Option<(usize, usize)> {
    let mut seen = 0;
    for part in output.chunks(piece) {
        let until = seen + part.len();
        let found = head::end(&output[..until], seen);
        if found.is_some() {
            return found;
        }
        seen = until;
    }
    None
}

fuzz_target!(|data: &[u8]| {
    let Some((&piece, bytes)) = data.split_first() else {
        return;
    };
    let piece = usize::from(piece).max(1);
    let whole = read(bytes, usize::MAX);
    assert_eq!(read(bytes, piece), whole, "pieces do not matter");
    let Ok((output, complaints, _)) = whole else {
        return;
    };
    assert!(output.len() + complaints.len() <= bytes.len());
    let end = head::end(&output, 0);
    assert_eq!(head_end(&output, piece), end, "pieces do not matter");
    let Some((length, whole)) = end else {
        return;
    };
    assert!(length < whole && whole <= output.len());
    if let Ok(Head::Response(status, fields)) = head::parse(&output[..length]) {
        assert!(!status.is_informational());
        assert!(!fields.contains_key("transfer-encoding"));
    }
});
