//! Compressed neighbours: `style.css.br` is `style.css` in Brotli, made in advance by whoever published the folder.

use super::{
    Absent,
    facts::Facts,
    published::Manifest,
    root::{Folder, Lies},
};
use http::{HeaderMap, header::ACCEPT_ENCODING};
use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
};

/// A content coding (RFC 9110 section 8.4.1), by the ending of the neighbour's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coding {
    Brotli,
    Zstd,
    Gzip,
}

impl Coding {
    /// In our order of preference, for clients that have none.
    const ALL: [Self; 3] = [Self::Brotli, Self::Zstd, Self::Gzip];

    const fn ending(self) -> &'static str {
        match self {
            Self::Brotli => "br",
            Self::Zstd => "zst",
            Self::Gzip => "gz",
        }
    }

    /// Returns its name in `Content-Encoding`.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Brotli => "br",
            Self::Zstd => "zstd",
            Self::Gzip => "gzip",
        }
    }
}

/// The file to send, and whether another client would get a different one.
#[derive(Debug)]
pub(crate) struct Chosen {
    pub(crate) file: File,
    pub(crate) facts: Facts,
    pub(crate) coding: Option<Coding>,
    pub(crate) varies: bool,
}

/// Chooses the file at `path`, or the neighbour that the client prefers. A neighbour that is older than the file has
/// the file's previous content, and is ignored; so is one that is a page of its own in the `manifest`.
pub(crate) fn choose(
    folder: &Folder,
    manifest: Option<&Manifest>,
    path: &Path,
    request: &HeaderMap,
) -> io::Result<Result<Chosen, Absent>> {
    let (file, facts) = match open(folder, path)? {
        Ok(opened) => opened,
        Err(absent) => return Ok(Err(absent)),
    };
    let mut chosen = Chosen {
        file,
        facts,
        coding: None,
        varies: false,
    };
    let mut best = weight(request, "identity").unwrap_or(0);
    for coding in Coding::ALL {
        let beside = neighbour(path, coding);
        if manifest.is_some_and(|manifest| manifest.has_file(&beside)) {
            continue;
        }
        let Ok((file, neighbour)) = open(folder, &beside)? else {
            continue;
        };
        if neighbour.is_older_than(&facts) {
            continue;
        }
        chosen.varies = true;
        let Some(weight) = weight(request, coding.name()) else {
            continue;
        };
        // Takes the first of several equally welcome codings, and prefers any coding to none.
        let first = chosen.coding.is_none() && weight >= best;
        if weight > 0 && (weight > best || first) {
            best = weight;
            chosen.file = file;
            chosen.facts = neighbour;
            chosen.coding = Some(coding);
        }
    }
    Ok(Ok(chosen))
}

fn neighbour(path: &Path, coding: Coding) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(coding.ending());
    name.into()
}

fn open(folder: &Folder, path: &Path) -> io::Result<Result<(File, Facts), Absent>> {
    Ok(match folder.look(path)? {
        Lies::File(file, metadata) => Ok((file, Facts::of(&metadata))),
        Lies::Folder | Lies::Nothing => Err(Absent::NotThere),
        Lies::Special => Err(Absent::Special),
        Lies::Outside => Err(Absent::Outside),
        Lies::Forbidden => Err(Absent::Forbidden),
    })
}

/// Whether the client accepts `coding`, a value of `Content-Encoding`.
pub(crate) fn accepts(request: &HeaderMap, coding: &str) -> bool {
    let mut codings = coding.split(',').map(str::trim);
    codings.all(|coding| weight(request, coding).is_some_and(|weight| weight > 0))
}

/// Returns how much the client wants `coding`, in thousandths. `None`: it does not say (RFC 9110 section 12.5.3). `*`
/// does not cover `identity` here, because that is always available as a fallback.
fn weight(request: &HeaderMap, coding: &str) -> Option<u32> {
    let mut of_others = None;
    for line in request.get_all(ACCEPT_ENCODING) {
        let line = line.to_str().unwrap_or_default();
        for member in line.split(',') {
            let mut parts = member.split(';').map(str::trim);
            let name = parts.next().unwrap_or_default();
            let weight = parts.find_map(quality).unwrap_or(1000);
            let is_alias = coding == "gzip" && name.eq_ignore_ascii_case("x-gzip");
            if is_alias || name.eq_ignore_ascii_case(coding) {
                return Some(weight);
            }
            if name == "*" && coding != "identity" {
                of_others = Some(weight);
            }
        }
    }
    of_others
}

/// Reads `q=0.5` in thousandths. An unreadable value counts as 0.
fn quality(parameter: &str) -> Option<u32> {
    let value = parameter.strip_prefix(['q', 'Q'])?.trim_start();
    let value = value.strip_prefix('=')?.trim();
    let number: f32 = value.parse().unwrap_or(0.0);
    let is_weight = value.len() <= 5 && (0.0..=1.0).contains(&number);
    #[allow(clippy::cast_sign_loss, reason = "between nothing and one")]
    Some(if is_weight {
        (number * 1000.0).round() as u32
    } else {
        0
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;
    use proptest::prelude::*;

    fn wish(accept: &str, coding: &str) -> Option<u32> {
        let mut fields = HeaderMap::new();
        fields.insert(
            ACCEPT_ENCODING,
            HeaderValue::from_str(accept).expect("a value"),
        );
        weight(&fields, coding)
    }

    #[test]
    fn weights_are_read() {
        for (accept, coding, expected) in [
            ("gzip, deflate, br", "br", Some(1000)),
            ("gzip;q=0.5, br;q=0", "gzip", Some(500)),
            ("gzip;q=0.5, br;q=0", "br", Some(0)),
            ("GZIP ; Q = 0.125", "gzip", Some(125)),
            ("x-gzip", "gzip", Some(1000)),
            ("*;q=0.1", "zstd", Some(100)),
            ("*", "identity", None),
            ("identity;q=0.9", "identity", Some(900)),
            ("*;q=0, br", "br", Some(1000)),
            ("br;q=2", "br", Some(0)),
            ("br;q=NaN", "br", Some(0)),
            ("br;q=-1", "br", Some(0)),
            ("", "gzip", None),
            ("deflate", "gzip", None),
        ] {
            assert_eq!(wish(accept, coding), expected, "{accept:?} {coding}");
        }
    }

    proptest! {
        #[test]
        fn any_wish_is_read(accept in "[ -~]{0,40}") {
            for coding in Coding::ALL {
                prop_assert!(wish(&accept, coding.name()).is_none_or(|weight| weight <= 1000));
            }
        }
    }
}
