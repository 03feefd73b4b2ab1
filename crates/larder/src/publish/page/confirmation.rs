//! Pages that the application confirms by a 304, and what the 304 says about them.

use super::Read;
use crate::publish::{
    FolderError, Publisher,
    manifest::Page,
    outcome::{Outcome, Refused},
    said,
};
use http::{HeaderMap, HeaderName, HeaderValue, Response, header};
use rules::{
    surrogate,
    time::Time,
    validate::{Validators, freshen_for_one, selected},
};
use std::time::SystemTime;

impl Publisher {
    /// Takes a 304: the page stays, described as the 304 says (RFC 9111 section 3.2), unless it says by now that no
    /// shared cache may keep it. A 304 that is about something else says nothing: the page is fetched as a whole.
    pub(super) async fn confirmation(
        &self,
        target: &str,
        asked: &HeaderMap,
        update: HeaderMap,
    ) -> Result<Read, FolderError> {
        let page = self.book.borrow().pages.get(target).cloned();
        let Some((page, fields)) = page.and_then(|page| freshened(page, update)) else {
            return Box::pin(self.fetch(target, true)).await;
        };
        let mut answer = Response::new(());
        *answer.headers_mut() = fields;
        if let Err(why) = self.judge(target, asked, &answer) {
            return Ok(Read::bare(Outcome::Refused(Refused::Storing(why))));
        }
        self.book.borrow_mut().pages.insert(target.to_owned(), page);
        Ok(self.known(target, Outcome::Same).await)
    }
}

/// Returns the page with the fields of its 304, and all fields that are known of it. `None`: the 304 is about another
/// answer (RFC 9111 section 4.3.4), or the page could need another file by what it says.
fn freshened(page: Page, update: HeaderMap) -> Option<(Page, HeaderMap)> {
    let mut fields = answered(&page);
    let now = Time::from(SystemTime::now());
    if selected(&update, &[Validators::of(&fields, now)]).is_empty() {
        return None;
    }
    let (mut tags, mut groups) = (surrogate::tags(&update), surrogate::groups(&update));
    freshen_for_one(&mut fields, update);
    let kept = said::kept(&fields);
    let name = header::CONTENT_DISPOSITION.as_str();
    if said::text(&fields, &header::CONTENT_TYPE) != page.kind
        || kept.get(name) != page.fields.get(name)
    {
        return None;
    }
    if tags.is_empty() {
        tags = page.tags;
    }
    if groups.is_empty() {
        groups = page.groups;
    }
    let page = Page {
        fields: kept,
        tags,
        groups,
        ..page
    };
    Some((page, fields))
}

/// Returns the fields of a page's answer, as far as the manifest has them.
fn answered(page: &Page) -> HeaderMap {
    let own = [
        (header::CONTENT_TYPE, &page.kind),
        (header::ETAG, &page.etag),
        (header::LAST_MODIFIED, &page.modified),
    ];
    let own = own.into_iter().filter_map(|(name, value)| {
        Some((
            name,
            HeaderValue::from_bytes(value.as_ref()?.as_bytes()).ok()?,
        ))
    });
    let others = page.fields.iter().filter_map(|(name, value)| {
        let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
        Some((name, HeaderValue::from_bytes(value.as_bytes()).ok()?))
    });
    own.chain(others).collect()
}
