//! The reasons to refuse a purge.

use rules::surrogate::LONGEST_GROUP;
use store::purge::{BadPattern, Malformed};

/// Why nothing was purged. The caller is at fault.
#[derive(Debug, thiserror::Error)]
pub enum Bad {
    /// The body is not the expected JSON.
    #[error("not a purge in JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// The body is not a JSON object.
    #[error(
        "not a purge in JSON: an object is expected, such as {{\"url\": \"http://host/path\"}}"
    )]
    NoObject,
    /// Nothing is named.
    #[error(
        "nothing is named; say url, prefix, tag, tags, host, groups (with host), regex or everything (and true)"
    )]
    Nothing,
    /// Several things are named.
    #[error("{} are named; a purge names one thing", .0.join(" and "))]
    Several(Vec<&'static str>),
    /// The text is not a URL.
    #[error("{0:?} is not a URL that a client could ask for; write it whole, as http://host/path")]
    Url(String),
    /// The text is not the beginning of a URL.
    #[error(
        "no URL begins with {0:?}; write it whole, as http://host/path, or /path for every host"
    )]
    Prefix(String),
    /// The text is not a host.
    #[error("{0:?} is not a host; write it as example.com or example.com:8080")]
    Host(String),
    /// No response can have such a tag.
    #[error(
        "{0:?} is not a tag: tags are not empty, and have neither blanks around them nor control characters"
    )]
    Tag(String),
    /// Groups without a host.
    #[error("cache groups are of one host; say which with host")]
    Hostless,
    /// No response can be in such a group.
    #[error("{0:?} is not a cache group: at most {LONGEST_GROUP} characters, all of them ASCII")]
    Group(String),
    /// The expression is empty.
    #[error("an empty expression matches everything; say everything instead")]
    MatchesAll,
    /// The expression cannot be used.
    #[error(transparent)]
    Pattern(#[from] BadPattern),
    /// The purge was not written by a node.
    #[error("not what nodes send each other: {0}")]
    Foreign(#[from] Malformed),
    /// The wait is too long.
    #[error("a wait lasts five minutes at most")]
    Wait,
}
