use super::*;
use crate::sample::WakeFlag;
use http_body::Body as _;
use std::{pin::Pin, sync::Arc, task::Waker};
use store::{
    Budget, Parts,
    fill::{Fill, Writer},
};

fn fill() -> (Arc<Fill>, Writer) {
    Fill::begin(Budget::new(1 << 20).reservation())
}

/// What the body gives now, and how it ends.
fn read(body: &mut ReplyBody) -> (Vec<u8>, Poll<Result<(), String>>) {
    let mut all = Vec::new();
    let mut context = Context::from_waker(Waker::noop());
    loop {
        match Pin::new(&mut *body).poll_frame(&mut context) {
            Poll::Ready(Some(Ok(frame))) => {
                all.extend_from_slice(&frame.into_data().expect("data"));
            }
            Poll::Ready(Some(Err(error))) => return (all, Poll::Ready(Err(error.to_string()))),
            Poll::Ready(None) => return (all, Poll::Ready(Ok(()))),
            Poll::Pending => return (all, Poll::Pending),
        }
    }
}

fn piece(text: &'static str) -> BodyPiece {
    Bytes::from_static(text.as_bytes()).into()
}

#[test]
fn what_is_not_all_there_is_not_empty() {
    let parts = |length| Body::Parts(Arc::new(Parts::new(length, 0, Bytes::from("abc"))));
    assert!(matches!(Content::all_of(&parts(4)), Content::Missing));
    assert!(matches!(Content::all_of(&parts(3)), Content::Whole(all) if all == "abc"));
    let nothing = Body::Whole(Bytes::new());
    assert!(matches!(Content::all_of(&nothing), Content::Empty));
}

#[test]
fn pieces_say_how_much_is_left() {
    assert!(matches!(Content::pieces(vec![]), Content::Empty));
    assert!(matches!(
        Content::pieces(vec![piece("a")]),
        Content::Whole(_)
    ));
    let pieces = vec![piece("one"), piece(""), piece("two")];
    let mut body = ReplyBody::from(Content::pieces(pieces));
    assert_eq!(body.size_hint().exact(), Some(6));
    let mut context = Context::from_waker(Waker::noop());
    let first = Pin::new(&mut body).poll_frame(&mut context);
    assert!(
        matches!(first, Poll::Ready(Some(Ok(frame))) if frame.data_ref().is_some_and(|data| data == "one"))
    );
    assert_eq!(body.size_hint().exact(), Some(3));
    assert!(!body.is_end_stream());
    assert_eq!(read(&mut body), (b"two".to_vec(), Poll::Ready(Ok(()))));
    assert!(body.is_end_stream());
}

#[test]
fn a_part_of_a_fill_does_not_wait_for_its_end() {
    let (fill, mut writer) = fill();
    let reader = fill.reader().expect("fresh");
    let mut body = ReplyBody::from(Content::following_part(reader, 4, 5));
    writer.push(b"abc");
    assert_eq!(read(&mut body), (vec![], Poll::Pending));
    writer.push(b"def");
    writer.push(b"ghijkl");
    assert_eq!(body.size_hint().exact(), Some(5));
    assert_eq!(read(&mut body), (b"efghi".to_vec(), Poll::Ready(Ok(()))));
    assert!(body.is_end_stream());
    drop(body);
    let mut context = Context::from_waker(Waker::noop());
    assert!(
        fill.poll_abandoned(&mut context).is_pending(),
        "it goes on to its end"
    );
}

#[test]
fn a_body_that_breaks_before_its_first_byte_lets_the_head_out() {
    let (fill, writer) = fill();
    let reader = fill.reader().expect("fresh");
    let mut body = ReplyBody::from(Content::following(reader, Some(3)));
    drop(writer);
    let woken = Arc::new(WakeFlag::default());
    let waker = Waker::from(woken.clone());
    let first = Pin::new(&mut body).poll_frame(&mut Context::from_waker(&waker));
    assert!(first.is_pending() && woken.was_woken());
    let (all, end) = read(&mut body);
    assert!(all.is_empty() && matches!(end, Poll::Ready(Err(_))));
}

#[test]
fn a_body_that_breaks_in_the_middle_ends_with_an_error() {
    let (fill, mut writer) = fill();
    let reader = fill.reader().expect("fresh");
    let mut body = ReplyBody::from(Content::following(reader, Some(6)));
    writer.push(b"abc");
    drop(writer);
    let (all, end) = read(&mut body);
    assert_eq!(all, b"abc");
    assert!(end.is_pending(), "what came before goes out first");
    let (all, end) = read(&mut body);
    assert!(all.is_empty() && matches!(end, Poll::Ready(Err(_))));
}

#[test]
fn content_is_small() {
    assert!(size_of::<Content>() <= 40, "{}", size_of::<Content>());
}
