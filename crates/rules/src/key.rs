//! The request target as bytes, and its normalisation (RFC 9110 section 4.2.3, RFC 3986 section 6.2.2).

/// A target after normalisation: what is keyed is what is sent to the origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Path as bytes, beginning with `/` (or `*`).
    pub path: String,
    /// Query without `?`; `None` where there was no `?`.
    pub query: Option<String>,
}

/// Why a target is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadTarget {
    /// Not origin form, absolute form or `*`.
    Form,
    /// A percent sign without two hex digits, a control byte or a byte outside ASCII, where the site asks for strictness.
    Bytes,
}

/// Normalises path and query: percent-encoded unreserved bytes are decoded, hex digits made upper case. Dot segments,
/// double slashes, case and order are left alone. A `%` without two hex digits is left as it is.
/// Returns the input untouched (borrowed) when there is nothing to do.
pub fn normalize(part: &str) -> std::borrow::Cow<'_, str> {
    todo!()
}

/// Host for keying: lower case, without the scheme's default port, without a trailing dot. `None` if it is not a valid
/// host (RFC 9110 section 7.2; userinfo is refused).
pub fn normalize_host<'a>(authority: &'a str, scheme: &str) -> Option<std::borrow::Cow<'a, str>> {
    todo!()
}

/// Which query parameters belong to the key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum QueryChoice {
    #[default]
    All,
    None,
    Only(Vec<ParamPattern>),
    Except(Vec<ParamPattern>),
}

/// A parameter name, or a prefix written `utm_*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParamPattern {
    Name(String),
    Prefix(String),
}

/// The query as chosen; with `sort`, parameters ordered by name (a stable sort: repeated names keep their order).
/// `None` when nothing is left. Borrows when nothing changes.
pub fn choose_query<'a>(
    query: Option<&'a str>,
    choice: &QueryChoice,
    sort: bool,
) -> Option<std::borrow::Cow<'a, str>> {
    todo!()
}

/// Names of parameters that only track: `utm_*`, `gclid`, `fbclid` and their kin.
pub const TRACKING: &[&str] = &[];
