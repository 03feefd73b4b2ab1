//! The outcome of a request, from what the cache says about its answer (RFC 9211).

use http::{HeaderMap, StatusCode};
use sfv::{BareItem, List, ListEntry, Parser};
use std::{collections::BTreeMap, fmt};

/// The outcome of a request.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Answered {
    /// The answer was stored already.
    Hit,
    /// The answer was fetched, and is stored now.
    Stored,
    /// Another request fetched the answer at the same time.
    Collapsed,
    /// The answer was fetched, and is not stored; why.
    NotStored(String),
    /// The request bypassed the store; why.
    Bypass(String),
    /// No cache has reported anything.
    Uncached,
    /// The answer is an error, stored or not.
    Error(u16),
    /// There was no answer; the kind of failure.
    Failed(String),
}

impl Answered {
    /// Reads the outcome from the status and fields of an answer.
    pub fn of(status: StatusCode, fields: &HeaderMap) -> Self {
        if status.as_u16() >= 400 {
            return Self::Error(status.as_u16());
        }
        let lines = fields.get_all("cache-status").iter();
        let lines: Vec<_> = lines.filter_map(|line| line.to_str().ok()).collect();
        let members: Option<List> = Parser::new(&lines.join(", ")).parse().ok();
        // The cache that answers us is the last one (RFC 9211 section 2).
        let Some(ListEntry::Item(last)) = members.as_ref().and_then(|all| all.last()) else {
            return Self::Uncached;
        };
        let says = |name: &str| {
            last.params
                .iter()
                .any(|(key, value)| key.as_str() == name && *value == BareItem::Boolean(true))
        };
        let text = |name: &str| {
            let mut all = last.params.iter().filter(|(key, _)| key.as_str() == name);
            all.next().and_then(|(_, value)| match value {
                BareItem::Token(token) => Some(token.as_str().to_owned()),
                BareItem::String(text) => Some(text.as_str().to_owned()),
                _ => None,
            })
        };
        let forward = text("fwd");
        let why = |forward: String| match text("detail") {
            Some(detail) => format!("{forward}, {detail}"),
            None => forward,
        };
        match forward {
            _ if says("hit") => Self::Hit,
            None => Self::Uncached,
            Some(_) if says("stored") => Self::Stored,
            Some(_) if says("collapsed") => Self::Collapsed,
            Some(forward) if forward == "bypass" => Self::Bypass(text("detail").unwrap_or(forward)),
            Some(forward) => Self::NotStored(why(forward)),
        }
    }

    /// Whether this is a failure.
    pub const fn is_wrong(&self) -> bool {
        matches!(self, Self::Error(_) | Self::Failed(_))
    }
}

impl fmt::Display for Answered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hit => f.write_str("stored already"),
            Self::Stored => f.write_str("fetched and stored"),
            Self::Collapsed => f.write_str("fetched by another request"),
            Self::NotStored(why) => write!(f, "fetched, not stored ({why})"),
            Self::Bypass(why) => write!(f, "bypassed ({why})"),
            Self::Uncached => f.write_str("answered by no cache"),
            Self::Error(status) => write!(f, "status {status}"),
            Self::Failed(kind) => write!(f, "failed ({kind})"),
        }
    }
}

/// The number of requests by outcome. As text, it has a line for each outcome.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    counts: BTreeMap<Answered, usize>,
}

impl Summary {
    /// Counts one request.
    pub fn add(&mut self, answered: Answered) {
        *self.counts.entry(answered).or_default() += 1;
    }

    /// The number of requests.
    pub fn requests(&self) -> usize {
        self.counts.values().sum()
    }

    /// Whether any request failed.
    pub fn is_wrong(&self) -> bool {
        self.counts.keys().any(Answered::is_wrong)
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (answered, count) in &self.counts {
            writeln!(f, "{count:>7} {answered}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;
    use proptest::prelude::*;

    fn told(status: u16, lines: &[&str]) -> String {
        let mut fields = HeaderMap::new();
        for line in lines {
            fields.append(
                "cache-status",
                HeaderValue::from_str(line).expect("a value"),
            );
        }
        Answered::of(StatusCode::from_u16(status).expect("a status"), &fields).to_string()
    }

    #[test]
    fn what_the_cache_says() {
        for (lines, expected) in [
            (&["larder; hit; ttl=30"][..], "stored already"),
            (&["larder; fwd=uri-miss; stored"], "fetched and stored"),
            (
                &["larder; fwd=uri-miss; collapsed"],
                "fetched by another request",
            ),
            (
                &["larder; fwd=uri-miss; detail=set-cookie"],
                "fetched, not stored (uri-miss, set-cookie)",
            ),
            (
                &["larder; fwd=bypass; detail=\"cookie session\""],
                "bypassed (cookie session)",
            ),
            (&["larder; fwd=bypass"], "bypassed (bypass)"),
            // The last one is the nearest.
            (
                &["origin; hit", "larder; fwd=stale; stored"],
                "fetched and stored",
            ),
            (&["larder; fwd=miss; stored, cdn; hit"], "stored already"),
            (&[], "answered by no cache"),
            (&["a b c"], "answered by no cache"),
            (&["(a b)"], "answered by no cache"),
            (&["larder"], "answered by no cache"),
        ] {
            assert_eq!(told(200, lines), expected, "{lines:?}");
        }
        assert_eq!(told(404, &["larder; hit"]), "status 404");
        assert_eq!(told(301, &["larder; hit"]), "stored already");
    }

    proptest! {
        #[test]
        fn any_value_is_read(value in "[ -~]{0,40}") {
            told(200, &[&value]);
        }
    }
}
