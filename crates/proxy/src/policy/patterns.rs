//! What requests are matched against, as plain values. How they match is told in [`crate::routing`].

use http::HeaderName;

/// Which hosts are meant. Names are lower case and without port.
#[derive(Debug, Clone)]
pub enum HostPattern {
    /// This host alone.
    Exact(String),
    /// Every host below this one, as `*.example.com` is written; not the host itself.
    Suffix(String),
    /// All of them.
    Any,
}

/// Which paths are meant. Compared with the path as normalised; case counts.
#[derive(Debug, Clone)]
pub enum PathPattern {
    /// This path alone.
    Exact(String),
    /// Every path that begins so; `/a/` does not match `/a`.
    Prefix(String),
    /// `*` within a segment, `**` across.
    Wildcard(regex::Regex),
    /// A regular expression, which the configuration has anchored at both ends.
    Regex(regex::Regex),
}

/// Any of several paths. Expressions are tried together, in one pass: a preset has many, and a hit waits for them.
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
    /// Any of these. Expressions that are too large together are tried one by one.
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

    /// Whether it is this one, as normalised.
    pub fn matches(&self, path: &str) -> bool {
        self.list.iter().any(|pattern| pattern.matches(path))
            || (!self.expressions.is_empty() && self.expressions.is_match(path))
    }

    /// The patterns that are no regular expressions.
    pub fn plain(&self) -> &[PathPattern] {
        &self.list
    }

    /// The others.
    pub fn expressions(&self) -> &[String] {
        self.expressions.patterns()
    }

    /// Whether there is no pattern.
    pub fn is_empty(&self) -> bool {
        self.count() == 0
    }

    /// How many patterns there are.
    pub fn count(&self) -> usize {
        self.list.len() + self.expressions.len()
    }
}

/// A header by name, and its value where asked.
#[derive(Debug, Clone)]
pub struct FieldPattern {
    /// The field.
    pub name: HeaderName,
    /// What one of its lines must match; `None`: it is enough that the field is there.
    pub value: Option<regex::Regex>,
}

/// A cookie or parameter by name, and its value where asked.
#[derive(Debug, Clone)]
pub struct NamePattern {
    /// Which names are meant.
    pub name: TextPattern,
    /// What the value must match; `None`: any value.
    pub value: Option<regex::Regex>,
}

/// Which names are meant. Case counts.
#[derive(Debug, Clone)]
pub enum TextPattern {
    /// This name alone.
    Exact(String),
    /// Every name that begins so, as `utm_*` is written.
    Prefix(String),
    /// A regular expression.
    Regex(regex::Regex),
}
