//! A stored response and a 304: whether the 304 selects it, and its fields afterwards.

use crate::{
    exchange::{RECEIVED, request, system},
    explain::Why,
};
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use http_cache_semantics::{AfterResponse, CacheOptions, CachePolicy};
use proptest::{prelude::*, sample::select};
use rules::validate::{self, Validators};
use std::{collections::BTreeSet, time::Duration};

/// The field lines of the stored response and of the 304.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    stored: Vec<(&'static str, &'static str)>,
    update: Vec<(&'static str, &'static str)>,
}

const EARLY: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
const EARLY_OBSOLETE: &str = "Sunday, 06-Nov-94 08:49:37 GMT";
const LATE: &str = "Mon, 07 Nov 1994 08:49:37 GMT";

/// Each row has a name and the sets of lines that a message may have of it.
const LINES: &[(&str, &[&[&str]])] = &[
    ("etag", &[&["\"a\""], &["W/\"a\""], &["\"b\""], &["\"open"]]),
    ("last-modified", &[&[EARLY], &[EARLY_OBSOLETE], &[LATE]]),
    (
        "cache-control",
        &[
            &["max-age=60"],
            &["max-age=30"],
            &["no-cache=\"x-b\""],
            &["no-cache, no-cache=\"x-b\""],
        ],
    ),
    ("x-a", &[&["1"], &["2"], &["1", "2"], &["3", "4"]]),
    ("x-b", &[&["1"], &["2"]]),
    ("content-length", &[&["1"], &["2"]]),
    ("content-encoding", &[&["br"], &["gzip"]]),
    ("content-type", &[&["text/html"], &["text/plain"]]),
];

fn lines() -> impl Strategy<Value = Vec<(&'static str, &'static str)>> {
    let rows = LINES.iter().map(|(name, values)| {
        let all = select(*values).prop_map(move |lines| {
            let each = lines.iter().map(|line| (*name, *line));
            each.collect::<Vec<_>>()
        });
        proptest::option::weighted(0.4, all)
    });
    let rows = rows.collect::<Vec<_>>();
    rows.prop_map(|rows| rows.into_iter().flatten().flatten().collect())
}

pub(crate) fn cases() -> impl Strategy<Value = Case> {
    (lines(), lines(), any::<bool>()).prop_map(|(stored, mut update, nominates)| {
        if nominates {
            update.push(("connection", "x-a"));
        }
        Case { stored, update }
    })
}

impl Case {
    /// Returns the reason for each difference; an error if one has none.
    pub(crate) fn compare(&self) -> Result<Vec<Why>, String> {
        let (stored, update) = (fields(&self.stored), fields(&self.update));
        let (ours, theirs) = (ours(&stored, &update), theirs(&stored, &update));
        let fault = |what: &str| format!("{what}: {self:?}: {ours:?}, {theirs:?}");
        match (&ours, &theirs) {
            (None, None) => Ok(Vec::new()),
            (Some(_), None) => {
                let why = more(&stored, &update);
                Ok(vec![why.ok_or_else(|| fault("selected"))?])
            }
            (None, Some(_)) => {
                let why = less(&stored, &update);
                Ok(vec![why.ok_or_else(|| fault("not selected"))?])
            }
            (Some(ours), Some(theirs)) => {
                let names: BTreeSet<_> = LINES.iter().map(|(name, _)| *name).collect();
                let mut reasons = Vec::new();
                for name in names {
                    let (own, other) = (values(ours, name), values(theirs, name));
                    if own != other {
                        let why = updated(name, (&stored, &update), (&own, &other));
                        reasons.push(why.ok_or_else(|| fault(name))?);
                    }
                }
                Ok(reasons)
            }
        }
    }
}

/// Returns the fields that are stored afterwards; `None` if the 304 does not select the response.
fn ours(stored: &HeaderMap, update: &HeaderMap) -> Option<HeaderMap> {
    // With this `Date`, its `Last-Modified` is a strong validator.
    let date = RECEIVED.plus(Duration::from_secs(1));
    let candidates = [Validators::of(stored, date)];
    if validate::selected(update, &candidates).is_empty() {
        return None;
    }
    let mut fresh = stored.clone();
    validate::freshen(&mut fresh, update, &[]);
    Some(fresh)
}

fn theirs(stored: &HeaderMap, update: &HeaderMap) -> Option<HeaderMap> {
    let (request, now) = (request("GET"), system(RECEIVED));
    let mut first = Response::new(());
    *first.headers_mut() = stored.clone();
    let policy = CachePolicy::new_options(&request, &first, now, CacheOptions::default());
    let mut second = Response::new(());
    *second.status_mut() = StatusCode::NOT_MODIFIED;
    *second.headers_mut() = update.clone();
    match policy.after_response(&request, &second, now) {
        AfterResponse::NotModified(_, head) => Some(head.headers),
        AfterResponse::Modified(..) => None,
    }
}

/// Why we take the 304 for the stored response's and they do not.
fn more(stored: &HeaderMap, update: &HeaderMap) -> Option<Why> {
    let has = |fields: &HeaderMap, name| fields.contains_key(name);
    if !has(update, "etag") && !has(update, "last-modified") {
        return (has(stored, "etag") || has(stored, "last-modified"))
            .then_some(Why::BareNotModified);
    }
    let dates = (
        values(stored, "last-modified"),
        values(update, "last-modified"),
    );
    let is_one = |lines: &[&str]| matches!(lines, [EARLY | EARLY_OBSOLETE]);
    if dates.0 != dates.1 && is_one(&dates.0) && is_one(&dates.1) {
        return Some(Why::DateForm);
    }
    let is_one_date = is_one(&dates.0) && is_one(&dates.1);
    let tags = (values(stored, "etag"), values(update, "etag"));
    if is_one_date && tags.0.is_empty() && matches!(tags.1[..], ["\"a\"" | "\"b\""]) {
        return Some(Why::NewTag);
    }
    // A value that is no tag names nothing, so the dates decide.
    let is_garbled = |fields| values(fields, "etag") == ["\"open"];
    let decide = dates.0 == dates.1 && !dates.0.is_empty();
    (decide && (is_garbled(stored) || is_garbled(update))).then_some(Why::GarbledTag)
}

/// Why they take the 304 for the stored response's and we do not.
fn less(stored: &HeaderMap, update: &HeaderMap) -> Option<Why> {
    match (
        values(stored, "etag").as_slice(),
        values(update, "etag").as_slice(),
    ) {
        ([old], [new]) if *old == format!("W/{new}") => Some(Why::WeakTagForStrong),
        (["\"open"], ["\"open"]) => Some(Why::GarbledTag),
        _ => None,
    }
}

/// Why the lines of a field differ after both have freshened it.
fn updated(
    name: &str,
    (stored, update): (&HeaderMap, &HeaderMap),
    (ours, theirs): (&[&str], &[&str]),
) -> Option<Why> {
    let (old, new) = (values(stored, name), values(update, name));
    let nominated = name == "x-a" && update.contains_key("connection");
    let mut says = values(update, "cache-control").into_iter();
    let named = name == "x-b" && says.any(|says| says.ends_with("no-cache=\"x-b\""));
    if (nominated || named) && !new.is_empty() && !old.is_empty() && theirs == new.get(..1)? {
        let why = if nominated {
            Why::Nominated
        } else {
            Why::NamedByNoCache
        };
        return (ours == old).then_some(why);
    }
    if old.is_empty() {
        return (ours == new && theirs.is_empty()).then_some(Why::NewField);
    }
    // Of several lines theirs keeps the last stored one, or the first new one.
    let (kept, one) = if new.is_empty() || nominated {
        (&old, old.last())
    } else {
        (&new, new.first())
    };
    let is_one = one.is_some_and(|one| theirs == [*one]);
    (kept.len() > 1 && ours == kept && is_one).then_some(Why::OneLine)
}

fn values<'a>(fields: &'a HeaderMap, name: &str) -> Vec<&'a str> {
    let all = fields.get_all(name).iter();
    all.map(|value| value.to_str().unwrap()).collect()
}

fn fields(lines: &[(&'static str, &'static str)]) -> HeaderMap {
    let mut fields = HeaderMap::new();
    for (name, value) in lines {
        let value = HeaderValue::from_static(value);
        fields.append(HeaderName::from_static(name), value);
    }
    fields
}
