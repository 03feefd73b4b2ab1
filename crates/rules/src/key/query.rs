//! Which query parameters belong to the key, and their order.

use std::{borrow::Cow, fmt, iter};

/// Which query parameters belong to the key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum QueryChoice {
    /// All of them: the query as it is.
    #[default]
    All,
    /// None of them.
    None,
    /// Those that match one of these patterns.
    Only(Vec<ParamPattern>),
    /// Those that match none of these patterns.
    Except(Vec<ParamPattern>),
}

impl QueryChoice {
    fn keeps(&self, param: &str) -> bool {
        let name = name(param).as_bytes();
        match self {
            Self::All => true,
            Self::None => false,
            Self::Only(patterns) => any_matches(patterns, name),
            Self::Except(patterns) => !any_matches(patterns, name),
        }
    }
}

fn any_matches(patterns: &[ParamPattern], name: &[u8]) -> bool {
    let is_plain = !name.iter().any(|byte| matches!(byte, b'%' | b'+'));
    patterns.iter().any(|one| one.matches(name, is_plain))
}

/// A parameter name, or a prefix written as `utm_*`. It is compared byte for byte with the name as applications read
/// it: decoded, with `+` for a space (URL Standard section 5.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParamPattern {
    /// This name.
    Name(Vec<u8>),
    /// Every name that begins with this.
    Prefix(Vec<u8>),
}

impl ParamPattern {
    /// Parses a pattern as people write it: a name, or a prefix and `*`. Percent-encoded bytes in it are decoded.
    pub fn parse(written: &str) -> Self {
        let read = |name: &str| decoded(name.as_bytes()).collect();
        match written.strip_suffix('*') {
            Some(prefix) => Self::Prefix(read(prefix)),
            None => Self::Name(read(written)),
        }
    }

    /// Whether this matches every name that `other` matches.
    pub fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Name(own), Self::Name(other)) => own == other,
            (Self::Name(_), Self::Prefix(_)) => false,
            (Self::Prefix(own), Self::Name(other) | Self::Prefix(other)) => other.starts_with(own),
        }
    }

    /// Whether a parameter of this name matches. `is_plain` says that nothing in the name is encoded.
    fn matches(&self, name: &[u8], is_plain: bool) -> bool {
        match self {
            Self::Name(own) if is_plain => own == name,
            Self::Name(own) => decoded(name).eq(own.iter().copied()),
            Self::Prefix(prefix) if is_plain => name.starts_with(prefix),
            Self::Prefix(prefix) => {
                let begun = decoded(name).take(prefix.len());
                begun.eq(prefix.iter().copied())
            }
        }
    }
}

/// The decoded form, for people.
impl fmt::Display for ParamPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(&String::from_utf8_lossy(name)),
            Self::Prefix(prefix) => write!(f, "{}*", String::from_utf8_lossy(prefix)),
        }
    }
}

/// Decodes `coded` as an HTML form encodes it (URL Standard section 5.1): percent-encoded bytes, and a space for each
/// plus sign. A `%` without two hex digits stays.
pub fn decoded(coded: &[u8]) -> impl Iterator<Item = u8> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16).map(|digit| digit as u8);
    let mut rest = coded;
    iter::from_fn(move || {
        let (byte, behind) = match rest {
            [b'%', high, low, behind @ ..] => match (digit(high), digit(low)) {
                (Some(high), Some(low)) => (high << 4 | low, behind),
                _ => (b'%', rest.get(1..)?),
            },
            [b'+', behind @ ..] => (b' ', behind),
            [byte, behind @ ..] => (*byte, behind),
            [] => return None,
        };
        rest = behind;
        Some(byte)
    })
}

fn name(param: &str) -> &str {
    param.split_once('=').map_or(param, |(name, _)| name)
}

/// Returns the part of the query that belongs to the key; `None` if nothing is left. Borrows if nothing changes.
///
/// With `sort`, parameters are ordered by name; the sort is stable, so repeated names keep their order. The query must
/// have passed [`super::normalize`], so that each name has one spelling.
pub fn choose_query<'a>(
    query: Option<&'a str>,
    choice: &QueryChoice,
    sort: bool,
) -> Option<Cow<'a, str>> {
    let query = query?;
    if matches!(choice, QueryChoice::None) {
        return None;
    }
    let params = || query.split('&');
    let complete = matches!(choice, QueryChoice::All) || params().all(|one| choice.keeps(one));
    if complete && (!sort || params().is_sorted_by_key(name)) {
        return Some(Cow::Borrowed(query));
    }
    let mut kept: Vec<&str> = params().filter(|one| choice.keeps(one)).collect();
    if kept.is_empty() {
        return None;
    }
    if sort {
        kept.sort_by_key(|param| name(param));
    }
    Some(Cow::Owned(kept.join("&")))
}

/// Names of parameters that only track. They tell the page's scripts where a reader came from, and never change the
/// origin's answer.
pub const TRACKING: &[&str] = &[
    // Campaigns: Google Analytics, Matomo and Piwik, Mailchimp, HubSpot, Marketo, Klaviyo.
    "utm_*",
    "mtm_*",
    "pk_*",
    "piwik_*",
    "matomo_*",
    "mc_cid",
    "mc_eid",
    "_hsenc",
    "_hsmi",
    "__hssc",
    "__hstc",
    "__hsfp",
    "hsCtaTracking",
    "mkt_tok",
    "_kx",
    // Clicks: Google, Meta, Microsoft, Yandex, X, Instagram, TikTok, LinkedIn, Pinterest, Snapchat, Reddit, Adobe.
    "gclid",
    "gclsrc",
    "dclid",
    "gbraid",
    "wbraid",
    "gad_source",
    "gad_campaignid",
    "srsltid",
    "fbclid",
    "msclkid",
    "yclid",
    "ysclid",
    "twclid",
    "igshid",
    "igsh",
    "ttclid",
    "li_fat_id",
    "epik",
    "ScCid",
    "rdt_cid",
    "s_kwcid",
    "ef_id",
    "_openstat",
    // Sessions that one domain hands to the next: Google Analytics.
    "_ga",
    "_gl",
];

/// [`TRACKING`] as patterns.
pub fn tracking() -> Vec<ParamPattern> {
    TRACKING.iter().copied().map(ParamPattern::parse).collect()
}
