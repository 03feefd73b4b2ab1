mod everywhere;
mod places;

use super::*;
use crate::{Page, Run, Step, variable::tests::TestRequest};
use proptest::prelude::*;

/// The page as it is sent, with an include as `[src|alt|?]` and an attempt as `{attempt|except}`.
fn sent(body: &[u8], pieces: &[usize]) -> String {
    sent_to(body, pieces, &[("cookie", "user=Ann; x=\"';")])
}

/// As [`sent`], to a client that sends these fields.
fn sent_to(
    body: &[u8],
    pieces: &[usize],
    fields: &'static [(&'static str, &'static str)],
) -> String {
    let request = TestRequest {
        query: Some("q=<b>&n=1"),
        fields,
    };
    let (mut parser, mut run, mut text) = (Parser::new(), Run::new(), Vec::new());
    let mut rest = body;
    let mut sizes = pieces.iter().copied();
    loop {
        let size = sizes.next().unwrap_or(rest.len()).min(rest.len());
        let (piece, after) = rest.split_at(size);
        rest = after;
        parser.push(Bytes::copy_from_slice(piece));
        if rest.is_empty() {
            parser.finish();
        }
        while let Some(token) = parser.next() {
            if let Some(step) = run.step(&token, &request) {
                show(&parser, &step, &mut text);
            }
        }
        if rest.is_empty() {
            return String::from_utf8_lossy(&text).into_owned();
        }
    }
}

fn show(parser: &Parser, step: &Step, text: &mut Vec<u8>) {
    match step {
        Step::Text(span) => text.extend_from_slice(&parser.bytes(*span)),
        Step::Value(value) => text.extend_from_slice(value.as_bytes()),
        Step::Include(address) => {
            let src = address.src.as_deref().unwrap_or("-");
            let alt = address
                .alt
                .as_deref()
                .map_or(String::new(), |alt| format!("|{alt}"));
            let may_fail = if address.may_fail { "|?" } else { "" };
            text.extend_from_slice(format!("[{src}{alt}{may_fail}]").as_bytes());
        }
        Step::Try => text.extend_from_slice(b"{"),
        Step::Attempt => text.extend_from_slice(b"a:"),
        Step::Except => text.extend_from_slice(b"e:"),
        Step::End => text.extend_from_slice(b"}"),
    }
}

const PAGES: &[(&str, &str)] = &[
    ("", ""),
    ("<p>plain $(HTTP_HOST)</p>", "<p>plain $(HTTP_HOST)</p>"),
    // Includes.
    ("a<esi:include src=\"/x\"/>b", "a[/x]b"),
    (
        "a<esi:include src='/x' alt=\"/y\" onerror=\"continue\" />b",
        "a[/x|/y|?]b",
    ),
    ("a<esi:include src=/x>b</esi:include>c", "a[/x]bc"),
    ("<esi:include\n  src=\"/x?a=1&amp;b=2\"\n/>", "[/x?a=1&b=2]"),
    (
        "<esi:include src=\"/x?q=$(QUERY_STRING{q})\"/>",
        "[/x?q=%3Cb%3E]",
    ),
    ("<esi:include src=\"/x?q=a&#43;b\"/>", "[/x?q=a+b]"),
    (
        "<esi:include src=\"/x?q=&#36;(QUERY_STRING{q})\"/>",
        "[/x?q=&#36;(QUERY_STRING{q})]",
    ),
    ("a<esi:include/>b<esi:include src=\"\"/>c", "abc"),
    ("<ESI:include src=\"/x\"/>", "<ESI:include src=\"/x\"/>"),
    ("<esi: include src=\"/x\"/>y", "y"),
    // Remove, comment, `<!--esi`.
    (
        "a<esi:remove>x<esi:include src=\"/x\"/></esi:remove>b",
        "ab",
    ),
    ("a<esi:remove/>b", "ab"),
    ("a<esi:remove>x</esi:removed></esi:remove >b", "ab"),
    ("a<esi:remove>x", "a"),
    ("a<esi:comment text=\"x > y\"/>b", "ab"),
    (
        "a<!--esi <p>$(HTTP_HOST)</p> -->b",
        "a <p>$(HTTP_HOST)</p> b",
    ),
    ("a<!--esi<esi:include src=\"/x\"/>-->b-->c", "a[/x]b-->c"),
    ("a<!--esi x <!-- y --> z -->b", "a x <!-- y --> z b"),
    ("a<!--esi x", "a x"),
    (
        "a<!--esixyz <esi:include src=/x/> -->b",
        "a<!--esixyz <esi:include src=/x/> -->b",
    ),
    // Variables.
    (
        "<esi:vars>Hi $(HTTP_COOKIE{user}|you)!</esi:vars>$(HTTP_HOST)",
        "Hi Ann!$(HTTP_HOST)",
    ),
    (
        "<esi:vars>$(QUERY_STRING{q}) $(HTTP_COOKIE{x})</esi:vars>",
        "&#60;b&#62; &#34;&#39;",
    ),
    (
        "<esi:vars>$(HTTP_COOKIE{none}|<b>guest</b>)</esi:vars>",
        "<b>guest</b>",
    ),
    (
        "<esi:vars>$(document).ready($(X)); $(</esi:vars>",
        "$(document).ready($(X)); $(",
    ),
    (
        "a<esi:vars name=\"$(HTTP_HOST)\"/>b$(HTTP_HOST)",
        "aexample.comb$(HTTP_HOST)",
    ),
    (
        "<script>v='<esi:vars>$(QUERY_STRING{q})</esi:vars>'</script><esi:vars>$(QUERY_STRING{q})</esi:vars>",
        "<script>v='\\u003cb\\u003e'</script>&#60;b&#62;",
    ),
    (
        "<STYLE>a{b:'<esi:vars>$(QUERY_STRING{q})</esi:vars>'}</Style >",
        "<STYLE>a{b:'\\00003cb\\00003e'}</Style >",
    ),
    // Choose.
    (
        "<esi:choose><esi:when test=\"$(HTTP_COOKIE{user})=='Ann'\">A</esi:when><esi:otherwise>B</esi:otherwise></esi:choose>",
        "A",
    ),
    (
        "<esi:choose><esi:when test=\"$(HTTP_COOKIE{user})==&#x27;Ann&#x27;\">A</esi:when><esi:otherwise>B</esi:otherwise></esi:choose>",
        "A",
    ),
    (
        "<esi:choose> x <esi:when test=\"0==1\">A</esi:when> y <esi:when test=\"1==1\">B</esi:when><esi:when test=\"1==1\">C</esi:when> z </esi:choose>",
        "B",
    ),
    (
        "<esi:choose><esi:when test=\"0==1\">A<esi:otherwise>B</esi:choose>C",
        "BC",
    ),
    (
        "<esi:choose><esi:when test='1'>a<esi:choose><esi:when test='0==1'>b</esi:when><esi:otherwise>c</esi:otherwise></esi:choose>d</esi:when></esi:choose>",
        "acd",
    ),
    (
        "<esi:choose><esi:when test='false'><esi:choose><esi:otherwise>c</esi:otherwise></esi:choose><esi:include src=/x/></esi:when></esi:choose>",
        "",
    ),
    ("<esi:when test='1'>a</esi:when>b</esi:choose>", "ab"),
    (
        "<esi:choose>a<esi:try><esi:attempt>b</esi:attempt></esi:try></esi:choose>",
        "",
    ),
    ("<esi:choose><esi:when test='1'>a", "a"),
    // Try.
    (
        "<esi:try> x <esi:attempt>A<esi:include src=/x/></esi:attempt> y <esi:except>B</esi:except></esi:try>",
        "{a:A[/x]}e:B}}",
    ),
    (
        "<esi:try><esi:attempt>A<esi:except>B</esi:try>C",
        "{a:A}e:B}}C",
    ),
    ("<esi:try><esi:attempt>A", "{a:A}}"),
    // With a name the tag is a value, and opens nothing.
    (
        "<esi:vars name=\"$(HTTP_HOST)\">b$(HTTP_HOST)",
        "example.comb$(HTTP_HOST)",
    ),
    // Others.
    ("a<esi:inline name=\"x\">b</esi:inline>c", "abc"),
    ("a</esi:remove>b</esi:vars>c</esi:try>d", "abcd"),
    // Attributes, scripts, styles: counted. Comments and CDATA: not.
    ("<a href=\"<esi:include src='/x'/>\">", "<a href=\"[/x]\">"),
    (
        "<script>if (a<b) x(<esi:include src='/x'/>);</script>",
        "<script>if (a<b) x([/x]);</script>",
    ),
    (
        "<script>'<!--'</script><esi:include src='/x'/>",
        "<script>'<!--'</script>[/x]",
    ),
    (
        "<scripts><!-- <esi:include src='/x'/> --></scripts>",
        "<scripts><!-- <esi:include src='/x'/> --></scripts>",
    ),
    (
        "<!-- <esi:include src='/x'/> --><esi:include src='/y'/>",
        "<!-- <esi:include src='/x'/> -->[/y]",
    ),
    (
        "<![CDATA[ <esi:include src='/x'/> ]]><esi:include src='/y'/>",
        "<![CDATA[ <esi:include src='/x'/> ]]>[/y]",
    ),
    (
        "<!-- <esi:include src='/x'/>",
        "<!-- <esi:include src='/x'/>",
    ),
    // Comments begin only in markup.
    (
        "<input value=\"<!--\"><p><esi:include src=\"/x\"/></p>",
        "<input value=\"<!--\"><p>[/x]</p>",
    ),
    (
        "<input value='<![CDATA['><p><esi:include src='/x'/></p>",
        "<input value='<![CDATA['><p>[/x]</p>",
    ),
    (
        "<title><!--</title><esi:include src='/x'/>-->",
        "<title><!--</title>[/x]-->",
    ),
    (
        "<textarea><esi:include src='/x'/></textarea><!-- <esi:include src='/x'/> --><esi:include src='/y'/>",
        "<textarea>[/x]</textarea><!-- <esi:include src='/x'/> -->[/y]",
    ),
    (
        "<p title=\"<!--esi<esi:include src='/x'/>-->\"><esi:include src='/y'/>",
        "<p title=\"[/x]\">[/y]",
    ),
    ("<!--> <esi:include src='/x'/> -->", "<!--> [/x] -->"),
    ("<!-- <p> --!><esi:include src='/x'/>", "<!-- <p> --!>[/x]"),
    (
        "<![CDATA[ > <esi:include src='/x'/> ]] > ]]]><esi:include src='/y'/>",
        "<![CDATA[ > <esi:include src='/x'/> ]] > ]]]>[/y]",
    ),
    // Cut off.
    ("a<esi:include src=\"/x", "a<esi:include src=\"/x"),
    (
        "a<esi:include src=/x <esi:include src=/y />",
        "a<esi:include src=/x [/y]",
    ),
    ("a<esi:remove>b</esi:remove <p></esi:remove>c", "ac"),
    ("a<es", "a<es"),
    ("a<", "a<"),
    ("a</esi:vars", "a</esi:vars"),
    ("<esi:vars>$(HTTP_HOST", "$(HTTP_HOST"),
    ("a<!-", "a<!-"),
    ("a<!--esi", "a"),
];

#[test]
fn pages_are_sent_as_the_language_says() {
    let mut wrong = Vec::new();
    for (page, expected) in PAGES {
        let found = sent(page.as_bytes(), &[]);
        if found != *expected {
            wrong.push(format!("{page}\n  is    {found}\n  not   {expected}"));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn where_a_page_is_cut_into_pieces_does_not_matter() {
    for (page, expected) in PAGES {
        for at in 0..page.len() {
            assert_eq!(
                sent(page.as_bytes(), &[at]),
                *expected,
                "{page} cut at {at}"
            );
        }
        assert_eq!(
            sent(page.as_bytes(), &vec![1; page.len()]),
            *expected,
            "{page}, bytewise"
        );
    }
}

#[test]
fn a_tag_that_is_too_long_is_text_and_holds_nothing_up() {
    let long = format!("<esi:include src=\"/{}\"/>", "x".repeat(MOST_TAG));
    let page = format!("{long}<esi:include src=/y />");
    assert_eq!(sent(page.as_bytes(), &[]), format!("{long}[/y]"));
    assert_eq!(
        sent(page.as_bytes(), &vec![100; 1000]),
        format!("{long}[/y]")
    );
    let mut parser = Parser::new();
    for _ in 0..1000 {
        parser.push(Bytes::from_static(
            b"<esi:include src='xxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        ));
        while parser.next().is_some() {}
        assert!(parser.rest().len() <= MOST_TAG);
    }
}

#[test]
fn what_lies_too_deep_is_left_out_with_all_that_lies_in_it() {
    let inner = "<esi:choose/><esi:when test='1'/><esi:choose ><esi:when test='1'>B</esi:when></esi:choose>";
    for (whole, branch) in [
        ("choose", "when test='1'"),
        ("choose", "when test='0'"),
        ("try", "attempt"),
    ] {
        let name = branch.split(' ').next().unwrap_or_default();
        let open = "<esi:choose><esi:when test='1'>".repeat(MOST_OPEN / 2);
        let shut = "</esi:when></esi:choose>".repeat(MOST_OPEN / 2);
        let inner = if whole == "try" {
            inner
                .replace("choose", "try")
                .replace("when test='1'", "attempt")
        } else {
            inner.to_owned()
        };
        let inner = inner.replace("</esi:when>", &format!("</esi:{name}>"));
        let page = format!(
            "{open}a<esi:{whole}><esi:{branch}>A{inner}SECRET</esi:{name}></esi:{whole}>b{shut}c"
        );
        for pieces in [&[][..], &[1], &[7]] {
            assert_eq!(sent(page.as_bytes(), pieces), "abc", "{page}");
        }
    }
}

#[test]
fn elements_within_one_another_are_bounded() {
    let page = "<esi:choose><esi:when test=1>".repeat(100_000);
    let mut parser = Parser::new();
    parser.push(Bytes::from(page + "deep"));
    parser.finish();
    let mut open = 0usize;
    while let Some(token) = parser.next() {
        match token {
            Token::Choose | Token::When(_) => open += 1,
            Token::End => open -= 1,
            other => panic!("{other:?}"),
        }
        assert!(open <= MOST_OPEN);
    }
    assert_eq!(open, 0);
}

fn markup() -> impl Strategy<Value = String> {
    let words = prop::sample::select(vec![
        "<esi:include src=\"/x\"/>",
        "<esi:include src='",
        "'/>",
        "<esi:remove>",
        "</esi:remove>",
        "<esi:vars>",
        "</esi:vars>",
        "$(HTTP_HOST)",
        "$(HTTP_COOKIE{",
        "user})",
        "|x)",
        "<!--esi ",
        "-->",
        "<!--",
        "--",
        "<![CDATA[",
        "]]>",
        "<esi:choose>",
        "</esi:choose>",
        "<esi:when test=\"1==1\">",
        "<esi:when test=\"1==2\">",
        "</esi:when>",
        "<esi:otherwise>",
        "</esi:otherwise>",
        "<esi:try>",
        "<esi:attempt>",
        "<esi:except>",
        "</esi:attempt>",
        "</esi:except>",
        "</esi:try>",
        "<script>",
        "</script>",
        "<!-- <script ",
        "<title>",
        "</title>",
        "<noscript>",
        "</noscript>",
        "--!>",
        "<style",
        "</style>",
        "<",
        ">",
        "</",
        "<!",
        "<e",
        "<esi:",
        "<a href=\"",
        "javascript:f('",
        "/x?q=",
        "text",
        "\"",
        "'",
        " ",
        "é",
        "$",
        "$(",
    ]);
    prop::collection::vec(words, 0..30).prop_map(|words| words.concat())
}

proptest! {
    #[test]
    fn any_split_is_read_the_same(page in markup(), pieces in prop::collection::vec(0usize..20, 0..60)) {
        let whole = sent(page.as_bytes(), &[]);
        prop_assert_eq!(sent(page.as_bytes(), &pieces), whole);
    }

    #[test]
    fn openings_and_ends_match_whatever_is_read(page in markup()) {
        let body = Bytes::from(page);
        let read = Page::read(&body, |_| true).expect("all of it fits");
        let mut open = 0usize;
        for token in read.tokens() {
            match token {
                Token::Choose | Token::When(_) | Token::Otherwise | Token::Try | Token::Attempt | Token::Except => open += 1,
                Token::End => open = open.checked_sub(1).expect("something is open"),
                Token::Text(span) => prop_assert!(span.start < span.end && span.end <= body.len() as u64),
                Token::Value(..) | Token::Include(_) => {}
            }
        }
        prop_assert_eq!(open, 0);
    }

    #[test]
    fn bytes_without_a_tag_are_sent_as_they_came(bytes in prop::collection::vec(any::<u8>(), 0..200), pieces in prop::collection::vec(0usize..20, 0..20)) {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        prop_assume!(!text.contains("<esi:") && !text.contains("</esi:") && !text.contains("<!--esi"));
        prop_assert_eq!(sent(text.as_bytes(), &pieces), text.as_str());
        let (body, length) = (Bytes::from(text.clone()), text.len() as u64);
        let read = Page::read(&body, |_| true);
        prop_assert!(read.is_some_and(|page| page.is_plain(length)));
        prop_assert!(Page::read(&body, |_| false).is_none_or(|_| text.is_empty()));
    }
}
