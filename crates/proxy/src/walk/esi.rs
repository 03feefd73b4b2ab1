//! ESI: pages whose fragments are walks of their own.
//!
//! A page is stored as the origin wrote it, and composed anew for each client, so that no client gets content of
//! another's fragments. [`Composer`] is the body of such an answer, [`Fragment`](fragment::Fragment) one include.
//! [`page`](super::page) decides what is a page.
//!
//! A composed answer has none of the stored page's validators, parts or length. Its client may neither keep it for
//! others nor reuse it without asking: it is no fresher than its fragments, which are not known when its head goes out.

mod ahead;
mod composer;
mod context;
mod fragment;
mod head;
mod kept;
mod reading;
mod segment;
mod shared;
mod source;
mod texts;
mod within;

pub use composer::Composer;
pub use context::Context;
pub use reading::Readings;
pub use within::Within;

use crate::{
    ask::Ask,
    body::Content,
    cache::Worker,
    compress::Recoded,
    outcome::bump,
    walk::{
        page::{coding_of, is_page},
        pump::Room,
        shape::Shaped,
    },
};
use head::composed;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use kept::ReadPage;
use reading::Begun;
use rules::{coding::Coding, range::Span};
use shared::SharedTokens;
use source::PageSource;
use std::{rc::Rc, sync::Arc};
use store::{Body, Stored, fill::Reader};

/// The largest body that is read at once, in bytes. A larger one is read while it is sent.
const MOST_AT_ONCE: usize = 1 << 20;

/// Shapes a stored response that may be a page. Returns `None`, and leaves the reader, if it is none.
pub fn stored(
    worker: &Rc<Worker>,
    ask: &Ask,
    stored: &Arc<Stored>,
    reader: &mut Option<Reader>,
    fields: &mut HeaderMap,
) -> Option<Shaped> {
    let status = stored.status;
    // An error in a fragment's place is not shown: it need not be composed, only stored.
    let is_shown = ask.within.is_none() || status.is_success();
    if !is_shown || !is_page(ask, status, fields, stored.is_esi()) {
        return None;
    }
    let known = known(worker, ask, stored, fields);
    if matches!(&known, Known::Read(page) if page.is_plain()) {
        return None;
    }
    if ask.method == Method::HEAD {
        if let Some(reader) = reader {
            reader.keep();
        }
        if coding_of(fields).is_some() {
            // The composed page has no coding.
            fields.remove(header::CONTENT_ENCODING);
        }
        return Some(composed(ask, status, fields, Content::Empty));
    }
    let source = match (known, &stored.body) {
        (Known::Read(page), _) if page.decoded.is_some() => {
            fields.remove(header::CONTENT_ENCODING);
            let body = page.decoded.clone()?;
            PageSource::at_hand(page, body)
        }
        (Known::Read(page), body)
            if coding_of(fields).is_none()
                && let Some(body) = body.in_one() =>
        {
            PageSource::at_hand(page, body)
        }
        (known, _) => as_it_comes(worker, ask, known, stored, reader, fields)?,
    };
    let content = compose(worker, ask, source, fields);
    Some(composed(ask, status, fields, content))
}

/// A stored page whose content is read while it is sent, and decoded if it has a coding. `None` if there is no content.
fn as_it_comes(
    worker: &Worker,
    ask: &Ask,
    known: Known,
    stored: &Stored,
    reader: &mut Option<Reader>,
    fields: &mut HeaderMap,
) -> Option<PageSource> {
    let content = match &stored.body {
        Body::Filling(_) => Content::following(reader.take()?, None),
        body => {
            let last = body.length()?.checked_sub(1)?;
            Content::pieces(body.slice(Span { first: 0, last })?)
        }
    };
    let coding = coding_of(fields);
    let content = match (&known, coding) {
        (Known::Unread, Some(coding)) => {
            decoded_for_all(worker, ask, fields, (stored, coding), content)
        }
        _ => decoded(worker, fields, coding, content),
    };
    Some(match known {
        Known::Read(page) => PageSource::known(page, content),
        Known::Unread => read(worker, ask, stored, coding.is_some(), content),
        Known::Unkept => streamed(worker, content),
    })
}

/// Composes an answer that is not stored.
pub fn raw(
    worker: &Rc<Worker>,
    ask: &Ask,
    status: StatusCode,
    fields: &mut HeaderMap,
    content: Content,
) -> Shaped {
    let coding = coding_of(fields);
    let content = decoded(worker, fields, coding, content);
    let source = streamed(worker, content);
    let content = compose(worker, ask, source, fields);
    composed(ask, status, fields, content)
}

/// Removes the coding from a page's content. If memory has no room for a decoder, the answer breaks off.
fn decoded(
    worker: &Worker,
    fields: &mut HeaderMap,
    coding: Option<Coding>,
    content: Content,
) -> Content {
    let Some(coding) = coding else {
        return content;
    };
    fields.remove(header::CONTENT_ENCODING);
    let (counts, memory) = (&worker.cache.compressor.counts, &worker.cache.memory);
    Recoded::decoded(content, coding, counts, memory).unwrap_or(Content::Missing)
}

/// Like [`decoded`], for a stored page that no request has decoded completely: requests that get it meanwhile share
/// what is decoded here.
fn decoded_for_all(
    worker: &Worker,
    ask: &Ask,
    fields: &mut HeaderMap,
    what: (&Stored, Coding),
    content: Content,
) -> Content {
    fields.remove(header::CONTENT_ENCODING);
    let (compressor, memory) = (&worker.cache.compressor, &worker.cache.memory);
    let (decodings, most) = (&compressor.decodings, Room::of(worker, ask).in_memory);
    let shared = decodings.follow(what, content, &compressor.counts, memory, most);
    shared.unwrap_or(Content::Missing)
}

/// A stored page that is read as it comes. `decodes` says that it is stored in a coding.
fn read(
    worker: &Worker,
    ask: &Ask,
    stored: &Stored,
    decodes: bool,
    content: Content,
) -> PageSource {
    let (readings, key) = (&worker.cache.readings, ask.key.as_bytes());
    let reading = match readings.begin(worker, key, stored, decodes) {
        Begun::First(reading) => {
            bump(&worker.counters.pages_read);
            reading
        }
        Begun::UnderWay(reading) => reading,
        Begun::Alone => return streamed(worker, content),
    };
    let counters = worker.counters.clone();
    PageSource::SharedTokens(Box::new(SharedTokens::new(reading, content, counters)))
}

/// A page that is read as it comes, for one client.
fn streamed(worker: &Worker, content: Content) -> PageSource {
    bump(&worker.counters.pages_read);
    PageSource::streamed(content)
}

/// What is known of a page.
enum Known {
    /// Its tokens: kept beside it, or read now and kept from now on.
    Read(ReadPage),
    /// It is read while it is sent, and then kept.
    Unread,
    /// It is read while it is sent and not kept, because there is no room.
    Unkept,
}

fn known(worker: &Worker, ask: &Ask, stored: &Stored, fields: &HeaderMap) -> Known {
    if let Some(page) = stored.derived::<ReadPage>() {
        return Known::Read(page.clone());
    }
    let body = stored.body.in_one();
    let body = body.filter(|body| body.len() <= MOST_AT_ONCE && coding_of(fields).is_none());
    let Some(body) = body else {
        return Known::Unread;
    };
    match ReadPage::read(worker, ask.key.as_bytes(), stored, &body) {
        Some(page) => {
            bump(&worker.counters.pages_read);
            Known::Read(page)
        }
        None => Known::Unkept,
    }
}

/// Returns the content for this client: at once if everything is at hand, otherwise while it arrives.
fn compose(worker: &Rc<Worker>, ask: &Ask, source: PageSource, fields: &mut HeaderMap) -> Content {
    if ask.method == Method::HEAD {
        // Nothing in the head depends on the fragments.
        return Content::Empty;
    }
    let mut composer = Composer::new(Context::new(worker, ask), source);
    match composer.at_once() {
        Some((content, length)) => {
            fields.insert(header::CONTENT_LENGTH, HeaderValue::from(length));
            content
        }
        None => Content::Composed(Box::new(composer)),
    }
}

#[cfg(test)]
mod tests;
