use super::*;
use http::HeaderValue;
use proptest::prelude::*;

/// A name that the first check rejects would carry tags in vain.
#[test]
fn no_field_is_overlooked_by_its_ending() {
    for name in &FIELDS {
        assert!(carries_tags(name), "{name}");
    }
    assert!(!carries_tags(&HeaderName::from_static("x-key")));
}

fn response(lines: &[(&str, &str)]) -> HeaderMap {
    let mut fields = HeaderMap::new();
    for (name, value) in lines {
        let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
        fields.append(name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
    }
    fields
}

#[test]
fn each_dialect_is_read_with_its_separators() {
    for (name, value, expected) in [
        // Fastly: "space-separated".
        ("Surrogate-Key", "a b  c", &["a", "b", "c"][..]),
        // Souin: comma and space.
        (
            "Surrogate-Key",
            "/books/1, /books",
            &["/books/1,", "/books/1", "/books"],
        ),
        ("Surrogate-Key", "a,b", &["a,b", "a", "b"]),
        // Cloudflare, Akamai: comma-separated.
        ("Cache-Tag", "a,b , c", &["a", "b", "c"]),
        ("Edge-Cache-Tag", "a, b", &["a", "b"]),
        // Drupal.
        (
            "Cache-Tags",
            "node:1 node_list config:x",
            &["node:1", "node_list", "config:x"],
        ),
        // API Platform.
        ("Cache-Tags", "/books/1,/books", &["/books/1", "/books"]),
        // FOSHttpCache, Proxy Cache Purge.
        (
            "X-Cache-Tags",
            "site-1,home,p-12",
            &["site-1", "home", "p-12"],
        ),
        ("X-Cache-Tags", "my tag,b", &["my tag", "my", "tag", "b"]),
        ("X-Cache-Tags", "a b", &["a b", "a", "b"]),
        // Varnish's xkey, Shopware.
        (
            "xkey",
            "product-1\tcategory-2",
            &["product-1", "category-2"],
        ),
        ("xkey", "a,b c", &["a,b", "c"]),
        (
            "X-Magento-Tags",
            "cat_p_12,cat_p,FPC",
            &["cat_p_12", "cat_p", "FPC"],
        ),
        ("Cache-Tag", "a,A,a", &["a", "A"]),
        ("Cache-Tag", ", ,,", &[]),
        ("Cache-Tag", "", &[]),
        ("X-Tags", "a", &[]),
    ] {
        assert_eq!(
            tags(&response(&[(name, value)])),
            expected,
            "{name}: {value}"
        );
    }
}

#[test]
fn fields_and_lines_add_up_and_each_tag_counts_once() {
    let fields = response(&[
        ("cache-tag", "b,c"),
        ("surrogate-key", "a b"),
        ("cache-tag", "d"),
    ]);
    assert_eq!(tags(&fields), ["a", "b", "c", "d"]);
    assert_eq!(tags_in(&fields, &CACHE_TAG), ["b", "c", "d"]);
}

#[test]
fn long_lines_are_read_and_too_much_is_known() {
    let many: Vec<_> = (0..2500).map(|number| format!("tag{number:04}")).collect();
    let line = many.join(",");
    assert!(line.len() > 16 << 10);
    let fields = response(&[("x-magento-tags", &line)]);
    assert!(fits(&fields));
    assert_eq!(tags(&fields), many);
    let longest = "x".repeat(MOST_BYTES);
    let fields = response(&[("cache-tag", &longest)]);
    assert!(fits(&fields));
    assert_eq!(tags_in(&fields, &CACHE_TAG).len(), 1);
    let fields = response(&[("cache-tag", &longest), ("xkey", "y")]);
    assert!(!fits(&fields));
    let fields = response(&[("cache-tag", "a"), ("cache-tag", &longest)]);
    assert_eq!(tags_in(&fields, &CACHE_TAG), ["a"], "a bound holds");
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        names in prop::collection::hash_set("[!-+\\--~é]{1,12}", 0..20),
        field in 0..FIELDS.len(),
    ) {
        let name = FIELDS[field].as_str();
        let glue = match Separator::of(&FIELDS[field]) {
            Separator::Spaces | Separator::SpacesThenCommas => " ",
            _ => ",",
        };
        let names: Vec<_> = names.into_iter().collect();
        prop_assert_eq!(tags(&response(&[(name, &names.join(glue))])), names);
    }

    #[test]
    fn any_value_is_read(value in "[\\PC\t]{0,60}", field in 0..FIELDS.len()) {
        let found = tags(&response(&[(FIELDS[field].as_str(), &value)]));
        prop_assert!(found.iter().all(|tag| !tag.is_empty() && tag.trim_matches(is_space) == tag));
    }
}
