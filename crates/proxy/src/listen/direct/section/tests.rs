use super::super::head::{Head, Parsed, parse};
use super::*;
use crate::listen::config::Limits;
use http::HeaderName;
use proptest::prelude::*;
use std::cell::RefCell;

fn read(text: &[u8], before: &RefCell<Sections>) -> (Parsed, Option<Head>) {
    let mut head = None;
    let parsed = parse(text, &Limits::default(), before, &mut head);
    (parsed, head)
}

/// Reads `text`, and keeps its section if it is a head that is answered.
fn answer(text: &[u8], before: &RefCell<Sections>) -> Option<Head> {
    let head = read(text, before).1?;
    let fields = head.request.fields.clone();
    before.borrow_mut().keep(section(&head), fields);
    Some(head)
}

/// What its fields were read from.
fn section(head: &Head) -> Rc<Section> {
    head.open.section.clone().expect("it is read")
}

/// All that a head says, as text.
fn said(read: &(Parsed, Option<Head>)) -> Option<String> {
    let head = read.1.as_ref()?;
    let (request, open) = (&head.request, &head.open);
    let fields: Vec<_> = request.fields.iter().collect();
    let line = (&request.method, &request.target, request.version);
    let told = section(head).told;
    let (bytes, asked) = (open.bytes(), open.asked);
    Some(format!("{line:?} {fields:?} {told:?} {bytes:?} {asked:?}"))
}

#[test]
fn the_same_section_is_read_once() {
    let before = RefCell::default();
    let first = answer(b"GET /a HTTP/1.1\r\nHost: a\r\nCookie: b\r\n\r\n", &before).unwrap();
    let second = answer(
        b"HEAD /b HTTP/1.0\r\nHost: a\r\nCookie: b\r\n\r\nGET",
        &before,
    )
    .unwrap();
    assert_eq!(second.request.fields, first.request.fields);
    assert_eq!(
        section(&second).head,
        first.open.bytes(),
        "read from the first"
    );
    assert_eq!(second.request.target.to_string(), "/b");
    assert!(
        second.open.asked.closes && !first.open.asked.closes,
        "the version says so"
    );
    assert_eq!(
        second.open.bytes(),
        "HEAD /b HTTP/1.0\r\nHost: a\r\nCookie: b\r\n\r\n"
    );
}

#[test]
fn a_section_that_differs_in_one_byte_is_another() {
    let before = RefCell::default();
    let one = answer(
        b"GET / HTTP/1.1\r\nHost: a\r\nCookie: me=1\r\n\r\n",
        &before,
    )
    .unwrap();
    let other = answer(
        b"GET / HTTP/1.1\r\nHost: a\r\nCookie: me=2\r\n\r\n",
        &before,
    )
    .unwrap();
    assert_eq!(one.request.fields["cookie"], "me=1");
    assert_eq!(other.request.fields["cookie"], "me=2");
}

#[test]
fn two_that_lie_in_one_place_are_told_apart() {
    let before = RefCell::default();
    for round in 0..3 {
        for number in 0..4 * KEPT {
            let text = format!("GET / HTTP/1.1\r\nhost: a\r\ncookie: {number}\r\n\r\n");
            let head = answer(text.as_bytes(), &before).unwrap();
            assert_eq!(
                head.request.fields["cookie"],
                number.to_string().as_str(),
                "{round}"
            );
        }
    }
}

/// Only a request's line may be before a section.
#[test]
fn a_section_known_does_not_hide_what_precedes_it() {
    let before = RefCell::default();
    let known = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    answer(known.as_bytes(), &before).unwrap();
    answer(format!("\r\n{known}").as_bytes(), &before);
    for text in [
        "GET /x HTTP/1.1\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /x HTTP/1.1\r\nContent-Length: 5\r\nHost: a\r\n\r\n",
        "Host: a\r\n\r\n",
        "\nHost: a\r\n\r\n",
        "GET /x\r\nHost: a\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\n\r\n",
    ] {
        assert!(
            matches!(read(text.as_bytes(), &before).0, Parsed::Others),
            "{text}"
        );
    }
}

/// A section without lines is not part of a head: with it, each line would look like a whole one.
#[test]
fn a_line_alone_is_no_head_whatever_came_before() {
    let before = RefCell::default();
    answer(b"GET / HTTP/1.0\r\n\r\n", &before).unwrap();
    for text in ["GET /x HTTP/1.0\r\n", "GET /x HTTP/1.1\r\n"] {
        assert!(
            matches!(read(text.as_bytes(), &before).0, Parsed::Partial),
            "{text}"
        );
    }
}

/// Heads with one section are copied to memory that is reused. Each stays what it is, however long others take.
#[test]
fn heads_with_one_section_keep_their_targets() {
    let before = RefCell::default();
    let mut waiting: Vec<(String, Head)> = Vec::new();
    for number in 0..400 {
        let text = format!("GET /{number} HTTP/1.1\r\nHost: a\r\nCookie: b\r\n\r\n");
        let head = answer(text.as_bytes(), &before).unwrap();
        if number % 3 == 0 {
            waiting.push((text, head));
        }
        if number % 50 == 49 {
            waiting.remove(0);
        }
        for (text, head) in &waiting {
            assert_eq!(head.open.bytes(), text.as_bytes());
            assert!(text.starts_with(&format!("GET {} ", head.request.target)));
        }
    }
}

#[test]
fn fields_that_are_not_those_of_the_section_are_not_kept() {
    let text = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    let before = RefCell::default();
    let mut head = read(text, &before).1.expect("a plain head");
    let section = section(&head);
    let fields = &mut head.request.fields;
    fields.append(HeaderName::from_static("x"), "added".parse().unwrap());
    let refused = before.borrow_mut().keep(section, head.request.fields);
    assert!(refused.is_some_and(|fields| fields.contains_key("x")));
    assert_eq!(
        said(&read(text, &before)),
        said(&read(text, &RefCell::default()))
    );
}

#[test]
fn a_long_one_is_not_kept() {
    let text = format!(
        "GET / HTTP/1.1\r\nhost: a\r\nx: {}\r\n\r\n",
        "y".repeat(LONGEST)
    );
    let before = RefCell::default();
    answer(text.as_bytes(), &before).unwrap();
    let places = &before.borrow().places;
    assert!(places.iter().all(Option::is_none));
}

/// The fields of one section are available for as many requests as had them at the same time, within the limit, which
/// is for all sections together.
#[test]
fn fields_are_kept_as_often_as_they_were_needed_at_once() {
    let sections = ["Host: a\r\n\r\n", "Host: b\r\n\r\n"];
    let before = RefCell::default();
    for _ in 0..3 {
        for lines in sections {
            let text = format!("GET / HTTP/1.1\r\n{lines}");
            let heads: Vec<_> = (0..MOST_AGAIN)
                .map(|_| read(text.as_bytes(), &before).1.expect("a plain head"))
                .collect();
            for head in heads {
                let (section, fields) = (section(&head), head.request.fields);
                let _ = before.borrow_mut().keep(section, fields);
            }
            let before = before.borrow();
            let kept = before.places.iter().flatten();
            let counts: Vec<_> = kept.map(|place| place.fields.len()).collect();
            let again: usize = counts.iter().map(|count| count.saturating_sub(1)).sum();
            assert_eq!(before.again, again, "{counts:?}");
            assert!(again <= MOST_AGAIN, "{counts:?}");
        }
    }
    let before = before.into_inner();
    assert_eq!(before.again, MOST_AGAIN, "they are used again");
}

fn field() -> impl Strategy<Value = String> {
    prop_oneof![
        "(Host|Cookie|Accept|X-A): ?(a|b|a=1; b=2|)\r\n",
        "(Connection|Content-Length): ?(close|keep-alive|0)\r\n",
        "[ -~]{0,9}(\r\n|\n)",
    ]
}

fn text() -> impl Strategy<Value = String> {
    let start = "(\r\n)?(GET|HEAD|POST) {1,2}/?[a-c?%/\"#é]{0,2}( HTTP/1.[012])?(\r\n|\n)";
    let fields = proptest::collection::vec(field(), 0..4);
    let end = "(\r\n|\n)(GET / HTTP/1.1\r\n)?[a-c\r\n]{0,3}";
    (start, fields, end).prop_map(|(start, fields, end)| format!("{start}{}{end}", fields.concat()))
}

proptest! {
    /// Whatever came before, a head is read as if nothing had.
    #[test]
    fn what_came_before_changes_nothing(texts in proptest::collection::vec(text(), 1..12)) {
        let before = RefCell::default();
        for text in &texts {
            let alone = read(text.as_bytes(), &RefCell::default());
            let again = read(text.as_bytes(), &before);
            prop_assert_eq!(said(&alone), said(&again), "{}", text);
            answer(text.as_bytes(), &before);
        }
    }
}
