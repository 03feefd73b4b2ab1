//! Goes through a site, page after page, and keeps the manifest.

use super::{
    Folder, FolderError, Journal, Orders, StartError, asked::asked, prepare::Book, tally::Tally,
};
use crate::crawl::{
    collect,
    fetcher::Fetcher,
    frontier::{Bounds, Frontier},
    show::Show,
    site::{Leads, Site},
    sitemap,
    stop::Stop,
};
use bytes::Bytes;
use origin::config::Address;
use proxy::policy::PathPattern;
use std::{
    cell::{Cell, RefCell},
    collections::{HashMap, HashSet},
    rc::Rc,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};
use tokio::task::JoinSet;
use xxhash_rust::xxh3::xxh3_128;

/// Publishes one site to one folder. Must be used within a `LocalSet`.
#[derive(Debug)]
pub struct Publisher {
    pub(super) site: Site,
    pub(super) fetcher: Fetcher,
    pub(super) folder: Arc<Folder>,
    pub(super) journal: Arc<Journal>,
    pub(super) book: RefCell<Book>,
    pub(super) show: Show,
    pub(super) prune: bool,
    /// Whether the site's name was given, so that purges of other hosts do not matter.
    pub(super) is_named: bool,
    pub(super) name: String,
    /// How it asks.
    pub(super) asked: String,
    exclude: Vec<PathPattern>,
    pub(super) follow: bool,
    pub(super) bounds: Bounds,
    concurrency: usize,
}

/// The starting points of a run.
#[derive(Clone, Debug, Default)]
pub struct Start {
    /// Starting points, as URLs or paths.
    pub pages: Vec<String>,
    /// Sitemaps, as URLs or paths.
    pub sitemaps: Vec<String>,
    /// The targets of the site that were purged: starting points, whatever the bound. They are removed if the
    /// application no longer gives them to everybody, or if they are left out by now.
    pub purged: Vec<String>,
    /// Whether everything is fetched, whatever validators say.
    pub fresh: bool,
    /// Whether, apart from the starting points, only pages that are not published yet are fetched.
    pub only: bool,
}

/// How a run ended.
#[derive(Debug, Default)]
pub struct Ended {
    /// The counts of the run.
    pub tally: Tally,
    /// Whether it was told to stop before it had finished.
    pub stopped: bool,
    /// Whether something was not seen: pages failed, or were too many or too far away.
    pub incomplete: bool,
    /// Pages that could not be fetched or written; another attempt makes sense.
    pub failed: Vec<String>,
    /// How many sitemaps could not be fetched; another attempt makes sense.
    pub sitemaps_failed: usize,
}

/// The state of a run.
pub(super) struct Under {
    pub(super) frontier: Frontier,
    pub(super) tally: Tally,
    pub(super) done: usize,
    pub(super) told: usize,
    pub(super) fresh: bool,
    pub(super) only: bool,
    pub(super) too_long: usize,
    pub(super) incomplete: bool,
    pub(super) failed: Vec<String>,
    pub(super) sitemaps_failed: usize,
    pub(super) reached: HashSet<String>,
    /// Published pages that the application does not give any more, or that are left out by now.
    pub(super) lost: Vec<String>,
    /// What was purged before the run.
    pub(super) purged: HashSet<String>,
}

impl Publisher {
    /// Opens everything for publishing. `start` describes the first run: an interrupted run of the same kind is
    /// resumed.
    ///
    /// # Errors
    /// See [`StartError`].
    pub fn open(orders: Orders, start: &Start) -> Result<Rc<Self>, StartError> {
        let at = match &orders.from.address {
            Address::Unix(_) => "localhost".to_owned(),
            address @ Address::Tcp { .. } => address.to_string(),
        };
        let site = Site::new(&at, orders.host.as_deref());
        let site = site.ok_or_else(|| StartError::Host(orders.host.clone().unwrap_or(at)))?;
        let folder = Folder::open(&orders.to)?;
        let asked = asked(&orders);
        let run = format!("{:?}", (&asked, &orders.exclude, orders.follow, start));
        let run = format!("{:032x}", xxh3_128(run.as_bytes()));
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let (book, journal) = Book::open(&folder, &asked, &run, now.as_secs())?;
        Ok(Rc::new(Self {
            fetcher: Fetcher::new(&orders.from, None, &orders.manner)?,
            site,
            folder: Arc::new(folder),
            journal: Arc::new(journal),
            book: RefCell::new(book),
            show: Show::new(orders.quiet),
            prune: orders.prune,
            is_named: orders.host.is_some(),
            name: orders.from_text,
            asked,
            exclude: orders.exclude,
            follow: orders.follow,
            bounds: orders.bounds,
            concurrency: orders.manner.concurrency.max(1),
        }))
    }

    /// Goes through the site once.
    ///
    /// # Errors
    /// Nothing can be written any more. What was published stays, and a run of the same kind resumes there.
    pub async fn run(
        self: &Rc<Self>,
        start: &Start,
        stop: &mut Stop,
    ) -> Result<Ended, FolderError> {
        let mut under = tokio::select! {
            under = self.begin(start) => under,
            () = stop.told() => {
                return Ok(Ended { stopped: true, incomplete: true, ..Ended::default() });
            }
        };
        let mut tasks = JoinSet::new();
        let mut under_way = HashMap::new();
        let mut stopped = false;
        loop {
            while tasks.len() < self.concurrency
                && let Some(found) = under.frontier.take()
            {
                let target = found.target.clone();
                let task = tasks.spawn_local(self.clone().take(found, under.fresh));
                under_way.insert(task.id(), target);
            }
            let joined = tokio::select! {
                joined = tasks.join_next_with_id() => joined,
                () = stop.told() => {
                    stopped = true;
                    break;
                }
            };
            match joined {
                None => break,
                Some(Ok((task, taken))) => {
                    under_way.remove(&task);
                    self.note(&mut under, taken?);
                }
                Some(Err(error)) => {
                    under.incomplete = true;
                    let target = under_way.remove(&error.id());
                    under.failed.extend(target.map(|target| target.to_string()));
                    self.show.problem(&format!("a fetch ended early: {error}"));
                }
            }
        }
        // Pages in progress are dropped: their files are not in their places yet, or the journal has them.
        drop(tasks);
        self.end(under, stopped)
    }

    async fn begin(&self, start: &Start) -> Under {
        let known = if start.only {
            self.known_beside(&start.purged)
        } else {
            Vec::new()
        };
        let mut under = Under {
            frontier: Frontier::new(self.bounds, known),
            tally: Tally::default(),
            done: 0,
            told: 0,
            fresh: start.fresh,
            only: start.only,
            too_long: 0,
            incomplete: false,
            failed: Vec::new(),
            sitemaps_failed: 0,
            reached: HashSet::new(),
            lost: Vec::new(),
            purged: start.purged.iter().cloned().collect(),
        };
        for page in &start.pages {
            self.start_at(&mut under, page);
        }
        for target in &start.purged {
            if !self.is_excluded(target) {
                under.frontier.must(target);
            } else if self.book.borrow().pages.contains_key(target) {
                under.lost.push(target.clone());
            }
        }
        if !start.sitemaps.is_empty() {
            let failed = Cell::new(0);
            let get = async |url: &str| self.sitemap(url, &failed).await;
            let listed = collect::listed(start.sitemaps.clone(), get).await;
            under.sitemaps_failed = failed.get();
            for problem in listed.problems {
                under.incomplete = true;
                self.show.problem(&problem);
            }
            for page in listed.pages {
                self.start_at(&mut under, &page);
            }
        }
        under
    }

    /// The published pages except these.
    fn known_beside(&self, purged: &[String]) -> Vec<Rc<str>> {
        let purged: HashSet<&String> = purged.iter().collect();
        let book = self.book.borrow();
        let known = book.pages.keys().filter(|target| !purged.contains(target));
        known.map(|target| (&**target).into()).collect()
    }

    fn start_at(&self, under: &mut Under, page: &str) {
        match self.site.leads("/", page.as_bytes()) {
            Leads::Here(target) if self.is_excluded(&target) => {}
            Leads::Here(target) => under.frontier.start(&target),
            Leads::TooLong => under.too_long += 1,
            Leads::Elsewhere => {
                let host = self.site.host();
                under.incomplete = true;
                self.tell(
                    under,
                    &format!(
                        "{page} is not on {host}: where that is the site's other name, say --host"
                    ),
                );
            }
        }
    }

    /// Fetches a sitemap. Counts those that failed and that another attempt may bring.
    async fn sitemap(&self, url: &str, failed: &Cell<usize>) -> Result<Bytes, String> {
        let Leads::Here(target) = self.site.leads("/", url.as_bytes()) else {
            return Err("it is not on this site".to_owned());
        };
        let content = self
            .fetcher
            .content(self.site.host(), &target, sitemap::LARGEST);
        content.await.map_err(|error| {
            failed.set(failed.get() + usize::from(error.may_pass()));
            error.to_string()
        })
    }

    pub(super) fn is_excluded(&self, target: &str) -> bool {
        let path = target.split_once('?').map_or(target, |(path, _)| path);
        self.exclude.iter().any(|pattern| pattern.matches(path))
    }
}
