//! What is configured of a FastCGI origin beyond its servers.

use std::{fmt, path::PathBuf, sync::Arc};

/// Which scripts there are, and what they are told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FastCgi {
    /// The folder of the site: scripts and files lie below it, nothing outside it is ever used. A path that the FastCGI
    /// server sees in the same place.
    pub root: PathBuf,
    /// Names that answer for a folder, the first that is there.
    pub index: Vec<String>,
    /// The script that answers for what is neither file nor folder, by its name in `root`; `None`: nobody does.
    pub front: Option<String>,
    /// Paths of scripts.
    pub scripts: Paths,
    /// Paths that are never run, although `scripts` covers them: folders that visitors write to.
    pub no_scripts: Paths,
    /// Paths of files that are never sent: what other web servers are told to guard by files beside them (`.htaccess`).
    pub no_files: Paths,
    /// Further parameters, in place of ours of the same name.
    pub params: Vec<(String, String)>,
}

/// Which paths are meant. They begin with `/`, are decoded, and have neither dot segments nor empty ones.
#[derive(Clone)]
pub struct Paths {
    words: String,
    matches: Arc<dyn Fn(&str) -> bool + Send + Sync>,
}

impl Paths {
    /// Those for which `matches` says so; `words` say the same to people, and tell them from others.
    pub fn new(
        words: impl Into<String>,
        matches: impl Fn(&str) -> bool + Send + Sync + 'static,
    ) -> Self {
        Self {
            words: words.into(),
            matches: Arc::new(matches),
        }
    }

    pub(crate) fn contain(&self, path: &str) -> bool {
        (self.matches)(path)
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
