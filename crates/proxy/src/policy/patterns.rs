//! Patterns that requests are matched against, as plain values. [`crate::routing`] does the matching.

mod equal;

use http::HeaderName;

/// A set of hosts. Names are lower case and without port.
#[derive(Debug, Clone)]
pub enum HostPattern {
    /// Only this host.
    Exact(String),
    /// Every host below this one, written `*.example.com`; not the host itself.
    Suffix(String),
    /// All hosts.
    Any,
}

/// A set of paths. Compared with the normalised path, case-sensitively.
#[derive(Debug, Clone)]
pub enum PathPattern {
    /// Only this path.
    Exact(String),
    /// Every path with this prefix; `/a/` does not match `/a`.
    Prefix(String),
    /// `*` matches within a segment, `**` across segments.
    Wildcard(regex::Regex),
    /// A regular expression, which the configuration has anchored at both ends.
    Regex(regex::Regex),
}

/// A set of several paths. Expressions are tried together, in one pass: a preset has many, and each hit waits for them.
#[derive(Debug, Clone)]
pub struct AnyPath {
    list: Vec<PathPattern>,
    expressions: regex::RegexSet,
}

impl Default for AnyPath {
    fn default() -> Self {
        Self {
            list: Vec::new(),
            expressions: regex::RegexSet::empty(),
        }
    }
}

impl AnyPath {
    /// Creates the set. Expressions that are too large together are tried one by one.
    pub fn of(list: Vec<PathPattern>) -> Self {
        let (expressions, plain): (Vec<_>, Vec<_>) = list
            .into_iter()
            .partition(|path| matches!(path, PathPattern::Wildcard(_) | PathPattern::Regex(_)));
        let texts = expressions.iter().filter_map(|path| match path {
            PathPattern::Wildcard(regex) | PathPattern::Regex(regex) => Some(regex.as_str()),
            PathPattern::Exact(_) | PathPattern::Prefix(_) => None,
        });
        let together = regex::RegexSetBuilder::new(texts)
            .dot_matches_new_line(true)
            .build();
        match together {
            Ok(expressions) => Self {
                list: plain,
                expressions,
            },
            Err(_) => Self {
                list: plain.into_iter().chain(expressions).collect(),
                ..Self::default()
            },
        }
    }

    /// Whether a normalised path matches.
    pub fn matches(&self, path: &str) -> bool {
        self.list.iter().any(|pattern| pattern.matches(path))
            || (!self.expressions.is_empty() && self.expressions.is_match(path))
    }

    /// Returns the patterns that are not regular expressions, or could not be tried together.
    pub fn plain(&self) -> &[PathPattern] {
        &self.list
    }

    /// Returns the expressions that are tried together.
    pub fn expressions(&self) -> &[String] {
        self.expressions.patterns()
    }

    /// Whether there is no pattern.
    pub fn is_empty(&self) -> bool {
        self.count() == 0
    }

    /// Returns the number of patterns.
    pub fn count(&self) -> usize {
        self.list.len() + self.expressions.len()
    }
}

/// A header field by name and, if required, by value.
#[derive(Debug, Clone)]
pub struct FieldPattern {
    /// The field.
    pub name: HeaderName,
    /// What one of its lines must match; `None`: the field need only be present.
    pub value: Option<regex::Regex>,
}

/// A cookie or parameter by name and, if required, by value.
#[derive(Debug, Clone)]
pub struct NamePattern {
    /// The names that match.
    pub name: TextPattern,
    /// What the value must match; `None`: any value.
    pub value: Option<regex::Regex>,
}

/// A set of names. Case counts in those of parameters, and not in those of cookies.
#[derive(Debug, Clone)]
pub enum TextPattern {
    /// Only this name.
    Exact(String),
    /// Every name with this prefix, written `utm_*`.
    Prefix(String),
    /// A regular expression.
    Regex(regex::Regex),
    /// A regular expression for the name of a cookie.
    CookieRegex {
        /// As it is written.
        written: regex::Regex,
        /// The same, where case does not count unless it says so.
        in_any_case: regex::Regex,
    },
}
