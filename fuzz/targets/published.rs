//! The manifest of a published site, as it may lie in any folder.
#![no_main]

use larder::publish::{manifest::Manifest, name};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &[u8]| {
    let Ok(manifest) = Manifest::read(text) else {
        return;
    };
    for (target, page) in &manifest.pages {
        assert!(target.starts_with('/'), "{target}");
        assert!(
            page.file.as_ref().is_none_or(|file| name::is_safe(file)),
            "{page:?}"
        );
    }
    let again = Manifest::read(manifest.to_text().as_bytes()).expect("what is written is read");
    assert_eq!(again, manifest);
});
