//! `Forwarded` and the addresses in it (RFC 7239), as whoever asks a proxy before us may have it written.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rules::forwarded::{address, as_written::without_nodes, elements};

fuzz_target!(|data: &[u8]| {
    for element in elements(data).into_iter().flatten() {
        let _ = element.get("for").and_then(|node| address(&node));
        let Some(text) = element.without(&["host"]) else {
            continue;
        };
        let again = elements(text.as_bytes());
        let [Some(again)] = again.as_slice() else {
            panic!("what is left is one element: {text}");
        };
        assert_eq!(again.get("host"), None);
        assert_eq!(again.get("for"), element.get("for"));
    }
    let keyed = without_nodes(data);
    assert_eq!(
        without_nodes(&keyed),
        keyed,
        "what stands for an address says the same"
    );
    let behind = [data, b", for=192.0.2.1"].concat();
    let last = elements(&behind).pop().flatten();
    let last = last.and_then(|last| last.get("for"));
    assert_eq!(
        last.as_deref(),
        Some("192.0.2.1"),
        "nothing hides the last word"
    );
});
