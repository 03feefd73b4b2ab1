//! What `larder bench` reads from people and files: lists of URLs, sitemaps, assertions.
#![no_main]

use libfuzzer_sys::fuzz_target;
use load::{
    assertion::Assertion,
    site::{list, sitemap},
    url::Url,
};

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    if let Err(bad) = list::parse(text) {
        let lines = text.lines().count();
        assert!(bad.iter().all(|line| (1..=lines).contains(&line.number)));
    }
    if let Ok(url) = Url::parse(text) {
        assert_eq!(
            Url::parse(&url.to_string()),
            Ok(url),
            "read as it is written"
        );
    }
    let _ = sitemap::parse(text);
    if let Ok(assertion) = Assertion::parse(text) {
        assert_eq!(assertion.text, text);
    }
});
