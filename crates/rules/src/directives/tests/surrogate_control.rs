//! The predecessor of targeted fields.

use super::*;
use proptest::prelude::*;

fn surrogate(lines: &[&str]) -> Option<ResponseDirectives> {
    let mut fields = HeaderMap::new();
    for line in lines {
        fields.append(CONTROL, HeaderValue::from_bytes(line.as_bytes()).unwrap());
    }
    fields.insert(CACHE_CONTROL, HeaderValue::from_static("max-age=1"));
    match response(&fields, &[CONTROL]) {
        (directives, DirectiveSource::Targeted(name)) => {
            assert_eq!(name, CONTROL);
            Some(directives)
        }
        (directives, DirectiveSource::CacheControl) => {
            assert_eq!(directives, max_age(1));
            None
        }
    }
}

#[test]
fn it_is_read_as_the_edge_architecture_has_it_section_2_2() {
    let until = |fresh, stale| ResponseDirectives {
        stale_while_revalidate: Some(stale),
        stale_if_error: Some(stale),
        ..max_age(fresh)
    };
    let no_store = || ResponseDirectives {
        no_store: true,
        ..Default::default()
    };
    let table: [(&[&str], Option<ResponseDirectives>); 14] = [
        (&["max-age=3600"], Some(max_age(3600))),
        (&["MaX-aGe=3600"], Some(max_age(3600))),
        (&["max-age = 3600"], Some(max_age(3600))),
        (&["max-age=60+600"], Some(until(60, 600))),
        (
            &["content=\"ESI/1.0\", max-age=60+600"],
            Some(until(60, 600)),
        ),
        (&["content=\"ESI/1.0\"", "max-age=60"], Some(max_age(60))),
        (&["no-store"], Some(no_store())),
        (&["No-Store, content=\"ESI/1.0\""], Some(no_store())),
        (&["max-age=60;larder"], Some(max_age(60))),
        (&["no-store;larder"], Some(no_store())),
        // A malformed or repeated lifetime makes the response live no longer.
        (&["max-age=+600"], Some(until(0, 600))),
        (&["max-age=60+x"], Some(max_age(60))),
        (&["max-age=60, max-age=5"], Some(max_age(5))),
        // The field says nothing about caching.
        (&["content=\"ESI/1.0\""], None),
    ];
    for (lines, expected) in table {
        assert_eq!(surrogate(lines), expected, "{lines:?}");
    }
    // Neither a parameter nor anything in quotation marks makes a private response less private.
    for line in ["private;x=y", "private=\"a;b\"", "no-cache;x=y, private"] {
        let told = surrogate(&[line]).unwrap();
        assert!(told.private.is_whole(), "{line}");
        assert_eq!(
            told.no_cache.is_whole(),
            line.contains("no-cache"),
            "{line}"
        );
    }
    // As Fastly's customers write it.
    let told = surrogate(&["max-age=60, stale-while-revalidate=30, stale-if-error=900"]).unwrap();
    assert_eq!(
        (
            told.max_age,
            told.stale_while_revalidate,
            told.stale_if_error
        ),
        (Some(60), Some(30), Some(900)),
    );
}

proptest! {
    #[test]
    fn any_line_is_read(line in proptest::collection::vec(0x20_u8..=0xff, 0..60)) {
        if let Ok(value) = HeaderValue::from_bytes(&line) {
            let fields = HeaderMap::from_iter([(CONTROL, value)]);
            let _ = response(&fields, &[CONTROL]);
        }
    }

    /// An extension lengthens no lifetime.
    #[test]
    fn a_prohibition_is_found_whatever_stands_around_it(before in "[a-z=+;\"0-9 ]{0,12}", fresh: u32, more: u32) {
        let line = format!("{before},no-store,max-age={fresh}+{more}");
        // A quotation mark that is not closed quotes nothing; one that is closed may hide both.
        prop_assume!(!before.contains('"'));
        let told = surrogate(&[&line]).unwrap();
        prop_assert!(told.no_store);
        prop_assert!(told.max_age.unwrap() <= fresh.min(MOST_SECONDS));
    }
}
