//! Finds what a path stands for below the root: a script, a file, a folder, or nothing.
//!
//! Only a plain path is looked up: decoded once, without dot segments, empty segments or encoded slashes. So the path
//! that is looked up is the one that selected the route, and nothing leads out of the root. A symbolic link is followed
//! as long as its target lies below the root.

use super::config::FastCgi;
use std::{
    borrow::Cow,
    fmt::Write as _,
    fs, io,
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

/// Looks up `path`, as the client wrote it. Blocks on the file system. Fails if the root cannot be read.
pub(crate) fn find(cgi: &FastCgi, path: &str) -> io::Result<ResolvedPath> {
    let root = cgi.root.canonicalize()?;
    let site = Site { cgi, root: &root };
    Ok(match plain(path) {
        Written::Hidden => ResolvedPath::Nothing,
        Written::Odd => site.front(),
        Written::Plain(path) => site.look(&path),
    })
}

/// Returns the script that a health check of `path` asks. A path without a file is passed as a script's name: php-fpm
/// answers its `ping.path` itself, and passes what it does not know to the script that answers for the rest.
pub(crate) fn probed(cgi: &FastCgi, path: &str) -> io::Result<Script> {
    let root = cgi.root.canonicalize()?;
    let without_front = FastCgi {
        front: None,
        ..cgi.clone()
    };
    if let ResolvedPath::Script(script) = find(&without_front, path)? {
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
    fn look(&self, path: &str) -> ResolvedPath {
        if let Some(found) = self.script_in(path) {
            return found;
        }
        match fs::metadata(below(self.root, path)) {
            Ok(there) if there.is_dir() => self.folder(path),
            Ok(there) if there.is_file() && !path.ends_with('/') => self.file(path),
            _ => self.front(),
        }
    }

    /// Returns the first script that `path` names or continues from. This splits as nginx's `fastcgi_split_path_info`
    /// would, but at a script that exists.
    fn script_in(&self, path: &str) -> Option<ResolvedPath> {
        let ends = memchr::memchr_iter(b'/', path.as_bytes()).skip(1);
        ends.chain([path.len()]).find_map(|end| {
            let (name, info) = path.split_at_checked(end)?;
            let is_script = self.cgi.scripts.contain(name) && is_file(&below(self.root, name));
            is_script.then(|| self.run(name, info))
        })
    }

    /// Returns the script `name` if it may be run.
    fn run(&self, name: &str, info: &str) -> ResolvedPath {
        let forbidden = |name: &str| self.cgi.no_scripts.contain(name);
        match self.real(name) {
            Some(real) if !forbidden(name) && !forbidden(&real) => ResolvedPath::Script(Script {
                root: self.root.to_owned(),
                file: below(self.root, name),
                name: name.to_owned(),
                info: (!info.is_empty()).then(|| info.to_owned()),
            }),
            _ => ResolvedPath::Refused,
        }
    }

    /// Returns the file at `path` if it may be sent.
    fn file(&self, path: &str) -> ResolvedPath {
        let forbidden = |path: &str| shows_source(path) || self.cgi.no_files.contain(path);
        match self.real(path) {
            Some(real) if !forbidden(path) && !forbidden(&real) => {
                ResolvedPath::File(path.to_owned())
            }
            _ => ResolvedPath::Refused,
        }
    }

    /// Returns the path below the root to which `path` leads, without symbolic links. `None`: it lies outside.
    fn real(&self, path: &str) -> Option<String> {
        let real = below(self.root, path).canonicalize().ok()?;
        let inside = real.strip_prefix(self.root).ok()?;
        inside.to_str().map(|inside| format!("/{inside}"))
    }

    fn folder(&self, path: &str) -> ResolvedPath {
        let inside = path.strip_suffix('/').unwrap_or(path);
        let there = self.cgi.index.iter().map(|name| format!("{inside}/{name}"));
        let Some(index) = { there }.find(|index| is_file(&below(self.root, index))) else {
            // No folder's content is ever listed.
            return self.front();
        };
        if inside.len() == path.len() {
            return ResolvedPath::Folder(encoded(path) + "/");
        }
        if self.cgi.scripts.contain(&index) {
            return self.run(&index, "");
        }
        self.file(&index)
    }

    /// Returns what answers for a path that does not exist.
    fn front(&self) -> ResolvedPath {
        let front = self.cgi.front.as_ref().map(|name| format!("/{name}"));
        match front {
            Some(front) if is_file(&below(self.root, &front)) => self.run(&front, ""),
            _ => ResolvedPath::Nothing,
        }
    }
}

fn is_file(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|there| there.is_file())
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
