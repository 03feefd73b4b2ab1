use super::*;
use bytes::Bytes;
use compression_codecs::{ZstdEncoder, zstd::params::CParameter};
use proptest::prelude::*;
use rules::coding::Coding;
use std::sync::Arc;
use store::{Level, Memory};

fn memory() -> Arc<Memory> {
    Arc::new(Memory::new(1 << 30, Arc::default()))
}

fn encoder(coding: Coding, level: Level) -> Encoder {
    Encoder::shared(memory().budget(), coding, level, None).expect("there is room")
}

fn decoder(coding: Coding) -> Decoder {
    Decoder::new(coding, &[], &memory()).expect("there is room")
}

fn encoded(coding: Coding, level: Level, parts: &[&[u8]], flush: bool) -> Vec<u8> {
    let mut encoder = encoder(coding, level);
    let mut out = BytesMut::new();
    for part in parts {
        encoder.push(part, &mut out).unwrap();
        if flush {
            encoder.flush(&mut out).unwrap();
        }
    }
    encoder.finish(&mut out).unwrap();
    out.to_vec()
}

/// Decodes piece by piece. Returns an error if the bytes are wrong or end too soon.
fn decoded(coding: Coding, pieces: &[&[u8]]) -> io::Result<Vec<u8>> {
    let mut decoder = decoder(coding);
    let mut all = Vec::new();
    for piece in pieces {
        let mut input = Bytes::copy_from_slice(piece);
        loop {
            let out = decoder.step(&mut input, &mut { usize::MAX })?;
            assert!(out.len() <= STEP, "a step is bounded");
            if out.is_empty() {
                break;
            }
            all.extend_from_slice(&out);
        }
    }
    if decoder.is_whole() {
        Ok(all)
    } else {
        Err(io::ErrorKind::UnexpectedEof.into())
    }
}

#[test]
fn what_is_flushed_can_be_read_at_once() {
    for coding in Coding::ALL {
        let mut encoder = encoder(coding, Level::Fast);
        let mut decoder = decoder(coding);
        for word in ["first", "second", "third"] {
            let mut out = BytesMut::new();
            encoder.push(word.as_bytes(), &mut out).unwrap();
            encoder.flush(&mut out).unwrap();
            let mut input = out.freeze();
            let mut read = Vec::new();
            loop {
                let piece = decoder.step(&mut input, &mut { usize::MAX }).unwrap();
                if piece.is_empty() {
                    break;
                }
                read.extend_from_slice(&piece);
            }
            assert_eq!(read, word.as_bytes(), "{coding}");
        }
    }
}

#[test]
fn the_same_bytes_come_out_however_they_came_in() {
    let text = "the same bytes ".repeat(4000);
    for coding in Coding::ALL {
        let whole = encoded(coding, Level::High, &[text.as_bytes()], false);
        let again = encoded(coding, Level::High, &[text.as_bytes()], false);
        assert_eq!(whole, again, "{coding}");
        assert!(whole.len() < text.len() / 20, "{coding}: {}", whole.len());
    }
}

#[test]
fn a_bomb_goes_off_in_bounded_steps() {
    let zeros = vec![0; 64 << 20];
    for coding in Coding::ALL {
        let bomb = encoded(coding, Level::Fast, &[&zeros], false);
        assert!(bomb.len() < 1 << 17, "{coding}: {}", bomb.len());
        let mut decoder = decoder(coding);
        let mut input = Bytes::from(bomb);
        let mut sum = 0;
        while !input.is_empty() || !decoder.is_whole() {
            let out = decoder.step(&mut input, &mut { usize::MAX }).unwrap();
            assert!(out.len() <= STEP);
            sum += out.len();
        }
        assert_eq!(sum, zeros.len(), "{coding}");
    }
}

#[test]
fn what_is_cut_off_is_no_body() {
    let text = "something to be coded ".repeat(100);
    for coding in Coding::ALL {
        let whole = encoded(coding, Level::Fast, &[text.as_bytes()], false);
        assert!(decoded(coding, &[&whole]).is_ok());
        for end in 1..whole.len() {
            assert!(decoded(coding, &[&whole[..end]]).is_err(), "{coding} {end}");
        }
    }
}

#[test]
fn nothing_at_all_is_an_empty_body_and_what_follows_the_end_is_passed_over() {
    for coding in Coding::ALL {
        assert_eq!(decoded(coding, &[]).unwrap(), b"", "{coding}");
        let whole = encoded(coding, Level::Fast, &[b"text"], false);
        for tail in [&b"\n"[..], &[0; 512], b"</html>"] {
            let padded = [&whole, tail].concat();
            assert_eq!(decoded(coding, &[&padded]).unwrap(), b"text", "{coding}");
            assert_eq!(decoded(coding, &[&whole, tail]).unwrap(), b"text");
        }
    }
}

/// The sender of coded content decides how large a window its reader must keep.
#[test]
fn a_window_that_no_sender_may_use_is_an_error() {
    let text = "text ".repeat(100);
    let zstd = |bits| {
        let params = [CParameter::window_log(bits)];
        let codec = Box::new(ZstdEncoder::new_with_params(1, &params));
        let mut encoder = Encoder::with(codec, memory().budget().reservation());
        let mut out = BytesMut::new();
        encoder.push(text.as_bytes(), &mut out).unwrap();
        encoder.flush(&mut out).unwrap();
        encoder.finish(&mut out).unwrap();
        out.to_vec()
    };
    assert!(decoded(Coding::Zstd, &[&zstd(23)]).is_ok());
    assert!(decoded(Coding::Zstd, &[&zstd(27)]).is_err());
    // An empty stream with a window of 2^28, and one with 2^24, the largest of RFC 7932.
    assert!(decoded(Coding::Brotli, &[&[0x11, 0xdc]]).is_err());
    assert!(decoded(Coding::Brotli, &[&[0x3f]]).is_ok());
}

#[test]
fn streams_may_follow_one_another() {
    for coding in [Coding::Gzip, Coding::Zstd] {
        let one = encoded(coding, Level::Fast, &[b"one "], false);
        let two = encoded(coding, Level::Fast, &[b"two"], false);
        let both = [one, two].concat();
        assert_eq!(decoded(coding, &[&both]).unwrap(), b"one two", "{coding}");
    }
}

proptest! {
    /// decode(encode(x)) = x, for any cuts on both sides, flushed or not.
    #[test]
    fn what_goes_in_comes_out(
        words in prop::collection::vec("[a-d]{1,6}", 0..400),
        noise in prop::collection::vec(any::<u8>(), 0..600),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..5),
        coding in prop::sample::select(&Coding::ALL[..]),
        high: bool,
        flush: bool,
    ) {
        let level = if high { Level::High } else { Level::Fast };
        let input = [words.concat().into_bytes(), noise].concat();
        let code = encoded(coding, level, &pieces(&input, &cuts), flush);
        prop_assert_eq!(decoded(coding, &pieces(&code, &cuts)).unwrap(), input);
    }

    /// Input of any kind comes to an end or an error, and no step is too large.
    #[test]
    fn any_bytes_are_read_to_their_end(
        bytes in prop::collection::vec(any::<u8>(), 0..300),
        at: prop::sample::Index,
        coding in prop::sample::select(&Coding::ALL[..]),
    ) {
        let _ = decoded(coding, &[&bytes]);
        let mut damaged = encoded(coding, Level::Fast, &["text ".repeat(50).as_bytes()], false);
        let place = at.index(damaged.len());
        damaged[place] ^= 0x55;
        let _ = decoded(coding, &[&damaged]);
    }
}

fn pieces<'a>(bytes: &'a [u8], cuts: &[prop::sample::Index]) -> Vec<&'a [u8]> {
    let mut places: Vec<_> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
    places.sort_unstable();
    places.push(bytes.len());
    let mut from = 0;
    let cut = |to: usize| {
        let piece = &bytes[from..to];
        from = to;
        piece
    };
    places.into_iter().map(cut).collect()
}
