use super::*;
use proptest::prelude::*;

fn manifest(text: &str) -> Result<Manifest, String> {
    read(text.as_bytes(), text.len() as u64)
}

#[test]
fn what_is_written_is_meant_and_what_cannot_be_is_left_out() {
    let manifest = manifest(
        r#"{ "format": 1, "site": "http://app", "later": true, "pages": {
            "/": { "status": 200, "file": "index.html", "type": "text/plain", "length": 3, "hash": "x",
                "fields": { "cache-control": "max-age=60", "set-cookie": "a=b", "content-length": "9" }, "tags": ["a", "b"] },
            "/list?page=2": { "status": 200, "file": "list?page=2.html" },
            "/old": { "status": 301, "location": "/new" },
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
    assert_eq!(names, ["cache-control", "cache-tag", "content-type"]);
    assert_eq!(fields.get("cache-tag").expect("tags"), "a, b");
    assert!(matches!(
        manifest.page("/%6Cist", Some("page=%32")),
        Some(Page::File(..))
    ));
    assert!(matches!(
        manifest.page("/old", None),
        Some(Page::Redirect(..))
    ));
    assert_eq!(manifest.pages.len(), 3);
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
