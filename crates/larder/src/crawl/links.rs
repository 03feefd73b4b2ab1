//! Finds what an HTML document refers to.

use super::style;
use html5gum::{State, Token, Tokenizer};
use std::collections::BTreeMap;

/// The most references that are taken from one document.
pub const MOST: usize = 20_000;

/// The references of a document, as they are written in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Links {
    /// The value of `<base href>`, to which the others are relative.
    pub base: Option<Vec<u8>>,
    /// The others, in the order of the document: pages, and the resources that pages need.
    pub all: Vec<Vec<u8>>,
}

/// Attributes whose value is one reference, by element.
const SINGLE: &[(&[u8], &[&[u8]])] = &[
    (b"a", &[b"href"]),
    (b"area", &[b"href"]),
    (b"link", &[b"href"]),
    (b"img", &[b"src"]),
    (b"script", &[b"src"]),
    (b"iframe", &[b"src"]),
    (b"frame", &[b"src"]),
    (b"embed", &[b"src"]),
    (b"object", &[b"data"]),
    (b"source", &[b"src"]),
    (b"track", &[b"src"]),
    (b"audio", &[b"src"]),
    (b"video", &[b"src", b"poster"]),
    (b"input", &[b"src"]),
    (b"image", &[b"href", b"xlink:href"]),
    (b"use", &[b"href", b"xlink:href"]),
];

/// Attributes whose value is a list of candidates, by element.
const SETS: &[(&[u8], &[u8])] = &[
    (b"img", b"srcset"),
    (b"source", b"srcset"),
    (b"link", b"imagesrcset"),
];

/// Values of `rel` for which a `<link>` is an address to connect to, or one of another site, and not a document.
const NO_DOCUMENT: [&[u8]; 4] = [b"preconnect", b"dns-prefetch", b"pingback", b"edituri"];

/// Reads a document as browsers do, however malformed it is.
pub fn links(html: &[u8]) -> Links {
    let mut links = Links::default();
    let mut tokens = Tokenizer::new(html);
    let mut in_style = false;
    while let Some(Ok(token)) = tokens.next() {
        match token {
            Token::StartTag(tag) => {
                links.read(&tag.name, &tag.attributes);
                in_style = *tag.name == b"style"[..];
                if let Some(state) = text_of(&tag.name) {
                    tokens.set_state(state);
                }
            }
            Token::String(text) if in_style => links.add_all(style::references(&text)),
            Token::EndTag(_) => in_style = false,
            _ => {}
        }
        if links.all.len() >= MOST {
            links.all.truncate(MOST);
            break;
        }
    }
    links
}

/// How to read the content of an element that holds no elements (HTML Standard, section 13.2.6.4.7 and others).
fn text_of(element: &[u8]) -> Option<State> {
    match element {
        b"title" | b"textarea" => Some(State::RcData),
        b"style" | b"xmp" | b"iframe" | b"noembed" | b"noframes" => Some(State::RawText),
        b"script" => Some(State::ScriptData),
        b"plaintext" => Some(State::PlainText),
        _ => None,
    }
}

impl Links {
    fn read<K, V>(&mut self, element: &[u8], attributes: &BTreeMap<K, V>)
    where
        K: std::borrow::Borrow<[u8]> + Ord,
        V: std::ops::Deref,
        V::Target: AsRef<[u8]>,
    {
        let value = |name: &[u8]| attributes.get(name).map(|value| (**value).as_ref());
        if element == b"base" {
            if self.base.is_none() {
                self.base = value(b"href").map(<[u8]>::to_vec);
            }
            return;
        }
        if element == b"meta" {
            if value(b"http-equiv").is_some_and(|kind| kind.eq_ignore_ascii_case(b"refresh")) {
                self.add(value(b"content").and_then(refresh));
            }
            return;
        }
        if element == b"link" && value(b"rel").is_some_and(names_no_document) {
            return;
        }
        for (_, names) in SINGLE.iter().filter(|(of, _)| *of == element) {
            for name in *names {
                self.add(value(name));
            }
        }
        for (_, name) in SETS.iter().filter(|(of, _)| *of == element) {
            for candidate in value(name).into_iter().flat_map(candidates) {
                self.add(Some(candidate));
            }
        }
        if let Some(style) = value(b"style") {
            self.add_all(style::references(style));
        }
    }

    fn add(&mut self, reference: Option<&[u8]>) {
        let reference = reference.map(<[u8]>::trim_ascii).unwrap_or_default();
        if !reference.is_empty() && !reference.starts_with(b"#") {
            self.all.push(reference.to_vec());
        }
    }

    fn add_all(&mut self, references: Vec<Vec<u8>>) {
        for reference in references {
            self.add(Some(&reference));
        }
    }
}

fn names_no_document(rel: &[u8]) -> bool {
    let mut words = rel.split(u8::is_ascii_whitespace);
    words.any(|word| NO_DOCUMENT.iter().any(|one| word.eq_ignore_ascii_case(one)))
}

/// Returns the address in `5; url='/next'` (HTML Standard, section 4.2.5.3).
fn refresh(content: &[u8]) -> Option<&[u8]> {
    let at = content
        .iter()
        .position(|byte| matches!(byte, b';' | b','))?;
    let rest = content.get(at + 1..)?.trim_ascii();
    let named = rest
        .get(..3)
        .is_some_and(|word| word.eq_ignore_ascii_case(b"url"));
    let address = if named {
        let rest = rest.get(3..)?.trim_ascii_start();
        rest.strip_prefix(b"=")?.trim_ascii_start()
    } else {
        rest
    };
    match address.first() {
        Some(quote @ (b'"' | b'\'')) => address.get(1..)?.split(|byte| byte == quote).next(),
        _ => Some(address),
    }
}

/// Returns the addresses of a `srcset` (HTML Standard, section 4.8.4.2.1). A comma within an address is part of it, one
/// at its end is not.
fn candidates(set: &[u8]) -> Vec<&[u8]> {
    let mut found = Vec::new();
    let mut rest = set;
    loop {
        let begin = rest
            .iter()
            .position(|byte| !byte.is_ascii_whitespace() && *byte != b',');
        let Some(tail) = begin.and_then(|begin| rest.get(begin..)) else {
            return found;
        };
        let end = tail
            .iter()
            .position(u8::is_ascii_whitespace)
            .unwrap_or(tail.len());
        let (address, after) = tail.split_at(end);
        let bare = address
            .iter()
            .rposition(|byte| *byte != b',')
            .map_or(0, |last| last + 1);
        found.push(address.get(..bare).unwrap_or_default());
        rest = if bare < address.len() {
            after
        } else {
            let comma = after.iter().position(|byte| *byte == b',');
            after
                .get(comma.unwrap_or(after.len())..)
                .unwrap_or_default()
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn found(html: &str) -> Vec<String> {
        let all = links(html.as_bytes()).all.into_iter();
        all.map(|link| String::from_utf8_lossy(&link).into_owned())
            .collect()
    }

    #[test]
    fn a_document_refers() {
        for (html, expected) in [
            ("<a href=/x>", &["/x"][..]),
            ("<A HREF = ' /x '>", &["/x"]),
            ("<a href='/a&amp;b'>", &["/a&b"]),
            ("<a href=/1 href=/2>", &["/1"]),
            ("<a href=/x", &[]),
            ("<a name=x><a href=#top><a href=''>", &[]),
            (
                "<link rel='icon' href=/i.png><link rel=preconnect href=//cdn>",
                &["/i.png"],
            ),
            (
                "<img src=/a.png srcset='/b.png 1x, /c,d.png 2x,/e.png'>",
                &["/a.png", "/b.png", "/c,d.png", "/e.png"],
            ),
            ("<img srcset='/b.png, /c.png'>", &["/b.png", "/c.png"]),
            ("<video src=/v.mp4 poster=/p.jpg>", &["/v.mp4", "/p.jpg"]),
            (
                "<script src=/s.js>'<a href=/no>'</script><a href=/yes>",
                &["/s.js", "/yes"],
            ),
            ("<!-- <a href=/no> --><a href=/yes>", &["/yes"]),
            (
                "<textarea><a href=/no></textarea><title><a href=/no></title><a href=/yes>",
                &["/yes"],
            ),
            (
                "<style>a{background:url(/bg.png)}</style><p style='background:url(\"/p.png\")'>",
                &["/bg.png", "/p.png"],
            ),
            (
                "<meta http-equiv=Refresh content=\"0; URL='/next'\">",
                &["/next"],
            ),
            ("<meta http-equiv=refresh content='5'>", &[]),
            ("<svg><use xlink:href='/i.svg#a'/></svg>", &["/i.svg#a"]),
            ("<form action=/post><button formaction=/x>", &[]),
        ] {
            assert_eq!(found(html), expected, "{html}");
        }
    }

    #[test]
    fn the_first_base_counts() {
        let links = links(b"<base target=_top><base href=/a/><base href=/b/><a href=x>");
        assert_eq!(links.base.as_deref(), Some(&b"/a/"[..]));
        assert_eq!(links.all, [b"x"]);
    }

    #[test]
    fn references_are_bounded() {
        let html = "<a href=/x>".repeat(MOST + 1);
        assert_eq!(links(html.as_bytes()).all.len(), MOST);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(html in prop::collection::vec(any::<u8>(), 0..200)) {
            links(&html);
        }

        #[test]
        fn tag_soup_is_read(html in r#"(<a href=|<base |<style>|url\(|'|"|>|/x|&amp;|<!--|</style>|srcset='| ,)*"#) {
            links(html.as_bytes());
        }
    }
}
