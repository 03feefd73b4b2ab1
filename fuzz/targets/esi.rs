//! A page in ESI: a byte that says where it is cut into pieces, and the page.
#![no_main]

use bytes::Bytes;
use esi::{Page, Parser, Request, Run, Step, Token};
use libfuzzer_sys::fuzz_target;
use std::borrow::Cow;

/// A client that would rather be part of the page: no page has these values by chance. Its host is one that a request
/// may have, since that alone stands in addresses as it is.
struct Hostile;

impl Request for Hostile {
    fn host(&self) -> &str {
        "a'(zq).test"
    }
    fn path(&self) -> &str {
        "/\"'<zq>"
    }
    fn query(&self) -> Option<&str> {
        Some("a=%22%27%3Czq%3E&b=x+y&c=<zq>")
    }
    fn field(&self, _name: &str) -> Option<Cow<'_, str>> {
        Some(Cow::Borrowed("a=\"'<zq>; b=1, en;q=0.5"))
    }
}

/// What is done for a page that comes in pieces of `size` bytes, texts that follow one another joined.
fn steps(page: &[u8], size: usize) -> Vec<Step> {
    let (mut parser, mut run) = (Parser::new(), Run::new());
    let (mut steps, mut sent) = (Vec::<Step>::new(), Vec::new());
    let mut pieces = page.chunks(size);
    let mut open = 0usize;
    loop {
        let piece = pieces.next();
        match piece {
            Some(piece) => parser.push(Bytes::copy_from_slice(piece)),
            None => parser.finish(),
        }
        while let Some(token) = parser.next() {
            match &token {
                Token::Text(span) => {
                    assert!(span.start < span.end && span.end <= page.len() as u64);
                    let bytes = &page[span.start as usize..span.end as usize];
                    assert_eq!(parser.bytes(*span), bytes, "what is sent is what came");
                    sent.extend_from_slice(bytes);
                }
                Token::End => open = open.checked_sub(1).expect("something is open"),
                Token::Value(..) | Token::Include(_) => {}
                _ => open += 1,
            }
            match (run.step(&token, &Hostile), steps.last_mut()) {
                (Some(Step::Text(next)), Some(Step::Text(last))) if last.end == next.start => {
                    last.end = next.end;
                }
                (Some(step), _) => steps.push(step),
                (None, _) => {}
            }
        }
        if piece.is_none() {
            break;
        }
    }
    assert_eq!(open, 0, "all is closed");
    if !contains(page, b"<esi:") && !contains(page, b"</esi:") && !contains(page, b"<!--esi") {
        assert_eq!(sent, page, "a page without a tag is sent as it came");
    }
    steps
}

fn contains(page: &[u8], word: &[u8]) -> bool {
    page.windows(word.len()).any(|window| window == word)
}

/// What could close what a value stands in.
const MARKS: [char; 4] = ['<', '>', '"', '\''];

fuzz_target!(|data: &[u8]| {
    let Some((size, page)) = data.split_first() else {
        return;
    };
    let whole = steps(page, page.len().max(1));
    let split = steps(page, usize::from(*size).max(1));
    assert_eq!(split, whole, "where a page is cut does not matter");
    let text = String::from_utf8_lossy(page);
    // A reference by number can stand for any character.
    let numbered = contains(page, b"&#");
    for step in &whole {
        match step {
            // A default is the page's own, but for references and what is no text; a value never closes what it stands in.
            Step::Value(value) => {
                let harmless = !value.contains(MARKS);
                let mut parts = value.split(MARKS).flat_map(|part| part.split('&'));
                let mut own = || parts.all(|part| text.contains(part));
                let is_pages = numbered && !value.contains("zq");
                assert!(harmless || is_pages || own(), "{value}");
            }
            Step::Include(address) => {
                let mut named = address.src.iter().chain(&address.alt);
                let harmless = !named.any(|target| target.contains("<zq>"));
                assert!(harmless || contains(page, b"zq"), "{address:?}");
            }
            _ => {}
        }
    }
    let body = Bytes::copy_from_slice(page);
    let kept = Page::read(&body, |_| true).expect("all of it fits");
    assert!(
        kept.weight() <= 512 * (page.len() as u64 + 1),
        "bounded by the page"
    );
    if kept.is_plain(body.len() as u64) {
        assert!(whole.len() <= 1);
    }
});
