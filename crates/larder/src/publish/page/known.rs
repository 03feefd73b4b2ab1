//! Pages that are already known: conditional requests, and links from their files.

use super::{DOCUMENT, Read};
use crate::{
    crawl::site,
    publish::{
        Publisher, name,
        outcome::Outcome,
        said::{self, Document},
    },
};
use http::{HeaderMap, HeaderValue, header};
use std::fs;
use tokio::task::spawn_blocking;

impl Publisher {
    /// Adds a condition, so that the answer says only whether the page has changed; not if its file has changed since
    /// it was written, or is to have another name.
    pub(super) async fn conditions(&self, target: &str, fields: &mut HeaderMap) {
        let Some(page) = self.book.borrow().pages.get(target).cloned() else {
            return;
        };
        let (Some(file), Some(length), Some(hash)) = (page.file, page.length, page.hash) else {
            return;
        };
        let disposition = page.fields.get("content-disposition").map(String::as_str);
        if name::is_outdated(&file, name::told(page.kind.as_deref(), disposition)) {
            return;
        }
        let folder = self.folder.clone();
        let holds = spawn_blocking(move || folder.holds(&file, length, &hash)).await;
        if !holds.unwrap_or(false) {
            return;
        }
        let condition = match (page.etag, page.modified) {
            (Some(etag), _) => Some((header::IF_NONE_MATCH, etag)),
            (None, Some(modified)) => Some((header::IF_MODIFIED_SINCE, modified)),
            (None, None) => None,
        };
        if let Some((name, value)) = condition
            && let Ok(value) = HeaderValue::from_str(&value)
        {
            fields.insert(name, value);
        }
    }

    /// Returns a page that is not fetched, with the links in its file.
    pub(super) async fn known(&self, target: &str, outcome: Outcome) -> Read {
        let Some(page) = self.book.borrow().pages.get(target).cloned() else {
            return Read::bare(outcome);
        };
        let Some(file) = page.file else {
            let links = page
                .location
                .into_iter()
                .filter(|location| location.starts_with('/'));
            return Read {
                links: links
                    .map(|link| site::normal(said::without_fragment(&link)))
                    .collect(),
                ..Read::bare(outcome)
            };
        };
        let kind = Document::of(page.kind.as_deref());
        if kind == Document::Other {
            return Read::bare(outcome);
        }
        let path = self.folder.path(&file);
        let text = spawn_blocking(move || fs::read(path)).await;
        let text = text.ok().and_then(Result::ok).unwrap_or_default();
        let (links, too_long) = self.links(target, kind, text.get(..DOCUMENT).unwrap_or(&text));
        Read {
            outcome,
            links,
            too_long,
        }
    }
}
