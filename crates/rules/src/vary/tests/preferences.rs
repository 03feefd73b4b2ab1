//! What clients prefer: lists with the same meaning have one normal form.

use super::*;
use proptest::sample::subsequence;
use std::collections::BTreeMap;

/// RFC 9110 section 12.5.3.
#[test]
fn codings_that_match() {
    let rows: &[Row] = &[
        (&[], &[""], false),
        (&[], &["identity"], false),
        (&["gzip, br"], &["br,gzip"], true),
        (&["gzip", "br"], &["BR , GZip"], true),
        (&["gzip"], &["x-gzip"], true),
        (&["gzip"], &["gzip, x-gzip, gzip;q=1.000"], true),
        (&["compress"], &["X-Compress"], true),
        (&["gzip;q=0.5"], &["gzip ; Q=0.50"], true),
        (&["gzip;q=0.5"], &["gzip"], false),
        (&["gzip"], &["gzip, br;q=0"], true),
        (&["gzip, *"], &["gzip, *, br;q=0"], false),
        (&["*"], &["*, br;q=1"], true),
        (&["gzip;q=0"], &[""], true),
        (&["identity"], &[""], true),
        (&["identity;q=0.3, br;q=0"], &[""], true),
        (&["identity;q=0"], &[""], false),
        (&["gzip, identity"], &["gzip"], false),
        (&["gzip, *;q=0"], &["gzip, *;q=0, identity;q=0"], true),
        (&["gzip, *;q=0"], &["gzip"], false),
        (&["gzip, *;q=0"], &["gzip, identity;q=0"], true),
        (&["identity;q=0"], &["*;q=0"], true),
        (&["identity;q=0.001, *;q=0"], &["identity;q=0.001"], true),
        (
            &["gzip, identity;q=0.5, *;q=0"],
            &["identity;q=0.5, gzip"],
            true,
        ),
        (&["identity, *;q=0"], &["identity"], true),
        (&["gzip, *, identity;q=0"], &["gzip, *"], false),
        (&["unknown, gzip"], &["gzip"], false),
        (&["gzip;q=0, gzip"], &["gzip, gzip;q=0"], false),
        (&["br;q=0.5, br;q=0.4"], &["br;q=0.5"], false),
        (&["gzip;q=2"], &["gzip"], false),
        (&["gzip;x=1"], &["gzip"], false),
    ];
    check(&ACCEPT_ENCODING, rows);
}

#[test]
fn common_codings_have_the_normal_form_that_reading_gives() {
    for (written, expected) in preference::COMMON_CODINGS {
        // A comma in front makes the line uncommon and changes nothing.
        let read = format!(",{}", std::str::from_utf8(written).unwrap());
        assert_eq!(
            normal(&ACCEPT_ENCODING, &read).unwrap().as_bytes(),
            expected
        );
    }
}

/// RFC 9110 sections 12.5.2 and 12.5.4.
#[test]
fn languages_and_charsets_that_match() {
    let rows: &[Row] = &[
        (&["da, en-GB;q=0.8"], &["en-gb; q=0.80,DA;q=1"], true),
        (&["da, en"], &["en, da"], false),
        (&["da, en, da"], &["da, en"], true),
        (&["en-gb;q=0, en"], &["en"], false),
        (&["en;q=0.1, en"], &["en, en;q=0.1"], false),
        (&["*, en;q=0.5"], &["en;q=.5, *"], false),
        (&["*, en;q=0.5"], &["en;q=0.5, *"], true),
    ];
    check(&ACCEPT_LANGUAGE, rows);
    check(&ACCEPT_CHARSET, rows);
}

/// RFC 9110 section 12.5.1.
#[test]
fn media_ranges_that_match() {
    let rows: &[Row] = &[
        (&["a/b;x=1;q=0.5, */*"], &["*/* , A/B ; X=1 ; q=0.5"], true),
        (
            &["text/html, text/plain"],
            &["text/plain, text/html"],
            false,
        ),
        (&["text/html;level=a"], &["text/html;level=A"], false),
        (&["a/b;x=\"1,2\""], &["a/b;x=\"1, 2\""], false),
        (&["a/b;x=\"1;q=0.5\""], &["a/b;x=\"1\";q=0.5"], false),
        (&["a/b;q=0.5;x=1"], &["a/b;x=1;q=0.5"], false),
        (&["a/b;x=1;q=0, a/b; x=1"], &["a/b;x=1, a/b;x=1;q=0"], false),
    ];
    check(&ACCEPT, rows);
}

#[test]
fn normal_forms_read_well() {
    for (name, line, expected) in [
        (
            &ACCEPT_ENCODING,
            "gzip, deflate, br;q=0.5",
            Some("br;q=0.500,deflate,gzip"),
        ),
        (&ACCEPT_ENCODING, "", Some("")),
        (
            &ACCEPT_LANGUAGE,
            "en;q=0.7, DE-at",
            Some("de-at,en;q=0.700"),
        ),
        (
            &ACCEPT,
            "*/*;q=0.001, Text/HTML; Level=1",
            Some("text/html;level=1,*/*;q=0.001"),
        ),
        (&ACCEPT, "html", None),
        (&ACCEPT, "te xt/html", None),
        (&ACCEPT, "text/ht ml", None),
        (&ACCEPT, "a/b;x", None),
        (&ACCEPT, "a/b;x y=1", None),
        (&ACCEPT, "a/b;x=1 2", None),
        (&ACCEPT, "a/b;x=", None),
        (&ACCEPT, r#"a/b;x="1"2"#, None),
        (&ACCEPT, r#"a/b;x=1"2""#, None),
        (&ACCEPT, r#"a/b;x="1""#, Some(r#"a/b;x="1""#)),
        (&ACCEPT, r#"a/b;x="""#, Some(r#"a/b;x="""#)),
        (&ACCEPT, "a/b;x=\"open", None),
        (&ACCEPT, "a/b;q=0.1;q=0.2", None),
        (&ACCEPT_ENCODING, "gzip;q=0.1234", None),
        (&ACCEPT_ENCODING, "gzip;q=1.001", None),
        (&ACCEPT_ENCODING, "gzip;q=", None),
        (&ACCEPT_ENCODING, "gzip br", None),
    ] {
        assert_eq!(normal(name, line).as_deref(), expected, "{line}");
    }
    let many = vec!["a"; 25].join(",");
    assert_eq!(normal(&ACCEPT_LANGUAGE, &many), None);
}

#[test]
fn origins_see_preferences_in_order() {
    for (name, lines, expected) in [
        (
            &ACCEPT_LANGUAGE,
            &["en;q=0.5, de"][..],
            &["de,en;q=0.500"][..],
        ),
        (&ACCEPT_LANGUAGE, &["en;q=0.5", "de"], &["de,en;q=0.500"]),
        (&ACCEPT_LANGUAGE, &["en;q=0.5, De, DE"], &["De,en;q=0.500"]),
        (&ACCEPT_LANGUAGE, &["de, en, de"], &["de,en"]),
        (&ACCEPT_CHARSET, &["*;q=0, utf-8"], &["utf-8,*;q=0.000"]),
        (
            &ACCEPT,
            &["*/*;q=0.1, text/html"],
            &["text/html,*/*;q=0.100"],
        ),
        // What is in order goes out as it came.
        (&ACCEPT_LANGUAGE, &["de ,en;q=0.5"], &["de ,en;q=0.5"]),
        (&ACCEPT_LANGUAGE, &["de", "en;q=0.5"], &["de", "en;q=0.5"]),
        // So does what is compared as it stands.
        (
            &ACCEPT_LANGUAGE,
            &["en;q=0.5, de, en"],
            &["en;q=0.5, de, en"],
        ),
        (&ACCEPT_LANGUAGE, &["en;q=.5, de"], &["en;q=.5, de"]),
        (&ACCEPT_ENCODING, &["gzip;q=0.5, br"], &["gzip;q=0.5, br"]),
    ] {
        let mut fields = request(name, lines);
        put_in_order(&mut fields);
        assert_eq!(fields, request(name, expected), "{name} {lines:?}");
    }
}

/// The names and weights of a list, read in the plainest way.
fn plain(line: &str) -> Vec<(String, u32)> {
    let members = line.split(',').map(str::trim).filter(|one| !one.is_empty());
    members
        .map(|member| {
            let lower = member.to_ascii_lowercase().replace(' ', "");
            match lower.split_once(";q=") {
                Some((name, weight)) => {
                    let digits = weight.replace('.', "");
                    (name.to_owned(), format!("{digits:0<4}").parse().unwrap())
                }
                None => (lower, 1000),
            }
        })
        .collect()
}

/// The weight of each coding by the rules of RFC 9110 section 12.5.3. `identity` is `None` if the list says nothing
/// about it, or if it is all that is acceptable, so that its weight cannot matter.
fn meaning(line: &str) -> BTreeMap<&'static str, Option<u32>> {
    let listed: BTreeMap<String, u32> = plain(line)
        .into_iter()
        .map(|(name, weight)| (name.trim_start_matches("x-").to_owned(), weight))
        .collect();
    let star = listed.get("*").copied();
    let others = ["gzip", "br", "compress", "unlisted"];
    let mut weights: BTreeMap<_, _> = others
        .map(|name| (name, Some(listed.get(name).copied().or(star).unwrap_or(0))))
        .into();
    let identity = match (listed.get("identity").copied(), star) {
        (None, Some(0)) => Some(0),
        (said, None | Some(0)) if weights.values().all(|weight| *weight == Some(0)) => {
            said.filter(|weight| *weight == 0)
        }
        (said, _) => said,
    };
    weights.insert("identity", identity);
    weights
}

fn weight() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "",
        ";q=0",
        ";q=1.0",
        "; q=0.5",
        ";Q=0.50",
        " ;q=0.001",
    ])
}

fn codings() -> impl Strategy<Value = Vec<String>> {
    let names = vec!["gzip", "BR", "X-Compress", "identity", "*", "other"];
    (
        subsequence(names, 0..=6),
        prop::collection::vec(weight(), 6),
    )
        .prop_map(|(names, weights)| {
            let pairs = names.into_iter().zip(weights);
            pairs
                .map(|(name, weight)| format!("{name}{weight}"))
                .collect()
        })
}

proptest! {
    #[test]
    fn codings_keep_their_meaning(members in codings()) {
        let line = members.join(",");
        let normal_form = normal(&ACCEPT_ENCODING, &line).unwrap();
        prop_assert_eq!(meaning(&line), meaning(&normal_form), "{} -> {}", line, normal_form);
        prop_assert_eq!(normal(&ACCEPT_ENCODING, &normal_form), Some(normal_form));
    }

    #[test]
    fn codings_have_no_order(members in codings().prop_flat_map(|one| (Just(one.clone()), Just(one).prop_shuffle()))) {
        let (one, two) = members;
        prop_assert_eq!(key(&ACCEPT_ENCODING, &[&one.join(",")]), key(&ACCEPT_ENCODING, &[&two.join(" , ")]));
    }

    #[test]
    fn ranked_lists_keep_order_within_a_weight(
        members in prop::collection::vec(("(en|EN-gb|en-GB|de|\\*)", weight()), 0..6),
    ) {
        let line = members.iter().map(|(name, weight)| format!("{name}{weight}")).collect::<Vec<_>>().join(", ");
        let ranked = |line: &str| {
            let mut ranks: BTreeMap<u32, Vec<String>> = BTreeMap::new();
            for (name, weight) in plain(line) {
                let names = ranks.entry(weight).or_default();
                if !names.contains(&name) {
                    names.push(name);
                }
            }
            ranks
        };
        let mut fields = request(&ACCEPT_LANGUAGE, &[&line]);
        put_in_order(&mut fields);
        let mut sent = Vec::new();
        variant_key(&[ACCEPT_LANGUAGE], &fields, &mut sent);
        prop_assert_eq!(key(&ACCEPT_LANGUAGE, &[&line]).into_bytes(), sent, "order changes no key");
        if let Some(normal_form) = normal(&ACCEPT_LANGUAGE, &line) {
            prop_assert_eq!(ranked(&line), ranked(&normal_form));
            let sent = fields[ACCEPT_LANGUAGE].to_str().unwrap();
            prop_assert_eq!(plain(sent), plain(&normal_form), "{} is sent as {}", line, sent);
            prop_assert_eq!(normal(&ACCEPT_LANGUAGE, &normal_form), Some(normal_form));
        }
    }
}

/// RFC 9111 section 4.1: values are equal if they are known to mean the same. The value of a parameter may depend on
/// case and spaces.
#[test]
fn what_differs_in_a_parameter_is_no_repetition() {
    for (several, one) in [
        ("a/b;profile=A, a/b;profile=a", "a/b;profile=A"),
        (r#"a/b;p="x y", a/b;p="xy""#, r#"a/b;p="x y""#),
    ] {
        assert_ne!(normal(&ACCEPT, several), normal(&ACCEPT, one), "{several}");
    }
    let (twice, once) = ("a/b;p=A, A/b;p=A", "a/b;p=A");
    assert_eq!(normal(&ACCEPT, twice), normal(&ACCEPT, once));
}
