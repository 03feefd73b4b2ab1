//! The manifest that `larder publish` writes next to a folder's files (docs/publish.md): redirects, content types,
//! fields, and pages of queries. It is read again when it has changed.

use super::{
    facts::Facts,
    path::is_inside,
    root::{Folder, Lies},
};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use serde::Deserialize;
use std::{
    collections::{BTreeMap, HashMap, HashSet},
    io::{self, Read},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError},
};

/// Its name in the folder.
const NAME: &str = ".larder-publish.json";

/// The largest manifest that is read. Some hundred thousand pages fit.
const LARGEST: u64 = 256 << 20;

/// The format that this version knows.
const FORMAT: u64 = 1;

/// Fields that belong to the file or the connection, and a cookie, which would be somebody's.
const DROPPED: [HeaderName; 13] = [
    header::CONNECTION,
    header::TRANSFER_ENCODING,
    header::TRAILER,
    header::UPGRADE,
    header::CONTENT_LENGTH,
    header::CONTENT_RANGE,
    header::CONTENT_ENCODING,
    header::ACCEPT_RANGES,
    header::ETAG,
    header::LAST_MODIFIED,
    header::DATE,
    header::AGE,
    header::SET_COOKIE,
];

/// The manifest as last read.
#[derive(Debug, Default)]
pub(crate) struct Published {
    /// Locked only for a moment.
    last: Mutex<Option<Last>>,
    /// Locked by the thread that reads a new one.
    reading: Mutex<()>,
}

/// What was read last, and from which file. `manifest` is `None` if it is not understood.
#[derive(Clone, Debug)]
struct Last {
    facts: Facts,
    manifest: Option<Arc<Manifest>>,
}

/// What the manifest says about pages, by their targets.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Manifest {
    pages: HashMap<String, Page>,
    /// Paths that have pages for queries.
    with_queries: HashSet<String>,
    /// The files of all pages, and those that were, and are about to be removed.
    files: HashSet<PathBuf>,
}

/// What the manifest says about one page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Page {
    /// It is this file, with these fields.
    File(PathBuf, HeaderMap),
    /// It is elsewhere.
    Redirect(StatusCode, HeaderMap),
}

#[derive(Deserialize)]
struct Written {
    format: u64,
    #[serde(default)]
    unused: Vec<PathBuf>,
    pages: BTreeMap<String, WrittenPage>,
}

#[derive(Deserialize)]
struct WrittenPage {
    status: u16,
    file: Option<String>,
    location: Option<String>,
    r#type: Option<String>,
    #[serde(default)]
    fields: BTreeMap<String, String>,
    #[serde(default)]
    tags: Vec<String>,
    #[serde(default)]
    groups: Vec<String>,
}

impl Published {
    /// Returns the current manifest of `folder`. `None`: there is none that we understand, and the folder is like any
    /// other.
    pub(crate) fn of(&self, folder: &Folder) -> io::Result<Option<Arc<Manifest>>> {
        let (file, metadata) = match folder.look(Path::new(NAME))? {
            Lies::File(file, metadata) => (file, metadata),
            // What it says of the pages is not known.
            Lies::Forbidden => {
                let why = format!("no permission to read {NAME}");
                return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
            }
            _ => return Ok(None),
        };
        let facts = Facts::of(&metadata);
        self.latest(facts, || {
            let mut text = Vec::new();
            file.take(LARGEST).read_to_end(&mut text)?;
            let manifest = read(&text, facts.length).map(Arc::new);
            if let Err(why) = &manifest {
                tracing::warn!(
                    why,
                    "{NAME} cannot be read; its folder is served as plain files"
                );
            }
            Ok(manifest.ok())
        })
    }

    /// Returns the manifest of the file with these `facts`. One thread reads it. Meanwhile the others use the previous
    /// one, and wait only if there is none yet.
    fn latest(
        &self,
        facts: Facts,
        read: impl FnOnce() -> io::Result<Option<Arc<Manifest>>>,
    ) -> io::Result<Option<Arc<Manifest>>> {
        let before = lock(&self.last).clone();
        let _reading = match before {
            Some(last) if last.facts == facts => return Ok(last.manifest),
            Some(last) => match self.reading.try_lock() {
                Ok(reading) => reading,
                Err(TryLockError::WouldBlock) => return Ok(last.manifest),
                Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            },
            None => lock(&self.reading),
        };
        let last = lock(&self.last).clone();
        if let Some(last) = last.filter(|last| last.facts == facts) {
            return Ok(last.manifest);
        }
        let manifest = read()?;
        let last = Last {
            facts,
            manifest: manifest.clone(),
        };
        // The last thread to use the old one frees it, not this one under the lock.
        let _before = lock(&self.last).replace(last);
        Ok(manifest)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads a manifest. Pages that could not be answered as written are left out.
///
/// # Errors
/// Says why it is no manifest.
pub(crate) fn read(text: &[u8], length: u64) -> Result<Manifest, String> {
    if length > LARGEST {
        return Err(format!("it is larger than {LARGEST} bytes"));
    }
    let Written {
        format,
        unused,
        pages,
    } = serde_json::from_slice(text).map_err(|error| error.to_string())?;
    if format != FORMAT {
        return Err(format!("its format is {format}, and {FORMAT} is known"));
    }
    let mut manifest = Manifest {
        files: unused.into_iter().collect(),
        ..Manifest::default()
    };
    for (target, page) in pages {
        let Some(page) = page.meant() else { continue };
        if let Some((path, _)) = target.split_once('?') {
            manifest.with_queries.insert(path.to_owned());
        }
        if let Page::File(file, _) = &page {
            manifest.files.insert(file.clone());
        }
        manifest.pages.insert(target, page);
    }
    Ok(manifest)
}

impl Manifest {
    /// Returns what the manifest says about a target.
    pub(crate) fn page(&self, path: &str, query: Option<&str>) -> Option<&Page> {
        let path = rules::key::normalize(path);
        match query {
            None => self.pages.get(&*path),
            Some(query) => self
                .pages
                .get(&format!("{path}?{}", rules::key::normalize(query))),
        }
    }

    /// Whether the file is a page's own, or was: it answers for that page only, and is no other file's neighbour.
    pub(crate) fn has_file(&self, file: &Path) -> bool {
        self.files.contains(file)
    }

    /// Whether this path has pages for queries.
    pub(crate) fn knows_queries(&self, path: &str) -> bool {
        self.with_queries.contains(&*rules::key::normalize(path))
    }
}

impl WrittenPage {
    fn meant(self) -> Option<Page> {
        let mut fields = HeaderMap::new();
        for (name, value) in &self.fields {
            let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
            if !DROPPED.contains(&name) {
                fields.append(name, field_value(value)?);
            }
        }
        if !self.tags.is_empty() {
            let tags = field_value(&self.tags.join(", "))?;
            fields.append(HeaderName::from_static("cache-tag"), tags);
        }
        if !self.groups.is_empty() {
            let groups: Vec<_> = self.groups.iter().map(|group| string(group)).collect();
            let groups = field_value(&groups.join(", "))?;
            fields.append(HeaderName::from_static("cache-groups"), groups);
        }
        match (self.status, self.file, self.location) {
            (200, Some(file), _) => {
                let file = PathBuf::from(file);
                if let Some(kind) = self.r#type {
                    fields.insert(header::CONTENT_TYPE, field_value(&kind)?);
                }
                is_inside(&file).then_some(Page::File(file, fields))
            }
            (status @ (301 | 302 | 303 | 307 | 308), _, Some(location)) => {
                fields.insert(header::LOCATION, field_value(&location)?);
                let status = StatusCode::from_u16(status).ok()?;
                Some(Page::Redirect(status, fields))
            }
            _ => None,
        }
    }
}

/// Returns the value of a field. White space around it is no part of it (RFC 9110 section 5.5), and in HTTP/2 its message
/// would be malformed (RFC 9113 section 8.2.1).
fn field_value(text: &str) -> Option<HeaderValue> {
    HeaderValue::from_str(text.trim_matches([' ', '\t'])).ok()
}

/// Writes a string of a structured field (RFC 9651 section 4.1.6).
fn string(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests;
