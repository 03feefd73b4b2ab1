//! Values of `[purge]`: fields with tags, prefixes of paths.

use super::{Choice, Word, Wrong};
use http::{HeaderName, StatusCode};
use rules::surrogate;
use schemars::{Schema, json_schema};

/// A field of responses whose members are tags.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TagField(pub HeaderName);

/// [`surrogate::FIELDS`] in the usual spelling.
const TAG_FIELDS: &[&str] = &[
    "Surrogate-Key",
    "Cache-Tag",
    "Edge-Cache-Tag",
    "Cache-Tags",
    "X-Cache-Tags",
    "xkey",
    "X-Magento-Tags",
];

impl Word for TagField {
    const WHAT: &'static str = "a field with tags";
    const EXAMPLES: &'static [&'static str] = TAG_FIELDS;

    fn parse(text: &str) -> Result<Self, Wrong> {
        let name = HeaderName::parse(text)?;
        if !surrogate::FIELDS.contains(&name) {
            let what = format!(
                "tags are not read from `{text}`, only from {}",
                TAG_FIELDS.join(", ")
            );
            return Err(Wrong::new(what).as_in(TAG_FIELDS));
        }
        Ok(Self(name))
    }
}

/// The beginning of a path: `/purge`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathStart(pub String);

impl Word for PathStart {
    const WHAT: &'static str = "the beginning of a path";
    const EXAMPLES: &'static [&'static str] = &["/purge"];

    fn parse(text: &str) -> Result<Self, Wrong> {
        let bare = text.trim_matches('/');
        let good = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte);
        if bare.is_empty() || !bare.bytes().all(good) {
            return Err(Wrong::new(format!("`{text}` is not {}", Self::WHAT)).as_in(Self::EXAMPLES));
        }
        if text != format!("/{bare}") {
            let what = "it must begin with `/` and not end with one";
            return Err(Wrong::new(what).instead(format!("/{bare}")));
        }
        Ok(Self(text.to_owned()))
    }
}

/// The status for a client that purges one URL for which nothing was stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MissStatus(pub StatusCode);

impl Choice for MissStatus {
    fn choose(number: i64) -> Result<Self, Wrong> {
        match number {
            200 => Ok(Self(StatusCode::OK)),
            404 => Ok(Self(StatusCode::NOT_FOUND)),
            412 => Ok(Self(StatusCode::PRECONDITION_FAILED)),
            other => {
                let what = format!("no purge client understands {other}: only 200, 404 or 412");
                Err(Wrong::new(what).instead_number(200))
            }
        }
    }

    fn schema() -> Schema {
        json_schema!({ "type": "integer" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_purging() {
        assert_eq!(TagField::parse("XKEY").unwrap().0, "xkey");
        for name in TAG_FIELDS {
            TagField::parse(name).unwrap();
        }
        assert_eq!(TAG_FIELDS.len(), surrogate::FIELDS.len());
        TagField::parse("X-Tags").unwrap_err();
        assert_eq!(PathStart::parse("/a/b").unwrap().0, "/a/b");
        for (text, instead) in [
            ("purge", "\"/purge\""),
            ("/clear/", "\"/clear\""),
            ("/", "\"/purge\""),
            ("/a b", "\"/purge\""),
            ("", "\"/purge\""),
        ] {
            let wrong = PathStart::parse(text).unwrap_err();
            assert_eq!(wrong.instead.as_deref(), Some(instead), "{text}: {wrong}");
        }
    }
}
