//! Turns flags into targets: what to request, and where.

use super::{
    Refusal,
    flags::{Bench, List, Request},
    sitemap,
};
use bytes::Bytes;
use http::Method;
use load::{
    site::{
        self, Origin, Parts, Site, Style,
        choice::Choice,
        list::{self, Line, Wanted},
    },
    tls::Tls,
    url::{Base, Url},
};
use std::{fs, io::Read as _, path::Path, sync::Arc, time::Duration};

/// The most servers that one run asks.
const MOST_ORIGINS: usize = 64;

/// The most bad lines of a file that are reported.
const MOST_TOLD: usize = 20;

/// The requests that are measured under one name.
#[derive(Clone, Debug)]
pub(super) struct Target {
    pub(super) name: String,
    pub(super) url: String,
    pub(super) site: Arc<Site>,
}

/// A URL of the command line, with the name that it was given.
struct Named {
    name: Option<String>,
    url: Url,
}

/// Reads everything to request, and looks hosts up. Nothing is sent to a host that is not allowed.
///
/// # Errors
/// What is wrong, for a person.
pub(super) fn targets(flags: &Bench, tls: &Tls) -> Result<Vec<Target>, Refusal> {
    let named = flags
        .urls
        .iter()
        .map(|text| read(text))
        .collect::<Result<Vec<_>, _>>()?;
    let allowed = &flags.shape.allow_remote;
    let first = named.first().map(|one| &one.url.base);
    let lines = lines(&flags.list, first, allowed, tls, flags.wire.timeout)?;
    if let Some(lines) = &lines
        && let Some(with_path) = named.iter().find(|one| one.url.target != "/")
    {
        return Err(Refusal::Refused(format!(
            "{} has a path; {} requests come from the list, so name only the server",
            with_path.url,
            lines.len()
        )));
    }
    if flags.compare {
        let of = |one: Named| {
            let url = one.url.clone();
            let own = || vec![plain(Wanted::Url(url.clone()))];
            let lines = lines
                .clone()
                .map_or_else(own, |lines| rebased(lines, &url.base));
            target(flags, one.name, &lines, &url.base, allowed)
        };
        return named.into_iter().map(of).collect();
    }
    let base = named.first().map(|one| one.url.base.clone());
    let name = named.first().and_then(|one| one.name.clone());
    let lines = lines.unwrap_or_else(|| {
        let urls = named.into_iter().map(|one| plain(Wanted::Url(one.url)));
        urls.collect()
    });
    let base = base.or_else(|| {
        lines.iter().find_map(|line| match &line.wanted {
            Wanted::Url(url) => Some(url.base.clone()),
            Wanted::Target(_) => None,
        })
    });
    let base =
        base.ok_or_else(|| Refusal::Use("what to ask for is missing: name a URL".to_owned()))?;
    Ok(vec![target(flags, name, &lines, &base, allowed)?])
}

/// A line with nothing but what is wanted.
pub(super) fn plain(wanted: Wanted) -> Line {
    Line {
        method: None,
        wanted,
        weight: None,
        body: None,
    }
}

/// Parses `[NAME=]URL`. A name is the text before a `=` that is not part of a URL.
fn read(text: &str) -> Result<Named, Refusal> {
    let (name, url) = match text.split_once('=') {
        Some((name, url)) if !name.contains(['/', '?', ':']) && !name.is_empty() => {
            (Some(name.to_owned()), url)
        }
        _ => (None, text),
    };
    let url = Url::parse(url).map_err(|what| Refusal::Use(format!("{url}: {what}")))?;
    Ok(Named { name, url })
}

/// The same pages at another server.
fn rebased(lines: Vec<Line>, base: &Base) -> Vec<Line> {
    let at = |line: Line| {
        let target = line.wanted.target().to_owned();
        let base = base.clone();
        Line {
            wanted: Wanted::Url(Url { base, target }),
            ..line
        }
    };
    lines.into_iter().map(at).collect()
}

/// Reads the lines of a file or sitemap, if there is one.
fn lines(
    list: &List,
    base: Option<&Base>,
    allowed: &[String],
    tls: &Tls,
    within: Duration,
) -> Result<Option<Vec<Line>>, Refusal> {
    let lines = if let Some(path) = &list.file {
        from_file(path)?
    } else if let Some(place) = &list.sitemap {
        sitemap::pages(place, base, allowed, tls, within)?
    } else {
        return Ok(None);
    };
    if lines.is_empty() {
        return Err(Refusal::Refused("the list is empty".to_owned()));
    }
    Ok(Some(lines))
}

fn from_file(path: &Path) -> Result<Vec<Line>, Refusal> {
    let name = path.display();
    let text = read_file(path).map_err(|error| Refusal::Refused(format!("{name}: {error}")))?;
    list::parse(&text).map_err(|bad| {
        let told = bad.iter().take(MOST_TOLD);
        let told = told.map(|line| format!("{name}:{}: {}", line.number, line.what));
        let mut told: Vec<_> = told.collect();
        if bad.len() > MOST_TOLD {
            told.push(format!("and {} more", bad.len() - MOST_TOLD));
        }
        Refusal::Refused(told.join("\n"))
    })
}

fn read_file(path: &Path) -> std::io::Result<String> {
    if path != Path::new("-") {
        return fs::read_to_string(path);
    }
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    Ok(text)
}

/// Refuses a server that is another machine and was not allowed.
pub(super) fn allow(origin: &Origin, allowed: &[String]) -> Result<(), Refusal> {
    let host = &origin.url.host;
    if origin.is_here() || allowed.iter().any(|one| one.eq_ignore_ascii_case(host)) {
        return Ok(());
    }
    Err(Refusal::Refused(format!(
        "{host} is another machine; say that you may put load on it: --allow-remote {host}"
    )))
}

fn target(
    flags: &Bench,
    name: Option<String>,
    lines: &[Line],
    base: &Base,
    allowed: &[String],
) -> Result<Target, Refusal> {
    let mut origins: Vec<Origin> = Vec::new();
    let style = Style {
        keep_alive: !flags.wire.no_keep_alive,
        cookies: flags.request.cookies,
        version: flags.wire.version(),
    };
    let content = content(&flags.request)?;
    let mut requests = Vec::with_capacity(lines.len());
    for line in lines {
        let base = match &line.wanted {
            Wanted::Url(url) => &url.base,
            Wanted::Target(_) => base,
        };
        let known = origins.iter().position(|one| one.url == *base);
        let origin = match known {
            Some(known) => known,
            None if origins.len() == MOST_ORIGINS => {
                let what = format!("more than {MOST_ORIGINS} different servers");
                return Err(Refusal::Refused(what));
            }
            None => {
                let origin = Origin::resolve(base.clone());
                allow(&origin, allowed)?;
                origins.push(origin);
                origins.len() - 1
            }
        };
        let parts = parts(&flags.request, line, origin, content.as_ref());
        let request = site::Request::new(parts, base, style);
        requests.push(request.map_err(Refusal::Refused)?);
    }
    let url = lines
        .first()
        .map_or_else(String::new, |line| match &line.wanted {
            Wanted::Url(url) => url.to_string(),
            Wanted::Target(target) => format!("{base}{target}"),
        });
    Ok(Target {
        name: name.unwrap_or_else(|| base.to_string()),
        url,
        site: Arc::new(Site {
            origins,
            choice: choice(&flags.list, lines)?,
            requests,
        }),
    })
}

fn content(request: &Request) -> Result<Option<Bytes>, Refusal> {
    let Some(body) = &request.body else {
        return Ok(None);
    };
    match body.strip_prefix('@') {
        None => Ok(Some(body.clone().into())),
        Some(path) => fs::read(path)
            .map(|content| Some(content.into()))
            .map_err(|error| Refusal::Refused(format!("{path}: {error}"))),
    }
}

fn parts(request: &Request, line: &Line, origin: usize, content: Option<&Bytes>) -> Parts {
    let own = line.body.clone().map(Bytes::from);
    // Content that all lines share is kept once.
    let body = own.or_else(|| content.cloned()).unwrap_or_default();
    let usual = if body.is_empty() {
        Method::GET
    } else {
        Method::POST
    };
    let method = line.method.clone().or_else(|| request.method.clone());
    Parts {
        origin,
        method: method.unwrap_or(usual),
        target: line.wanted.target().to_owned(),
        fields: request.fields.clone(),
        body,
    }
}

fn choice(list: &List, lines: &[Line]) -> Result<Choice, Refusal> {
    if let Some(exponent) = list.zipf {
        return Choice::zipf(lines.len(), exponent)
            .ok_or_else(|| Refusal::Use("an exponent that gives no weights".to_owned()));
    }
    if lines.iter().all(|line| line.weight.is_none()) {
        return Ok(Choice::InTurn);
    }
    Choice::weights(lines.iter().map(|line| line.weight.unwrap_or(1.0)))
        .ok_or_else(|| Refusal::Refused("all weights in the list are 0".to_owned()))
}
