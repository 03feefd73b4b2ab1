//! Purges as text: one JSON object, the same in the log's file, in the shared stream and in the admin API.

use super::{BadPattern, On, Pattern, Purge, What};
use serde::{Deserialize, Serialize};

/// A purge as it is written. Exactly one of the fields that say *what* is given; there may be several expressions.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Written {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    urls: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prefix: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tags: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    patterns: Vec<(On, String)>,
    #[serde(skip_serializing_if = "is_false")]
    everything: bool,
    #[serde(skip_serializing_if = "is_false")]
    soft: bool,
}

/// The error for a text that is not a purge.
#[derive(Debug, thiserror::Error)]
pub enum Malformed {
    /// It is not the expected JSON.
    #[error("not a purge: {0}")]
    Json(#[from] serde_json::Error),
    /// An expression cannot be used.
    #[error(transparent)]
    Pattern(#[from] BadPattern),
    /// It names nothing, or several things.
    #[error("a purge names one thing")]
    NotOne,
}

/// The end of the text of a soft purge.
const SOFTLY: &[u8] = br#","soft":true}"#;

/// The end of the text of a hard purge.
const END: &[u8] = b"}";

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_false(value: &bool) -> bool {
    !value
}

impl Purge {
    /// Returns one line of JSON.
    pub fn to_text(&self) -> String {
        let mut written = Written {
            soft: self.soft,
            ..Written::default()
        };
        match &self.what {
            What::Url(urls) => written.urls.clone_from(urls),
            What::Prefix { host, path } => {
                written.prefix = Some(path.clone());
                written.host.clone_from(host);
            }
            What::Tags(tags) => written.tags.clone_from(tags),
            What::Host(host) => written.host = Some(host.clone()),
            What::Pattern(pattern) => {
                let expressions = pattern.expressions();
                written.patterns = expressions
                    .map(|(on, text)| (on, text.to_owned()))
                    .collect();
            }
            What::Everything => written.everything = true,
        }
        // Strings and flags always have a form in JSON.
        serde_json::to_string(&written).unwrap_or_default()
    }

    /// Splits a text of [`to_text`](Self::to_text) into the part that a soft and a hard purge of the same things share,
    /// and whether it is soft. No string in the text ends like this.
    pub(super) fn split(text: &[u8]) -> (&[u8], bool) {
        match text.strip_suffix(SOFTLY) {
            Some(what) => (what, true),
            None => (text.strip_suffix(END).unwrap_or(text), false),
        }
    }

    /// Reads what [`to_text`](Self::to_text) wrote.
    ///
    /// # Errors
    /// The text is not from [`to_text`](Self::to_text).
    pub fn from_text(text: &[u8]) -> Result<Self, Malformed> {
        let written: Written = serde_json::from_slice(text)?;
        let soft = written.soft;
        Ok(Self {
            what: written.what()?,
            soft,
        })
    }
}

impl Written {
    fn what(self) -> Result<What, Malformed> {
        let Self {
            urls,
            prefix,
            tags,
            host,
            patterns,
            everything,
            soft: _,
        } = self;
        let said = [
            !urls.is_empty(),
            prefix.is_some(),
            !tags.is_empty(),
            !patterns.is_empty(),
            everything,
            host.is_some() && prefix.is_none(),
        ];
        if said.into_iter().filter(|said| *said).count() != 1 {
            return Err(Malformed::NotOne);
        }
        Ok(if !urls.is_empty() {
            What::Url(urls)
        } else if let Some(path) = prefix {
            What::Prefix { host, path }
        } else if !tags.is_empty() {
            What::Tags(tags)
        } else if !patterns.is_empty() {
            let mut all = patterns.iter();
            let pattern = all.try_fold(Pattern::default(), |pattern, (on, text)| {
                pattern.with(*on, text)
            });
            What::Pattern(Box::new(pattern?))
        } else if let Some(host) = host {
            What::Host(host)
        } else {
            What::Everything
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_what() -> impl Strategy<Value = What> {
        let text = "[ -~é]{0,12}";
        prop_oneof![
            prop::collection::vec(text, 1..4).prop_map(What::Url),
            (prop::option::of(text), text).prop_map(|(host, path)| What::Prefix { host, path }),
            prop::collection::vec(text, 1..4).prop_map(What::Tags),
            text.prop_map(What::Host),
            "[a-z.*]{1,8}".prop_filter_map("valid", |text| {
                let pattern = Pattern::default().with(On::Tags, &text).ok()?;
                Some(What::Pattern(Box::new(pattern)))
            }),
            Just(What::Everything),
        ]
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(what in any_what(), soft: bool) {
            let purge = Purge { what, soft };
            prop_assert_eq!(Purge::from_text(purge.to_text().as_bytes()).expect("ours"), purge);
        }

        #[test]
        fn a_text_tells_how_apart_from_what(what in any_what(), other in any_what()) {
            let [hard, soft] = [Purge::hard(what.clone()), Purge::soft(what.clone())].map(|purge| purge.to_text());
            let (named, _) = Purge::split(hard.as_bytes());
            prop_assert_eq!(Purge::split(hard.as_bytes()), (named, false));
            prop_assert_eq!(Purge::split(soft.as_bytes()), (named, true));
            let text = Purge::hard(other.clone()).to_text();
            prop_assert_eq!(Purge::split(text.as_bytes()).0 == named, other == what);
        }

        #[test]
        fn any_text_is_read(text in "[ -~]{0,40}") {
            let _ = Purge::from_text(text.as_bytes());
        }
    }

    #[test]
    fn an_expression_is_written_with_the_word_for_its_subject() {
        for (on, word) in [
            (On::Url, "url"),
            (On::Host, "host"),
            (On::Target, "target"),
            (On::ContentType, "content-type"),
            (On::Tags, "tags"),
            (On::Souin, "souin"),
            (On::Pool, "pool"),
        ] {
            assert_eq!(on.word(), word);
            let pattern = Pattern::default().with(on, "x").expect("valid");
            let text = Purge::hard(What::Pattern(Box::new(pattern))).to_text();
            assert_eq!(text, format!(r#"{{"patterns":[["{word}","x"]]}}"#));
        }
    }

    #[test]
    fn a_purge_of_nothing_is_written_like_others() {
        let nothing = Purge::nothing();
        assert_eq!(
            Purge::from_text(nothing.to_text().as_bytes()).ok(),
            Some(nothing)
        );
    }

    #[test]
    fn one_thing_is_named() {
        for bad in [
            "",
            "{}",
            "[]",
            r#"{"soft":true}"#,
            r#"{"tags":["a"],"everything":true}"#,
            r#"{"patterns":[["url","("]]}"#,
            r#"{"tag":"a"}"#,
        ] {
            assert!(Purge::from_text(bad.as_bytes()).is_err(), "{bad}");
        }
    }
}
