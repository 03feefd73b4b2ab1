//! Two requests for the same target, a response to the first that nominates fields, and whether both implementations
//! let it answer the second.

use crate::{
    exchange::{RECEIVED, append, request, system},
    explain::Why,
};
use http::{HeaderMap, HeaderName, HeaderValue, Response};
use http_cache_semantics::{BeforeRequest, CacheOptions, CachePolicy};
use proptest::{prelude::*, sample::select};
use rules::vary::{self, Nominated};

/// The lines of a field, and the number of their meaning: two values with the same number mean the same to an origin.
type Value = (&'static [&'static str], u8);

/// The two requests' values of each field in [`FIELDS`], by its index, and the lines of `Vary`.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    vary: Vec<&'static str>,
    first: Vec<Value>,
    later: Vec<Value>,
}

/// RFC 9110 sections 12.5.1, 12.5.3 and 12.5.4 say which values mean the same; an unknown field is its lines (section
/// 5.3).
const FIELDS: &[(&str, &[Value])] = &[
    (
        "accept",
        &[
            (&[], 0),
            (&[""], 1),
            (&["text/html"], 2),
            (&["TEXT/html"], 2),
            (&["text/html;q=1.0"], 2),
            (&["text/html, text/plain;q=0.5"], 3),
            (&["text/plain;q=0.500,text/html"], 3),
            (&["text/html", "text/plain;q=0.5"], 3),
            (&["text/plain"], 4),
        ],
    ),
    (
        "accept-encoding",
        &[
            (&[], 0),
            (&["gzip"], 2),
            (&["GZIP"], 2),
            (&["gzip;q=1"], 2),
            (&["br, gzip"], 3),
            (&["gzip,br"], 3),
            (&["gzip", "br"], 3),
            (&["gzip;q=0.5, br"], 4),
        ],
    ),
    (
        "x-a",
        &[
            (&[], 0),
            (&[""], 1),
            (&["a"], 2),
            (&["A"], 3),
            (&["a, b"], 4),
            (&["a", "b"], 4),
            (&["a", "c"], 5),
        ],
    ),
];

const VARY: &[&str] = &[
    "accept",
    "Accept-Encoding",
    "X-A",
    "accept, x-a",
    "x-b",
    "",
    "*",
    "accept, *",
    "not a name",
];

pub(crate) fn cases() -> impl Strategy<Value = Case> {
    let values = || {
        let each = FIELDS.iter().map(|(_, values)| select(*values));
        each.collect::<Vec<_>>()
    };
    let vary = proptest::collection::vec(select(VARY), 0..3);
    (vary, values(), values()).prop_map(|(vary, first, later)| Case { vary, first, later })
}

impl Case {
    /// Compares the judgements. Returns why they differ, if they do; an error if we do not judge as the RFCs do.
    pub(crate) fn compare(&self) -> Result<Option<Why>, String> {
        let (ours, theirs) = (self.ours(), self.theirs());
        let (means, is_unreadable) = (self.means_the_same(), self.is_unreadable());
        if ours != (means && !is_unreadable) {
            return Err(format!("we say {ours}: {self:?}"));
        }
        if ours == theirs {
            return Ok(None);
        }
        let why = if is_unreadable && theirs {
            Why::UnreadableVary
        } else if theirs {
            Why::FurtherLines
        } else {
            Why::NormalForm
        };
        let holds = match why {
            Why::UnreadableVary => true,
            // Theirs looks only at the first line of each, as it stands.
            _ => theirs == self.begins_the_same(),
        };
        holds
            .then_some(Some(why))
            .ok_or_else(|| format!("they say {theirs}: {self:?}"))
    }

    fn ours(&self) -> bool {
        let nominated = match vary::nominated(&self.response()) {
            Nominated::Nothing => return true,
            Nominated::Everything => return false,
            Nominated::Fields(names) => names,
        };
        let key = |values: &[Value]| {
            let mut key = Vec::new();
            vary::variant_key(&nominated, &fields(values), &mut key);
            key
        };
        key(&self.first) == key(&self.later)
    }

    fn theirs(&self) -> bool {
        let asked = |values: &[Value]| {
            let mut request = request("GET");
            *request.headers_mut() = fields(values);
            request
        };
        let mut response = Response::new(());
        *response.headers_mut() = self.response();
        append(response.headers_mut(), &["max-age=60"]);
        let (now, options) = (system(RECEIVED), CacheOptions::default());
        let policy = CachePolicy::new_options(&asked(&self.first), &response, now, options);
        match policy.before_request(&asked(&self.later), now) {
            BeforeRequest::Fresh(_) => true,
            BeforeRequest::Stale { matches, .. } => matches,
        }
    }

    fn response(&self) -> HeaderMap {
        let mut response = HeaderMap::new();
        for line in &self.vary {
            response.append("vary", HeaderValue::from_static(line));
        }
        response
    }

    fn members(&self) -> impl Iterator<Item = &str> {
        let lines = self.vary.iter();
        lines.flat_map(|line| line.split(',')).map(str::trim)
    }

    /// Section 4.1: `*` never matches, and neither does a member that cannot be read.
    fn is_unreadable(&self) -> bool {
        self.members()
            .any(|member| matches!(member, "*" | "not a name"))
    }

    /// The values of the nominated fields in both requests.
    fn pairs(&self) -> impl Iterator<Item = (Value, Value)> {
        let both = self.first.iter().zip(&self.later);
        let all = FIELDS.iter().zip(both);
        all.filter(|((name, _), _)| {
            self.members()
                .any(|member| member.eq_ignore_ascii_case(name))
        })
        .map(|(_, (first, later))| (*first, *later))
    }

    fn means_the_same(&self) -> bool {
        self.pairs().all(|((_, first), (_, later))| first == later)
    }

    fn begins_the_same(&self) -> bool {
        self.pairs()
            .all(|((first, _), (later, _))| first.first() == later.first())
    }
}

fn fields(values: &[Value]) -> HeaderMap {
    let mut fields = HeaderMap::new();
    for ((name, _), (lines, _)) in FIELDS.iter().zip(values) {
        for line in *lines {
            let value = HeaderValue::from_static(line);
            fields.append(HeaderName::from_static(name), value);
        }
    }
    fields
}
