//! How values are escaped where they stand in a page.

use super::{sent, sent_to};

const TEXT: &str = "a&#38;b&#61;/&#39;";
const ADDRESS: &str = "a%26b%3D%2F%27";
const SCRIPT: &str = r"a\u0026b\u003d\u002f\u0027";
const STYLE: &str = r"a\000026b\00003d\00002f\000027";
const DOCUMENT: &str = "a&#38;#38;b&#38;#61;/&#38;#39;";
const CODE: &str = "a%5Cu0026b%5Cu003d%5Cu002f%5Cu0027";

/// What a cookie's value is where `@` stands in a page.
const PLACES: &[(&str, &str)] = &[
    ("@", TEXT),
    ("<p>@</p>", TEXT),
    ("a <b @", TEXT),
    ("a < b=@", TEXT),
    ("<!DOCTYPE html><p>@", TEXT),
    ("<?xml version=\"1.0\"?><a>@", TEXT),
    ("</a href=@>@", TEXT),
    // Attributes that are text, in all ways of writing them.
    ("<p title=\"@\">", TEXT),
    ("<p title='@'>", TEXT),
    ("<p title=@>", TEXT),
    ("<p title = \"a > @\">", TEXT),
    ("<p data-href=\"@\">", TEXT),
    ("<p @>", TEXT),
    ("<p href@=\"/\">", TEXT),
    // Addresses.
    ("<a href=\"@\">", ADDRESS),
    ("<a href='/x?q=@'>", ADDRESS),
    ("<a HREF = /x/@>", ADDRESS),
    ("<a\nhref=@>", ADDRESS),
    ("<br/><img alt='<x' src='/@.png'/>", ADDRESS),
    ("<a x y='\"' href=\"#@\">", ADDRESS),
    ("<form action=\"/x?a=1&amp;@\">", ADDRESS),
    ("<svg><use xlink:href='/x#@'/>", ADDRESS),
    ("<a href=\"/\" title=\"@\">", TEXT),
    ("<a href=\"/\">@", TEXT),
    ("<a href=/>@", TEXT),
    ("<a href=\"mailto:@\">", ADDRESS),
    ("<a href=\"/javascript:@\">", ADDRESS),
    // Code and documents.
    ("<a href=\"javascript:f('@')\">", CODE),
    ("<a href=\" JavaScript:f('@')\">", CODE),
    ("<a href=\"java\nscript:f('@')\">", CODE),
    ("<iframe src=\"data:text/html,@\">", CODE),
    (
        "<a href=\"java<esi:vars name=\"$(HTTP_COOKIE{none})\"/>script:f('@')\">",
        CODE,
    ),
    ("<p onclick=\"f('@')\">", SCRIPT),
    ("<p ONCLICK=f('@')>", SCRIPT),
    ("<p style=\"color: @\">", STYLE),
    ("<iframe srcdoc=\"<p>@</p>\">", DOCUMENT),
    // Scripts and styles, and after them.
    ("<script>x = '@'</script>", SCRIPT),
    ("<script>if (a<b && c='</s') '@'</script>", SCRIPT),
    ("<script src=\"/x?@\">", ADDRESS),
    ("<script async\n>'@'", SCRIPT),
    ("<script>a<b</script><p>@", TEXT),
    ("<script>a</scripts>'@'", SCRIPT),
    ("<script>a</script ><a href=/@>", ADDRESS),
    ("<style>a{b:@}</style>", STYLE),
    ("<style>a</style><p>@", TEXT),
    // What is no markup, and what is left out.
    ("<!-- <a href=\" --><p>@", TEXT),
    ("<![CDATA[<a href=\"]]>@", TEXT),
    ("<esi:remove><a href=\"</esi:remove>@", TEXT),
    ("<!--esi <a href=\"/@\"> -->", ADDRESS),
];

/// A page without what is taken out of it.
fn taken_out(page: &str) -> String {
    let page = page.replace("<esi:remove><a href=\"</esi:remove>", "");
    let page = page.replace("<esi:vars name=\"$(HTTP_COOKIE{none})\"/>", "");
    page.replace("<!--esi", "").replace("-->", "")
}

#[test]
fn a_value_is_escaped_as_its_place_demands() {
    let cookies = &[("cookie", "v=a&b=/'")];
    for (page, value) in PLACES {
        for page in [(*page).to_owned(), format!("<p class='x'>\n{page}")] {
            let expected = taken_out(&page.replace('@', value));
            let alone = page.replace('@', "<esi:vars name=\"$(HTTP_COOKIE{v})\"/>");
            let page = page.replace('@', "$(HTTP_COOKIE{v})");
            for written in [alone, format!("<esi:vars>{page}</esi:vars>")] {
                for size in [usize::MAX, 1, 2, 3, 5, 7] {
                    let pieces = vec![size; written.len()];
                    let whole = sent_to(written.as_bytes(), &pieces, cookies);
                    assert_eq!(taken_out(&whole), expected, "{written}, {size}");
                }
            }
        }
    }
}

/// What is part of an address as it comes stays so in its own part of one, and is a value like any other elsewhere.
#[test]
fn host_path_and_query_stay_what_they_are_in_their_part_of_an_address() {
    for (page, expected) in [
        (
            "<a href=\"https://$(HTTP_HOST)$(REQUEST_PATH)?$(QUERY_STRING)\">",
            "<a href=\"https://example.com/a/b?q&#61;&#60;b&#62;&#38;n&#61;1\">",
        ),
        (
            "<a href=\"$(REQUEST_PATH)?x=1&amp;$(QUERY_STRING)\">",
            "<a href=\"/a/b?x=1&amp;q&#61;&#60;b&#62;&#38;n&#61;1\">",
        ),
        (
            "<a href=\"/in?back=$(REQUEST_PATH)\">",
            "<a href=\"/in?back=%2Fa%2Fb\">",
        ),
        (
            "<a href=\"/in?back=$(QUERY_STRING)\">",
            "<a href=\"/in?back=q%3D%3Cb%3E%26n%3D1\">",
        ),
        (
            "<a href=\"/in?$(QUERY_STRING{q})=$(HTTP_HOST)\">",
            "<a href=\"/in?%3Cb%3E=example.com\">",
        ),
        (
            "<a href=\"$(QUERY_STRING)\">",
            "<a href=\"q%3D%3Cb%3E%26n%3D1\">",
        ),
        (
            "<a href=\"$(HTTP_COOKIE{user})$(REQUEST_PATH)\">",
            "<a href=\"Ann/a/b\">",
        ),
    ] {
        let written = format!("<esi:vars>{page}</esi:vars>");
        assert_eq!(sent(written.as_bytes(), &[]), expected, "{page}");
    }
}
