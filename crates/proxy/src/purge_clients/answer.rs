//! The result of a purge, in the form that the client expects.

use super::{Command, Dialect, Malformed, Operation};
use crate::policy::PurgePolicy;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use serde_json::json;
use std::collections::BTreeSet;
use store::{PurgeError, purge::TooMany};

/// The kind of purge, and how many stored responses it touched: `tags; count=3`.
const CACHE_PURGE_RESULT: HeaderName = HeaderName::from_static("cache-purge-result");

/// After how many seconds to try again if a shared log does not answer.
const RETRY_AFTER: u32 = 2;

/// An answer made here, without the fields that all answers have.
#[derive(Clone, Debug)]
pub struct Own {
    /// The status.
    pub status: StatusCode,
    /// The fields of this answer alone.
    pub fields: HeaderMap,
    /// The content; empty for a 204.
    pub content: Bytes,
}

/// Why nothing was purged.
#[derive(Debug, thiserror::Error)]
pub enum Unpurged {
    /// The request is wrong: the client's fault.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// The content is larger than any list of URLs or tags: the client's fault.
    #[error("the content is larger than {} KiB", super::api::LARGEST >> 10)]
    TooLarge,
    /// The content did not come whole: the client's fault.
    #[error("the content did not come whole")]
    CutShort,
    /// The content did not come in time: the client's fault.
    #[error("the content did not come in time")]
    Late,
    /// The purge failed.
    #[error(transparent)]
    Failed(#[from] PurgeError),
}

impl Unpurged {
    fn status(&self) -> StatusCode {
        match self {
            Self::Malformed(_) | Self::CutShort => StatusCode::BAD_REQUEST,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Late => StatusCode::REQUEST_TIMEOUT,
            Self::Failed(PurgeError::TooMany(_) | PurgeError::Unreachable(_)) => {
                StatusCode::SERVICE_UNAVAILABLE
            }
            Self::Failed(PurgeError::NotDurable(_)) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// Returns the token for `detail` in `Cache-Status`.
    pub fn token(&self) -> &'static str {
        match self {
            Self::Malformed(_) | Self::CutShort => "purge-malformed",
            Self::TooLarge => "purge-too-large",
            Self::Late => "request-timeout",
            Self::Failed(PurgeError::TooMany(_)) => "purge-too-many",
            Self::Failed(PurgeError::Unreachable(_)) => "purge-unreachable",
            Self::Failed(PurgeError::NotDurable(_)) => "purge-not-durable",
        }
    }
}

/// Returns the answer to a command that was carried out and touched `count` stored responses.
pub fn done(policy: &PurgePolicy, command: &Command, count: u64) -> Own {
    let operation = command.operation();
    let missed = count == 0 && operation == Operation::Exact;
    let (purged, expired) = if command.soft { (0, count) } else { (count, 0) };
    let (status, content) = match &command.dialect {
        Dialect::Plain | Dialect::Xkey => {
            let status = if missed {
                policy.missed
            } else {
                StatusCode::OK
            };
            let text = format!("Purged {purged} objects, expired {expired} objects\n");
            (status, Content::Text(text))
        }
        Dialect::Magento => (
            StatusCode::OK,
            Content::Json(json!({ "invalidated": count })),
        ),
        Dialect::Fastly => (StatusCode::OK, Content::Json(json!({ "status": "ok" }))),
        Dialect::Cloudflare(zone) => (
            StatusCode::OK,
            Content::Json(json!({
                "success": true, "errors": [], "messages": [], "result": { "id": zone },
            })),
        ),
        Dialect::Souin => (StatusCode::NO_CONTENT, Content::Nothing),
    };
    let mut own = own(status, content);
    let result = format!("{}; count={count}", operation.word());
    if let Ok(result) = HeaderValue::try_from(result) {
        own.fields.insert(CACHE_PURGE_RESULT, result);
    }
    own
}

/// Returns the list of what is stored, by Souin's names.
pub fn listed(names: &BTreeSet<String>) -> Own {
    let list = serde_json::to_string(names).unwrap_or_default();
    own(StatusCode::OK, Content::JsonText(list))
}

/// Returns the answer to a purge that was not carried out.
pub fn failed(dialect: Option<&Dialect>, why: &Unpurged) -> Own {
    let status = why.status();
    let reason = why.to_string();
    let content = match dialect {
        Some(Dialect::Cloudflare(_)) => Content::Json(json!({
            "success": false, "messages": [], "result": null,
            "errors": [{ "code": status.as_u16(), "message": reason }],
        })),
        Some(Dialect::Fastly) => Content::Json(json!({ "status": "error", "msg": reason })),
        _ => Content::Text(format!("{status}\n{reason}\n")),
    };
    let mut own = own(status, content);
    if status == StatusCode::SERVICE_UNAVAILABLE {
        let again = match why {
            Unpurged::Failed(PurgeError::TooMany(_)) => TooMany::AGAIN,
            _ => RETRY_AFTER,
        };
        own.fields
            .insert(header::RETRY_AFTER, HeaderValue::from(again));
    }
    own
}

enum Content {
    Nothing,
    Text(String),
    Json(serde_json::Value),
    /// JSON that is already serialised: the list is long.
    JsonText(String),
}

fn own(status: StatusCode, content: Content) -> Own {
    let (media, content) = match content {
        Content::Nothing => (None, Bytes::new()),
        Content::Text(text) => (Some("text/plain; charset=utf-8"), text.into()),
        Content::Json(value) => (Some("application/json"), value.to_string().into()),
        Content::JsonText(text) => (Some("application/json"), text.into()),
    };
    let mut fields = HeaderMap::with_capacity(6);
    if let Some(media) = media {
        fields.insert(header::CONTENT_TYPE, HeaderValue::from_static(media));
    }
    fields.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Own {
        status,
        fields,
        content,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::purge_clients::Wish;
    use store::{NotDurable, Unreachable};

    #[test]
    fn what_was_done_is_told_in_the_dialect() {
        let missing = PurgePolicy {
            missed: StatusCode::PRECONDITION_FAILED,
            ..PurgePolicy::default()
        };
        let zone = Dialect::Cloudflare("z".to_owned());
        for (dialect, soft, count, status, content) in [
            (
                Dialect::Plain,
                false,
                3,
                200,
                "Purged 3 objects, expired 0 objects\n",
            ),
            (
                Dialect::Plain,
                false,
                0,
                412,
                "Purged 0 objects, expired 0 objects\n",
            ),
            (
                Dialect::Xkey,
                true,
                3,
                200,
                "Purged 0 objects, expired 3 objects\n",
            ),
            (Dialect::Magento, false, 0, 200, r#"{"invalidated":0}"#),
            (Dialect::Fastly, true, 0, 200, r#"{"status":"ok"}"#),
            (
                zone,
                false,
                1,
                200,
                r#"{"errors":[],"messages":[],"result":{"id":"z"},"success":true}"#,
            ),
            (Dialect::Souin, false, 1, 204, ""),
        ] {
            let host = "s".to_owned();
            let target = "/".to_owned();
            let command = Command {
                wishes: vec![Wish::Url { host, target }],
                soft,
                dialect,
            };
            let own = done(&missing, &command, count);
            assert_eq!(own.status, status, "{command:?}");
            assert_eq!(
                meaning(&own.content),
                meaning(content.as_bytes()),
                "{command:?}"
            );
            let result = format!("exact; count={count}");
            assert_eq!(own.fields[CACHE_PURGE_RESULT], result, "{command:?}");
        }
    }

    #[test]
    fn what_was_not_done_says_whose_fault_it_is() {
        let unreachable = || Unpurged::Failed(PurgeError::Unreachable(Unreachable::Refused));
        let lost = Unpurged::Failed(NotDurable("disk full".to_owned()).into());
        for (why, status, again) in [
            (
                Unpurged::Malformed(Malformed::Host("a b".to_owned())),
                400,
                false,
            ),
            (Unpurged::CutShort, 400, false),
            (Unpurged::TooLarge, 413, false),
            (Unpurged::Late, 408, false),
            (unreachable(), 503, true),
            (lost, 500, false),
        ] {
            let own = failed(None, &why);
            assert_eq!(own.status, status, "{why}");
            assert_eq!(own.fields.contains_key(header::RETRY_AFTER), again, "{why}");
            assert!(!own.fields.contains_key(CACHE_PURGE_RESULT), "{why}");
            let text = String::from_utf8_lossy(&own.content).into_owned();
            assert!(text.contains(&why.to_string()), "{text}");
        }
        let own = failed(Some(&Dialect::Cloudflare(String::new())), &unreachable());
        let told = meaning(&own.content).expect("JSON");
        assert_eq!(told["errors"][0]["code"], 503, "{told}");
    }

    /// The meaning of an answer: JSON, whatever the order of its members, or text.
    fn meaning(content: &[u8]) -> Result<serde_json::Value, String> {
        let text = || String::from_utf8_lossy(content).into_owned();
        serde_json::from_slice(content).map_err(|_| text())
    }
}
