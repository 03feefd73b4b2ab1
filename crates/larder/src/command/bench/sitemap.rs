//! Reads the pages of a sitemap, from a server or from files.

use super::{
    Refusal,
    target::{allow, plain},
};
use load::{
    fetch::fetch,
    site::{
        Origin,
        list::{self, Line, Wanted},
        sitemap,
    },
    tls::Tls,
    url::{Base, Url},
};
use std::{
    fs::{self, File},
    io::{self, Read as _},
    path::{Path, PathBuf},
    time::Duration,
};

/// The most sitemaps that an index may name.
const MOST_SITEMAPS: usize = 100;

/// The largest sitemap that the protocol allows, in bytes.
const LARGEST_SITEMAP: u64 = 50 << 20;

/// Returns the pages of a sitemap, at the server that is measured (or at their own servers, if none was named). The
/// sitemaps that it names are taken from the same source. There are as many pages as a list may have requests, at most.
///
/// # Errors
/// What is wrong, for a person.
pub(super) fn pages(
    place: &str,
    base: Option<&Base>,
    allowed: &[String],
    tls: &Tls,
    within: Duration,
) -> Result<Vec<Line>, Refusal> {
    let source = Source::new(place, allowed)?;
    let mut open = vec![place.to_owned()];
    let (mut read, mut lines) = (0, Vec::new());
    while let Some(name) = open.pop() {
        // The text may come from a server.
        let failed = |what: String| Refusal::Refused(format!("{}: {what}", name.escape_debug()));
        read += 1;
        if read > MOST_SITEMAPS {
            return Err(failed(format!("more than {MOST_SITEMAPS} sitemaps")));
        }
        let text = source.text(&name, tls, within).map_err(failed)?;
        let found = sitemap::parse(&text).map_err(failed)?;
        open.extend(found.sitemaps);
        for page in found.pages {
            let url = Url::parse(&page)
                .map_err(|what| failed(format!("{}: {what}", page.escape_debug())))?;
            let base = base.unwrap_or(&url.base).clone();
            let target = url.target;
            lines.push(plain(Wanted::Url(Url { base, target })));
        }
        if lines.len() > list::MOST {
            let most = list::MOST;
            return Err(failed(format!(
                "with this one there are more than {most} pages"
            )));
        }
    }
    Ok(lines)
}

/// The source of sitemaps.
enum Source {
    /// The folder of the first one.
    Files(PathBuf),
    Server(Origin),
}

impl Source {
    fn new(place: &str, allowed: &[String]) -> Result<Self, Refusal> {
        if !place.contains("://") {
            let folder = Path::new(place).parent().unwrap_or(Path::new(""));
            return Ok(Self::Files(folder.to_owned()));
        }
        let url = Url::parse(place).map_err(|what| Refusal::Use(format!("{place}: {what}")))?;
        let origin = Origin::resolve(url.base);
        allow(&origin, allowed)?;
        Ok(Self::Server(origin))
    }

    fn text(&self, name: &str, tls: &Tls, within: Duration) -> Result<String, String> {
        match self {
            Self::Files(folder) => {
                let read = beside(folder, name).and_then(|path| read_bounded(&path));
                read.map_err(|error| error.to_string())
            }
            Self::Server(origin) => {
                let url = Url::parse(name)?;
                fetch(origin, &url.target, tls, within)
            }
        }
    }
}

/// Returns the file for a name in an index: the file of that name in the folder of the first sitemap, however its URL
/// begins.
fn beside(folder: &Path, name: &str) -> io::Result<PathBuf> {
    let last = name.rsplit('/').next().unwrap_or_default();
    let path = folder.join(last);
    // A folder, a device or a pipe is not a sitemap.
    if fs::metadata(&path)?.is_file() {
        Ok(path)
    } else {
        Err(io::Error::other("not a file"))
    }
}

fn read_bounded(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?
        .take(LARGEST_SITEMAP + 1)
        .read_to_string(&mut text)?;
    if text.len() as u64 > LARGEST_SITEMAP {
        return Err(io::Error::other("larger than 50 MiB"));
    }
    Ok(text)
}
