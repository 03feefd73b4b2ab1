//! Pages that redirect to another one.

use super::Read;
use crate::{
    crawl::{fetcher, site::Leads},
    publish::{
        FolderError, Publisher,
        keep::blocking,
        manifest::Page,
        outcome::{Outcome, Refused},
        said,
    },
};
use http::{HeaderMap, Response, header};
use origin::ResponseBody;
use rules::surrogate;

/// The largest body of a redirect that is read to keep the connection open, in bytes.
const IDLE_TALK: usize = 64 << 10;

impl Publisher {
    pub(super) async fn redirect(
        &self,
        target: &str,
        asked: &HeaderMap,
        response: Response<ResponseBody>,
    ) -> Result<Read, FolderError> {
        if let Err(why) = self.judge(target, asked, &response) {
            return Ok(Read::bare(Outcome::Refused(Refused::Storing(why))));
        }
        let status = response.status();
        let Some(location) = response.headers().get(header::LOCATION) else {
            return Ok(Read::bare(Outcome::Refused(Refused::Status(status))));
        };
        let (location, link) = match self.site.leads(target, location.as_bytes()) {
            Leads::Here(to) if to == target => {
                return Ok(Read::bare(Outcome::Refused(Refused::Loop)));
            }
            Leads::Here(to) => (
                format!("{to}{}", said::fragment(location.as_bytes())),
                Some(to),
            ),
            _ => (self.site.base(target, Some(location.as_bytes())), None),
        };
        let page = Page {
            status: status.as_u16(),
            location: Some(location),
            fields: said::kept(response.headers()),
            tags: surrogate::tags(response.headers()),
            groups: surrogate::groups(response.headers()),
            ..Page::default()
        };
        // The body is not needed, but reading it keeps the connection open.
        let _ = fetcher::whole(response.into_body(), IDLE_TALK).await;
        let known = self
            .book
            .borrow_mut()
            .pages
            .insert(target.to_owned(), page.clone());
        let outcome = if known.as_ref() == Some(&page) {
            Outcome::Same
        } else {
            Outcome::Redirect
        };
        let (journal, of) = (self.journal.clone(), target.to_owned());
        blocking(move || journal.page(&of, &page)).await?;
        Ok(Read {
            links: link.into_iter().collect(),
            ..Read::bare(outcome)
        })
    }
}
