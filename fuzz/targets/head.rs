//! The head of a stored response as tiers below memory keep it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use store::{
    Body,
    codec::{self, Head, Layout},
    purge::Log,
};

fuzz_target!(|data: &[u8]| {
    let Ok(head) = Head::decode(data) else { return };
    let whole = match head.layout {
        Layout::Whole(_) => true,
        Layout::Parts { length, .. } => {
            assert!(head.layout.stored() <= length, "parts lie within");
            false
        }
    };
    let (key, checked) = (head.key.clone(), head.checked());
    let stored = head.stored(Body::Whole(Vec::new().into()), None, Log::default().tags());
    assert_eq!(stored.checked(), checked);
    let _ = stored.fields.unpack(0);
    let again = codec::encode(&key, &stored).expect("its body is here");
    // All but the layout, which is that of the body given.
    let same = again.len() - 9;
    assert_eq!(again[..same], data[..same], "one form only");
    assert!(!whole || data.len() == again.len());
});
