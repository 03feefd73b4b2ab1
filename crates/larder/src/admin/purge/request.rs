//! The request of `POST /purge`, and its meaning.

mod bad;
#[cfg(test)]
mod tests;
mod wait;

use proxy::{policy::Site, purging};
use rules::surrogate::{self, LONGEST_GROUP};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use store::{
    Asker,
    purge::{On, Pattern, Purge, What},
};

pub use bad::Bad;
pub use wait::{USUAL_WAIT, Wait};

/// The longest wait that can be requested.
pub const LONGEST_WAIT: Duration = Duration::from_mins(5);

/// What to purge. Exactly one of `url`, `prefix`, `tag`, `tags`, `host`, `regex`, `everything` and `purges` is given,
/// or `groups` with their `host`.
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
    /// Everything whose URL begins with this: `http://example.com/news/`, or `/news/` for every host.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub prefix: Option<String>,
    /// Everything with this tag.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub tag: Option<String>,
    /// Everything with one of these tags.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<String>", length(min = 1))]
    pub tags: Option<Vec<String>>,
    /// One host, with its port if that is not the default of the scheme.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub host: Option<String>,
    /// Of `host`, everything that is in one of these cache groups (RFC 9875), over both schemes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<String>", length(min = 1))]
    pub groups: Option<Vec<String>>,
    /// Everything whose URL (`http://example.com/page?x=1`) contains a match of this regular expression.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1))]
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
    /// Makes responses stale from now on instead of gone: stale-while-revalidate and stale-if-error still work.
    #[serde(skip_serializing_if = "is_false")]
    pub soft: bool,
    /// Answer when all nodes have applied the purge, or after this time: `true` (12 s) or a duration.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Wait")]
    pub wait: Option<Wait>,
    /// `false` means that it comes from another node and is not sent on.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool", extend("default" = true))]
    pub relay: Option<bool>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_false(value: &bool) -> bool {
    !value
}

impl Request {
    /// Parses the body of a request.
    ///
    /// # Errors
    /// The body is not a valid request.
    pub fn read(body: &[u8]) -> Result<Self, Bad> {
        // Without this check, a list would be read as the fields in their order.
        if body.trim_ascii_start().first() != Some(&b'{') {
            return Err(Bad::NoObject);
        }
        Ok(serde_json::from_slice(body)?)
    }

    /// How long to wait for the other nodes; `None` means not at all.
    ///
    /// # Errors
    /// The wait is too long.
    pub fn wait(&self) -> Result<Option<Duration>, Bad> {
        match self.wait {
            None | Some(Wait::No) => Ok(None),
            Some(Wait::For(time)) if time > LONGEST_WAIT => Err(Bad::Wait),
            Some(Wait::For(time)) => Ok(Some(time)),
        }
    }

    /// Whether a client or a node asks, for a purge that is not sent on. Nodes use a format of their own.
    pub const fn asker(&self) -> Asker {
        match self.purges {
            Some(_) => Asker::Node,
            None => Asker::Client,
        }
    }

    /// Returns the purges that this means on `site`: all of them, or none if there is an error.
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
            // Beside groups, it gives their host, and names nothing itself.
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
            return purging::prefix(site, prefix).ok_or_else(|| Bad::Prefix(prefix.clone()));
        }
        if let Some(names) = &self.groups {
            return Ok(vec![groups(self.host.as_deref(), names)?]);
        }
        if let Some(host) = &self.host {
            return purging::host(host).ok_or_else(|| Bad::Host(host.clone()));
        }
        if let Some(regex) = &self.regex {
            if regex.is_empty() {
                return Err(Bad::MatchesAll);
            }
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
