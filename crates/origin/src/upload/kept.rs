//! What was handed on of a request's content, as long as the request may have to be sent once more.

use super::front::{Front, Rest};
use bytes::Bytes;
use http_body::Frame;

/// Bytes of content that are kept at most. Longer content is sent once, and so is content whose length was not announced.
/// What a request's content takes of the memory budget covers this: the pieces are those that were handed on.
pub(super) const MOST: u64 = 64 * 1024;

/// Pieces that are kept at most, so that content in tiny pieces takes no more memory than other content.
const MOST_PIECES: usize = 64;

/// The pieces so far, and what follows them if that is known.
#[derive(Default)]
pub(super) struct Kept {
    front: Front,
    length: u64,
}

impl Kept {
    /// Takes in what is handed on, if anything is before the content `ends`. Returns whether all of it so far is kept.
    pub(super) fn take(&mut self, frame: Option<&Frame<Bytes>>, ends: bool) -> bool {
        if let Some(piece) = frame.and_then(Frame::data_ref) {
            self.length += piece.len() as u64;
            self.front.pieces.push_back(piece.clone());
        }
        if let Some(trailers) = frame.and_then(Frame::trailers_ref) {
            self.front.rest = Rest::Trailers(trailers.clone());
        } else if matches!(self.front.rest, Rest::Open) && ends {
            self.front.rest = Rest::Ended;
        }
        self.length <= MOST && self.front.pieces.len() <= MOST_PIECES
    }

    /// Returns the content from its beginning. `not_yet` is what had come of it, and was not handed on.
    pub(super) fn then(self, not_yet: Option<Box<Front>>) -> Front {
        let mut front = self.front;
        if let Some(not_yet) = not_yet {
            front.pieces.extend(not_yet.pieces);
            if matches!(front.rest, Rest::Open) {
                front.rest = not_yet.rest;
            }
        }
        front
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{RequestBody, upload::Outgoing};
    use http::HeaderMap;
    use http_body::Body as _;
    use http_body_util::{BodyExt, Full};
    use std::{
        pin::Pin,
        task::{Context, Waker},
    };

    fn content(length: usize) -> Outgoing {
        let trailers = HeaderMap::from_iter([("x-sum".parse().unwrap(), "1".parse().unwrap())]);
        let content = Full::new(vec![b'x'; length].into()).map_err(|never| match never {});
        let content = content.with_trailers(async { Some(Ok(trailers)) });
        Outgoing::new(RequestBody::new(content))
    }

    /// Hands so many frames on, and begins anew.
    fn again(mut outgoing: Outgoing, handed_on: usize) -> Outgoing {
        outgoing.keep();
        let mut cx = Context::from_waker(Waker::noop());
        for _ in 0..handed_on {
            assert!(Pin::new(&mut outgoing).poll_frame(&mut cx).is_ready());
        }
        outgoing.rewound().unwrap()
    }

    /// However much of it was handed on, and however often.
    #[tokio::test]
    async fn what_is_kept_comes_again_with_what_follows_it() {
        for handed_on in 0..4 {
            let mut outgoing = again(content(9), handed_on);
            outgoing.take_what_came();
            let all = again(outgoing, handed_on).collect().await.unwrap();
            assert_eq!(all.trailers().unwrap()["x-sum"], "1", "{handed_on}");
            assert_eq!(all.to_bytes(), "xxxxxxxxx", "{handed_on}");
        }
    }

    #[test]
    fn too_much_is_not_kept() {
        const MOST: usize = super::MOST as usize;
        for (length, is_kept) in [(1, true), (MOST, true), (MOST + 1, false)] {
            let mut outgoing = content(length);
            outgoing.keep();
            assert_eq!(outgoing.rewound().is_some(), is_kept, "{length}");
            let piece = Frame::data(vec![0; length].into());
            let so_far = Kept::default().take(Some(&piece), false);
            assert_eq!(so_far, is_kept, "{length}");
        }
    }

    /// Not even when all of it has come before it is sent.
    #[test]
    fn content_of_unknown_length_is_not_kept() {
        for came in [false, true] {
            let unknown = Full::from("content").map_frame(|frame: Frame<Bytes>| frame);
            assert_eq!(unknown.size_hint().exact(), None);
            let unknown = unknown.map_err(|never| match never {});
            let mut outgoing = Outgoing::new(RequestBody::new(unknown));
            assert_eq!(came && outgoing.take_what_came(), came);
            outgoing.keep();
            assert!(outgoing.rewound().is_none(), "{came}");
        }
    }

    /// However it is cut, unless into tiny pieces.
    #[test]
    fn all_that_is_not_too_long_is_kept() {
        let mut kept = Kept::default();
        for length in [1, 65_534, 1] {
            let piece = Frame::data(vec![0; length].into());
            assert!(kept.take(Some(&piece), false), "{length}");
        }
        let tiny = Frame::data(Bytes::from_static(b"x"));
        assert!(!kept.take(Some(&tiny), false));
        let mut kept = Kept::default();
        let count = (0..1000)
            .take_while(|_| kept.take(Some(&tiny), false))
            .count();
        assert_eq!(count, 64);
    }
}
