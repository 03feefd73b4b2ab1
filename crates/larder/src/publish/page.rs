//! One page: asked for, judged, written.

use super::{
    Blocked, FolderError, Publisher,
    folder::{Draft, PlaceError},
    manifest::Page,
};
use crate::crawl::{fetcher, frontier::Found, links, site::Leads, style};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode, header};
use http_body_util::BodyExt;
use origin::ResponseBody;
use rules::{
    directives::RequestDirectives,
    freshness,
    storable::{self, Exchange, NotStorable, SetCookie},
    surrogate,
    time::Time,
    uri,
};
use std::{
    collections::BTreeMap,
    fmt, fs,
    rc::Rc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};
use tokio::task::spawn_blocking;

/// The largest page, in bytes.
const LARGEST: u64 = 1 << 30;

/// So much of a document is read for its links, in bytes.
const DOCUMENT: usize = 8 << 20;

/// The largest body of a redirect that is read to keep the connection, in bytes.
const IDLE_TALK: usize = 64 << 10;

/// A `Last-Modified` this much older than its answer is a strong validator (RFC 9110 section 8.8.2.2).
const SETTLED: Duration = Duration::from_mins(1);

/// Fields of an answer that belong to the page and not to how it came.
const KEPT: [HeaderName; 9] = [
    header::CACHE_CONTROL,
    header::CONTENT_DISPOSITION,
    header::CONTENT_LANGUAGE,
    header::CONTENT_SECURITY_POLICY,
    header::LINK,
    header::REFERRER_POLICY,
    header::ACCESS_CONTROL_ALLOW_ORIGIN,
    header::X_FRAME_OPTIONS,
    X_ROBOTS_TAG,
];
const X_ROBOTS_TAG: HeaderName = HeaderName::from_static("x-robots-tag");

/// One page, done with.
#[derive(Debug)]
pub struct Taken {
    /// The page.
    pub found: Found,
    /// What became of it.
    pub outcome: Outcome,
    /// Targets of this site that it refers to.
    pub links: Vec<String>,
    /// References that are longer than a target may be.
    pub too_long: usize,
}

/// What became of a page.
#[derive(Debug)]
pub enum Outcome {
    /// Its file was not there before.
    New,
    /// Its file was replaced.
    Changed,
    /// It is as it was.
    Same,
    /// An unfinished run had done it.
    Resumed,
    /// It is a redirect, and was none or led elsewhere.
    Redirect,
    /// It is not for everybody, or no page.
    Refused(Refused),
    /// The application does not have it.
    Missing(StatusCode),
    /// It could not be fetched; worth trying again.
    Failed(String),
    /// Its name is taken by something that is not ours.
    Blocked(Blocked),
}

/// Why an answer is not published.
#[derive(Debug)]
pub enum Refused {
    /// No shared cache may store it.
    Storing(NotStorable),
    /// Neither a page nor a redirect.
    Status(StatusCode),
    /// In a content coding that was not asked for.
    Coding(String),
    /// It never ends.
    Stream,
    /// A redirect to itself, for whoever asks as we do.
    Loop,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Storing(NotStorable::SetCookie) => f.write_str("it sets a cookie, and may be one visitor's"),
            Self::Storing(why) => write!(f, "no shared cache may keep it ({why})"),
            Self::Status(status) => write!(f, "status {status}"),
            Self::Coding(coding) => write!(f, "it comes in the coding {coding}, which was not asked for"),
            Self::Stream => f.write_str("it is a stream of events"),
            Self::Loop => f.write_str(
                "it redirects to itself; where the scheme is the reason, ask with -H 'X-Forwarded-Proto: https'",
            ),
        }
    }
}

/// An answer read so far.
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
    /// Publishes one page. `fresh`: whether the application must say it again, changed or not.
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
            304 if !fresh => {
                self.confirmed(target, response.headers());
                Ok(self.known(target, Outcome::Same).await)
            }
            301 | 302 | 303 | 307 | 308 => self.redirect(target, &fields, response).await,
            404 | 410 => Ok(Read::bare(Outcome::Missing(status))),
            408 | 425 | 429 | 500.. => Ok(Read::bare(Outcome::Failed(format!("status {status}")))),
            _ => Ok(Read::bare(Outcome::Refused(Refused::Status(status)))),
        }
    }

    /// Asks only whether the page has changed, where its file is as it was written.
    async fn conditions(&self, target: &str, fields: &mut HeaderMap) {
        let Some(page) = self.book.borrow().pages.get(target).cloned() else {
            return;
        };
        let (Some(file), Some(length), Some(hash)) = (page.file, page.length, page.hash) else {
            return;
        };
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

    /// The application says that the page is as it was; its tags may be others.
    fn confirmed(&self, target: &str, fields: &HeaderMap) {
        let tags = surrogate::tags(fields);
        let mut book = self.book.borrow_mut();
        if let Some(page) = book.pages.get_mut(target)
            && !tags.is_empty()
        {
            page.tags = tags;
        }
    }

    /// A page that is not fetched, with the links in its file.
    async fn known(&self, target: &str, outcome: Outcome) -> Read {
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
                    .map(|link| crate::crawl::site::normal(without_fragment(&link)))
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

    async fn redirect(
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
            Leads::Here(to) => (format!("{to}{}", fragment(location.as_bytes())), Some(to)),
            _ => (self.site.base(target, Some(location.as_bytes())), None),
        };
        let page = Page {
            status: status.as_u16(),
            location: Some(location),
            fields: kept(response.headers()),
            tags: surrogate::tags(response.headers()),
            ..Page::default()
        };
        // Its own text is of no interest, but the connection is.
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
        blocking(move || {
            journal.page(&of, &page)?;
            journal.done(&of)
        })
        .await?;
        Ok(Read {
            links: link.into_iter().collect(),
            ..Read::bare(outcome)
        })
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
        if let Some(coding) = text(fields, &header::CONTENT_ENCODING)
            && !coding.eq_ignore_ascii_case("identity")
        {
            return refused(Refused::Coding(coding));
        }
        let mut page = described(fields);
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

    /// The whole body in a file that is nobody's yet, and as much of a document as is read for its links.
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

    /// Gives the page its name and puts it there, unless it is there already.
    async fn keep(
        &self,
        target: &str,
        draft: Draft,
        mut page: Page,
    ) -> Result<Outcome, FolderError> {
        let (file, old, is_ours) = {
            let mut book = self.book.borrow_mut();
            let file = book.names.choose(target, page.kind.as_deref());
            let is_ours = book.files.contains(&file);
            (file, book.pages.get(target).cloned(), is_ours)
        };
        page.file = Some(file.clone());
        let was_there = old.as_ref().is_some_and(|old| old.file.is_some());
        let is_known = old.as_ref().is_some_and(|old| {
            old.file == page.file && old.length == page.length && old.hash == page.hash
        });
        let is_said = old.as_ref() == Some(&page);
        let (folder, journal) = (self.folder.clone(), self.journal.clone());
        let (of, name, written) = (target.to_owned(), file.clone(), page.clone());
        let placed = blocking(move || {
            let (length, hash) = (draft.length(), draft.hash());
            if is_known && folder.holds(&name, length, &hash) {
                // What is said of it may be new although it is the same.
                if !is_said {
                    journal.page(&of, &written)?;
                }
                journal.done(&of)?;
                return Ok(true);
            }
            folder.is_free(&name, is_ours)?;
            draft.sync()?;
            journal.page(&of, &written)?;
            folder.place(draft, &name, is_ours)?;
            journal.done(&of)?;
            Ok::<_, PlaceError>(false)
        });
        let outcome = match placed.await {
            Ok(true) => Outcome::Same,
            Ok(false) if was_there => Outcome::Changed,
            Ok(false) => Outcome::New,
            Err(PlaceError::Folder(error)) => return Err(error),
            Err(PlaceError::Blocked(blocked)) => {
                let mut book = self.book.borrow_mut();
                if old.is_none_or(|old| old.file.as_ref() != Some(&file)) {
                    book.names.release(&file, target);
                }
                return Ok(Outcome::Blocked(blocked));
            }
        };
        let mut book = self.book.borrow_mut();
        book.files.insert(file);
        book.pages.insert(target.to_owned(), page);
        Ok(outcome)
    }

    /// Whether a shared cache might keep the answer; for how long does not matter here.
    fn judge(
        &self,
        target: &str,
        asked: &HeaderMap,
        response: &Response<ResponseBody>,
    ) -> Result<(), NotStorable> {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let now = Time::from_millis(now.as_millis() as u64);
        let exchange = Exchange {
            method: &Method::GET,
            request: asked,
            request_directives: &RequestDirectives::default(),
            target: &format!("http://{}{target}", self.site.host()),
            status: response.status(),
            response: response.headers(),
            request_time: now,
            response_time: now,
        };
        let site = storable::Site {
            freshness: freshness::Site::default(),
            set_cookie: SetCookie::Refuse,
            targets: &[],
        };
        match storable::judge(&exchange, &site) {
            Ok(_) | Err(NotStorable::NoFreshness) => Ok(()),
            Err(why) => Err(why),
        }
    }

    /// Targets of this site in a document, and how many references are too long for one.
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

/// What a page is, as far as that is of interest here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Document {
    Html,
    Css,
    Stream,
    Other,
}

impl Document {
    fn of(kind: Option<&str>) -> Self {
        let essence = kind
            .unwrap_or_default()
            .split(';')
            .next()
            .unwrap_or_default();
        match essence.trim().to_ascii_lowercase().as_str() {
            "text/html" | "application/xhtml+xml" => Self::Html,
            "text/css" => Self::Css,
            "text/event-stream" => Self::Stream,
            _ => Self::Other,
        }
    }
}

/// What the manifest says of a page, without its file.
fn described(fields: &HeaderMap) -> Page {
    Page {
        status: StatusCode::OK.as_u16(),
        kind: text(fields, &header::CONTENT_TYPE),
        etag: text(fields, &header::ETAG),
        modified: settled(fields),
        fields: kept(fields),
        tags: surrogate::tags(fields),
        ..Page::default()
    }
}

/// `Last-Modified`, where the page cannot have changed again in the same second.
fn settled(fields: &HeaderMap) -> Option<String> {
    let modified = text(fields, &header::LAST_MODIFIED)?;
    let since = httpdate::parse_http_date(&modified).ok()?;
    let date = httpdate::parse_http_date(&text(fields, &header::DATE)?).ok()?;
    let age = date.duration_since(since).ok()?;
    (age >= SETTLED).then_some(modified)
}

fn kept(fields: &HeaderMap) -> BTreeMap<String, String> {
    let name = |name: &HeaderName| Some((name.as_str().to_owned(), text(fields, name)?));
    KEPT.iter().filter_map(name).collect()
}

/// All lines of a field as one; `None` without any.
fn text(fields: &HeaderMap, name: &HeaderName) -> Option<String> {
    let lines = fields.get_all(name).iter();
    let lines: Vec<_> = lines
        .map(|line| String::from_utf8_lossy(line.as_bytes()))
        .collect();
    (!lines.is_empty()).then(|| lines.join(", "))
}

/// The fragment of a `Location`, which requests have none of (RFC 9110 section 10.2.2).
fn fragment(location: &[u8]) -> String {
    let at = location.iter().position(|byte| *byte == b'#');
    let fragment = at.and_then(|at| location.get(at..)).unwrap_or_default();
    uri::encode(fragment)
}

fn without_fragment(location: &str) -> &str {
    location
        .split_once('#')
        .map_or(location, |(before, _)| before)
}

/// Work that waits for the disk, off the thread that fetches.
async fn blocking<T, E>(work: impl FnOnce() -> Result<T, E> + Send + 'static) -> Result<T, E>
where
    T: Send + 'static,
    E: Send + 'static + From<FolderError>,
{
    match spawn_blocking(work).await {
        Ok(done) => done,
        // Only where the program is being ended.
        Err(error) => Err(FolderError::Ended(error.to_string()).into()),
    }
}
