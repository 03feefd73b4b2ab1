//! How lenient origins read a path.

use super::{is_encoded_only, spell_units, triplet, units::unit};
use std::{borrow::Cow, fmt::Write as _};

/// What an origin may do with a path besides resolving its dot segments (RFC 3986 section 5.2.4).
#[derive(Clone, Copy, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is one origin's habit, apart from the others"
)]
struct Leniency {
    /// It decodes slashes and backslashes.
    decodes: bool,
    /// It decodes [all else](decode_optional) that a path can have as it is.
    decodes_rest: bool,
    /// It takes a backslash for a slash.
    turns: bool,
    /// It drops parameters of segments (`;x`).
    cuts: bool,
    /// It takes several slashes for one.
    merges: bool,
    /// It takes what follows two slashes at the beginning for a host (RFC 3986 section 4.2), as parsers of references
    /// do that are given a target alone.
    takes_host: bool,
    /// It leaves dot segments as they are, once it has decoded what is around them: its routes have them in a name.
    leaves_dots: bool,
}

/// What a path has for [`Leniency`] to work on.
#[derive(Clone, Copy, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is for one habit, apart from the others"
)]
struct Finds {
    coded: bool,
    optional: bool,
    backslashes: bool,
    parameters: bool,
    host: bool,
    dots: bool,
}

impl Finds {
    fn of(path: &str) -> Self {
        let has_backslash = path.contains("%5C");
        Self {
            coded: has_backslash || path.contains("%2F"),
            optional: has_optional(path),
            backslashes: has_backslash || path.contains('\\'),
            parameters: path.contains(';') || path.contains("%3B"),
            host: begins_with_two(path),
            dots: ["/.", "\\.", "%2F.", "%5C."]
                .iter()
                .any(|dot| path.contains(dot)),
        }
    }
}

impl Leniency {
    /// All combinations. Each origin does some of these things, and what it does not do decides which segment a `..`
    /// removes.
    fn all() -> impl Iterator<Item = Self> {
        (0..128_u8).rev().map(|bits| Self {
            decodes: bits & 1 != 0,
            turns: bits & 2 != 0,
            cuts: bits & 4 != 0,
            merges: bits & 8 != 0,
            decodes_rest: bits & 16 != 0,
            // Last, since what is left of the path is less.
            takes_host: bits & 32 == 0,
            leaves_dots: bits & 64 == 0,
        })
    }

    /// Whether each of these things, merging aside, finds something to do in a path. If not, a more modest combination
    /// has the same reading.
    const fn matters(self, finds: Finds) -> bool {
        (!self.decodes || finds.coded)
            && (!self.decodes_rest || finds.optional)
            && (!self.turns || finds.backslashes)
            && (!self.cuts || finds.parameters)
            && (!self.takes_host || finds.host)
            && (!self.leaves_dots || finds.dots)
    }

    fn read(self, path: &str) -> String {
        let mut slashes = path.to_owned();
        if self.decodes {
            slashes = slashes.replace("%2F", "/").replace("%5C", "\\");
        }
        // Behind the others, since it makes percent signs, which are no part of a triplet then.
        if self.decodes_rest {
            slashes = decode_optional(&slashes).into_owned();
        }
        if self.turns {
            slashes = slashes.replace('\\', "/");
        }
        let path = if self.takes_host {
            behind_host(&slashes)
        } else {
            &slashes
        };
        let mut segments = Vec::new();
        let mut is_folder = false;
        for segment in path.split('/').skip(1) {
            let name = match segment.split_once(';') {
                Some((name, _)) if self.cuts => name,
                _ => segment,
            };
            let is_dots = matches!(name, "." | "..") && !self.leaves_dots;
            is_folder = is_dots || name.is_empty();
            match name {
                "" if self.merges => {}
                name if !is_dots => segments.push(name),
                "." => {}
                _ => drop(segments.pop()),
            }
        }
        // A path that ends with an empty segment has its slash already.
        let is_ended = segments.last().is_some_and(|last| last.is_empty());
        let mut read = String::with_capacity(slashes.len());
        for segment in &segments {
            read.push('/');
            read.push_str(segment);
        }
        if (is_folder && !is_ended) || segments.is_empty() {
            read.push('/');
        }
        read
    }
}

/// Returns the path behind the host of a reference that begins with one. Browsers' parsers, which Node has too, skip
/// further slashes before it.
fn behind_host(reference: &str) -> &str {
    match reference.strip_prefix("//") {
        Some(host) => {
            let host = host.trim_start_matches('/');
            host.find('/')
                .and_then(|end| host.get(end..))
                .unwrap_or("/")
        }
        None => reference,
    }
}

/// Whether a path begins with two slashes or backslashes, the second perhaps encoded.
fn begins_with_two(path: &str) -> bool {
    ["//", "/\\", "/%2F", "/%5C"]
        .iter()
        .any(|two| path.starts_with(two))
}

/// Returns the readings of `path` that differ from it, by origins that are more lenient: they decode `%u0061`, decode
/// slashes, decode what else a path can have as it is (`%40`), take a backslash for a slash, drop parameters of segments
/// (`;x`), take several slashes for one, or two at the beginning for those before a host, some or all of these, and
/// then resolve dot segments or leave them. Or they drop what is not UTF-8, as Bottle does, or overlook a line feed at the
/// end, as the `$` of Python's expressions does.
///
/// The most lenient reading comes first. `path` is [normalised](super::normalize) and begins with a slash. If the
/// result is empty, all origins read the path alike.
pub fn readings(path: &str) -> Vec<String> {
    let overlooked = [
        path.strip_suffix("%0A").map(str::to_owned),
        without_invalid(path),
    ];
    if overlooked.iter().all(Option::is_none) && !is_suspicious(path.as_bytes()) {
        return Vec::new();
    }
    let mut readings = Vec::new();
    let mut add = |spelled: &str| {
        let finds = Finds::of(spelled);
        let all = Leniency::all().filter(|leniency| leniency.matters(finds));
        for reading in all.map(|leniency| leniency.read(spelled)) {
            if reading != path && !readings.contains(&reading) {
                readings.push(reading);
            }
        }
    };
    if let Cow::Owned(spelled) = spell_units(path) {
        add(&spelled);
    }
    add(path);
    for shorter in overlooked.iter().flatten() {
        add(shorter);
    }
    readings
}

/// Returns the path without the encoded bytes that are not UTF-8; `None` if there are none.
fn without_invalid(path: &str) -> Option<String> {
    let bytes = path.as_bytes();
    let foreign = |at: usize| match bytes.get(at) {
        Some(b'%') => triplet(bytes, at).filter(|byte| !byte.is_ascii()),
        _ => None,
    };
    let mut all = memchr::memchr_iter(b'%', bytes);
    let mut at = all.find(|at| foreign(*at).is_some())?;
    let mut kept = path.get(..at)?.to_owned();
    let mut is_whole = true;
    while let Some(rest) = path.get(at..).filter(|rest| !rest.is_empty()) {
        let run: Vec<u8> = (at..).step_by(3).map_while(foreign).collect();
        if run.is_empty() {
            let next = rest.get(1..).and_then(|rest| rest.find('%'));
            let end = next.map_or(rest.len(), |next| next + 1);
            kept.push_str(rest.get(..end)?);
            at += end;
            continue;
        }
        for chunk in run.utf8_chunks() {
            is_whole &= chunk.invalid().is_empty();
            for byte in chunk.valid().bytes() {
                // Writing to a string cannot fail.
                let _ = write!(kept, "%{byte:02X}");
            }
        }
        at += 3 * run.len();
    }
    (!is_whole).then_some(kept)
}

/// Whether all origins take the last segment for one name, and the rest of the path for the way to it.
///
/// Such a path is [read alike](readings) but for what is decoded, so it has no parameters either. Decoding it, even twice,
/// produces no delimiter of names and no control character. `path` is [normalised](super::normalize).
pub fn is_plain(path: &str) -> bool {
    let bytes = path.as_bytes();
    let divides = |index| match triplet(bytes, index) {
        Some(byte) => byte.is_ascii_control() || b"#%/;?\\".contains(&byte),
        None => true,
    };
    !memchr::memchr_iter(b'%', bytes).any(divides) && readings(&decode_optional(path)).is_empty()
}

/// Whether a path can have this byte as it is and in encoded form, and slashes and backslashes, which divide it, aside.
/// Applications take both for the same, although they are not the same URI (RFC 3986 section 2.2).
const fn is_optional(byte: u8) -> bool {
    byte.is_ascii_graphic() && !is_encoded_only(byte) && !matches!(byte, b'/' | b'\\')
}

fn has_optional(path: &str) -> bool {
    let bytes = path.as_bytes();
    let mut triplets = memchr::memchr_iter(b'%', bytes).filter_map(|at| triplet(bytes, at));
    triplets.any(is_optional)
}

/// Decodes, once, each encoded byte that a path can also have as it is (`%40`, `%3A`), except slashes and backslashes.
/// `path` is [normalised](super::normalize).
pub fn decode_optional(path: &str) -> Cow<'_, str> {
    if !has_optional(path) {
        return Cow::Borrowed(path);
    }
    let mut decoded = String::with_capacity(path.len());
    let mut rest = path;
    while let Some((before, after)) = rest.split_once('%') {
        decoded.push_str(before);
        let byte = triplet(rest.as_bytes(), before.len()).filter(|byte| is_optional(*byte));
        rest = if let (Some(byte), Some(behind)) = (byte, after.get(2..)) {
            decoded.push(char::from(byte));
            behind
        } else {
            decoded.push('%');
            after
        };
    }
    decoded.push_str(rest);
    Cow::Owned(decoded)
}

/// Whether origins may read the path in more than one way: a cheap check for the path of a hit, which can be true of a
/// path that they read alike. Letters of other scripts (`%C3%A9`) are read alike.
fn is_suspicious(path: &[u8]) -> bool {
    let mut before = 0;
    path.iter().enumerate().any(|(at, &byte)| {
        let pair = (before, byte);
        before = byte;
        match pair {
            (b'/', b'/' | b'.') | (_, b';' | b'\\') => true,
            (_, b'%') => match triplet(path, at) {
                Some(byte) => is_optional(byte) || matches!(byte, b'/' | b'\\'),
                None => unit(path, at).is_some(),
            },
            _ => false,
        }
    })
}

#[cfg(test)]
mod tests;
