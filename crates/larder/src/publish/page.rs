//! Fetches a page, judges it, and reads its links.

mod confirmation;
mod known;
mod redirect;

use super::{
    FolderError, Publisher,
    folder::Draft,
    outcome::{Outcome, Refused},
    said::{self, Document},
};
use crate::crawl::{fetcher::may_pass, frontier::Found, links, site::Leads, style};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Response, header};
use http_body_util::BodyExt;
use origin::ResponseBody;
use rules::storable::NotStorable;
use std::rc::Rc;

/// The largest page, in bytes.
const LARGEST: u64 = 1 << 30;

/// How much of a document is read for its links, in bytes.
const DOCUMENT: usize = 8 << 20;

/// A page that is finished.
#[derive(Debug)]
pub struct Taken {
    /// The page.
    pub found: Found,
    /// Its outcome.
    pub outcome: Outcome,
    /// The targets of this site that it refers to.
    pub links: Vec<String>,
    /// The number of references that are longer than a target may be.
    pub too_long: usize,
}

/// An answer that was read.
struct Read {
    outcome: Outcome,
    links: Vec<String>,
    too_long: usize,
}

impl Read {
    fn bare(outcome: Outcome) -> Self {
        Self {
            outcome,
            links: Vec::new(),
            too_long: 0,
        }
    }
}

impl Publisher {
    /// Publishes one page. With `fresh`, the application must send it again, changed or not.
    ///
    /// # Errors
    /// Nothing can be written any more.
    pub(super) async fn take(
        self: Rc<Self>,
        found: Found,
        fresh: bool,
    ) -> Result<Taken, FolderError> {
        let target = found.target.clone();
        let read = if !fresh && self.book.borrow_mut().resumed.remove(&*target) {
            self.known(&target, Outcome::Resumed).await
        } else {
            self.fetch(&target, fresh).await?
        };
        Ok(Taken {
            found,
            outcome: read.outcome,
            links: read.links,
            too_long: read.too_long,
        })
    }

    async fn fetch(&self, target: &str, fresh: bool) -> Result<Read, FolderError> {
        let mut fields = HeaderMap::new();
        fields.insert(
            header::ACCEPT_ENCODING,
            HeaderValue::from_static("identity"),
        );
        // Any further field is a condition.
        if !fresh {
            self.conditions(target, &mut fields).await;
        }
        let response = match self.fetcher.get(self.site.host(), target, &fields).await {
            Ok(response) => response,
            Err(error) => return Ok(Read::bare(Outcome::Failed(error.to_string()))),
        };
        let status = response.status();
        match status.as_u16() {
            200 => self.page(target, &fields, response).await,
            304 if fields.len() > 1 => {
                let update = response.into_parts().0.headers;
                self.confirmation(target, &fields, update).await
            }
            301 | 302 | 303 | 307 | 308 => self.redirect(target, &fields, response).await,
            404 | 410 => Ok(Read::bare(Outcome::Missing(status))),
            _ if may_pass(status) => Ok(Read::bare(Outcome::Failed(format!("status {status}")))),
            _ => Ok(Read::bare(Outcome::Refused(Refused::Status(status)))),
        }
    }

    async fn page(
        &self,
        target: &str,
        asked: &HeaderMap,
        response: Response<ResponseBody>,
    ) -> Result<Read, FolderError> {
        let refused = |why| Ok(Read::bare(Outcome::Refused(why)));
        if let Err(why) = self.judge(target, asked, &response) {
            return refused(Refused::Storing(why));
        }
        let fields = response.headers();
        if let Some(coding) = said::text(fields, &header::CONTENT_ENCODING)
            && !coding.eq_ignore_ascii_case("identity")
        {
            return refused(Refused::Coding(coding));
        }
        let mut page = said::described(fields);
        let document = Document::of(page.kind.as_deref());
        if document == Document::Stream {
            return refused(Refused::Stream);
        }
        let body = response.into_body();
        let (draft, start) = match self.read(body, document).await? {
            Ok(read) => read,
            Err(why) => return Ok(Read::bare(Outcome::Failed(why))),
        };
        page.length = Some(draft.length());
        page.hash = Some(draft.hash());
        let (links, too_long) = self.links(target, document, &start);
        let outcome = self.keep(target, draft, page).await?;
        Ok(Read {
            outcome,
            links,
            too_long,
        })
    }

    /// Reads the whole body into a draft. Also returns as much of a document as is read for its links.
    async fn read(
        &self,
        mut body: ResponseBody,
        document: Document,
    ) -> Result<Result<(Draft, Vec<u8>), String>, FolderError> {
        let mut draft = self.folder.draft()?;
        let mut start = Vec::new();
        while let Some(frame) = body.frame().await {
            let data: Bytes = match frame {
                Ok(frame) => frame.into_data().unwrap_or_default(),
                Err(error) => return Ok(Err(error.to_string())),
            };
            if draft.length() + data.len() as u64 > LARGEST {
                return Ok(Err(format!("it is larger than {LARGEST} bytes")));
            }
            draft.write(&data)?;
            if document != Document::Other && start.len() < DOCUMENT {
                start.extend_from_slice(&data);
            }
        }
        Ok(Ok((draft, start)))
    }

    fn judge<B>(
        &self,
        target: &str,
        asked: &HeaderMap,
        response: &Response<B>,
    ) -> Result<(), NotStorable> {
        let url = self.site.base(target, None);
        said::judge(&url, &self.fetcher.fields(asked), response)
    }

    /// Returns the targets of this site in a document, and how many references are too long for a target.
    fn links(&self, target: &str, document: Document, text: &[u8]) -> (Vec<String>, usize) {
        let (base, all) = match document {
            Document::Html => {
                let found = links::links(text);
                (self.site.base(target, found.base.as_deref()), found.all)
            }
            Document::Css => (self.site.base(target, None), style::references(text)),
            Document::Stream | Document::Other => return (Vec::new(), 0),
        };
        let mut too_long = 0;
        let mut targets = Vec::new();
        for reference in all {
            match self.site.leads_from(&base, &reference) {
                Leads::Here(target) => targets.push(target),
                Leads::TooLong => too_long += 1,
                Leads::Elsewhere => {}
            }
        }
        (targets, too_long)
    }
}
