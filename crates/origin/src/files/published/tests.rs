use super::*;
use proptest::prelude::*;
use std::{
    fs::File,
    sync::{
        Barrier,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    thread,
};

fn manifest(text: &str) -> Result<Manifest, String> {
    read(text.as_bytes(), text.len() as u64)
}

#[test]
fn what_is_written_is_meant_and_what_cannot_be_is_left_out() {
    let manifest = manifest(
        r#"{ "format": 1, "site": "http://app", "later": true, "unused": ["was.html"], "pages": {
            "/": { "status": 200, "file": "index.html", "type": "text/plain", "length": 3, "hash": "x",
                "fields": { "cache-control": "max-age=60", "set-cookie": "a=b", "content-length": "9" }, "tags": ["a", "b"], "groups": ["c", "d \\ \"e\""] },
            "/list?page=2": { "status": 200, "file": "list?page=2.html" },
            "/old": { "status": 301, "location": "/new" },
            "/space": { "status": 301, "location": " /new\t", "type": "none", "tags": ["\ta "], "fields": { "x-a": "\t b c  ", "x-b": " " } },
            "/typed": { "status": 200, "file": "a", "type": " text/x " },
            "/up": { "status": 200, "file": "../secret" },
            "/root": { "status": 200, "file": "/etc/passwd" },
            "/dot": { "status": 200, "file": "a/./b" },
            "/empty": { "status": 200, "file": "a//b" },
            "/nul": { "status": 200, "file": "a\u0000b" },
            "/split": { "status": 301, "location": "/a\r\nX: y" },
            "/fields": { "status": 200, "file": "a", "fields": { "a b": "c" } },
            "/status": { "status": 500, "file": "a" },
            "/nowhere": { "status": 301 }
        } }"#,
    )
    .expect("a manifest");
    let Some(Page::File(file, fields)) = manifest.page("/", None) else {
        panic!("a page");
    };
    assert_eq!(file, Path::new("index.html"));
    let names: Vec<_> = fields.keys().map(HeaderName::as_str).collect();
    assert_eq!(
        names,
        ["cache-control", "cache-tag", "cache-groups", "content-type"]
    );
    assert_eq!(fields.get("cache-tag").expect("tags"), "a, b");
    assert_eq!(rules::surrogate::groups(fields), ["c", "d \\ \"e\""]);
    assert!(matches!(
        manifest.page("/%6Cist", Some("page=%32")),
        Some(Page::File(..))
    ));
    assert!(matches!(
        manifest.page("/old", None),
        Some(Page::Redirect(..))
    ));
    let Some(Page::Redirect(_, fields)) = manifest.page("/space", None) else {
        panic!("a redirect");
    };
    for (name, value) in [
        ("location", "/new"),
        ("cache-tag", "a"),
        ("x-a", "b c"),
        ("x-b", ""),
    ] {
        assert_eq!(fields.get(name).expect(name), value, "{name}");
    }
    let Some(Page::File(_, fields)) = manifest.page("/typed", None) else {
        panic!("a page");
    };
    assert_eq!(fields.get("content-type").expect("a type"), "text/x");
    assert_eq!(manifest.pages.len(), 5);
    let owned =
        ["index.html", "was.html", "others.html"].map(|file| manifest.has_file(file.as_ref()));
    assert_eq!(owned, [true, true, false]);
    assert!(manifest.knows_queries("/list") && !manifest.knows_queries("/"));
}

#[test]
fn others_are_no_manifests() {
    for text in [
        "",
        "{}",
        "[]",
        r#"{ "format": 2, "pages": {} }"#,
        r#"{ "format": 1, "pages": { "/": 3 } }"#,
        "{ \"format\": 1",
    ] {
        assert!(manifest(text).is_err(), "{text}");
    }
    assert!(read(b"{}", LARGEST + 1).is_err());
}

/// Returns the facts of a file of this length.
fn facts(length: u64) -> Facts {
    let file = File::create(testkit::scratch_dir().join("file")).expect("a file");
    file.set_len(length).expect("a length");
    Facts::of(&file.metadata().expect("facts"))
}

fn told(page: &str) -> Arc<Manifest> {
    let pages = HashMap::from([(
        page.to_owned(),
        Page::Redirect(StatusCode::FOUND, HeaderMap::new()),
    )]);
    Arc::new(Manifest {
        pages,
        ..Manifest::default()
    })
}

#[test]
fn while_one_reads_a_new_manifest_the_others_have_the_old_one() {
    let (published, old, new) = (Published::default(), told("/old"), told("/new"));
    let (first, second) = (facts(1), facts(2));
    let read = |what: &Arc<Manifest>| Ok(Some(Arc::clone(what)));
    let found = published.latest(first, || read(&old)).expect("one");
    assert_eq!(found, Some(Arc::clone(&old)));
    let (begun, may_end) = (Barrier::new(2), Barrier::new(2));
    thread::scope(|scope| {
        let reading = scope.spawn(|| {
            published.latest(second, || {
                begun.wait();
                may_end.wait();
                read(&new)
            })
        });
        begun.wait();
        let meanwhile = published.latest(second, || panic!("it is being read"));
        assert_eq!(meanwhile.expect("one"), Some(Arc::clone(&old)));
        may_end.wait();
        let read = reading.join().expect("no panic").expect("one");
        assert_eq!(read, Some(Arc::clone(&new)));
    });
    let after = published.latest(second, || panic!("it is known"));
    assert_eq!(after.expect("one"), Some(new));
}

#[test]
fn the_first_is_read_once_for_all_and_again_where_that_failed() {
    let (published, first) = (Published::default(), facts(1));
    let failed = published.latest(first, || Err(io::Error::other("the device")));
    failed.expect_err("nothing");
    let (reads, all_there) = (AtomicUsize::new(0), Barrier::new(4));
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                all_there.wait();
                let found = published.latest(first, || {
                    reads.fetch_add(1, SeqCst);
                    Ok(Some(told("/")))
                });
                assert_eq!(found.expect("one"), Some(told("/")));
            });
        }
    });
    assert_eq!(reads.into_inner(), 1);
}

proptest! {
    #[test]
    fn no_file_of_a_manifest_is_outside(file in "[a./%\\\\\u{0}é-]{0,12}") {
        let text = serde_json::json!({ "format": 1, "pages": { "/": { "status": 200, "file": file } } }).to_string();
        let manifest = manifest(&text).expect("a manifest");
        if let Some(Page::File(file, _)) = manifest.page("/", None) {
            prop_assert!(file.is_relative());
            prop_assert!(file.components().all(|part| matches!(part, std::path::Component::Normal(_))));
        }
    }
}
