//! How values are escaped in each place of a page.

use super::{sent, sent_to};

const TEXT: &str = "a&#38;b&#61;/&#39;";
const NAME: &str = "a&#38;b&#61;&#47;&#39;";
const ADDRESS: &str = "a%26b%3D%2F%27";
const SCRIPT: &str = r"a\u0026b\u003d\u002f\u0027";
const STYLE: &str = r"a\000026b\00003d\00002f\000027";
const DOCUMENT: &str = "a&#38;#38;b&#38;#61;/&#38;#39;";
const CODE: &str = "a%5Cu0026b%5Cu003d%5Cu002f%5Cu0027";

/// What a cookie's value becomes at `@` in a page.
const PLACES: &[(&str, &str)] = &[
    ("@", TEXT),
    ("<p>@</p>", TEXT),
    ("a <b @", NAME),
    ("a < b=@", TEXT),
    ("<!DOCTYPE html><p>@", TEXT),
    ("<?xml version=\"1.0\"?><a>@", TEXT),
    ("</a title=@>@", TEXT),
    ("</a title='>'>@", TEXT),
    ("</a title='>' href='@'>", ADDRESS),
    // Attributes that are text, in all ways to write them.
    ("<p title=\"@\">", TEXT),
    ("<p title='@'>", TEXT),
    ("<p title=@>", TEXT),
    ("<p title = \"a > @\">", TEXT),
    ("<p data-href=\"@\">", TEXT),
    ("<p @>", NAME),
    ("<p href@=\"/\">", NAME),
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
    // A reference may stand for any letter of a scheme.
    ("<a href=\"javascript&colon;f('@')\">", CODE),
    ("<a href=\"java&#115;cript:f('@')\">", CODE),
    ("<a href=\"&#x6A;avascript:f('@')\">", CODE),
    ("<a href=' &Tab;javascript:f(`@`)'>", CODE),
    ("<a href=\"java&NewLine;script:f('@')\">", CODE),
    ("<a href=\"\u{1}javascript:f('@')\">", CODE),
    ("<a href=\"a&amp;b/@\">", CODE),
    ("<a href=\"/a&amp;b/@\">", ADDRESS),
    ("<a href=\"?a=1&amp;b=@\">", ADDRESS),
    ("<a href=\"https://a.example/&amp;javascript:@\">", ADDRESS),
    ("<p onclick=\"f('@')\">", SCRIPT),
    ("<p ONCLICK=f('@')>", SCRIPT),
    ("<p style=\"color: @\">", STYLE),
    // Documents in attributes.
    ("<iframe srcdoc=\"<p>@</p>\">", DOCUMENT),
    ("<iframe srcdoc=@>", DOCUMENT),
    ("<iframe srcdoc='&lt;p title=&quot;@&quot;>'>", DOCUMENT),
    (
        "<iframe srcdoc=\"&lt;p class=&#039;a&#39;&gt;@\">",
        DOCUMENT,
    ),
    ("<iframe srcdoc=\"<a href='@'>x</a>\">", ADDRESS),
    ("<iframe srcdoc=\"<a href='/x?@'>x</a>\">", ADDRESS),
    (
        "<iframe srcdoc='&lt;a href=&quot;/x?a=1&amp;amp;b=@&quot;>x</a>'>",
        ADDRESS,
    ),
    (
        "<iframe srcdoc=\"<a href='javascript:f(`@`)'>x</a>\">",
        CODE,
    ),
    (
        "<iframe srcdoc=\"<a href='java&amp;#115;cript:f(`@`)'>x</a>\">",
        CODE,
    ),
    (
        "<iframe srcdoc=\"<p onclick=&quot;f('@')&quot;>x</p>\">",
        SCRIPT,
    ),
    ("<iframe srcdoc=\"<script>'@'</script>\">", SCRIPT),
    ("<iframe srcdoc=\"<p style='color:@'>\">", STYLE),
    ("<iframe srcdoc=\"<p>x</p>\" title=\"@\">", TEXT),
    ("<iframe srcdoc=\"<p style='\">x</iframe><p>@", TEXT),
    // What is not understood there.
    ("<iframe srcdoc=\"&nbsp;@\">", ""),
    ("<iframe srcdoc=\"a & b @\">", ""),
    ("<iframe srcdoc=\"&l@t;\">", ""),
    ("<iframe srcdoc=\"&#x3c;p onclick='@'\">", ""),
    ("<iframe srcdoc=\"<title>@</title>\">", ""),
    ("<iframe srcdoc=\"<iframe srcdoc='@'>\">", ""),
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
    ("<script><!-- a<script>b</script>'@' --></script>", SCRIPT),
    ("<script><!-- a<script>b</script>--></script>@", TEXT),
    ("<script><!--> a<script>b</script>@", TEXT),
    ("<script><!-- a --><script>b</script>@", TEXT),
    ("<script><!-- if (a--@) --></script>", SCRIPT),
    ("<script>if (a<@)</script>", SCRIPT),
    ("<style><!-- a --></style>@", TEXT),
    // Text that is not markup.
    ("<title>a @</title>", TEXT),
    ("<title>a <b @</title>", NAME),
    ("<title><a href=\"x</title><p onclick=\"f('@')\">", SCRIPT),
    (
        "<textarea><a href=\"</textarea><p onclick=\"f('@')\">",
        SCRIPT,
    ),
    ("<iframe><a title='</iframe><p onclick=\"f('@')\">", SCRIPT),
    ("<XMP><p title='</XMP><p onclick=\"f('@')\">", SCRIPT),
    ("<noembed><!--</noembed><p onclick=\"f('@')\">", SCRIPT),
    (
        "<noframes><script></noframes><p onclick=\"f('@')\">",
        SCRIPT,
    ),
    ("<noscript><style></noscript><p onclick=\"f('@')\">", SCRIPT),
    ("<title>a</titles><b title='</title ><script>'@'", SCRIPT),
    // Or is it, without scripts or in SVG?
    ("<noscript><img src=\"/x?q=@\"></noscript>", ADDRESS),
    ("<noscript><img src=\"/x\"></noscript>@", TEXT),
    ("<svg><title><a href=\"@\">x</a></title></svg>", ADDRESS),
    ("<title>a <b> c</title><p>@", TEXT),
    // What looks like a comment and is none.
    ("<input value=\"<!--\"><p onclick=\"f('@')\">", SCRIPT),
    ("<input value=\"<![CDATA[\"><p onclick=\"f('@')\">", SCRIPT),
    ("<input value=<!--><p onclick=\"f('@')\">", SCRIPT),
    ("<p <!-- title='@' -->", TEXT),
    ("<title>a <!-- b</title><p onclick=\"f('@')\">", SCRIPT),
    ("<!--><p onclick=\"f('@')\"> -->", SCRIPT),
    ("<!---><p onclick=\"f('@')\"> -->", SCRIPT),
    ("<!-- a --!><p onclick=\"f('@')\"> -->", SCRIPT),
    ("<!--!><a href=\" --><p>@", TEXT),
    ("<<!-- <a href=\" --><p>@", TEXT),
    // For browsers this one ends at the first `>`.
    ("<![CDATA[ > <a href=\" ]]>@", ADDRESS),
    ("<![CDATA[ > ]]>@", TEXT),
    // Where nothing is sure to stay a value.
    ("a <@", ""),
    ("<h@>", ""),
    ("</@", ""),
    ("<!@", ""),
    ("<script>'</@'", ""),
    ("<title><@", ""),
    ("<p @=''>", NAME),
    // Bytes that are not markup, and bytes that are left out.
    ("<!-- <a href=\" --><p>@", TEXT),
    ("<![CDATA[<a href=\"]]>@", TEXT),
    ("<esi:remove><a href=\"</esi:remove>@", TEXT),
    ("<!--esi <a href=\"/@\"> -->", ADDRESS),
];

/// The page without what is removed from it.
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

/// A variable that is part of an address stays as it is in its own part of one, and is a value like any other
/// elsewhere.
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
        (
            "<a href=\"//$(HTTP_HOST)$(REQUEST_PATH)\">",
            "<a href=\"//example.com/a/b\">",
        ),
        ("<a href=\"/x$(REQUEST_PATH)\">", "<a href=\"/x/a/b\">"),
        ("<a href=\"/$(REQUEST_PATH)\">", "<a href=\"/%2Fa%2Fb\">"),
        (
            "<img srcset=\"$(REQUEST_PATH)?w=1 1x, $(REQUEST_PATH)?$(QUERY_STRING) 2x\">",
            "<img srcset=\"/a/b?w=1 1x, /a/b?q&#61;&#60;b&#62;&#38;n&#61;1 2x\">",
        ),
        (
            "<img srcset=\"https://$(HTTP_HOST)/1 1x, https://$(HTTP_HOST)/2 2x\">",
            "<img srcset=\"https://example.com/1 1x, https://example.com/2 2x\">",
        ),
        (
            "<iframe srcdoc=\"<a href='//$(HTTP_HOST)$(REQUEST_PATH)?$(QUERY_STRING)'>\">",
            "<iframe srcdoc=\"<a href='//example.com%2Fa%2Fb?q%3D%3Cb%3E%26n%3D1'>\">",
        ),
    ] {
        let written = format!("<esi:vars>{page}</esi:vars>");
        assert_eq!(sent(written.as_bytes(), &[]), expected, "{page}");
    }
}

/// A value at the beginning of an address, or within what may be its scheme, does not make it code: neither alone nor
/// with the page's own letters or with other values.
#[test]
fn no_value_makes_an_address_code() {
    for scheme in ["javascript", "JavaScript", "vbscript", "data"] {
        for from in 0..scheme.len() {
            for to in from + 1..=scheme.len() {
                let (begun, after) = scheme.split_at(to);
                let (before, value) = begun.split_at(from);
                let cookies: &[_] =
                    vec![("cookie", &*format!("v={value}; w={after}").leak())].leak();
                for after in [
                    after,
                    "$(HTTP_COOKIE{w})",
                    &format!("$(HTTP_COOKIE{{x}}){after}"),
                ] {
                    let page =
                        format!("<esi:vars><a href=\"{before}$(HTTP_COOKIE{{v}}){after}://x?@\">");
                    let whole = sent_to(page.as_bytes(), &[], cookies);
                    let (address, _) = whole.split_once(':').unwrap_or_default();
                    assert!(address.contains('%'), "{page}: {whole}");
                }
            }
        }
    }
    // Schemes that are no code stay.
    let page = "<esi:vars><a href=\"$(HTTP_COOKIE{v}|https)://$(HTTP_HOST)/$(HTTP_COOKIE{v})\">";
    for (cookie, expected) in [
        ("v=http", "<a href=\"http://example.com/http\">"),
        ("v=", "<a href=\"https://example.com/\">"),
        (
            "v=javascript",
            "<a href=\"%6Aavascript://example.com/javascript\">",
        ),
    ] {
        let page = page.replace("/$(HTTP_COOKIE{v})", "/$(HTTP_COOKIE{v}|)");
        let cookies = vec![("cookie", cookie)].leak();
        assert_eq!(sent_to(page.as_bytes(), &[], cookies), expected, "{cookie}");
    }
}

/// Nobody knows what an attribute is whose name is a value, in whole or in part.
#[test]
fn in_an_attribute_of_a_name_that_is_a_value_most_is_escaped() {
    let cookies = &[("cookie", "v=a&b=/'; n=on")];
    for name in ["@click", "data-@", "onclick@", "title @"] {
        let name = name.replace('@', "$(HTTP_COOKIE{n})");
        let page = format!("<esi:vars><p {name}=\"f('$(HTTP_COOKIE{{v}})')\">");
        let whole = sent_to(page.as_bytes(), &[], cookies);
        assert!(whole.ends_with(&format!("=\"f('{CODE}')\">")), "{whole}");
    }
}

/// Behind an attribute that may be empty, without quotes, stands what may become its value. A value that is all of it is
/// written so that the attribute stays empty.
#[test]
fn an_empty_value_without_quotes_takes_nothing_from_what_follows() {
    for (page, empty, given) in [
        (
            "<a href=$(HTTP_COOKIE{v}) class=b>",
            "<a href=\"\" class=b>",
            "<a href=x class=b>",
        ),
        (
            "<a href = $(HTTP_COOKIE{v})\nclass=b>",
            "<a href = \"\"\nclass=b>",
            "<a href = x\nclass=b>",
        ),
        (
            "<a href=<esi:vars>$(HTTP_COOKIE{v})</esi:vars> class=b>",
            "<a href=\"\" class=b>",
            "<a href=x class=b>",
        ),
        (
            "<a href=<esi:vars name='$(HTTP_COOKIE{v})'/> class=b>",
            "<a href=\"\" class=b>",
            "<a href=x class=b>",
        ),
        (
            "<a href=$(HTTP_COOKIE{v}|/y) class=b>",
            "<a href=/y class=b>",
            "<a href=x class=b>",
        ),
        (
            "<iframe srcdoc='<iframe srcdoc=$(HTTP_COOKIE{v}) id=b>'>",
            "<iframe srcdoc='<iframe srcdoc= id=b>'>",
            "<iframe srcdoc='<iframe srcdoc= id=b>'>",
        ),
        // It ends here, or goes on.
        ("<a href=$(HTTP_COOKIE{v})>", "<a href=>", "<a href=x>"),
        (
            "<a href=$(HTTP_COOKIE{v})/y>",
            "<a href=/y>",
            "<a href=x/y>",
        ),
        (
            "<a href='$(HTTP_COOKIE{v})' b>",
            "<a href='' b>",
            "<a href='x' b>",
        ),
    ] {
        let written = format!("<esi:vars>{page}</esi:vars>");
        for size in [usize::MAX, 1, 2, 5] {
            let pieces = vec![size; written.len()];
            assert_eq!(sent_to(written.as_bytes(), &pieces, &[]), empty);
            let whole = sent_to(written.as_bytes(), &pieces, &[("cookie", "v=x")]);
            assert_eq!(whole, given);
        }
    }
    // Of this value nothing is left in text.
    let page = "<esi:vars><a title=$(HTTP_COOKIE{v}) id=b>";
    let whole = sent_to(page.as_bytes(), &[], &[("cookie", "v=\u{1}")]);
    assert_eq!(whole, "<a title=\"\" id=b>");
}

/// What stands behind a value stays a value if that one is empty.
#[test]
fn a_value_behind_one_that_may_be_empty_stays_a_value() {
    for (page, value) in [
        ("<a href=$(HTTP_COOKIE{w})$(HTTP_COOKIE{w}) @>", ADDRESS),
        ("<p onclick=$(HTTP_COOKIE{w})$(HTTP_COOKIE{w}) @>", SCRIPT),
        ("<p onclick=<esi:vars name='$(HTTP_COOKIE{w})'/ > @>", NAME),
        (
            "<script><!-- --$(HTTP_COOKIE{w})> <script></script>@",
            SCRIPT,
        ),
        ("<script>a<$(HTTP_COOKIE{w})/script>@", SCRIPT),
    ] {
        let page = page.replace('@', "$(HTTP_COOKIE{v})");
        let written = format!("<esi:vars>{page}</esi:vars>");
        let whole = sent_to(written.as_bytes(), &[], &[("cookie", "v=a&b=/'")]);
        let whole = whole.trim_end_matches('>');
        assert!(whole.ends_with(value), "{page}: {whole}");
    }
}

/// In a style an address may stand anywhere, in `url()` or in a string.
#[test]
fn no_value_in_a_style_is_the_second_slash_of_an_address() {
    const SLASH: &str = r"\00002fx";
    const ENCODED: &str = r"\0000252Fx";
    for (page, value) in [
        ("<p style=\"a:url(@", SLASH),
        ("<p style=\"a:url(/$(HTTP_COOKIE{v}|y)@", SLASH),
        ("<p style=\"a:url(/y/z@", SLASH),
        ("<p style=\"a:url(/@", ENCODED),
        ("<p style='a:url(\"\\@", ENCODED),
        ("<p style='a:url(/\t\r\n@", ENCODED),
        ("<p style='a:url(&#47;@", ENCODED),
        ("<p style=\"a:url(/$(HTTP_COOKIE{none})@", ENCODED),
        ("<p style=\"a:url(/$(HTTP_COOKIE{v})@", ENCODED),
        ("<style>@import \"/@", ENCODED),
        ("<style>a>b{c:url(/@", ENCODED),
        ("<style>a{c:url(/y@", SLASH),
        ("<iframe srcdoc=\"<p style='a:url(/@", ENCODED),
    ] {
        let written = format!("<esi:vars>{}", page.replace('@', "$(HTTP_COOKIE{v})"));
        for size in [usize::MAX, 1, 3] {
            let pieces = vec![size; written.len()];
            let whole = sent_to(written.as_bytes(), &pieces, &[("cookie", "v=/x")]);
            assert!(whole.ends_with(value), "{page}: {whole}");
        }
    }
}

const BRANCHES: &str = "<esi:choose><esi:when test='0==1'>[1]</esi:when><esi:otherwise>[2]</esi:otherwise></esi:choose>";
const ONLY: &str = "<esi:choose>'<esi:when test='0==1'>[1]</esi:when>\"</esi:choose>";
const SIDES: &str = "<esi:try><esi:attempt>[1]</esi:attempt><esi:except>[2]</esi:except></esi:try>";
const DEFAULT: &str = "$(HTTP_COOKIE{none}|\"[1]\")";
const JS: &str = "javascript:f('";

/// What a cookie's value becomes at `@`: a page, what replaces `#` in it, and what replaces `[1]` and `[2]` in that.
const WAYS: &[(&str, &str, &str, &str, &str)] = &[
    ("<a href=\"#@", BRANCHES, "/x?q=", JS, CODE),
    ("<a href=\"#@", BRANCHES, JS, "/x?q=", CODE),
    ("<a href=\"#@", BRANCHES, "/x?q=", "/y?q=", ADDRESS),
    ("<a href=\"#@", BRANCHES, JS, ONLY, CODE),
    ("<a href=\"#@", ONLY, JS, "", CODE),
    ("<a href=\"#javascript:f('@", ONLY, "/x", "", CODE),
    ("<a href=\"#@", SIDES, "/x?q=", JS, CODE),
    ("<a href=\"#@", SIDES, JS, "/x?q=", CODE),
    (
        "<a href=\"#@",
        SIDES,
        "/</esi:attempt><esi:attempt>?",
        "/y",
        ADDRESS,
    ),
    ("<a href=\"#@", DEFAULT, JS, "", CODE),
    // What every branch closes is closed; what one branch leaves open may be open.
    ("#@", BRANCHES, "<a href=\"/\">", "<b title='x'>", TEXT),
    ("#@\">", BRANCHES, "<p title=\"", "<a href=\"/", ADDRESS),
    ("#@\">", BRANCHES, "<p onclick=\"", "<a href=\"/", CODE),
    ("#@\">", BRANCHES, "<p onclick=\"", "<p style=\"", SCRIPT),
    ("#\">@", BRANCHES, "<p title=\"", "<a href=\"/", TEXT),
    ("<p>#@", ONLY, "<script>", "", SCRIPT),
    ("<p>#</script>@", ONLY, "<script>", "", TEXT),
];

#[test]
fn a_value_stays_one_whichever_way_led_to_it() {
    for (page, parts, one, two, value) in WAYS {
        let parts = parts.replace("[2]", two).replace("[1]", one);
        let page = page.replace('#', &parts).replace('@', "$(HTTP_COOKIE{v})");
        let written = format!("<esi:vars>{page}</esi:vars>");
        for size in [usize::MAX, 1, 2, 7] {
            let pieces = vec![size; written.len()];
            let whole = sent_to(written.as_bytes(), &pieces, &[("cookie", "v=a&b=/'")]);
            let whole = whole.trim_end_matches(['"', '>', '}']);
            assert!(whole.ends_with(value), "{written}: {whole}, not {value}");
        }
    }
}

/// Among many ways one may be lost, but not the one on which most is escaped.
#[test]
fn of_many_ways_the_strictest_is_followed() {
    let whens: Vec<_> = (0..40)
        .map(|at| format!("<esi:when test='0==1'>/{at}/</esi:when>"))
        .collect();
    let page = format!(
        "<esi:vars><a href=\"<esi:choose>{}<esi:otherwise>{JS}</esi:otherwise></esi:choose>$(HTTP_COOKIE{{v}})</esi:vars>",
        whens.concat()
    );
    let whole = sent_to(page.as_bytes(), &[], &[("cookie", "v=a&b=/'")]);
    assert_eq!(whole, format!("<a href=\"{JS}{CODE}"));
}
