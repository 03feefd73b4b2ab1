//! The head of a request that is answered without `hyper`, and what follows it.
#![no_main]

use http::header;
use libfuzzer_sys::fuzz_target;
use proxy::listen::{Limits, parse_request};

fuzz_target!(|data: &[u8]| {
    let limits = Limits::default();
    let Some((request, length)) = parse_request(data, &limits) else {
        return;
    };
    for name in [
        header::CONTENT_LENGTH,
        header::TRANSFER_ENCODING,
        header::EXPECT,
        header::UPGRADE,
    ] {
        assert!(!request.fields.contains_key(name), "it is more than a head");
    }
    let head = &data[..length];
    let text = head.trim_ascii_start();
    let inner = &text[..text.len().saturating_sub(1)];
    let ends = inner.ends_with(b"\n") || inner.ends_with(b"\n\r");
    assert!(ends && head.ends_with(b"\n"), "it ends with an empty line");
    let alone = parse_request(head, &limits).expect("what follows does not matter");
    assert_eq!(alone.1, length);
    assert_eq!(
        (alone.0.method, alone.0.target, alone.0.fields),
        (request.method, request.target, request.fields)
    );
    let all_but_one = parse_request(&head[..length - 1], &limits);
    assert!(all_but_one.is_none(), "a part of a head is no head");
});
