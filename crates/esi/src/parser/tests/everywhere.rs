//! Values in each place of each element, behind all that may hide where they stand. The forms that are expected here are
//! not the exact ones: a stricter form than the place demands is right too.

use super::sent_to;
use proptest::prelude::*;
use std::sync::LazyLock;

/// What a place demands of a value.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    Text,
    Script,
    Style,
    /// In an address, behind what may be a scheme.
    Address,
    /// In an address, in what may be a scheme.
    Scheme,
    /// In an address that is code.
    Code,
}

/// Markup behind which all is text.
const BEFORE: &[&str] = &[
    "",
    "<!DOCTYPE html><html lang=de>",
    "<p class='>' title=\"<!--\">",
    "<p title=<script>>",
    "<input value='<![CDATA['>",
    "<p title=\"</title><script>\">",
    "<title>a <a href=\"x</title>",
    "<title>a <!-- b</title>",
    "<textarea><script></textarea>",
    "<textarea><p onclick='</textarea >",
    "<iframe><style></iframe>",
    "<xmp><b title='</xmp>",
    "<noembed><![CDATA[</noembed>",
    "<noframes><title></noframes>",
    "<noscript><img src='/x'></noscript>",
    "<noscript><style></noscript>",
    "<svg><title><b>x</b></title><path d='M0 0'/></svg>",
    "<!-- <p title=\" <script> -->",
    "<!-->",
    "<!---->",
    "<!-- a --!>",
    "<![CDATA[ <a href=\" > ]]>",
    "<?xml version='1.0' a=\"?>",
    "<script>if (a<b) '<p title=\"'</script>",
    "<script><!--\n'<script>'; '</script>'\n--></script>",
    "<script>'<!-- -->'; '<script>'</script>",
    "<style>a::before { content: '<!--<script>' }</style\n>",
    "</p title='>' href=\">\">",
    "<br/><a/href=/x/>",
    "<a =\"x\" \"=x>",
    "a < b, <3 <> </> <",
];

const ELEMENTS: &[&str] = &[
    "p", "a", "IMG", "script", "style", "title", "textarea", "iframe", "noscript", "xmp", "svg",
    "input", "x-y",
];

/// Attributes, and what stands in them before the value.
const ATTRIBUTES: &[(&str, &[&str], Place)] = &[
    (
        "title|alt|class|data-href|content|hrefs|_onclick",
        &["", "javascript:", "a", "&lt;", "<script>"],
        Place::Text,
    ),
    (
        "onclick|ONLOAD|onx",
        &["f(", "f(&#39;", "", "a--", "//"],
        Place::Script,
    ),
    ("style|STYLE", &["", "a:", "a:url("], Place::Style),
    (
        "href|src|action|formaction|poster|cite|data|background|manifest|ping|longdesc|srcset|imagesrcset|xlink:href",
        &["", "a", "java", "\u{1}", "$(HTTP_COOKIE{none})", "x.y-z"],
        Place::Scheme,
    ),
    (
        "href|SRC|action|xlink:href",
        &[
            "/",
            "/x?",
            "?a=1&amp;b=",
            "https://a.test/",
            "#",
            "/javascript:",
            "a/b&colon;",
            "mailto:",
        ],
        Place::Address,
    ),
    (
        "href|SRC|action|xlink:href",
        &[
            "javascript:",
            "JavaScript:f(",
            "java&#115;cript:",
            "&#106;avascript:/",
            "javascript&colon;f?",
            "&Tab;javascript:#",
            "\u{1}vbscript:",
            "data:text/html,",
            "java$(HTTP_COOKIE{none})script:",
            "$(HTTP_COOKIE{none}|javascript):",
        ],
        Place::Code,
    ),
    (
        "srcdoc",
        &["", "<p>", "&lt;p title=&quot;", "<p/title="],
        Place::Text,
    ),
    (
        "srcdoc",
        &["<p/onclick=", "&lt;p onclick=&quot;f(", "<script>"],
        Place::Script,
    ),
    ("srcdoc", &["<a/href=", "<a/href=a"], Place::Scheme),
    (
        "srcdoc",
        &["<a/href=/x?", "<p/>&lt;a href=&#39;/"],
        Place::Address,
    ),
    (
        "srcdoc",
        &["<a/href=javascript:f(", "<a/href=java&amp;#115;cript:"],
        Place::Code,
    ),
];

/// Elements, and what their content demands of a value.
const CONTENTS: &[(&str, Place)] = &[
    ("<p>", Place::Text),
    ("<title>a ", Place::Text),
    ("<textarea><p ", Place::Text),
    ("<noscript>", Place::Text),
    ("<script>f(", Place::Script),
    ("<SCRIPT src='/x' async>if (a<b) ", Place::Script),
    ("<script><!-- <script></script>", Place::Script),
    ("<style>a:", Place::Style),
    ("<noscript><a href=", Place::Scheme),
    ("<svg><title><a href=javascript:", Place::Code),
];

const VALUES: &[&str] = &[
    "javascript",
    "script",
    "a&b=/':(\\\"x<y>` --!>\u{2028}",
    "</script></title></textarea>",
];

/// Whether the value stays one in this place.
fn stays(place: Place, value: &str, escaped: &str) -> bool {
    let consists = |text: &str, of: &str| {
        text.chars()
            .all(|letter| letter.is_ascii_alphanumeric() || of.contains(letter))
    };
    let closes_nothing = !escaped.contains(['<', '>', '"', '\'', '`', ' ', '=']);
    let is_right = match place {
        Place::Text => true,
        Place::Script | Place::Style => consists(escaped, "_\\%"),
        Place::Address => consists(escaped, "-._~%"),
        // No scheme has a percent sign.
        Place::Scheme => {
            let is_encoded = escaped.contains('%') || escaped.is_empty();
            consists(escaped, "-._~%") && is_encoded
        }
        Place::Code => {
            let decoded = escaped.replace("%5C", "\\").replace("%6A", "j");
            consists(&decoded.replace("%73", "s"), "_\\") && !escaped.contains('\\')
        }
    };
    closes_nothing && is_right && (!escaped.is_empty() || !value.is_empty())
}

/// Asserts that each value stays one behind `page`, which is cut into pieces of `size` bytes.
fn assert_stays(page: &str, place: Place, size: usize) {
    for value in VALUES {
        let page = format!("<esi:vars>{page}$(HTTP_COOKIE{{v}})</esi:vars>");
        let cookies = vec![("cookie", &*format!("v={value}").leak())].leak();
        let whole = sent_to(page.as_bytes(), &vec![size; page.len()], cookies);
        let empty = sent_to(page.as_bytes(), &[], &[]);
        let escaped = whole.strip_prefix(&empty);
        assert!(
            escaped.is_some_and(|escaped| stays(place, value, escaped)),
            "{page}\n{value} in {place:?}: {whole}"
        );
    }
}

/// All pages that end in an attribute's value.
static PAGES: LazyLock<Vec<(String, Place)>> = LazyLock::new(|| attributes().collect());

fn attributes() -> impl Iterator<Item = (String, Place)> {
    let written = ATTRIBUTES.iter().flat_map(|(names, starts, place)| {
        let names = names.split('|');
        names.flat_map(move |name| starts.iter().map(move |start| (name, *start, *place)))
    });
    written.flat_map(|(name, start, place)| {
        ["=\"", "='", " = '", "="]
            .into_iter()
            // Without quotes, a value holds no blank.
            .filter(move |quote| quote.len() > 1 || !start.contains([' ', '>']))
            .flat_map(move |quote| {
                ELEMENTS
                    .iter()
                    .map(move |element| (format!("<{element} a='>' b {name}{quote}{start}"), place))
            })
    })
}

#[test]
fn a_value_stays_one_in_each_attribute_of_each_element() {
    for (page, place) in PAGES.iter() {
        assert_stays(page, *place, usize::MAX);
    }
}

#[test]
fn a_value_stays_one_behind_all_that_looks_like_something_else() {
    let is_one = |page: &str| page.starts_with("<a ") && page.contains("=\"");
    let few = PAGES.iter().filter(|(page, _)| is_one(page)).cloned();
    let contents = CONTENTS
        .iter()
        .map(|(page, place)| ((*page).to_owned(), *place));
    let pages: Vec<_> = few.chain(contents).collect();
    for before in BEFORE {
        for (page, place) in &pages {
            for size in [usize::MAX, 1] {
                assert_stays(&format!("{before}{page}"), *place, size);
            }
        }
    }
}

/// What stands at the beginning of an address before what would name its host.
const SLASHES: &[&str] = &[
    "/",
    "\\",
    "//",
    "/\\",
    " /",
    "\u{1}/",
    "/\t",
    "/\r\n/",
    "https:",
    "https:/",
    "HTTPS:\\",
    "https://",
    "/$(HTTP_COOKIE{none})",
    "$(HTTP_COOKIE{none})/",
    "$(HTTP_COOKIE{v})$(HTTP_COOKIE{none})/",
    "&#47;",
    "/&#47;",
    "/&Tab;",
    "/<esi:choose><esi:when test='0==1'>x</esi:when></esi:choose>",
];

/// The same in a list of addresses.
const LISTED: &[&str] = &[
    "/a /",
    "/a 1x, /",
    "/a 1x,/",
    "/a 1_x,/",
    ",/",
    "/a?b 1x,\n//",
    "/a#b\t/",
];

fn assert_names_no_host(page: &str) {
    for value in ["$(REQUEST_PATH)", "$(HTTP_COOKIE{v})"] {
        let cookies = &[("cookie", "v=/evil.test/")];
        let before = sent_to(format!("<esi:vars>{page}").as_bytes(), &[], cookies);
        let whole = sent_to(format!("<esi:vars>{page}{value}").as_bytes(), &[], cookies);
        let escaped = whole.strip_prefix(&before).unwrap_or_default();
        let is_encoded = escaped.contains('%') && !escaped.contains(['/', '\\', '&']);
        assert!(is_encoded, "{page}{value}: {whole}");
    }
}

#[test]
fn no_value_names_a_host_behind_what_the_page_wrote() {
    let addresses = ATTRIBUTES
        .iter()
        .find(|(names, ..)| names.starts_with("href|src|"));
    let names = addresses.map(|(names, ..)| names.split('|'));
    for name in names.expect("addresses") {
        let is_list = name.ends_with("srcset") || name == "ping";
        let listed = LISTED.iter().filter(|_| is_list);
        // There a blank behind the slash ends the address.
        let alone = SLASHES
            .iter()
            .filter(|start| !is_list || !start.contains(['\t', '\n']));
        for start in alone.chain(listed) {
            for quote in ["=\"", "='", " = '", "="] {
                // Without quotes, a value holds no blank.
                if quote == "=" && start.contains([' ', '\t', '\n', '>']) {
                    continue;
                }
                for element in ELEMENTS.iter().chain(&["base", "link"]) {
                    assert_names_no_host(&format!("<{element} a='>' b {name}{quote}{start}"));
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn a_value_stays_one_whatever_the_page_is_made_of(
        before in prop::collection::vec(prop::sample::select(BEFORE), 0..6),
        at in any::<prop::sample::Index>(),
        size in 1usize..9,
    ) {
        let (page, place) = at.get(&PAGES);
        assert_stays(&format!("{}{page}", before.concat()), *place, size);
    }
}
