//! The configuration of a FastCGI origin, besides its servers.

use std::{fmt, path::PathBuf, sync::Arc};

/// Which scripts there are, and what they are told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FastCgi {
    /// The folder of the site. Scripts and files lie below it, and nothing outside it is ever used. The FastCGI server
    /// sees it at the same path.
    pub root: PathBuf,
    /// Names of files that answer for a folder. The first that exists is used.
    pub index: Vec<String>,
    /// The script that answers for what is neither file nor folder, by its name in `root`. `None`: there is none, and
    /// such paths do not exist. One that was there and is not any more is a failure of the origin.
    pub front: Option<String>,
    /// Paths of scripts.
    pub scripts: Paths,
    /// Paths that are never run although `scripts` covers them: folders that visitors can write to.
    pub no_scripts: Paths,
    /// Paths of files that are never sent: those that other web servers protect by means of files beside them
    /// (`.htaccess`).
    pub no_files: Paths,
    /// Further parameters. They replace ours of the same name.
    pub params: Vec<(String, String)>,
}

impl FastCgi {
    /// Whether the front is there now. Blocks on the file system.
    pub(crate) fn has_front(&self) -> bool {
        let front = self.front.as_ref();
        front.is_some_and(|front| self.root.join(front).is_file())
    }

    /// Whether the script `name`, a path below the root, is the front.
    pub(crate) fn is_front(&self, name: &[u8]) -> bool {
        let front = self.front.as_deref().map(str::as_bytes);
        front.is_some() && name.strip_prefix(b"/") == front
    }
}

/// A set of paths. Paths begin with `/`, are decoded, and have neither dot segments nor empty ones. What is no UTF-8 in
/// them counts as U+FFFD, so that patterns go on covering what lies in a folder, or has an ending, whatever it is called.
#[derive(Clone)]
pub struct Paths {
    words: String,
    matches: Arc<dyn Fn(&str) -> bool + Send + Sync>,
}

impl Paths {
    /// Makes the set of paths for which `matches` returns true. `words` describe it to people, and distinguish it from
    /// other sets.
    pub fn new(
        words: impl Into<String>,
        matches: impl Fn(&str) -> bool + Send + Sync + 'static,
    ) -> Self {
        Self {
            words: words.into(),
            matches: Arc::new(matches),
        }
    }

    pub(crate) fn contain(&self, path: &[u8]) -> bool {
        (self.matches)(&String::from_utf8_lossy(path))
    }
}

impl PartialEq for Paths {
    fn eq(&self, other: &Self) -> bool {
        self.words == other.words
    }
}

impl Eq for Paths {}

impl fmt::Debug for Paths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Paths").field(&self.words).finish()
    }
}
