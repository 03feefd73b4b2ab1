//! Finds what a path stands for below the root: a script, a file, a folder, or nothing.
//!
//! Only a plain path is looked up: decoded once, without dot segments, empty segments or encoded slashes. So the path
//! that is looked up is the one that selected the route, and nothing leads out of the root. A symbolic link is followed
//! as long as its target lies below the root, however it is written. Names are bytes, as on disk and in what a script is
//! told: not all of them are UTF-8.

use super::config::FastCgi;
use crate::{
    Error, Kind,
    files::{names_nothing, path as of_files},
};
use memchr::memmem;
use rustix::io::Errno;
use std::{
    ffi::OsStr,
    fmt::Write as _,
    fs::{self, Metadata},
    io,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

/// What answers for a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ResolvedPath {
    /// A script.
    Script(Script),
    /// A file next to the scripts.
    File(NamedFile),
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
    pub(crate) name: Vec<u8>,
    /// The rest of the path (RFC 3875 section 4.1.5).
    pub(crate) info: Option<Vec<u8>>,
}

/// A file, and where it lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NamedFile {
    /// Its path below the root, with a slash before it.
    pub(crate) name: Vec<u8>,
    /// The same without symbolic links, relative to the root. What may be sent was judged by it.
    pub(crate) real: PathBuf,
}

/// A path as a client wrote it.
enum Written {
    /// The path may name a file. Decoded.
    Plain(Vec<u8>),
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
        file: below(&root, front.as_bytes()),
        root,
        name: path.into(),
        info: None,
    })
}

fn root(cgi: &FastCgi) -> Result<PathBuf, Error> {
    cgi.root.canonicalize().map_err(|cause| {
        let why = format!("{}: {cause}", cgi.root.display());
        Error::new(Kind::Configuration).because(why)
    })
}

fn plain(path: &str) -> Written {
    let Some(decoded) = decoded(path) else {
        return Written::Odd;
    };
    let Some(inner) = decoded.strip_prefix(b"/") else {
        return Written::Hidden;
    };
    let inner = inner.strip_suffix(b"/").unwrap_or(inner);
    if inner.is_empty() {
        // `//` is not the root.
        return if decoded.len() == 1 {
            Written::Plain(decoded)
        } else {
            Written::Odd
        };
    }
    let segments = || inner.split(|byte| *byte == b'/');
    let hidden = |segment: &[u8]| segment.starts_with(b".") && segment != b".well-known";
    if segments().any(hidden) {
        return Written::Hidden;
    }
    if segments().any(<[u8]>::is_empty) {
        return Written::Odd;
    }
    Written::Plain(decoded)
}

/// Removes percent-encoding from a path. `None`: a `%` lacks its two digits, or the result would contain an encoded slash
/// or a zero byte.
fn decoded(path: &str) -> Option<Vec<u8>> {
    let segment = |written: &str| {
        let decoded = of_files::decoded(written.as_bytes()).ok()?;
        let is_whole = !decoded.iter().any(|byte| matches!(byte, 0 | b'/'));
        is_whole.then_some(decoded)
    };
    let segments: Option<Vec<_>> = path.split('/').map(segment).collect();
    segments.map(|segments| segments.join(&b'/'))
}

/// Returns where a path lies below the root.
fn below(root: &Path, path: &[u8]) -> PathBuf {
    let slashes = path.iter().take_while(|byte| **byte == b'/').count();
    let relative = path.get(slashes..).unwrap_or_default();
    root.join(OsStr::from_bytes(relative))
}

/// A site's folder during one lookup.
struct Site<'a> {
    cgi: &'a FastCgi,
    root: &'a Path,
}

impl Site<'_> {
    fn look(&self, path: &[u8]) -> Result<ResolvedPath, Error> {
        if let Some(found) = self.script_in(path)? {
            return Ok(found);
        }
        match self.there(path)? {
            Some(there) if there.is_dir() => self.folder(path),
            Some(there) if there.is_file() && !path.ends_with(b"/") => self.file(path),
            _ => self.front(),
        }
    }

    /// Returns the first script that `path` names or continues from. This splits as nginx's `fastcgi_split_path_info`
    /// would, but at a script that exists.
    fn script_in(&self, path: &[u8]) -> Result<Option<ResolvedPath>, Error> {
        let ends = memchr::memchr_iter(b'/', path).skip(1);
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
    fn run(&self, name: &[u8], info: &[u8]) -> Result<ResolvedPath, Error> {
        let is_guarded = |name: &[u8]| self.cgi.no_scripts.contain(name);
        if self.real(name, is_guarded)?.is_none() {
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
    fn file(&self, path: &[u8]) -> Result<ResolvedPath, Error> {
        let is_guarded = |path: &[u8]| shows_source(path) || self.cgi.no_files.contain(path);
        let real = self.real(path, is_guarded)?;
        Ok(real.map_or(ResolvedPath::Refused, |real| {
            let name = path.to_owned();
            ResolvedPath::File(NamedFile { name, real })
        }))
    }

    /// Returns where `path` leads, relative to the root. `None`: this or `path` itself is `guarded`. Fails if it leads out
    /// of the root.
    fn real(&self, path: &[u8], guarded: impl Fn(&[u8]) -> bool) -> Result<Option<PathBuf>, Error> {
        if guarded(path) {
            return Ok(None);
        }
        let named = below(self.root, path);
        let real = { named.canonicalize() }.map_err(|cause| unreadable(&named, &cause))?;
        let Ok(inside) = real.strip_prefix(self.root) else {
            let why = format!("{} leads to {}", told(&named), told(&real));
            return Err(Error::new(Kind::Outside).because(why));
        };
        let rooted = [b"/", inside.as_os_str().as_bytes()].concat();
        Ok((!guarded(&rooted)).then(|| inside.to_owned()))
    }

    fn folder(&self, path: &[u8]) -> Result<ResolvedPath, Error> {
        let inside = path.strip_suffix(b"/").unwrap_or(path);
        for name in &self.cgi.index {
            let index = [inside, b"/", name.as_bytes()].concat();
            if self.is_file(&index)? {
                return self.index(path, &index);
            }
        }
        // No folder's content is ever listed.
        self.front()
    }

    /// Returns the folder `path`, for which `index` answers.
    fn index(&self, path: &[u8], index: &[u8]) -> Result<ResolvedPath, Error> {
        if !path.ends_with(b"/") {
            return Ok(ResolvedPath::Folder(encoded(path) + "/"));
        }
        if self.cgi.scripts.contain(index) {
            return self.run(index, b"");
        }
        self.file(index)
    }

    /// Returns what answers for a path that does not exist.
    fn front(&self) -> Result<ResolvedPath, Error> {
        let Some(front) = &self.cgi.front else {
            return Ok(ResolvedPath::Nothing);
        };
        let name = [b"/", front.as_bytes()].concat();
        if !self.is_file(&name)? {
            return Ok(ResolvedPath::NoFront(below(self.root, &name)));
        }
        self.run(&name, b"")
    }

    fn is_file(&self, path: &[u8]) -> Result<bool, Error> {
        Ok(self.there(path)?.is_some_and(|there| there.is_file()))
    }

    /// Returns what lies at `path`. `None`: nothing.
    fn there(&self, path: &[u8]) -> Result<Option<Metadata>, Error> {
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
    Error::new(Kind::Unreadable).because(format!("{}: {cause}", told(path)))
}

/// Returns a path for a message, in one line: clients may ask for one with control characters.
fn told(path: &Path) -> String {
    path.to_string_lossy().escape_debug().to_string()
}

/// Whether a file shows a script's source: `wp-config.php~`, `index.php.bak`, `INDEX.PHP`.
fn shows_source(path: &[u8]) -> bool {
    let name = path.rsplit(|byte| *byte == b'/').next();
    let name = name.unwrap_or_default().to_ascii_lowercase();
    [".php", ".phtml", ".phar"]
        .iter()
        .any(|part| memmem::find(&name, part.as_bytes()).is_some())
}

/// Encodes a decoded path for a URI (RFC 3986 section 3.3).
pub(super) fn encoded(path: &[u8]) -> String {
    let mut text = String::with_capacity(path.len());
    for &byte in path {
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
