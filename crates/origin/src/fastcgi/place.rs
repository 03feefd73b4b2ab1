//! Finds what a path stands for below the root: a script, a file, a folder, or nothing.
//!
//! Only a plain path is looked up: decoded once, without dot segments, empty segments or encoded slashes. So the path
//! that is looked up is the one that selected the route, and nothing leads out of the root. A symbolic link is followed
//! as long as its target lies below the root.

use super::config::FastCgi;
use crate::{Error, Kind, files::names_nothing};
use rustix::io::Errno;
use std::{
    borrow::Cow,
    fmt::Write as _,
    fs::{self, Metadata},
    io,
    path::{Path, PathBuf},
};

/// What answers for a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ResolvedPath {
    /// A script.
    Script(Script),
    /// A file next to the scripts, by its path below the root.
    File(String),
    /// A folder that was asked for without its slash. The value is the same path with the slash, encoded.
    Folder(String),
    /// It exists, but must not be run or sent.
    Refused,
    /// It does not exist.
    Nothing,
    /// It does not exist, and neither does the front, which would answer for it.
    NoFront(PathBuf),
}

/// A script, and the part of the path that names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Script {
    /// The root, without symbolic links: a deployed version stays in use until the request is over.
    pub(crate) root: PathBuf,
    pub(crate) file: PathBuf,
    /// Its path below the root, with a slash before it.
    pub(crate) name: String,
    /// The rest of the path (RFC 3875 section 4.1.5).
    pub(crate) info: Option<String>,
}

/// A path as a client wrote it.
enum Written<'a> {
    /// The path may name a file.
    Plain(Cow<'a, str>),
    /// The path names no file, but may mean something to the application.
    Odd,
    /// The path has hidden files or dot segments, which mean nothing to anybody.
    Hidden,
}

/// Looks up `path`, as the client wrote it. Blocks on the file system. Fails if the root is not there, or something may
/// not be read, or a link leads out of the root.
pub(crate) fn find(cgi: &FastCgi, path: &str) -> Result<ResolvedPath, Error> {
    let root = root(cgi)?;
    let site = Site { cgi, root: &root };
    match plain(path) {
        Written::Hidden => Ok(ResolvedPath::Nothing),
        Written::Odd => site.front(),
        Written::Plain(path) => site.look(&path),
    }
}

/// Returns the script that a health check of `path` asks. A path without a file is passed as a script's name: php-fpm
/// answers its `ping.path` itself, and passes what it does not know to the script that answers for the rest.
pub(crate) fn probed(cgi: &FastCgi, path: &str) -> Result<Script, Error> {
    let root = root(cgi)?;
    let without_front = FastCgi {
        front: None,
        ..cgi.clone()
    };
    // A folder that may not be read is not the server's fault.
    if let Ok(ResolvedPath::Script(script)) = find(&without_front, path) {
        return Ok(script);
    }
    let front = cgi.front.as_deref().unwrap_or(path);
    Ok(Script {
        file: below(&root, front),
        root,
        name: path.to_owned(),
        info: None,
    })
}

fn root(cgi: &FastCgi) -> Result<PathBuf, Error> {
    cgi.root.canonicalize().map_err(|cause| {
        let why = format!("{}: {cause}", cgi.root.display());
        Error::new(Kind::Configuration).because(why)
    })
}

fn plain(path: &str) -> Written<'_> {
    let Some(decoded) = decoded(path) else {
        return Written::Odd;
    };
    let Some(inner) = decoded.strip_prefix('/') else {
        return Written::Hidden;
    };
    let inner = inner.strip_suffix('/').unwrap_or(inner);
    if inner.is_empty() {
        // `//` is not the root.
        return if decoded.len() == 1 {
            Written::Plain(decoded)
        } else {
            Written::Odd
        };
    }
    let hidden = |segment: &str| segment.starts_with('.') && segment != ".well-known";
    if inner.split('/').any(hidden) {
        return Written::Hidden;
    }
    if inner.split('/').any(str::is_empty) {
        return Written::Odd;
    }
    Written::Plain(decoded)
}

/// Removes percent-encoding from a path. `None`: the result is no text, or would contain an encoded slash or control
/// character.
fn decoded(path: &str) -> Option<Cow<'_, str>> {
    if !path.contains('%') {
        return Some(Cow::Borrowed(path));
    }
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || char::from(rest.next()?).to_digit(16);
        let byte = u8::try_from(digit()? * 16 + digit()?).ok()?;
        if byte == b'/' || byte.is_ascii_control() {
            return None;
        }
        bytes.push(byte);
    }
    String::from_utf8(bytes).ok().map(Cow::Owned)
}

/// Returns where a path lies below the root.
fn below(root: &Path, path: &str) -> PathBuf {
    root.join(path.trim_start_matches('/'))
}

/// A site's folder during one lookup.
struct Site<'a> {
    cgi: &'a FastCgi,
    root: &'a Path,
}

impl Site<'_> {
    fn look(&self, path: &str) -> Result<ResolvedPath, Error> {
        if let Some(found) = self.script_in(path)? {
            return Ok(found);
        }
        match self.there(path)? {
            Some(there) if there.is_dir() => self.folder(path),
            Some(there) if there.is_file() && !path.ends_with('/') => self.file(path),
            _ => self.front(),
        }
    }

    /// Returns the first script that `path` names or continues from. This splits as nginx's `fastcgi_split_path_info`
    /// would, but at a script that exists.
    fn script_in(&self, path: &str) -> Result<Option<ResolvedPath>, Error> {
        let ends = memchr::memchr_iter(b'/', path.as_bytes()).skip(1);
        for end in ends.chain([path.len()]) {
            if let Some((name, info)) = path.split_at_checked(end)
                && self.cgi.scripts.contain(name)
                && self.is_file(name)?
            {
                return self.run(name, info).map(Some);
            }
        }
        Ok(None)
    }

    /// Returns the script `name` if it may be run.
    fn run(&self, name: &str, info: &str) -> Result<ResolvedPath, Error> {
        if !self.is_free(name, |name| self.cgi.no_scripts.contain(name))? {
            return Ok(ResolvedPath::Refused);
        }
        Ok(ResolvedPath::Script(Script {
            root: self.root.to_owned(),
            file: below(self.root, name),
            name: name.to_owned(),
            info: (!info.is_empty()).then(|| info.to_owned()),
        }))
    }

    /// Returns the file at `path` if it may be sent.
    fn file(&self, path: &str) -> Result<ResolvedPath, Error> {
        let is_guarded = |path: &str| shows_source(path) || self.cgi.no_files.contain(path);
        if !self.is_free(path, is_guarded)? {
            return Ok(ResolvedPath::Refused);
        }
        Ok(ResolvedPath::File(path.to_owned()))
    }

    /// Whether neither `path` nor what it leads to is `guarded`. Fails if it leads out of the root.
    fn is_free(&self, path: &str, guarded: impl Fn(&str) -> bool) -> Result<bool, Error> {
        if guarded(path) {
            return Ok(false);
        }
        let named = below(self.root, path);
        let real = { named.canonicalize() }.map_err(|cause| unreadable(&named, &cause))?;
        let Ok(inside) = real.strip_prefix(self.root) else {
            let why = format!("{} leads to {}", named.display(), real.display());
            return Err(Error::new(Kind::Outside).because(why));
        };
        let inside = inside.to_str().map(|inside| format!("/{inside}"));
        Ok(inside.is_some_and(|inside| !guarded(&inside)))
    }

    fn folder(&self, path: &str) -> Result<ResolvedPath, Error> {
        let inside = path.strip_suffix('/').unwrap_or(path);
        for name in &self.cgi.index {
            let index = format!("{inside}/{name}");
            if self.is_file(&index)? {
                return self.index(path, &index);
            }
        }
        // No folder's content is ever listed.
        self.front()
    }

    /// Returns the folder `path`, for which `index` answers.
    fn index(&self, path: &str, index: &str) -> Result<ResolvedPath, Error> {
        if !path.ends_with('/') {
            return Ok(ResolvedPath::Folder(encoded(path) + "/"));
        }
        if self.cgi.scripts.contain(index) {
            return self.run(index, "");
        }
        self.file(index)
    }

    /// Returns what answers for a path that does not exist.
    fn front(&self) -> Result<ResolvedPath, Error> {
        let Some(front) = &self.cgi.front else {
            return Ok(ResolvedPath::Nothing);
        };
        let name = format!("/{front}");
        if !self.is_file(&name)? {
            return Ok(ResolvedPath::NoFront(below(self.root, &name)));
        }
        self.run(&name, "")
    }

    fn is_file(&self, path: &str) -> Result<bool, Error> {
        Ok(self.there(path)?.is_some_and(|there| there.is_file()))
    }

    /// Returns what lies at `path`. `None`: nothing.
    fn there(&self, path: &str) -> Result<Option<Metadata>, Error> {
        let path = below(self.root, path);
        match fs::metadata(&path) {
            Ok(there) => Ok(Some(there)),
            Err(cause) if is_absence(&cause) => Ok(None),
            Err(cause) => Err(unreadable(&path, &cause)),
        }
    }
}

/// Whether a lookup failed because there is nothing of that name. Whatever else fails says nothing about what is there.
fn is_absence(cause: &io::Error) -> bool {
    match Errno::from_io_error(cause) {
        Some(errno) => names_nothing(errno) || errno == Errno::LOOP,
        // A zero byte.
        None => cause.kind() == io::ErrorKind::InvalidInput,
    }
}

fn unreadable(path: &Path, cause: &io::Error) -> Error {
    Error::new(Kind::Unreadable).because(format!("{}: {cause}", path.display()))
}

/// Whether a file shows a script's source: `wp-config.php~`, `index.php.bak`, `INDEX.PHP`.
fn shows_source(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    let name = name.to_ascii_lowercase();
    [".php", ".phtml", ".phar"]
        .iter()
        .any(|part| name.contains(part))
}

/// Encodes a decoded path for a URI (RFC 3986 section 3.3).
pub(super) fn encoded(path: &str) -> String {
    let mut text = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"/-._~!$&'()*+,;=:@".contains(&byte) {
            text.push(char::from(byte));
        } else {
            let _ = write!(text, "%{byte:02X}");
        }
    }
    text
}

#[cfg(test)]
mod tests;
