//! Converts a target's path to a path inside the folder. Nothing is looked up.

use std::{
    ffi::OsStr,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

/// The longest path that is looked up: Linux's limit (`PATH_MAX`).
const LONGEST: usize = 4096;

/// The only folder with a leading dot that is visible (RFC 8615).
const WELL_KNOWN: &[u8] = b".well-known";

/// What a target names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Relative, without `.`, `..`, empty or hidden parts. Empty: the folder itself.
    pub path: PathBuf,
    /// Whether it was written with a slash at its end, and so names a folder's index.
    pub folder: bool,
}

/// Why a path names nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// It does not begin with a slash, or a `%` lacks its two digits.
    Malformed,
    /// It has an escaped slash or backslash, a backslash, or a byte that no name can contain.
    Separator,
    /// It has an empty part, `.` or `..`: two names for one file would be two pages to purge.
    Dots,
    /// It has a part that begins with a dot, other than `/.well-known`.
    Hidden,
    /// It is longer than any path.
    TooLong,
}

impl Wanted {
    /// Reads the path of a target, percent-encoded as in a request.
    pub fn read(path: &str) -> Result<Self, Refused> {
        if path.len() > LONGEST {
            return Err(Refused::TooLong);
        }
        let rest = path.strip_prefix('/').ok_or(Refused::Malformed)?;
        let (rest, folder) = match rest.strip_suffix('/') {
            Some(rest) => (rest, true),
            None => (rest, rest.is_empty()),
        };
        let mut inside = PathBuf::new();
        if !rest.is_empty() || path.len() > 1 {
            for (index, part) in rest.split('/').enumerate() {
                inside.push(OsStr::from_bytes(&name(part, index == 0)?));
            }
        }
        Ok(Self {
            path: inside,
            folder,
        })
    }

    /// Whether it has the ending of a PHP script, or of a copy that an editor or an administrator left (`.php.bak`,
    /// `.php~`).
    pub fn is_script(&self) -> bool {
        self.path.file_name().is_some_and(is_script)
    }
}

/// Reads one part.
fn name(part: &str, first: bool) -> Result<Vec<u8>, Refused> {
    let name = decoded(part.as_bytes())?;
    match name.as_slice() {
        [] | b"." | b".." => Err(Refused::Dots),
        name if name.iter().any(|byte| matches!(byte, 0 | b'/' | b'\\')) => Err(Refused::Separator),
        WELL_KNOWN if first => Ok(name),
        [b'.', ..] => Err(Refused::Hidden),
        _ => Ok(name),
    }
}

/// Decodes one part.
pub(crate) fn decoded(part: &[u8]) -> Result<Vec<u8>, Refused> {
    let mut name = Vec::with_capacity(part.len());
    let mut rest = part;
    while let [byte, after @ ..] = rest {
        rest = after;
        if *byte != b'%' {
            name.push(*byte);
            continue;
        }
        let [high, low, after @ ..] = rest else {
            return Err(Refused::Malformed);
        };
        let digit = |byte: u8| char::from(byte).to_digit(16).ok_or(Refused::Malformed);
        name.push((digit(*high)? * 16 + digit(*low)?) as u8);
        rest = after;
    }
    Ok(name)
}

fn is_script(name: &OsStr) -> bool {
    let mut endings = name.as_bytes().split(|byte| *byte == b'.').skip(1);
    endings.any(|ending| {
        let known = |known: &[u8]| {
            let begin = ending.get(..known.len());
            let rest = ending.get(known.len()..).unwrap_or_default();
            begin.is_some_and(|begin| begin.eq_ignore_ascii_case(known))
                && rest
                    .iter()
                    .all(|byte| byte.is_ascii_digit() || *byte == b'~')
        };
        [b"php".as_slice(), b"phps", b"phtml", b"phar"]
            .into_iter()
            .any(known)
    })
}

/// Whether `path` lies inside any folder that it is joined to. Only its text is examined.
pub(crate) fn is_inside(path: &Path) -> bool {
    use std::path::Component;
    let bytes = path.as_os_str().as_bytes();
    let plain = path
        .components()
        .all(|part| matches!(part, Component::Normal(_)));
    plain
        && !bytes.is_empty()
        && bytes.len() <= LONGEST
        && !bytes.contains(&0)
        && bytes
            .split(|byte| *byte == b'/')
            .all(|part| !part.is_empty() && part != b".")
}

#[cfg(test)]
mod tests;
