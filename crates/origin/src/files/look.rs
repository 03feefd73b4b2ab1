//! Looks up what a request names in the folder: first in the published manifest, then by its path. Blocks on the
//! device. See `respond` for the answer that is made of it.

use super::{
    Absent, ChainPosition, coding, kind,
    path::Wanted,
    published::{Page, Published},
    respond,
    root::{Folder, Lies, Root},
};
use http::{HeaderMap, Method, header};
use std::{io, path::Path};

/// How often a file is tried that somebody writes to at the same time.
const TRIES: usize = 3;

/// The file that answers for a folder.
const INDEX: &str = "index.html";

/// What is asked of the folder.
pub(super) struct FileRequest {
    pub(super) method: Method,
    pub(super) path: String,
    pub(super) query: Option<String>,
    pub(super) fields: HeaderMap,
    /// Whether another origin is asked after this one.
    pub(super) position: ChainPosition,
    /// Whether the site wants another origin's answer, if there is another.
    pub(super) personal: bool,
}

/// What was found, or why nothing was. Fails if the device fails.
pub(super) type Looked = io::Result<Result<respond::FileAnswer, Absent>>;

impl FileRequest {
    /// Whether a page that is named only by its path would be the wrong answer.
    fn is_foreign(&self) -> bool {
        self.personal || (self.position == ChainPosition::Intermediate && self.query.is_some())
    }
}

/// Looks up what `asked` names. Blocks on the device.
pub(super) fn look(root: &Root, published: &Published, asked: &FileRequest) -> Looked {
    let folder = root.open()?;
    let manifest = published.of(&folder)?;
    if let Some(manifest) = &manifest {
        match manifest.page(&asked.path, asked.query.as_deref()) {
            Some(_) if asked.personal => return Ok(Err(Absent::Foreign)),
            Some(Page::File(path, fields)) => {
                let looked = file(&folder, path, fields.clone(), asked)?;
                return Ok(looked.map(respond::FileAnswer::published));
            }
            Some(Page::Redirect(status, fields)) => {
                return Ok(Ok(respond::redirect(*status, fields.clone()).published()));
            }
            // The manifest has pages only for other queries.
            None if asked.query.is_some() && manifest.knows_queries(&asked.path) => {
                return Ok(Err(Absent::NotThere));
            }
            None => {}
        }
    }
    let wanted = match Wanted::read(&asked.path) {
        Ok(wanted) => wanted,
        Err(refused) => return Ok(Err(Absent::Path(refused))),
    };
    plain(&folder, wanted, asked)
}

/// Returns the file or folder that the path itself names.
fn plain(folder: &Folder, wanted: Wanted, asked: &FileRequest) -> Looked {
    if wanted.is_script() {
        return Ok(Err(Absent::Script));
    }
    let foreign = asked.is_foreign();
    let index = wanted.path.join(INDEX);
    let is_folder = wanted.folder
        || match folder.look(&wanted.path)? {
            Lies::Folder => true,
            // A folder that may be entered, but not listed, says so by what is in it.
            Lies::Forbidden => matches!(folder.look(&index)?, Lies::File(..)),
            _ => false,
        };
    let path = if wanted.folder {
        index.clone()
    } else {
        wanted.path
    };
    if wanted.folder || !is_folder {
        let kind = kind::of(&path);
        if foreign && kind::is_page(&kind) {
            return Ok(Err(Absent::Foreign));
        }
        return file(folder, &path, HeaderMap::new(), asked);
    }
    // Only a folder with an index is redirected to: another origin may know more about one without.
    match folder.look(&index)? {
        Lies::File(..) if foreign => Ok(Err(Absent::Foreign)),
        Lies::File(..) => {
            let query = asked.query.as_deref();
            Ok(Ok(respond::with_slash(&asked.path, query)))
        }
        Lies::Forbidden => Ok(Err(Absent::Forbidden)),
        _ => Ok(Err(Absent::NotThere)),
    }
}

/// Returns the answer for the file at `path`. `fields` is what else is known about it.
fn file(folder: &Folder, path: &Path, mut fields: HeaderMap, asked: &FileRequest) -> Looked {
    if !fields.contains_key(header::CONTENT_TYPE) {
        fields.insert(header::CONTENT_TYPE, kind::of(path));
    }
    let mut tries = TRIES;
    loop {
        let chosen = match coding::choose(folder, path, &asked.fields)? {
            Ok(chosen) => chosen,
            Err(absent) => return Ok(Err(absent)),
        };
        tries -= 1;
        match respond::answer(&asked.method, &asked.fields, fields.clone(), chosen) {
            Err(error) if tries > 0 && error.kind() == io::ErrorKind::UnexpectedEof => {}
            answer => return answer.map(Ok),
        }
    }
}
