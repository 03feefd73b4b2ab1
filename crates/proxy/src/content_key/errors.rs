//! Errors in the answers of a GraphQL service, which say 200 all the same.

use http::{HeaderMap, header::CONTENT_TYPE};
use serde::de::IgnoredAny;

/// How an answer of a GraphQL service is searched for errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorSearch {
    /// Not at all.
    Nothing,
    /// It may be JSON, although its type does not say so. What is no object in JSON tells of none.
    Text,
    /// It says that it is JSON, or made of such parts. What cannot be read may tell of some.
    Json,
}

impl ErrorSearch {
    /// How an answer with these fields is searched.
    pub fn of(fields: &HeaderMap) -> Self {
        let Some(media) = fields.get(CONTENT_TYPE) else {
            return Self::Text;
        };
        let media = String::from_utf8_lossy(media.as_bytes()).to_ascii_lowercase();
        if media.contains("json") || media.starts_with("multipart/") {
            Self::Json
        } else if media.starts_with("text/plain") {
            Self::Text
        } else {
            Self::Nothing
        }
    }

    /// Whether the answer reports errors, or may.
    pub fn finds(self, text: &[u8]) -> bool {
        #[derive(serde::Deserialize)]
        struct GraphqlResponse {
            errors: Option<IgnoredAny>,
        }
        let read = || serde_json::from_slice::<GraphqlResponse>(text);
        match self {
            Self::Nothing => false,
            Self::Text => read().is_ok_and(|answer| answer.errors.is_some()),
            Self::Json => read().map_or(true, |answer| answer.errors.is_some()),
        }
    }
}
