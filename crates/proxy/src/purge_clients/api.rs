//! The purging APIs of Fastly, Cloudflare and Souin, as far as clients use them.
//!
//! Their paths could also be the application's. So a request counts as a purge only if it has the key that these
//! services require. The key itself is not checked: the site decides who may purge, and all others are refused.

use super::{Command, Dialect, Head, Malformed, Matching, Spoken, TOO_MANY_TAGS, Wish, expression};
use crate::{policy::PurgePolicy, routing::without_port};
use rules::{key, surrogate};
use serde::Deserialize;

/// The largest content that is read, in bytes.
pub const LARGEST: usize = 256 << 10;

/// The most URLs, prefixes and hosts in one request. Each is matched against every route, and blocks the worker
/// meanwhile.
const MOST: usize = 1000;

/// The service in whose JSON the content is expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expected {
    /// Fastly's, hard or soft.
    Fastly {
        /// Whether `Fastly-Soft-Purge` says so.
        soft: bool,
    },
    /// Cloudflare's, for this zone.
    Cloudflare(String),
}

impl Expected {
    /// Returns the form in which such a client is answered.
    pub fn dialect(&self) -> Dialect {
        match self {
            Self::Fastly { .. } => Dialect::Fastly,
            Self::Cloudflare(zone) => Dialect::Cloudflare(zone.clone()),
        }
    }
}

/// Reads the head of a POST.
pub fn post(policy: &PurgePolicy, head: Head<'_>) -> Spoken {
    let mut segments = head.target.path().split('/').skip(1);
    let words = [(); 6].map(|()| segments.next());
    let spoken = match words {
        [
            Some("service"),
            Some(_),
            Some(word @ ("purge" | "purge_all")),
            key,
            None,
            None,
        ] if head.has("fastly-key") => fastly(head, word, key),
        [
            Some("client"),
            Some("v4"),
            Some("zones"),
            Some(zone),
            Some("purge_cache"),
            None,
        ] if head.has("x-auth-key") || head.has("authorization") => {
            Spoken::Content(Expected::Cloudflare(zone.to_owned()))
        }
        _ => return Spoken::Nothing,
    };
    match head.admitted(policy) {
        Err(why) if spoken != Spoken::Nothing => Spoken::Denied(why),
        _ => spoken,
    }
}

/// Reads `POST /service/<id>/purge_all`, `…/purge/<key>`, or `…/purge` with keys in `Surrogate-Key` or in the content.
fn fastly(head: Head<'_>, word: &str, key: Option<&str>) -> Spoken {
    let soft = head
        .text("fastly-soft-purge")
        .is_some_and(|value| value == "1");
    let command = |wish| {
        Spoken::Command(Ok(Command {
            wishes: vec![wish],
            soft,
            dialect: Dialect::Fastly,
        }))
    };
    if !surrogate::fits(head.fields) {
        return Spoken::Command(Err(TOO_MANY_TAGS));
    }
    let listed = surrogate::tags(head.fields);
    match (word, key) {
        ("purge_all", None) => command(Wish::Everything),
        ("purge", Some(key)) if !key.is_empty() => command(Wish::Tags(vec![decoded(key)])),
        ("purge", None) if !listed.is_empty() => command(Wish::Tags(listed)),
        ("purge", None) => Spoken::Content(Expected::Fastly { soft }),
        _ => Spoken::Nothing,
    }
}

/// Decodes a path segment.
fn decoded(segment: &str) -> String {
    let mut bytes = Vec::with_capacity(segment.len());
    let mut rest = segment.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let digit = |index: usize| {
            let digit = char::from(*after.get(index)?).to_digit(16)?;
            u8::try_from(digit).ok()
        };
        let escaped = digit(0).zip(digit(1)).filter(|_| byte == b'%');
        bytes.push(escaped.map_or(byte, |(high, low)| high * 16 + low));
        rest = escaped.map_or(after, |_| after.get(2..).unwrap_or_default());
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[derive(Deserialize)]
struct FastlyKeys {
    surrogate_keys: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct CloudflarePurge {
    purge_everything: bool,
    files: Vec<File>,
    tags: Vec<String>,
    hosts: Vec<String>,
    prefixes: Vec<String>,
}

/// A URL, alone or with the fields of the request that it was stored for. These do not matter: all variants are purged.
struct File(String);

impl<'de> Deserialize<'de> for File {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match serde_json::Value::deserialize(deserializer)? {
            serde_json::Value::String(url) => Ok(Self(url)),
            serde_json::Value::Object(mut file) => match file.remove("url") {
                Some(serde_json::Value::String(url)) => Ok(Self(url)),
                _ => Err(serde::de::Error::custom("a file has a `url`")),
            },
            _ => Err(serde::de::Error::custom("a file is a URL, or has one")),
        }
    }
}

/// Reads the content of a request.
///
/// # Errors
/// It is not what the dialect requires, or names nothing.
pub fn content(expected: &Expected, bytes: &[u8]) -> Result<Command, Malformed> {
    let json = |error: serde_json::Error| Malformed::Json(error.to_string());
    let (wishes, soft) = match expected {
        Expected::Fastly { soft } => {
            let FastlyKeys { surrogate_keys } = serde_json::from_slice(bytes).map_err(json)?;
            (vec![Wish::Tags(surrogate_keys)], *soft)
        }
        Expected::Cloudflare(_) => {
            let purge: CloudflarePurge = serde_json::from_slice(bytes).map_err(json)?;
            (cloudflare(purge)?, false)
        }
    };
    let named = |wish: &Wish| !matches!(wish, Wish::Tags(tags) if tags.is_empty());
    let wishes: Vec<_> = wishes.into_iter().filter(named).collect();
    if wishes.is_empty() {
        return Err(Malformed::Nothing("the lists are empty"));
    }
    if wishes.len() > MOST {
        return Err(Malformed::NotOffered(
            "more than 1000 URLs, prefixes and hosts in one request: purge in several",
        ));
    }
    Ok(Command {
        wishes,
        soft,
        dialect: expected.dialect(),
    })
}

fn cloudflare(purge: CloudflarePurge) -> Result<Vec<Wish>, Malformed> {
    let mut wishes = vec![Wish::Tags(purge.tags)];
    // The host is not that of the request, which may be the cache's own: an empty one is no name for all sites.
    let is_named = |host: &str| !without_port(host).is_empty();
    for File(url) in purge.files {
        let (host, target) = parts(&url)?;
        if !is_named(&host) {
            return Err(Malformed::Url(url));
        }
        wishes.push(Wish::Url { host, target });
    }
    for prefix in purge.prefixes {
        // `host/path`, with or without a scheme.
        let rest = prefix
            .split_once("://")
            .map_or(prefix.as_str(), |(_, rest)| rest);
        let (host, path) = parts(&format!("http://{rest}"))?;
        if !is_named(&host) {
            return Err(Malformed::Url(prefix));
        }
        wishes.push(Wish::Prefix { host, path });
    }
    for host in purge.hosts {
        if !is_named(&host) {
            return Err(Malformed::Host(host));
        }
        wishes.push(Wish::Host(host));
    }
    if purge.purge_everything {
        wishes.push(Wish::Everything);
    }
    Ok(wishes)
}

/// Returns the host and target of a URL.
fn parts(url: &str) -> Result<(String, String), Malformed> {
    let rest = url.split_once("://").map(|(_scheme, rest)| rest);
    let rest = rest.ok_or_else(|| Malformed::Url(url.to_owned()))?;
    let (host, target) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    Ok((host.to_owned(), target.to_owned()))
}

/// Reads a request to Souin's API, if the site has one: `PURGE <api>` with `Surrogate-Key`, `PURGE <api>/flush`,
/// `PURGE <api>/<key>`, `PURGE <api>/<expression>`.
pub fn souin(policy: &PurgePolicy, head: Head<'_>) -> Option<Result<Command, Malformed>> {
    let target = key::normalize(head.path_and_query());
    let rest = target.strip_prefix(policy.souin.as_deref()?)?;
    if head.method != "PURGE" || !(rest.is_empty() || rest.starts_with('/')) {
        return None;
    }
    let keys = surrogate::tags(head.fields);
    let wish = match rest.strip_prefix('/').unwrap_or_default() {
        "flush" => Ok(Wish::Everything),
        _ if !keys.is_empty() => Ok(Wish::Tags(keys)),
        "" => Err(Malformed::Nothing(
            "send `Surrogate-Key`, or ask for `flush`",
        )),
        key => Ok(souin_key(&decoded(key))),
    };
    Some(wish.map(|wish| Command {
        wishes: vec![wish],
        soft: false,
        dialect: Dialect::Souin,
    }))
}

/// Reads `GET-http-example.com-/path`, Souin's name for a stored response, or an expression on such names.
fn souin_key(key: &str) -> Wish {
    if expression::is_everything(key) {
        return Wish::Everything;
    }
    if let Some((host, target)) = named(key) {
        return Wish::Url {
            host: host.to_owned(),
            target: target.to_owned(),
        };
    }
    Wish::Matching(Box::new(Matching {
        souin: Some(expression::translated(key)),
        ..Matching::default()
    }))
}

/// Returns host and target in one of Souin's names; `None` if it is an expression.
fn named(key: &str) -> Option<(&str, &str)> {
    // Only signs count that hosts and targets do not have.
    if key.contains(['*', '+', '(', ')', '[', ']', '{', '}', '|', '\\', '^', '$']) {
        return None;
    }
    let (_method, rest) = key.split_once('-')?;
    let rest = rest
        .strip_prefix("https-")
        .or_else(|| rest.strip_prefix("http-"))?;
    let at = rest.find("-/")?;
    let host = rest.get(..at).filter(|host| !host.is_empty());
    host.zip(rest.get(at + 1..))
}
