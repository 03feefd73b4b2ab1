//! The labels of a sealed segment.
#![no_main]

use libfuzzer_sys::fuzz_target;
use store::codec::label;

fuzz_target!(|data: &[u8]| {
    let mut rest = data;
    while let Ok((unit, label, more)) = label::read(rest) {
        let mut again = Vec::new();
        let written = label::write(&label).expect("as long as it was");
        label::add(&mut again, unit, &written);
        assert_eq!(again, rest[..rest.len() - more.len()], "one form only");
        rest = more;
    }
});
