//! A document, as HTML and as a style sheet, and where its references lead: never off the site, never out of the folder.
#![no_main]

use larder::{
    crawl::{
        links,
        site::{Leads, Site, normal},
        sitemap, style,
    },
    publish::{Names, name},
};
use libfuzzer_sys::fuzz_target;
use std::collections::BTreeSet;

fuzz_target!(|document: &[u8]| {
    let site = Site::new("127.0.0.1:5001", Some("www.example.com")).expect("hosts");
    let found = links::links(document);
    let base = site.base("/a/b", found.base.as_deref());
    let mut references = found.all;
    references.extend(style::references(document));
    references.push(document.to_vec());
    let _ = sitemap::read(document);

    let mut targets = BTreeSet::new();
    for reference in &references {
        if let Leads::Here(target) = site.leads_from(&base, reference) {
            assert!(target.starts_with('/'), "{target}");
            assert_eq!(
                normal(&target),
                target,
                "normalising twice is normalising once"
            );
            assert!(
                target.parse::<http::uri::PathAndQuery>().is_ok(),
                "{target}"
            );
            targets.insert(target);
        }
    }
    let mut names = Names::new(document.len() % 2 == 0);
    let mut files = BTreeSet::new();
    for target in &targets {
        for kind in [Some("text/html"), None] {
            let plain = name::preferred(target, kind);
            assert!(plain.is_none_or(|plain| name::is_safe(&plain)), "{target}");
        }
        let file = names.choose(target, Some("text/html"));
        assert!(name::is_safe(&file), "{target}: {file}");
        assert!(files.insert(file), "{target}: no two pages share a file");
    }
});
