//! The head of a composed answer.

use crate::{ask::Ask, body::Content, walk::shape::Shaped};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use rules::fields::{DIGESTS, gives_lifetime, remove_where};

/// Returns a composed answer with `content`, and changes its fields.
pub(super) fn composed(
    ask: &Ask,
    status: StatusCode,
    fields: &mut HeaderMap,
    content: Content,
) -> Shaped {
    const OF_THE_PAGE_ALONE: [HeaderName; 7] = [
        header::ETAG,
        header::LAST_MODIFIED,
        header::ACCEPT_RANGES,
        header::PRAGMA,
        HeaderName::from_static("signature"),
        HeaderName::from_static("signature-input"),
        header::TRAILER,
    ];
    ask.composed.set(true);
    remove_where(fields, |name| {
        let is_listed = OF_THE_PAGE_ALONE.contains(name) || DIGESTS.contains(name);
        // Lifetimes for caches between us and the client are the page's too.
        is_listed || gives_lifetime(name) || ask.site.targets.contains(name)
    });
    if matches!(content, Content::Composed(_)) || ask.method == Method::HEAD {
        fields.remove(header::CONTENT_LENGTH);
    }
    fields.insert(header::CACHE_CONTROL, unkept(fields));
    Shaped { status, content }
}

/// Returns the `Cache-Control` of a composed answer: what [`super`] describes, and what the page forbids beyond that.
fn unkept(fields: &HeaderMap) -> HeaderValue {
    let lines = fields.get_all(header::CACHE_CONTROL).iter();
    let lines: Vec<_> = lines.filter_map(|line| line.to_str().ok()).collect();
    let says = |word: &str| {
        let mut words = lines.iter().flat_map(|line| line.split(','));
        words.any(|said| said.trim().eq_ignore_ascii_case(word))
    };
    HeaderValue::from_static(match (says("no-store"), says("no-transform")) {
        (false, false) => "private, no-cache",
        (false, true) => "private, no-cache, no-transform",
        (true, false) => "private, no-store",
        (true, true) => "private, no-store, no-transform",
    })
}
