//! Purges by regular expression.

use regex::{Regex, RegexBuilder};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::Xxh3;

/// Regular expressions on a stored response: each that is given must match somewhere in its subject.
#[derive(Clone, Debug, Default)]
pub struct Pattern {
    url: Option<Regex>,
    host: Option<Regex>,
    target: Option<Regex>,
    content_type: Option<Regex>,
    tags: Option<Regex>,
    souin: Option<Regex>,
    pool: Option<Regex>,
}

/// What an expression of a [`Pattern`] is matched against.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum On {
    /// `scheme://host/path?query`, as [`Address::url`](crate::purge::Address::url) writes it.
    Url,
    /// The host.
    Host,
    /// Path and query.
    Target,
    /// `Content-Type`; empty if the response has none.
    ContentType,
    /// All tags, joined by commas.
    Tags,
    /// `GET-http-host-/path?query`, the name that Souin would give; with either scheme, each on a line of its own.
    Souin,
    /// The pool of servers from which the response says that it came ([`of_pool`](crate::purge::of_pool)); empty if
    /// none.
    Pool,
}

impl On {
    /// The word for it, which is also how it is written in a purge.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Url => "url",
            Self::Host => "host",
            Self::Target => "target",
            Self::ContentType => "content-type",
            Self::Tags => "tags",
            Self::Souin => "souin",
            Self::Pool => "pool",
        }
    }
}

/// A regular expression that cannot be used. The caller's error; nothing was purged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadPattern {
    /// It is not a regular expression.
    #[error("not a regular expression that can be used: {0}")]
    Syntax(String),
    /// It is one elsewhere, and uses what takes more than linear time: lookaround or backreferences.
    #[error("not a regular expression that can be used: {0}")]
    Unsupported(String),
    /// It is longer, or would take more memory, than is allowed.
    #[error("not a regular expression that can be used: {0}")]
    TooLarge(String),
}

/// The longest expression, in bytes.
const LONGEST: usize = 16 << 10;

/// The most bytes of memory of a compiled expression: a thousand may wait for the sweep. `\w` three times takes more
/// than half.
const LARGEST: usize = 256 << 10;

/// The most bytes of memory, for each thread, that faster matching may take.
const CACHE: usize = 64 << 10;

/// Whether `expression`, which does not compile, uses what other engines have and ours does not.
fn is_of_others(expression: &str) -> bool {
    const AROUND: [&str; 4] = ["(?=", "(?!", "(?<=", "(?<!"];
    let refers_back = |pair: &[u8]| matches!(pair, [b'\\', b'1'..=b'9']);
    AROUND.iter().any(|look| expression.contains(look))
        || expression.as_bytes().windows(2).any(refers_back)
}

impl Pattern {
    /// Adds `expression`, to be matched against `on`. Matching takes time linear in the subject, whatever the
    /// expression.
    ///
    /// # Errors
    /// The expression cannot be used.
    pub fn with(mut self, on: On, expression: &str) -> Result<Self, BadPattern> {
        if expression.len() > LONGEST {
            let what = format!("longer than {LONGEST} bytes");
            return Err(BadPattern::TooLarge(what));
        }
        let regex = RegexBuilder::new(expression)
            .size_limit(LARGEST)
            .dfa_size_limit(CACHE)
            .multi_line(on == On::Souin)
            // Hosts are keyed in lower case.
            .case_insensitive(on == On::Host)
            .build()
            .map_err(|error| match error {
                regex::Error::Syntax(what) if is_of_others(expression) => {
                    BadPattern::Unsupported(what)
                }
                regex::Error::Syntax(what) => BadPattern::Syntax(what),
                large => BadPattern::TooLarge(large.to_string()),
            })?;
        *self.place(on) = Some(regex);
        Ok(self)
    }

    /// The expressions that were given.
    pub fn expressions(&self) -> impl Iterator<Item = (On, &str)> {
        [
            (On::Url, &self.url),
            (On::Host, &self.host),
            (On::Target, &self.target),
            (On::ContentType, &self.content_type),
            (On::Tags, &self.tags),
            (On::Souin, &self.souin),
            (On::Pool, &self.pool),
        ]
        .into_iter()
        .filter_map(|(on, regex)| Some((on, regex.as_ref()?.as_str())))
    }

    /// A hash that is the same for the same expressions.
    pub(super) fn name(&self) -> u64 {
        let mut hash = Xxh3::new();
        for (on, text) in self.expressions() {
            hash.update(&[on as u8]);
            hash.update(text.as_bytes());
            hash.update(&[0]);
        }
        hash.digest()
    }

    /// Whether every expression matches its part of `subject`.
    pub fn matches<'a>(&self, subject: impl Fn(On) -> &'a str) -> bool {
        let holds = |on, regex: &Option<Regex>| {
            regex
                .as_ref()
                .is_none_or(|regex| regex.is_match(subject(on)))
        };
        holds(On::Host, &self.host)
            && holds(On::Target, &self.target)
            && holds(On::Url, &self.url)
            && holds(On::ContentType, &self.content_type)
            && holds(On::Tags, &self.tags)
            && holds(On::Souin, &self.souin)
            && holds(On::Pool, &self.pool)
    }

    fn place(&mut self, on: On) -> &mut Option<Regex> {
        match on {
            On::Url => &mut self.url,
            On::Host => &mut self.host,
            On::Target => &mut self.target,
            On::ContentType => &mut self.content_type,
            On::Tags => &mut self.tags,
            On::Souin => &mut self.souin,
            On::Pool => &mut self.pool,
        }
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.expressions().eq(other.expressions())
    }
}

impl Eq for Pattern {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_expression_must_match() {
        let pattern = Pattern::default()
            .with(On::Host, "^a")
            .and_then(|pattern| pattern.with(On::Target, "x$"))
            .expect("valid");
        let subject = |host: &'static str, target: &'static str| {
            move |on| match on {
                On::Host => host,
                _ => target,
            }
        };
        assert!(pattern.matches(subject("a.example", "/x")));
        assert!(!pattern.matches(subject("b.example", "/x")));
        assert!(!pattern.matches(subject("a.example", "/y")));
    }

    #[test]
    fn hosts_have_no_case_and_targets_do() {
        let of = |on, text| Pattern::default().with(on, text).expect("valid");
        let host = r"^(www\.)?A\.example$";
        assert!(of(On::Host, host).matches(|_| "www.a.example"));
        assert!(!of(On::Target, "^/A").matches(|_| "/a"));
    }

    #[test]
    fn what_people_write_fits() {
        for usual in [
            r"^https?://[^/]+/(feed|sitemap)(\.xml)?(\?.*)?$",
            r"/\d{4}/\d{2}/\d{2}/[\w-]+/?$",
            r"(?i)\.(jpe?g|png|gif|webp|avif|css|js|woff2?)(\?v=\w+)?$",
            r"(^|,)p-\d+(,|$)",
            r"^/(\w+)/(\w+)/(\w+)$",
            r"/.{1,100}/page/[0-9]{1,6}$",
        ] {
            let pattern = Pattern::default().with(On::Url, usual);
            assert!(pattern.is_ok(), "{usual}: {pattern:?}");
        }
    }

    #[test]
    fn what_cannot_be_used_is_refused() {
        let long = "a".repeat(LONGEST + 1);
        for bad in ["(", "a{1000}{1000}{1000}", &long] {
            assert!(Pattern::default().with(On::Url, bad).is_err());
        }
    }
}
