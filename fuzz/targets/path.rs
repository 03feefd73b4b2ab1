//! The path of a target, before a folder is looked into: whatever it is, it names nothing outside.
#![no_main]

use libfuzzer_sys::fuzz_target;
use origin::files::path::Wanted;
use std::path::Component;

fuzz_target!(|data: &[u8]| {
    let Ok(path) = std::str::from_utf8(data) else {
        return;
    };
    let Ok(wanted) = Wanted::read(path) else {
        return;
    };
    for (index, part) in wanted.path.components().enumerate() {
        let Component::Normal(name) = part else {
            panic!("{part:?} leads elsewhere");
        };
        let name = name.as_encoded_bytes();
        assert!(
            !name.contains(&0) && !name.contains(&b'\\'),
            "a byte that no name has"
        );
        let is_well_known = index == 0 && name == b".well-known";
        assert!(is_well_known || !name.starts_with(b"."), "hidden");
    }
});
