//! Which query parameters belong to the key, and in which order.

use std::borrow::Cow;

/// Which query parameters belong to the key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum QueryChoice {
    /// Every one: the query as it is.
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
        match self {
            Self::All => true,
            Self::None => false,
            Self::Only(patterns) => patterns.iter().any(|one| one.matches(name(param))),
            Self::Except(patterns) => !patterns.iter().any(|one| one.matches(name(param))),
        }
    }
}

/// A parameter name, or a prefix written `utm_*`. Compared byte for byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParamPattern {
    /// This name.
    Name(String),
    /// Every name that begins so.
    Prefix(String),
}

impl ParamPattern {
    /// Reads a pattern as people write it: a name, or a prefix and `*`.
    pub fn parse(written: &str) -> Self {
        match written.strip_suffix('*') {
            Some(prefix) => Self::Prefix(prefix.to_owned()),
            None => Self::Name(written.to_owned()),
        }
    }

    /// Whether a parameter of this name is meant.
    pub fn matches(&self, name: &str) -> bool {
        match self {
            Self::Name(own) => own == name,
            Self::Prefix(prefix) => name.starts_with(prefix.as_str()),
        }
    }
}

fn name(param: &str) -> &str {
    param.split_once('=').map_or(param, |(name, _)| name)
}

/// The query as chosen; with `sort`, parameters ordered by name (a stable sort: repeated names keep their order).
/// `None` when nothing is left. Borrows when nothing changes. Expects a query that [`super::normalize`] has seen, so that
/// each name has one spelling.
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

/// Names of parameters that only track: they tell the page's scripts where a reader came from and never change what the
/// origin answers.
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
    // Sessions handed from one domain to the next: Google Analytics.
    "_ga",
    "_gl",
];

/// [`TRACKING`] as patterns.
pub fn tracking() -> Vec<ParamPattern> {
    TRACKING.iter().copied().map(ParamPattern::parse).collect()
}
