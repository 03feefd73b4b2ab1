use super::*;
use proptest::{collection::vec, prelude::*};

const MOST: usize = 32 * 1024;

fn frame(kind: u8, flags: u8, length: usize) -> Vec<u8> {
    let [_, a, b, c] = u32::try_from(length).unwrap().to_be_bytes();
    let mut frame = vec![a, b, c, kind, flags, 0, 0, 0, 1];
    // Bytes that look like the heads of frames.
    frame.extend([0, 0, 9, 1, 0, 0, 0, 0, 1].iter().cycle().take(length));
    frame
}

fn begun() -> Frames {
    let mut frames = Frames::new(MOST);
    assert_eq!(frames.go_on(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), 0);
    frames
}

#[test]
fn a_head_is_unfinished_until_its_last_byte() {
    let head = frame(HEADERS, END_HEADERS, 100);
    let mut frames = begun();
    for (nth, byte) in head.iter().enumerate() {
        // The kind of the frame is known once its head is complete.
        let kept = match nth + 1 {
            109 => 0,
            came if came >= FRAME_HEAD => came,
            _ => 0,
        };
        assert_eq!(frames.go_on(&[*byte]), kept, "{nth}");
    }
}

#[test]
fn a_head_in_several_frames_is_unfinished_until_the_last_of_them() {
    let mut frames = begun();
    assert_eq!(frames.go_on(&frame(HEADERS, 0, 100)), MOST);
    assert_eq!(frames.go_on(&frame(CONTINUATION, 0, 0)), MOST);
    let last = frame(CONTINUATION, END_HEADERS, 10);
    let (some, rest) = last.split_at(12);
    assert_eq!(frames.go_on(some), MOST);
    assert_eq!(frames.go_on(rest), 0);
}

/// So that the time of the first is not taken for that of the second.
#[test]
fn one_head_that_ends_where_another_begins_is_told() {
    let mut frames = begun();
    let two = [
        frame(HEADERS, END_HEADERS, 20),
        frame(HEADERS, END_HEADERS, 20),
    ]
    .concat();
    let (some, rest) = two.split_at(12);
    assert!(frames.go_on(some) > 0 && !frames.has_ended());
    let (more, last) = rest.split_at(30);
    assert!(frames.go_on(more) > 0 && frames.has_ended());
    assert!(frames.go_on(&last[..3]) > 0 && !frames.has_ended());
}

#[test]
fn other_frames_are_no_heads() {
    let mut frames = begun();
    for kind in [0, 2, 3, 4, 6, 7, 8, 200] {
        let other = frame(kind, 0, 40);
        for piece in other.chunks(7) {
            assert_eq!(frames.go_on(piece), 0, "{kind}");
        }
    }
}

#[test]
fn small_frames_of_content_are_counted_once() {
    let mut frames = begun();
    let all = [
        frame(DATA, 0, 0),
        frame(DATA, 0, SMALL - 1),
        frame(DATA, 0, SMALL),
        // What is padded brings less.
        frame(DATA, PADDED, SMALL),
        frame(HEADERS, END_HEADERS, 10),
    ];
    for piece in all.concat().chunks(7) {
        frames.go_on(piece);
    }
    assert_eq!((frames.take_small(), frames.take_small()), (3, 0));
}

proptest! {
    #[test]
    fn it_makes_no_difference_where_bytes_are_cut(
        parts in vec((0..12_u8, any::<u8>(), 0..60_usize), 0..8),
        cuts in vec(1..50_usize, 1..9),
        end in 0..400_usize,
    ) {
        let mut all = vec![0; PREFACE];
        for (kind, flags, length) in parts {
            all.extend(frame(kind, flags, length));
        }
        all.truncate(PREFACE + end);
        let mut frames = Frames::new(MOST);
        let whole = (frames.go_on(&all), frames.take_small());
        let (mut cut, mut last, mut small, mut rest) = (Frames::new(MOST), 0, 0, &all[..]);
        for length in cuts.iter().cycle() {
            let (piece, behind) = rest.split_at(rest.len().min(*length));
            (last, rest) = (cut.go_on(piece), behind);
            small += cut.take_small();
            if rest.is_empty() {
                break;
            }
        }
        prop_assert_eq!((last, small), whole);
    }

    #[test]
    fn any_bytes_are_read(pieces in vec(vec(any::<u8>(), 0..40), 0..20)) {
        let mut frames = Frames::new(MOST);
        for piece in pieces {
            let kept = frames.go_on(&piece);
            prop_assert!(kept <= MOST || kept <= FRAME_HEAD + (1 << 24));
        }
    }
}
