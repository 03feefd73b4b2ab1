//! The answer of `POST /purge`.

use proxy::marks;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::purge::{On, Purge, What};

/// The result of a purge.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[schemars(rename = "PurgeAnswer")]
pub struct Answer {
    /// What was understood, in the form in which stored responses are known.
    pub purged: Understood,
    /// Responses are stale from now on instead of gone.
    pub soft: bool,
    /// The stored responses in this node's memory that the purge touched. Not counted are those only in the shared
    /// tier, which are purged too, and those that requests found gone before they were counted.
    pub touched: u64,
    /// The stored responses on this node's disk that the purge touched, including those that memory holds too; absent
    /// without a disk tier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64")]
    pub on_disk: Option<u64>,
    /// The number of the purge in this node's log of purges.
    pub sequence: u64,
    /// The nodes that had not applied the purge when the wait was over; absent if there was no wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<String>")]
    pub behind: Option<Vec<String>>,
}

/// What was understood: one of these.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
pub struct Understood {
    /// URLs over both schemes, in each form in which routes key them. They have no host if hosts are not kept apart.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub urls: Vec<String>,
    /// Beginnings of URLs: of one host if they have one, otherwise of every host.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub prefixes: Vec<String>,
    /// Tags.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Cache groups over both schemes, each after its host: `//example.com front`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
    /// Hosts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    /// Regular expressions, each after the name of what it is matched against.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub patterns: Vec<String>,
    /// Everything.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub everything: bool,
}

impl Understood {
    /// Describes what `purges` cover.
    pub fn of(purges: &[Purge]) -> Self {
        let mut all = Self::default();
        for purge in purges {
            all.add(&purge.what);
        }
        // Each group is there once for each scheme.
        all.groups.sort_unstable();
        all.groups.dedup();
        all
    }

    fn add(&mut self, what: &What) {
        match what {
            What::Url(urls) => self.urls.extend_from_slice(urls),
            What::Prefix { host: None, path } => self.prefixes.push(path.clone()),
            What::Prefix {
                host: Some(host),
                path,
            } => self.prefixes.push(format!("//{host}{path}")),
            What::Tags(names) => names.iter().for_each(|name| self.add_named(name)),
            What::Host(host) => self.hosts.push(host.clone()),
            What::Pattern(pattern) => {
                let shown = |(on, text): (On, _)| format!("{} ~ {text}", on.word());
                self.patterns.extend(pattern.expressions().map(shown));
            }
            What::Everything => self.everything = true,
        }
    }

    /// Adds a tag, or the group that the tag stands for.
    fn add_named(&mut self, name: &str) {
        match marks::group(name) {
            Some((host, group)) => self.groups.push(format!("//{host} {group}")),
            None => self.tags.push(name.to_owned()),
        }
    }
}
