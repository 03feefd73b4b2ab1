//! The name of a page's file: a pure function of its target and type. `docs/publish.md` has the rules as a table.

mod ending;
#[cfg(test)]
mod tests;

use ending::{ALIASES, ending, is_active, is_more_than, own_ending};
use xxhash_rust::xxh3::xxh3_128_with_seed;

/// The folder for the command's own files.
pub const OWN: &str = ".larder-publish";

/// The longest segment of a name, in bytes; file systems allow 255, some 143.
const LONGEST_SEGMENT: usize = 140;

/// The longest name, in bytes.
const LONGEST: usize = 1024;

/// Returns the name that a web server without a manifest looks for when it is asked for `target`. `None` means that
/// there is no such name, and only the manifest knows the page, as [`hidden`].
///
/// The result is relative, has neither empty nor dot segments, and contains no control characters.
pub fn preferred(target: &str, kind: Option<&str>) -> Option<String> {
    let (path, query) = match target.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (target, None),
    };
    let (folders, last) = path
        .strip_prefix('/')?
        .rsplit_once('/')
        .unwrap_or(("", path.get(1..)?));
    let mut name = String::new();
    if path.rfind('/') != Some(0) {
        for folder in folders.split('/') {
            name.push_str(&plain(folder)?);
            name.push('/');
        }
    }
    let last = if last.is_empty() {
        String::new()
    } else {
        plain(last)?
    };
    let file = match query {
        Some(query) => with_query(&last, query, kind)?,
        None if last.is_empty() => format!("index.{}", ending(kind)?),
        None => without_query(last, kind)?,
    };
    name.push_str(&file);
    let fits = file.len() <= LONGEST_SEGMENT && name.len() <= LONGEST;
    (fits && !is_more_than(&file, kind)).then_some(name)
}

/// Returns the type that a page's name may tell web servers, which do not know the page's other fields. What is to be
/// downloaded (`disposition` is its `Content-Disposition`) must not be opened as a document.
pub fn told<'a>(kind: Option<&'a str>, disposition: Option<&str>) -> Option<&'a str> {
    let is_shown = disposition.is_none_or(|disposition| {
        let how = disposition.split(';').next().unwrap_or_default();
        how.trim().eq_ignore_ascii_case("inline")
    });
    kind.filter(|kind| is_shown || !is_active(Some(kind)))
}

/// Returns the name of a page that has none of its own: within [`OWN`], from a hash of its target. `again` is the
/// number of such names that others have already.
pub fn hidden(target: &str, kind: Option<&str>, again: u64) -> String {
    let hash = format!("{:032x}", xxh3_128_with_seed(target.as_bytes(), again));
    let (start, _) = hash.split_at(2);
    format!(
        "{OWN}/pages/{start}/{hash}.{}",
        ending(kind).unwrap_or("bin")
    )
}

/// Whether a page of this type, whose file got this name from an earlier version, gets another one today: a web server
/// would take the file for more than the page is.
pub fn is_outdated(file: &str, kind: Option<&str>) -> bool {
    let last = file.rsplit('/').next().unwrap_or_default();
    !file.starts_with(OWN) && is_more_than(last, kind)
}

/// Whether `file` may belong to a page: the files that a manifest names are written and removed. Within [`OWN`], only
/// results of [`hidden`] may.
pub fn is_safe(file: &str) -> bool {
    let mut segments = file.split('/');
    let inside = segments.all(|segment| !matches!(segment, "" | "." | ".."));
    let first = file.split('/').next().unwrap_or_default();
    let own = first
        .get(..OWN.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(OWN));
    let hidden = file
        .strip_prefix(OWN)
        .is_some_and(|rest| rest.starts_with("/pages/"));
    inside && !file.contains('\0') && file.len() <= 2 * LONGEST && (!own || hidden)
}

fn with_query(last: &str, query: &str, kind: Option<&str>) -> Option<String> {
    // The query is written as it came, since nginx and others look for it in this form. A slash would make a folder.
    let simple = |byte: u8| {
        byte.is_ascii_graphic() && !matches!(byte, b'/' | b'\\' | b'"' | b'<' | b'>' | b'|' | b'*')
    };
    if query.is_empty() || !query.bytes().all(simple) {
        return None;
    }
    let ending = ending(kind).or_else(|| own_ending(last))?;
    Some(format!("{last}?{query}.{ending}"))
}

fn without_query(last: String, kind: Option<&str>) -> Option<String> {
    let own = own_ending(&last);
    let Some(ending) = ending(kind) else {
        return own.is_some().then_some(last);
    };
    let fits = own.is_some_and(|own| {
        let own = own.to_ascii_lowercase();
        let mut aliases = ALIASES.iter().filter(|(of, _)| *of == ending);
        let is_known = own == ending
            || aliases.any(|(_, aliases)| aliases.contains(&own.as_str()))
            // An image that is declared as text is still found by its name. HTML is not: with such an ending it would
            // be downloaded.
            || (ending != "html" && !matches!(own.as_str(), "html" | "htm" | "xhtml"));
        is_known && !is_more_than(&last, kind)
    });
    Some(if fits {
        last
    } else {
        format!("{last}.{ending}")
    })
}

/// Decodes a segment of a path into a file name, as web servers do before they look. `None` means that no file has such
/// a name, or that none should.
fn plain(segment: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(segment.len());
    let mut rest = segment.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        if *byte != b'%' {
            bytes.push(*byte);
            continue;
        }
        let (digits, after) = rest.split_at_checked(2)?;
        let digits = std::str::from_utf8(digits)
            .ok()
            .filter(|digits| !digits.contains('+'))?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = after;
    }
    let text = String::from_utf8(bytes).ok()?;
    let odd = |letter: char| letter.is_control() || matches!(letter, '/' | '\\' | '?');
    // Files whose name begins with a dot can control web servers, for example `.htaccess`.
    let is_dotted = text.starts_with('.') && text != ".well-known";
    let fits = !text.is_empty() && text.len() <= LONGEST_SEGMENT;
    (fits && !is_dotted && !text.contains(odd)).then_some(text)
}
