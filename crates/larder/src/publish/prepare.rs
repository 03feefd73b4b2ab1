//! The orders for a publisher, and what it finds at the start.

use super::{
    folder::{Folder, FolderError},
    journal::{Journal, Left},
    manifest::{self, Manifest, Page, Unreadable},
    name::OWN,
    names::Names,
};
use crate::{
    config::value::ServerUrl,
    crawl::{fetcher::Manner, frontier::Bounds},
};
use proxy::policy::PathPattern;
use std::{
    collections::{BTreeMap, HashSet},
    fs, io,
    path::{Path, PathBuf},
};

/// The longest age of a run that is resumed, in seconds. The pages of an older one are too old to count as fetched.
const RESUME_WITHIN: u64 = 24 * 3600;

/// The orders for a publisher.
#[derive(Debug)]
pub struct Orders {
    /// The application.
    pub from: ServerUrl,
    /// The application as it was written on the command line.
    pub from_text: String,
    /// The site's name, if it is not the application's address.
    pub host: Option<String>,
    /// The folder.
    pub to: PathBuf,
    /// Paths that are not fetched.
    pub exclude: Vec<PathPattern>,
    /// Whether links are followed.
    pub follow: bool,
    /// Whether pages that were not found any more are removed.
    pub prune: bool,
    /// How far to go.
    pub bounds: Bounds,
    /// How to send requests.
    pub manner: Manner,
    /// Whether to report only problems.
    pub quiet: bool,
}

/// Why publishing cannot begin. The operator can mend these.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The folder cannot be used.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// The manifest cannot be used.
    #[error(
        "{0}: {1}; remove it to begin anew, and the files that it stands for too: without it nobody knows whose they are"
    )]
    Manifest(PathBuf, Unreadable),
    /// The manifest's file cannot be read.
    #[error("cannot read {0}: {1}")]
    Read(PathBuf, io::Error),
    /// The application cannot be asked.
    #[error(transparent)]
    Fetch(#[from] origin::Error),
    /// The text is not the name of a host.
    #[error("{0:?} is not a host; write it as example.com or example.com:8080")]
    Host(String),
}

/// What is published, and what an unfinished run has left.
#[derive(Debug)]
pub struct Book {
    /// Pages by their targets.
    pub pages: BTreeMap<String, Page>,
    /// The names in use, and their targets.
    pub names: Names,
    /// Every file that is ours, or was.
    pub files: HashSet<String>,
    /// Pages that an unfinished run of the same kind has finished.
    pub resumed: HashSet<String>,
    /// The manifest as it was saved.
    pub saved: String,
}

impl Book {
    /// Reads the manifest and the additions of the journal. `asked` tells [how](super::asked) this run asks, and `run`
    /// what it does; `now` is in seconds since the epoch.
    pub fn open(
        folder: &Folder,
        asked: &str,
        run: &str,
        now: u64,
    ) -> Result<(Self, Journal), StartError> {
        let (manifest, saved) = read(&folder.path(manifest::FILE), asked)?;
        let (journal, left) = Journal::open(&folder.path(&format!("{OWN}/journal")), asked)?;
        let mut pages = manifest.pages;
        let used = pages.values().filter_map(|page| page.file.clone());
        let mut files: HashSet<String> = used.chain(manifest.unused).collect();
        let resumed = take_up(folder, &mut pages, &mut files, &left, run, now);
        journal.begin(
            run,
            asked,
            left.run
                .filter(|_| !resumed.is_empty())
                .map_or(now, |(_, began)| began),
        )?;
        let mut names = Names::new(folder.folds_case());
        for (target, page) in &mut pages {
            if let Some(file) = &page.file
                && !names.claim(file, target)
            {
                // We would not write this: the page gets a name of its own when it is fetched.
                *page = Page::default();
            }
        }
        pages.retain(|_, page| page.status != 0);
        let book = Self {
            pages,
            names,
            files,
            resumed,
            saved,
        };
        Ok((book, journal))
    }
}

fn read(path: &Path, asked: &str) -> Result<(Manifest, String), StartError> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Default::default()),
        Err(error) => return Err(StartError::Read(path.to_owned(), error)),
    };
    let manifest = Manifest::read(text.as_bytes());
    let mut manifest = manifest.map_err(|why| StartError::Manifest(path.to_owned(), why))?;
    // Validators of answers to other questions are not to be trusted, although their files may be replaced.
    if manifest.asked != asked {
        let pages = manifest.pages.into_iter();
        let pages = pages.map(|(target, page)| (target, page.unvalidated()));
        manifest.pages = pages.collect();
    }
    Ok((manifest, text))
}

/// Adds what was written but is not in the manifest. Returns the pages that need not be fetched again.
fn take_up(
    folder: &Folder,
    pages: &mut BTreeMap<String, Page>,
    files: &mut HashSet<String>,
    left: &Left,
    run: &str,
    now: u64,
) -> HashSet<String> {
    let same_run = left
        .run
        .as_ref()
        .is_some_and(|(id, began)| id == run && now.saturating_sub(*began) < RESUME_WITHIN);
    let mut resumed = HashSet::new();
    for (target, written) in &left.pages {
        // A page may have had other files before: they are ours too, and no longer in use.
        let there = written.iter().filter(|page| is_there(folder, page));
        let there: Vec<&Page> = there.collect();
        files.extend(there.iter().filter_map(|page| page.file.clone()));
        let Some(page) = there.last() else {
            continue;
        };
        pages.insert(target.clone(), (*page).clone());
        if same_run && left.fetched.contains(target) && written.last() == Some(page) {
            resumed.insert(target.clone());
        }
    }
    // These were as the manifest has them.
    let same = left.fetched.iter().filter(|target| {
        let page = pages.get(*target);
        !left.pages.contains_key(*target) && page.is_some_and(|page| is_there(folder, page))
    });
    resumed.extend(same.filter(|_| same_run).cloned());
    resumed
}

/// Whether the file of a page is as it was written. A redirect has none.
fn is_there(folder: &Folder, page: &Page) -> bool {
    match (&page.file, page.length, &page.hash) {
        (Some(file), Some(length), Some(hash)) => folder.holds(file, length, hash),
        (None, ..) => true,
        _ => false,
    }
}
