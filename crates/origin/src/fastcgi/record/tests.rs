use super::*;
use proptest::{collection::vec, prelude::*};

fn record(kind: u8, content: &[u8], padding: u8) -> Vec<u8> {
    let [high, low] = u16::try_from(content.len()).unwrap().to_be_bytes();
    let mut bytes = vec![VERSION, kind, 0, 1, high, low, padding, 0];
    bytes.extend(content);
    bytes.extend(vec![0xee; usize::from(padding)]);
    bytes
}

/// Decodes these bytes, which come in pieces of these lengths. Returns all events, and how many bytes are left.
fn read(bytes: &[u8], pieces: &[usize]) -> (Result<Vec<Event>, Wrong>, usize) {
    let (mut decoder, mut input, mut events) = (Decoder::default(), BytesMut::new(), Vec::new());
    let mut rest = bytes;
    let lengths = pieces.iter().copied().chain(std::iter::repeat(usize::MAX));
    for length in lengths {
        let (piece, after) = rest.split_at(length.min(rest.len()));
        input.extend_from_slice(piece);
        rest = after;
        loop {
            match decoder.next(&mut input) {
                Ok(Some(event)) => events.push(event),
                Ok(None) => break,
                Err(wrong) => return (Err(wrong), input.len()),
            }
        }
        if rest.is_empty() {
            break;
        }
    }
    (Ok(events), input.len())
}

/// Joins the output and the complaints. Returns them, and the end.
fn whole(events: &[Event]) -> (Vec<u8>, Vec<u8>, Option<Ended>) {
    let (mut output, mut complaints, mut ended) = (Vec::new(), Vec::new(), None);
    for event in events {
        match event {
            Event::Output(piece) => output.extend(piece),
            Event::Complaint(piece) => complaints.extend(piece),
            Event::End(end) => ended = Some(*end),
        }
    }
    (output, complaints, ended)
}

#[test]
fn what_is_refused() {
    let end = record(kind::END_REQUEST, &[0; 8], 0);
    let at = |index: usize, byte: u8| {
        let mut bytes = record(kind::STDOUT, b"x", 0);
        bytes[index] = byte;
        bytes
    };
    for (bytes, wrong) in [
        (at(0, 2), Wrong::Version(2)),
        (b"H".to_vec(), Wrong::Version(b'H')),
        (at(3, 2), Wrong::Stranger(2)),
        (at(2, 1), Wrong::Stranger(257)),
        (at(1, kind::STDIN), Wrong::Kind(5)),
        (at(1, 10), Wrong::Kind(10)),
        (at(1, 0), Wrong::Kind(0)),
        (record(kind::END_REQUEST, &[0; 9], 0), Wrong::EndLength(9)),
        (record(kind::END_REQUEST, &[], 0), Wrong::EndLength(0)),
        (
            [record(kind::STDOUT, &[], 0), record(kind::STDOUT, b"x", 0)].concat(),
            Wrong::AfterEnd,
        ),
    ] {
        assert_eq!(read(&bytes, &[]).0, Err(wrong), "{bytes:?}");
    }
    // What follows the end is not read.
    let (events, left) = read(&[end, at(0, 9)].concat(), &[]);
    assert_eq!((events.unwrap().len(), left), (1, 9));
}

#[test]
fn what_is_sent() {
    let mut out = BytesMut::new();
    begin(&mut out, true);
    assert_eq!(&out[..], [1, 1, 0, 1, 0, 8, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0]);
    out.clear();
    params(&mut out, [&b"ab"[..], b"c"].into_iter());
    let first = [1, 4, 0, 1, 0, 2, 0, 0, b'a', b'b'];
    let second = [1, 4, 0, 1, 0, 1, 0, 0, b'c'];
    let end = [1, 4, 0, 1, 0, 0, 0, 0];
    assert_eq!(&out[..], [&first[..], &second, &end].concat());
    out.clear();
    stdin(&mut out, &[]);
    assert!(out.is_empty(), "an empty record would end the stream");
    stdin(&mut out, &vec![7; LARGEST + 1]);
    assert_eq!(out.len(), LARGEST + 1 + 2 * HEADER);
    assert_eq!(&out[..8], [1, 5, 0, 1, 255, 255, 0, 0]);
    assert_eq!(&out[HEADER + LARGEST..], [1, 5, 0, 1, 0, 1, 0, 0, 7]);
    out.clear();
    end_of_stdin(&mut out);
    assert_eq!(&out[..], [1, 5, 0, 1, 0, 0, 0, 0]);
}

proptest! {
    #[test]
    fn pieces_do_not_matter(
        records in vec((any::<bool>(), vec(any::<u8>(), 1..300), any::<u8>()), 0..8),
        pieces in vec(1_usize..40, 0..200),
        status: u32,
    ) {
        let (mut bytes, mut output, mut complaints) = (Vec::new(), Vec::new(), Vec::new());
        for (is_output, content, padding) in &records {
            let (kind, all) = if *is_output {
                (kind::STDOUT, &mut output)
            } else {
                (kind::STDERR, &mut complaints)
            };
            bytes.extend(record(kind, content, *padding));
            all.extend(content);
        }
        let mut end = [0; 8];
        end[..4].copy_from_slice(&status.to_be_bytes());
        bytes.extend(record(kind::END_REQUEST, &end, 5));
        let (events, left) = read(&bytes, &pieces);
        let ended = Some(Ended { application: status, protocol: 0 });
        prop_assert_eq!(whole(&events.unwrap()), (output, complaints, ended));
        prop_assert_eq!(left, 0);
    }

    #[test]
    fn nothing_panics_and_nothing_comes_from_nowhere(
        bytes in vec(prop_oneof![any::<u8>(), 0_u8..12], 0..400),
        pieces in vec(1_usize..40, 0..40),
    ) {
        let (events, left) = read(&bytes, &pieces);
        if let Ok(events) = events {
            let (output, complaints, _) = whole(&events);
            prop_assert!(output.len() + complaints.len() + left <= bytes.len());
            prop_assert_eq!(read(&bytes, &[]).0.map(|events| whole(&events)), Ok(whole(&events)));
        }
    }
}
