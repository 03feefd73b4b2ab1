//! Records what a run has done so far, so that a crash loses nothing: which files are ours, and which pages need not be
//! fetched again.
//!
//! One line of JSON for each page that is done: written before its file is put in its place, or once the page is found to
//! be as it was. The file itself shows whether it got there. A line that was cut short is skipped.

use super::{
    folder::{FolderError, open_own},
    manifest::Page,
};
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, HashSet},
    fs::File,
    io::{Read, Write},
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

/// The journal, appended to.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: Mutex<File>,
}

/// What an earlier run left behind.
#[derive(Debug, Default)]
pub struct Left {
    /// The last run, and when it began, in seconds since the epoch.
    pub run: Option<(String, u64)>,
    /// Pages whose files were put in their places, or were about to be: each as often as that was, the newest last. A
    /// redirect has no file, and is left out unless it is the newest. Those that were asked for in another way have no
    /// validators.
    pub pages: BTreeMap<String, Vec<Page>>,
    /// Pages that the last run has fetched.
    pub fetched: HashSet<String>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
enum Line {
    Run {
        id: String,
        began: u64,
        #[serde(default)]
        asked: String,
    },
    Page {
        target: String,
        page: Box<Page>,
    },
    Same {
        target: String,
    },
}

impl Journal {
    /// Opens the journal at `path`, or begins one. `asked` tells [how](super::asked) pages are asked for now.
    ///
    /// # Errors
    /// It cannot be read or written.
    pub fn open(path: &Path, asked: &str) -> Result<(Self, Left), FolderError> {
        let failed = |error| FolderError::Write(path.to_owned(), error);
        let mut file = open_own(path)?;
        let mut text = Vec::new();
        file.read_to_end(&mut text).map_err(failed)?;
        if text.last().is_some_and(|last| *last != b'\n') {
            file.write_all(b"\n").map_err(failed)?;
        }
        let journal = Self {
            path: path.to_owned(),
            file: Mutex::new(file),
        };
        Ok((journal, read(&text, asked)))
    }

    /// Records the begin of a run.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn begin(&self, id: &str, asked: &str, began: u64) -> Result<(), FolderError> {
        let (id, asked) = (id.to_owned(), asked.to_owned());
        self.append(&Line::Run { id, began, asked }).map(drop)
    }

    /// Records that a page's file is about to be put in its place. The record is on disk when this returns.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn page(&self, target: &str, page: &Page) -> Result<(), FolderError> {
        let (target, page) = (target.to_owned(), Box::new(page.clone()));
        let file = self.append(&Line::Page { target, page })?;
        file.sync_data().map_err(|error| self.failed(error))
    }

    /// Records that the run has fetched a page, which is as it was.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn same(&self, target: &str) -> Result<(), FolderError> {
        let target = target.to_owned();
        self.append(&Line::Same { target }).map(drop)
    }

    /// Clears the journal: all of it is in the manifest.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn clear(&self) -> Result<(), FolderError> {
        let file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.set_len(0).map_err(|error| self.failed(error))
    }

    /// Writes a line, and returns the file that it was written to.
    fn append(&self, line: &Line) -> Result<MutexGuard<'_, File>, FolderError> {
        // Strings and numbers can always be written as JSON.
        let mut text = serde_json::to_vec(line).unwrap_or_default();
        text.push(b'\n');
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.write_all(&text).map_err(|error| self.failed(error))?;
        Ok(file)
    }

    fn failed(&self, error: std::io::Error) -> FolderError {
        FolderError::Write(self.path.clone(), error)
    }
}

fn read(text: &[u8], now_asked: &str) -> Left {
    let mut left = Left::default();
    let mut is_asked_so = false;
    for line in text.split(|byte| *byte == b'\n') {
        match serde_json::from_slice(line) {
            Ok(Line::Run { id, began, asked }) => {
                is_asked_so = asked == now_asked;
                if left.run.as_ref().is_none_or(|(last, _)| *last != id) {
                    left.fetched.clear();
                    left.run = Some((id, began));
                }
            }
            Ok(Line::Page { target, page }) if target.starts_with('/') && page.check().is_ok() => {
                left.fetched.insert(target.clone());
                let written = left.pages.entry(target).or_default();
                written.retain(|page| page.file.is_some());
                let page = *page;
                written.push(if is_asked_so {
                    page
                } else {
                    page.unvalidated()
                });
            }
            Ok(Line::Same { target }) => {
                left.fetched.insert(target);
            }
            // Cut short by a crash, or not a valid line.
            Ok(Line::Page { .. }) | Err(_) => {}
        }
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_fetched_is_known() {
        let text = br#"{"run":{"id":"a","began":1}}
{"page":{"target":"/x","page":{"status":200,"file":"x.html"}}}
{"page":{"target":"/y","page":{"status":200,"file":"y.html"}}}
{"page":{"target":"/z","page":{"status":200,"file":"../z"}}}
{"same":{"target":"/w"}}
{"run":{"id":"a","began":2}}
{"page":{"targ"#;
        let left = read(text, "x");
        assert_eq!(left.run, Some(("a".to_owned(), 1)));
        assert_eq!(left.pages.keys().collect::<Vec<_>>(), ["/x", "/y"]);
        assert_eq!(left.fetched.len(), 3);
    }

    #[test]
    fn each_file_of_a_page_is_known() {
        let text = br#"{"page":{"target":"/x","page":{"status":200,"file":"x.html"}}}
{"page":{"target":"/x","page":{"status":301,"location":"/y"}}}
{"page":{"target":"/x","page":{"status":200,"file":"x.json"}}}
{"page":{"target":"/x","page":{"status":302,"location":"/z"}}}"#;
        let left = read(text, "x");
        let written = left.pages["/x"].iter();
        assert_eq!(
            written.map(|page| page.file.as_deref()).collect::<Vec<_>>(),
            [Some("x.html"), Some("x.json"), None]
        );
    }

    #[test]
    fn validators_of_what_was_asked_in_another_way_are_not_taken() {
        let text = br#"{"page":{"target":"/v","page":{"status":200,"file":"v.html","etag":"1"}}}
{"run":{"id":"a","began":1}}
{"page":{"target":"/w","page":{"status":200,"file":"w.html","etag":"1"}}}
{"run":{"id":"b","began":1,"asked":"y"}}
{"page":{"target":"/x","page":{"status":200,"file":"x.html","etag":"1","modified":"then"}}}
{"run":{"id":"c","began":1,"asked":"x"}}
{"page":{"target":"/y","page":{"status":200,"file":"y.html","etag":"1"}}}"#;
        let left = read(text, "x");
        let has_any = |page: &Page| page.etag.is_some() || page.modified.is_some();
        let validated = left
            .pages
            .iter()
            .filter(|(_, page)| page.iter().any(has_any));
        let validated: Vec<_> = validated.map(|(target, _)| target.as_str()).collect();
        assert_eq!((left.pages.len(), validated), (4, vec!["/y"]));
    }

    #[test]
    fn another_run_begins_anew() {
        let text = br#"{"run":{"id":"a","began":1}}
{"page":{"target":"/x","page":{"status":200,"file":"x.html"}}}
{"run":{"id":"b","began":2}}"#;
        let left = read(text, "x");
        assert_eq!((left.pages.len(), left.fetched.len()), (1, 0));
    }
}
