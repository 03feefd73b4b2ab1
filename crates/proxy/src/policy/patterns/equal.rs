//! When patterns are equal: if they are written alike. Each kind is compiled in one way alone.

use super::{AnyPath, FieldPattern, NamePattern, PathPattern, TextPattern};
use regex::Regex;

fn are_alike(one: Option<&Regex>, other: Option<&Regex>) -> bool {
    one.map(Regex::as_str) == other.map(Regex::as_str)
}

impl PartialEq for PathPattern {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Exact(one), Self::Exact(other)) | (Self::Prefix(one), Self::Prefix(other)) => {
                one == other
            }
            (Self::Wildcard(one), Self::Wildcard(other))
            | (Self::Regex(one), Self::Regex(other)) => are_alike(Some(one), Some(other)),
            _ => false,
        }
    }
}

impl Eq for PathPattern {}

impl PartialEq for AnyPath {
    fn eq(&self, other: &Self) -> bool {
        let Self { list, expressions } = self;
        *list == other.list && expressions.patterns() == other.expressions.patterns()
    }
}

impl Eq for AnyPath {}

impl PartialEq for FieldPattern {
    fn eq(&self, other: &Self) -> bool {
        let Self { name, value } = self;
        *name == other.name && are_alike(value.as_ref(), other.value.as_ref())
    }
}

impl Eq for FieldPattern {}

impl PartialEq for NamePattern {
    fn eq(&self, other: &Self) -> bool {
        let Self { name, value } = self;
        *name == other.name && are_alike(value.as_ref(), other.value.as_ref())
    }
}

impl Eq for NamePattern {}

impl PartialEq for TextPattern {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Exact(one), Self::Exact(other)) | (Self::Prefix(one), Self::Prefix(other)) => {
                one == other
            }
            (Self::Regex(one), Self::Regex(other))
            | (Self::CookieRegex { written: one, .. }, Self::CookieRegex { written: other, .. }) => {
                are_alike(Some(one), Some(other))
            }
            _ => false,
        }
    }
}

impl Eq for TextPattern {}
