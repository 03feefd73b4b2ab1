//! What `POST /purge` is asked, and what it understands of that.

use crate::config::value::Word;
use proxy::{policy::Site, purging};
use rules::surrogate::{self, LONGEST_GROUP};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::{borrow::Cow, fmt, time::Duration};
use store::purge::{BadPattern, Malformed, On, Pattern, Purge, What};

/// How long a purge waits for the other nodes where nothing is said.
pub const USUAL_WAIT: Duration = Duration::from_secs(10);

/// Longest wait that can be asked for.
pub const LONGEST_WAIT: Duration = Duration::from_mins(5);

/// What is to be forgotten. Exactly one of `url`, `prefix`, `tag`, `tags`, `host`, `regex`, `everything` and `purges` is given, or
/// `groups` with the `host` that they are of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(extend("oneOf" = [
    {"required": ["url"]}, {"required": ["prefix"]}, {"required": ["tag"]}, {"required": ["tags"]},
    {"required": ["host"], "not": {"required": ["groups"]}}, {"required": ["groups", "host"]},
    {"required": ["regex"]}, {"required": ["everything"]}, {"required": ["purges"]},
]))]
#[schemars(rename = "PurgeRequest")]
pub struct Request {
    /// One URL with all its variants, over both schemes: `http://example.com/page?x=1`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub url: Option<String>,
    /// Everything whose URL begins so: `http://example.com/news/`, or `/news/` for every host.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub prefix: Option<String>,
    /// Everything that carries this tag.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub tag: Option<String>,
    /// Everything that carries one of these tags.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<String>", length(min = 1))]
    pub tags: Option<Vec<String>>,
    /// One host, with a port where it is not the scheme's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub host: Option<String>,
    /// Of `host`, everything that is in one of these cache groups (RFC 9875), over both schemes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<String>", length(min = 1))]
    pub groups: Option<Vec<String>>,
    /// Everything whose URL (`http://example.com/page?x=1`) has a match of this regular expression.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub regex: Option<String>,
    /// Everything.
    #[serde(skip_serializing_if = "is_false")]
    #[schemars(extend("const" = true))]
    pub everything: bool,
    /// Purges as nodes write them to each other.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(
        with = "Vec<serde_json::Map<String, serde_json::Value>>",
        length(min = 1)
    )]
    pub purges: Option<Vec<serde_json::Value>>,
    /// Stale from now on instead of gone: stale-while-revalidate and stale-if-error still work.
    #[serde(skip_serializing_if = "is_false")]
    pub soft: bool,
    /// Answer when all nodes have applied it, or after this time: `true` (10 s) or a duration.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Wait")]
    pub wait: Option<Wait>,
    /// `false`: it comes from another node and is not sent on.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool", extend("default" = true))]
    pub relay: Option<bool>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_false(value: &bool) -> bool {
    !value
}

/// Whether, and how long, an answer waits for the other nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Not at all.
    No,
    /// At most so long.
    For(Duration),
}

/// Why nothing was purged; the caller's fault.
#[derive(Debug, thiserror::Error)]
pub enum Bad {
    /// Not the JSON that is expected.
    #[error("not a purge in JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// Not a JSON object.
    #[error(
        "not a purge in JSON: an object is expected, such as {{\"url\": \"http://host/path\"}}"
    )]
    NoObject,
    /// Nothing is named.
    #[error(
        "nothing is named; say url, prefix, tag, tags, host, groups (with host), regex or everything (and true)"
    )]
    Nothing,
    /// Several things are named.
    #[error("{} are named; a purge names one thing", .0.join(" and "))]
    Several(Vec<&'static str>),
    /// No URL.
    #[error("{0:?} is not a URL that a client could ask for; write it whole, as http://host/path")]
    Url(String),
    /// Not the beginning of a URL.
    #[error(
        "no URL begins with {0:?}; write it whole, as http://host/path, or /path for every host"
    )]
    Prefix(String),
    /// No host.
    #[error("{0:?} is not a host; write it as example.com or example.com:8080")]
    Host(String),
    /// No response can carry such a tag.
    #[error(
        "{0:?} is not a tag: tags are not empty, and have neither blanks around them nor control characters"
    )]
    Tag(String),
    /// Groups of no host.
    #[error("cache groups are of one host; say which with host")]
    Hostless,
    /// No response can be in such a group.
    #[error("{0:?} is not a cache group: at most {LONGEST_GROUP} characters, all of them ASCII")]
    Group(String),
    /// The expression cannot be used.
    #[error(transparent)]
    Pattern(#[from] BadPattern),
    /// Not written by a node.
    #[error("not what nodes send each other: {0}")]
    Foreign(#[from] Malformed),
    /// A wait without end.
    #[error("a wait lasts five minutes at most")]
    Wait,
}

impl Request {
    /// Reads the body of a request.
    ///
    /// # Errors
    /// It is not one.
    pub fn read(body: &[u8]) -> Result<Self, Bad> {
        // A list would be read as the fields in their order.
        if body.trim_ascii_start().first() != Some(&b'{') {
            return Err(Bad::NoObject);
        }
        Ok(serde_json::from_slice(body)?)
    }

    /// How long to wait for the other nodes; `None`: not at all.
    ///
    /// # Errors
    /// Too long.
    pub fn wait(&self) -> Result<Option<Duration>, Bad> {
        match self.wait {
            None | Some(Wait::No) => Ok(None),
            Some(Wait::For(time)) if time > LONGEST_WAIT => Err(Bad::Wait),
            Some(Wait::For(time)) => Ok(Some(time)),
        }
    }

    /// What it means on `site`: all of it, or on an error nothing.
    ///
    /// # Errors
    /// See [`Bad`].
    pub fn purges(&self, site: &Site) -> Result<Vec<Purge>, Bad> {
        self.names_one()?;
        if let Some(purges) = &self.purges {
            let read = |purge: &serde_json::Value| Purge::from_text(purge.to_string().as_bytes());
            return Ok(purges.iter().map(read).collect::<Result<_, _>>()?);
        }
        let soft = self.soft;
        let all = self.what(site)?.into_iter();
        Ok(all.map(|what| Purge { what, soft }).collect())
    }

    fn names_one(&self) -> Result<(), Bad> {
        let tags = self.tags.as_ref().is_some_and(|tags| !tags.is_empty());
        let purges = self.purges.as_ref().is_some_and(|list| !list.is_empty());
        let groups = self.groups.as_ref().is_some_and(|list| !list.is_empty());
        let named: Vec<_> = [
            ("url", self.url.is_some()),
            ("prefix", self.prefix.is_some()),
            ("tag", self.tag.is_some()),
            ("tags", tags),
            // Beside groups it says whose they are, and names nothing itself.
            ("host", self.host.is_some() && self.groups.is_none()),
            ("groups", groups),
            ("regex", self.regex.is_some()),
            ("everything", self.everything),
            ("purges", purges),
        ]
        .into_iter()
        .filter_map(|(name, is_said)| is_said.then_some(name))
        .collect();
        match named.len() {
            0 => Err(Bad::Nothing),
            1 => Ok(()),
            _ => Err(Bad::Several(named)),
        }
    }

    fn what(&self, site: &Site) -> Result<Vec<What>, Bad> {
        if let Some(url) = &self.url {
            let what = purging::url(site, url).ok_or_else(|| Bad::Url(url.clone()))?;
            return Ok(vec![what]);
        }
        if let Some(prefix) = &self.prefix {
            return purging::prefix(prefix).ok_or_else(|| Bad::Prefix(prefix.clone()));
        }
        if let Some(names) = &self.groups {
            return Ok(vec![groups(self.host.as_deref(), names)?]);
        }
        if let Some(host) = &self.host {
            return purging::host(host).ok_or_else(|| Bad::Host(host.clone()));
        }
        if let Some(regex) = &self.regex {
            let pattern = Pattern::default().with(On::Url, regex)?;
            return Ok(vec![What::Pattern(Box::new(pattern))]);
        }
        if self.everything {
            return Ok(vec![What::Everything]);
        }
        let tags = self.tag.iter().chain(self.tags.iter().flatten());
        let mut tags = tags.map(|text| tag(text)).collect::<Result<Vec<_>, _>>()?;
        tags.sort_unstable();
        tags.dedup();
        Ok(vec![What::Tags(tags)])
    }
}

fn groups(host: Option<&str>, names: &[String]) -> Result<What, Bad> {
    let host = host.ok_or(Bad::Hostless)?;
    let is_one = |name: &str| {
        name.len() <= LONGEST_GROUP && name.bytes().all(|byte| matches!(byte, b' '..=b'~'))
    };
    if let Some(name) = names.iter().find(|name| !is_one(name)) {
        return Err(Bad::Group(name.chars().take(80).collect()));
    }
    purging::groups(host, names).ok_or_else(|| Bad::Host(host.to_owned()))
}

/// Some fields separate tags by spaces and some by commas, so a tag may hold either.
fn tag(text: &str) -> Result<String, Bad> {
    let is_one = !text.is_empty()
        && text.trim() == text
        && text.len() <= surrogate::MOST_BYTES
        && !text.contains(char::is_control);
    if is_one {
        Ok(text.to_owned())
    } else {
        Err(Bad::Tag(text.chars().take(80).collect()))
    }
}

impl<'de> Deserialize<'de> for Wait {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(WaitVisitor)
    }
}

struct WaitVisitor;

impl de::Visitor<'_> for WaitVisitor {
    type Value = Wait;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("true, false or a duration such as \"10s\"")
    }
    fn visit_bool<E: de::Error>(self, wait: bool) -> Result<Wait, E> {
        Ok(if wait {
            Wait::For(USUAL_WAIT)
        } else {
            Wait::No
        })
    }
    fn visit_str<E: de::Error>(self, text: &str) -> Result<Wait, E> {
        let wrong = |wrong: crate::config::value::Wrong| E::custom(wrong.what);
        Duration::parse(text).map(Wait::For).map_err(wrong)
    }
}

impl Serialize for Wait {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::No => serializer.serialize_bool(false),
            Self::For(time) => serializer.collect_str(&humantime::format_duration(*time)),
        }
    }
}

impl JsonSchema for Wait {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Wait".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["boolean", "string"], "examples": [true, "10s"] })
    }
}

#[cfg(test)]
mod tests;
