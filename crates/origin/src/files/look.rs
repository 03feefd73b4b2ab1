//! Looks up what a request names in the folder: first in the published manifest, then by its path. Blocks on the
//! device. See `respond` for the answer that is made of it.

use super::{
    Absent, ChainPosition, coding, kind,
    path::Wanted,
    published::{Manifest, Page, Published},
    respond,
    root::{Folder, Lies, Root},
};
use crate::Context;
use http::{HeaderMap, Method, Request, header};
use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

/// How often a file is tried that somebody writes to at the same time.
const TRIES: usize = 3;

/// The file that answers for a folder.
const INDEX: &str = "index.html";

/// What is asked of the folder.
pub(super) struct FileRequest {
    pub(super) method: Method,
    pub(super) path: String,
    pub(super) query: Option<String>,
    /// Where the file lies that the path names, if it was looked up before.
    pub(super) real: Option<PathBuf>,
    pub(super) fields: HeaderMap,
    /// Whether another origin is asked after this one.
    pub(super) position: ChainPosition,
    /// Whether the site wants another origin's answer, if there is another.
    pub(super) personal: bool,
}

impl FileRequest {
    /// Takes what a folder needs of `request`, whose path is yet to be looked up.
    pub(super) fn of<B>(request: &Request<B>, context: &Context, position: ChainPosition) -> Self {
        let query = request.uri().query().filter(|query| !query.is_empty());
        Self {
            method: request.method().clone(),
            path: request.uri().path().to_owned(),
            query: query.map(str::to_owned),
            real: None,
            fields: request.headers().clone(),
            position,
            personal: context.personal && position == ChainPosition::Intermediate,
        }
    }
}

/// What was found, or why nothing was. Fails if the device fails.
pub(super) type Looked = io::Result<Result<respond::FileAnswer, Absent>>;

impl FileRequest {
    /// Whether a page that is named only by its path would be the wrong answer.
    fn is_foreign(&self) -> bool {
        self.personal || (self.position == ChainPosition::Intermediate && self.query.is_some())
    }
}

/// The folder as it is at one moment, and what its manifest says.
struct FolderView {
    folder: Folder,
    manifest: Option<Arc<Manifest>>,
}

/// Looks up what `asked` names. Blocks on the device.
pub(super) fn look(root: &Root, published: &Published, asked: &FileRequest) -> Looked {
    let folder = root.open()?;
    let manifest = published.of(&folder)?;
    let view = FolderView { folder, manifest };
    if let Some(manifest) = &view.manifest {
        match manifest.page(&asked.path, asked.query.as_deref()) {
            Some(_) if asked.personal => return Ok(Err(Absent::Foreign)),
            Some(Page::File(path, fields)) => return view.page(path, fields, asked),
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
    view.plain(wanted, asked)
}

impl FolderView {
    /// Returns the file or folder that the path itself names.
    fn plain(&self, wanted: Wanted, asked: &FileRequest) -> Looked {
        if wanted.is_script() {
            return Ok(Err(Absent::Script));
        }
        let folder = &self.folder;
        let index = wanted.path.join(INDEX);
        let is_folder = wanted.folder
            || match folder.look(&wanted.path)? {
                Lies::Folder => true,
                // A folder that may be entered, but not listed, says so by what is in it.
                Lies::Forbidden => matches!(folder.look(&index)?, Lies::File(..)),
                _ => false,
            };
        if !wanted.folder && is_folder {
            return self.without_slash(&index, asked);
        }
        let path = if wanted.folder { index } else { wanted.path };
        let kind = kind::of(&path);
        if asked.is_foreign() && kind::is_page(&kind) {
            return Ok(Err(Absent::Foreign));
        }
        match self.owner(&path, &asked.path) {
            Owner::Nobody => {
                let fields = HeaderMap::from_iter([(header::CONTENT_TYPE, kind)]);
                // The name of a link tells the type, and what it leads to is opened.
                let opened = asked.real.as_deref().unwrap_or(&path);
                self.file(opened, fields, asked)
            }
            // The manifest says nothing of the query, which means nothing to a file.
            Owner::Same(fields) => self.page(&path, fields, asked),
            Owner::Other => Ok(Err(Absent::NotThere)),
        }
    }

    /// Returns the answer for a folder that was asked for without a slash at the end. Only a folder with an index is
    /// redirected to: another origin may know more about one without.
    fn without_slash(&self, index: &Path, asked: &FileRequest) -> Looked {
        let with_slash = format!("{}/", asked.path);
        Ok(match self.folder.look(index)? {
            Lies::File(..) if asked.is_foreign() => Err(Absent::Foreign),
            Lies::File(..) if matches!(self.owner(index, &with_slash), Owner::Other) => {
                Err(Absent::NotThere)
            }
            Lies::File(..) => Ok(respond::with_slash(&asked.path, asked.query.as_deref())),
            Lies::Forbidden => Err(Absent::Forbidden),
            _ => Err(Absent::NotThere),
        })
    }

    /// Returns the page whose own file `file` is, seen from a target with this path.
    fn owner(&self, file: &Path, path: &str) -> Owner<'_> {
        let manifest = self.manifest.as_ref();
        let Some(manifest) = manifest.filter(|manifest| manifest.has_file(file)) else {
            return Owner::Nobody;
        };
        match manifest.page(path, None) {
            Some(Page::File(own, fields)) if own == file => Owner::Same(fields),
            _ => Owner::Other,
        }
    }

    /// Returns the answer for a page.
    fn page(&self, path: &Path, fields: &HeaderMap, asked: &FileRequest) -> Looked {
        let looked = self.file(path, fields.clone(), asked)?;
        Ok(looked.map(respond::FileAnswer::published))
    }

    /// Returns the answer for the file at `path`. `fields` is what else is known about it.
    fn file(&self, path: &Path, mut fields: HeaderMap, asked: &FileRequest) -> Looked {
        if !fields.contains_key(header::CONTENT_TYPE) {
            fields.insert(header::CONTENT_TYPE, kind::of(path));
        }
        let mut tries = TRIES;
        loop {
            let manifest = self.manifest.as_deref();
            let chosen = match coding::choose(&self.folder, manifest, path, &asked.fields)? {
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
}

/// Whose own file a file is.
enum Owner<'a> {
    /// No page's.
    Nobody,
    /// That of the page that is asked for, with these fields.
    Same(&'a HeaderMap),
    /// Another page's.
    Other,
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, os::unix::fs::symlink};

    /// A link may have been put in its place after it was looked up.
    #[test]
    fn a_file_that_was_found_before_is_opened_inside_the_folder() {
        let folder = testkit::scratch_dir();
        fs::write(folder.join("real.css"), "a style").unwrap();
        symlink(folder.join("real.css"), folder.join("absolute.css")).unwrap();
        symlink("/etc/hostname", folder.join("out.css")).unwrap();
        let root = Root::new(folder);
        for (real, absent) in [
            (Some("real.css"), None),
            (Some("out.css"), Some(Absent::Outside)),
            (Some("/etc/hostname"), Some(Absent::Outside)),
            (Some("gone.css"), Some(Absent::NotThere)),
            // Only who has looked it up knows that it stays inside.
            (None, Some(Absent::Outside)),
        ] {
            let asked = FileRequest {
                method: Method::GET,
                path: "/absolute.css".to_owned(),
                query: None,
                real: real.map(PathBuf::from),
                fields: HeaderMap::new(),
                position: ChainPosition::Final,
                personal: false,
            };
            let looked = look(&root, &Published::default(), &asked).unwrap();
            assert_eq!(looked.err(), absent, "{real:?}");
        }
    }
}
