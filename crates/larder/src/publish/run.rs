//! Goes through a site, page after page, and keeps the manifest.

use super::{
    Blocked, Folder, FolderError, Journal, Orders, StartError,
    manifest::{FILE, FORMAT, Manifest},
    page::{Outcome, Taken},
    prepare::Book,
    tally::Tally,
};
use crate::crawl::{
    collect,
    fetcher::{self, Fetcher},
    frontier::{Bounds, Frontier, LeftOut},
    show::Show,
    site::{LONGEST_TARGET, Leads, Site},
    sitemap,
    stop::Stop,
};
use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use proxy::policy::PathPattern;
use std::{
    cell::RefCell,
    collections::HashSet,
    rc::Rc,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};
use tokio::task::JoinSet;
use xxhash_rust::xxh3::xxh3_128;

/// So many problems are told one by one; the rest is counted.
const TOLD: usize = 100;

/// Publishes one site to one folder. Used within a `LocalSet`.
#[derive(Debug)]
pub struct Publisher {
    pub(super) site: Site,
    pub(super) fetcher: Fetcher,
    pub(super) folder: Arc<Folder>,
    pub(super) journal: Arc<Journal>,
    pub(super) book: RefCell<Book>,
    pub(super) show: Show,
    pub(super) prune: bool,
    /// Whether the site's name was given, so that purges of other hosts are of no interest.
    pub(super) is_named: bool,
    name: String,
    exclude: Vec<PathPattern>,
    follow: bool,
    bounds: Bounds,
    concurrency: usize,
}

/// Where a run begins.
#[derive(Clone, Debug, Default)]
pub struct Start {
    /// Starting points, as URLs or paths.
    pub pages: Vec<String>,
    /// Sitemaps, as URLs or paths.
    pub sitemaps: Vec<String>,
    /// Starting points, as targets of the site.
    pub targets: Vec<String>,
    /// Everything is fetched, whatever validators say.
    pub fresh: bool,
    /// Beside the starting points only what is not published yet.
    pub only: bool,
}

/// How a run ended.
#[derive(Debug, Default)]
pub struct Ended {
    /// What it came to.
    pub tally: Tally,
    /// It was told to stop before it was done.
    pub stopped: bool,
    /// Not everything was seen: pages failed, or were too many or too far away.
    pub incomplete: bool,
    /// Pages that could not be fetched or written, worth trying again.
    pub failed: Vec<String>,
}

/// What a run keeps in mind.
struct Under {
    frontier: Frontier,
    tally: Tally,
    done: usize,
    told: usize,
    fresh: bool,
    only: bool,
    too_long: usize,
    incomplete: bool,
    failed: Vec<String>,
    reached: HashSet<String>,
    /// Published pages that the application does not give any more.
    lost: Vec<String>,
}

impl Publisher {
    /// Gets ready. `start` is what the first run does: one of the same kind that was cut off is gone on with.
    ///
    /// # Errors
    /// See [`StartError`].
    pub fn open(orders: Orders, start: &Start) -> Result<Rc<Self>, StartError> {
        let at = orders.from.address.to_string();
        let at = if at.starts_with("unix:") {
            "localhost".to_owned()
        } else {
            at
        };
        let site = Site::new(&at, orders.host.as_deref());
        let site = site.ok_or_else(|| StartError::Host(orders.host.clone().unwrap_or(at)))?;
        let folder = Folder::open(&orders.to)?;
        let run = format!(
            "{:?}",
            (
                &site,
                &orders.exclude,
                orders.follow,
                &orders.manner.fields,
                start
            )
        );
        let run = format!("{:032x}", xxh3_128(run.as_bytes()));
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let (book, journal) = Book::open(&folder, &orders.from_text, &run, now.as_secs())?;
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
            exclude: orders.exclude,
            follow: orders.follow,
            bounds: orders.bounds,
            concurrency: orders.manner.concurrency.max(1),
        }))
    }

    /// Goes through the site once.
    ///
    /// # Errors
    /// Nothing can be written any more. What was published stays, and a run of the same kind goes on from there.
    pub async fn run(
        self: &Rc<Self>,
        start: &Start,
        stop: &mut Stop,
    ) -> Result<Ended, FolderError> {
        let mut under = self.begin(start).await;
        let mut tasks = JoinSet::new();
        let mut stopped = false;
        loop {
            while tasks.len() < self.concurrency
                && let Some(found) = under.frontier.take()
            {
                tasks.spawn_local(self.clone().take(found, under.fresh));
            }
            let joined = tokio::select! {
                joined = tasks.join_next() => joined,
                () = stop.told() => {
                    stopped = true;
                    break;
                }
            };
            match joined {
                None => break,
                Some(Ok(taken)) => self.note(&mut under, taken?),
                Some(Err(error)) => {
                    under.incomplete = true;
                    self.show.problem(&format!("a fetch ended early: {error}"));
                }
            }
        }
        // What is under way is dropped: its files are not in their places yet, or in the journal.
        drop(tasks);
        self.end(under, stopped)
    }

    async fn begin(&self, start: &Start) -> Under {
        let book = self.book.borrow();
        // What is published is known already, unless it is what is asked for.
        let known: Vec<Rc<str>> = if start.only {
            let begun: HashSet<&String> = start.targets.iter().collect();
            let known = book.pages.keys().filter(|target| !begun.contains(target));
            known.map(|target| (&**target).into()).collect()
        } else {
            Vec::new()
        };
        drop(book);
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
            reached: HashSet::new(),
            lost: Vec::new(),
        };
        for page in &start.pages {
            self.start_at(&mut under, page);
        }
        for target in start
            .targets
            .iter()
            .filter(|target| !self.is_excluded(target))
        {
            under.frontier.start(target);
        }
        if !start.sitemaps.is_empty() {
            let listed =
                collect::listed(start.sitemaps.clone(), async |url| self.sitemap(url).await).await;
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

    async fn sitemap(&self, url: &str) -> Result<Bytes, String> {
        let Leads::Here(target) = self.site.leads("/", url.as_bytes()) else {
            return Err("it is not on this site".to_owned());
        };
        let asked = self
            .fetcher
            .get(self.site.host(), &target, &HeaderMap::new())
            .await;
        let response = asked.map_err(|error| error.to_string())?;
        if response.status() != StatusCode::OK {
            return Err(format!("status {}", response.status()));
        }
        let text = fetcher::whole(response.into_body(), sitemap::LARGEST).await;
        text.map_err(|error| error.to_string())
    }

    fn is_excluded(&self, target: &str) -> bool {
        let path = target.split_once('?').map_or(target, |(path, _)| path);
        self.exclude.iter().any(|pattern| pattern.matches(path))
    }

    /// Says what went wrong, unless too much has.
    fn tell(&self, under: &mut Under, what: &str) {
        under.told += 1;
        match under.told {
            ..=TOLD => self.show.problem(what),
            told if told == TOLD + 1 => self
                .show
                .problem("there are more such; they are counted below"),
            _ => {}
        }
    }

    fn note(&self, under: &mut Under, taken: Taken) {
        let Taken {
            found,
            outcome,
            links,
            too_long,
        } = taken;
        let target = &found.target;
        let on = found
            .on
            .as_ref()
            .map_or(String::new(), |on| format!(" (linked on {on})"));
        let tally = &mut under.tally;
        let mut reached = true;
        let problem = match &outcome {
            Outcome::New => {
                tally.new += 1;
                None
            }
            Outcome::Changed => {
                tally.changed += 1;
                None
            }
            Outcome::Same => {
                tally.same += 1;
                None
            }
            Outcome::Resumed => {
                tally.resumed += 1;
                None
            }
            Outcome::Redirect => {
                tally.redirects += 1;
                None
            }
            Outcome::Refused(why) => {
                tally.refused += 1;
                reached = false;
                Some(format!("{target} is not published{on}: {why}"))
            }
            Outcome::Missing(status) => {
                tally.missing += 1;
                reached = false;
                Some(format!("{target} is not there{on}: status {status}"))
            }
            Outcome::Failed(why) => {
                tally.failed += 1;
                Some(format!("{target} failed{on}: {why}"))
            }
            Outcome::Blocked(why) => {
                tally.blocked += 1;
                Some(format!("{target} is not published{on}: {why}"))
            }
        };
        if matches!(
            outcome,
            Outcome::Failed(_) | Outcome::Blocked(Blocked::Foreign(_) | Blocked::NoFolder(_))
        ) {
            under.incomplete = true;
            under.failed.push(target.to_string());
        }
        if reached {
            under.reached.insert(target.to_string());
        } else if self.book.borrow().pages.contains_key(&**target) {
            under.lost.push(target.to_string());
        }
        if let Some(problem) = problem {
            self.tell(under, &problem);
        }
        under.too_long += too_long;
        if self.follow || matches!(outcome, Outcome::Redirect) {
            for link in links.iter().filter(|link| !self.is_excluded(link)) {
                under.frontier.link(link, &found);
            }
        }
        under.done += 1;
        self.show.at(under.done, under.frontier.found(), target);
    }

    fn end(&self, mut under: Under, stopped: bool) -> Result<Ended, FolderError> {
        self.tell_bounds(&mut under);
        let incomplete = under.incomplete || stopped;
        self.drop_pages(&mut under, incomplete);
        if !stopped {
            self.drop_files()?;
        }
        self.save()?;
        if !stopped {
            self.journal.clear()?;
        }
        Ok(Ended {
            tally: under.tally,
            stopped,
            incomplete,
            failed: under.failed,
        })
    }

    fn tell_bounds(&self, under: &mut Under) {
        let Bounds { pages, depth } = self.bounds;
        let example = |left: &LeftOut| left.example.as_deref().unwrap_or_default().to_owned();
        let many = under.frontier.too_many().clone();
        if many.count > 0 {
            let example = example(&many);
            self.show.problem(&format!(
                "stopped at {pages} pages: {example} and others were found and not fetched; raise --pages, or leave out with --exclude \
                 what has no end"
            ));
        }
        let deep = under.frontier.too_deep();
        if deep.count > 0 {
            let (count, example) = (deep.count, example(&deep));
            self.show.problem(&format!(
                "{count} pages, such as {example}, are more than {depth} links away and were not fetched; raise --depth, or leave \
                 out with --exclude what has no end"
            ));
        }
        if under.too_long > 0 {
            let count = under.too_long;
            self.show.problem(&format!(
                "{count} links are longer than {LONGEST_TARGET} bytes and were not followed"
            ));
        }
        under.incomplete |= many.count + deep.count > 0 || under.too_long > 0;
    }

    /// Drops what was not found any more, where that was asked for and everything was seen. When pages are published again
    /// after purges, only they were looked at.
    fn drop_pages(&self, under: &mut Under, incomplete: bool) {
        let mut book = self.book.borrow_mut();
        let gone: Vec<String> = if under.only {
            std::mem::take(&mut under.lost)
        } else {
            book.pages
                .keys()
                .filter(|target| !under.reached.contains(*target))
                .cloned()
                .collect()
        };
        if gone.is_empty() || !self.prune || (incomplete && !under.only) {
            under.tally.kept = gone.len();
            if self.prune && !gone.is_empty() {
                self.show
                    .problem("nothing is removed, since not everything was seen");
            }
            return;
        }
        under.tally.removed = gone.len();
        for target in gone {
            book.pages.remove(&target);
        }
    }

    /// Removes files of ours that are no page's any more.
    fn drop_files(&self) -> Result<(), FolderError> {
        let mut book = self.book.borrow_mut();
        let Book {
            pages,
            names,
            files,
            ..
        } = &mut *book;
        let used: HashSet<&String> = pages
            .values()
            .filter_map(|page| page.file.as_ref())
            .collect();
        let unused: Vec<String> = files
            .iter()
            .filter(|file| !used.contains(file))
            .cloned()
            .collect();
        for file in unused {
            self.folder.remove(&file)?;
            names.forget(&file);
            files.remove(&file);
        }
        Ok(())
    }

    /// Saves the manifest, if it says anything new.
    fn save(&self) -> Result<(), FolderError> {
        self.folder.settle()?;
        let mut book = self.book.borrow_mut();
        let manifest = Manifest {
            format: FORMAT,
            site: self.name.clone(),
            pages: std::mem::take(&mut book.pages),
        };
        let text = manifest.to_text();
        book.pages = manifest.pages;
        if text != book.saved {
            self.folder.replace(FILE, text.as_bytes())?;
            book.saved = text;
        }
        Ok(())
    }
}
