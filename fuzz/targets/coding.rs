//! `Accept-Encoding`, entity tags in conditions, and bytes that are said to be coded.
//!
//! The input: lines of `Accept-Encoding`, an empty line, an entity tag, lines of `If-None-Match`, an empty line, and
//! coded bytes.

#![no_main]

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, HeaderValue, Method, header};
use libfuzzer_sys::fuzz_target;
use proxy::compress::{Decoder, Encoder};
use rules::coding::{self, Accepted, Choice, Coding, FormProvenance};
use std::sync::Arc;
use store::{Level, Memory};

fuzz_target!(|input: &[u8]| {
    let (fields, coded) = split(input);
    let (accepts, tags) = split(fields);
    let mut request = HeaderMap::new();
    for line in accepts.split(|byte| *byte == b'\n') {
        if let Ok(value) = HeaderValue::from_bytes(line) {
            request.append(header::ACCEPT_ENCODING, value);
        }
    }
    let accepted = Accepted::read(&request);
    match coding::choose(accepted, &Coding::ALL, |coding| coding == Coding::Gzip) {
        Choice::Identity => {}
        Choice::Coding(coding) => assert!(accepted.takes(Some(coding))),
        Choice::Instead { stored, better } => {
            assert!(accepted.takes(Some(stored)) && accepted.takes(Some(better)));
            assert_ne!(stored, better);
        }
    }
    conditions(tags, accepted);
    for coding in Coding::ALL {
        decode(coding, coded);
        there_and_back(coding, input);
    }
});

fn split(input: &[u8]) -> (&[u8], &[u8]) {
    let at = input.windows(2).position(|two| two == b"\n\n");
    at.map_or((input, &[]), |at| (&input[..at], &input[at + 2..]))
}

/// What is told of a form is understood again, and the origin gets a tag that is no form's.
fn conditions(tags: &[u8], accepted: Accepted) {
    let mut lines = tags.split(|byte| *byte == b'\n');
    let Ok(origin) = HeaderValue::from_bytes(lines.next().unwrap_or_default()) else {
        return;
    };
    let mut request = HeaderMap::new();
    for line in lines {
        if let Ok(value) = HeaderValue::from_bytes(line) {
            request.append(header::IF_NONE_MATCH, value);
        }
    }
    let _ = coding::understood(&request, origin.as_bytes(), true, accepted);
    coding::for_origin(&mut request, &Method::GET, || accepted);
    let mut fields = HeaderMap::new();
    fields.insert(header::ETAG, origin.clone());
    let made = FormProvenance::Whole { length: 1, hash: 2 };
    coding::describe(&mut fields, Some(Coding::Brotli), made);
    if fields[header::ETAG] != origin {
        let mut asked = HeaderMap::new();
        asked.insert(header::IF_NONE_MATCH, fields[header::ETAG].clone());
        let mut brotli = HeaderMap::new();
        brotli.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("br"));
        let brotli = Accepted::read(&brotli);
        assert!(coding::understood(&asked, origin.as_bytes(), false, brotli).is_some());
    }
}

fn memory() -> Arc<Memory> {
    Arc::new(Memory::new(1 << 30, Arc::default()))
}

/// Whatever the bytes, there is an end, and no step gives more than its bound.
fn decode(coding: Coding, coded: &[u8]) {
    let mut decoder = Decoder::new(coding, coded, &memory()).expect("there is room");
    let mut input = Bytes::copy_from_slice(coded);
    let mut sum = 0;
    while let Ok(out) = decoder.step(&mut input, &mut { usize::MAX }) {
        assert!(out.len() <= 16 << 10);
        sum += out.len();
        if out.is_empty() || sum > 1 << 22 {
            break;
        }
    }
}

fn there_and_back(coding: Coding, input: &[u8]) {
    let encoder = Encoder::shared(memory().budget(), coding, Level::Fast, None);
    let mut encoder = encoder.expect("there is room");
    let mut out = BytesMut::new();
    let half = input.len() / 2;
    encoder.push(&input[..half], &mut out).expect("memory");
    encoder.flush(&mut out).expect("memory");
    encoder.push(&input[half..], &mut out).expect("memory");
    encoder.finish(&mut out).expect("memory");
    let decoder = Decoder::new(coding, &out, &memory());
    let mut decoder = decoder.expect("there is room");
    let (mut coded, mut back) = (out.freeze(), Vec::new());
    loop {
        let piece = decoder
            .step(&mut coded, &mut { usize::MAX })
            .expect("what we have coded");
        if piece.is_empty() {
            break;
        }
        back.extend_from_slice(&piece);
    }
    assert!(decoder.is_whole());
    assert_eq!(back, input);
}
