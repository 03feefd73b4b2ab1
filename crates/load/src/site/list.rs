//! A list of requests, one per line: `[METHOD] URL [weight=N] [body=TEXT]`. Empty lines and those that begin with `#`
//! are ignored.

use crate::url::{self, Url};
use http::Method;

/// The most requests in a list.
pub const MOST: usize = 1_000_000;

/// A line with a request.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Its method, if it names one.
    pub method: Option<Method>,
    /// What it asks for.
    pub wanted: Wanted,
    /// How often it is requested compared to a line of weight 1, if it says so.
    pub weight: Option<f64>,
    /// Its content, if it has any.
    pub body: Option<String>,
}

/// What a line asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// A URL.
    Url(Url),
    /// A path with its query, on whatever server is measured.
    Target(String),
}

impl Wanted {
    /// Reads a URL, or a path that begins with a slash.
    ///
    /// # Errors
    /// It is neither. The message is for a person.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.starts_with('/') {
            return url::target(text).map(Self::Target);
        }
        if !text.contains("://") {
            return Err(format!(
                "'{text}' is neither a URL (http://…) nor a path (/…)"
            ));
        }
        Url::parse(text).map(Self::Url)
    }

    /// Returns the request's target, whatever the server.
    pub fn target(&self) -> &str {
        match self {
            Self::Url(url) => &url.target,
            Self::Target(target) => target,
        }
    }
}

/// A line that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadLine {
    /// Its number, counted from 1.
    pub number: usize,
    /// What is wrong with it, for a person.
    pub what: String,
}

/// Reads a list.
///
/// # Errors
/// All lines that cannot be read.
pub fn parse(text: &str) -> Result<Vec<Line>, Vec<BadLine>> {
    let (mut lines, mut bad) = (Vec::new(), Vec::new());
    for (index, text) in text.lines().enumerate() {
        let text = text.trim();
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        let number = index + 1;
        if lines.len() == MOST {
            let what = format!("more than {MOST} requests");
            bad.push(BadLine { number, what });
            break;
        }
        match line(text) {
            Ok(line) => lines.push(line),
            Err(what) => bad.push(BadLine { number, what }),
        }
    }
    if bad.is_empty() { Ok(lines) } else { Err(bad) }
}

fn line(text: &str) -> Result<Line, String> {
    // A body extends to the end of the line, with its spaces.
    let (text, body) = match text.split_once(" body=") {
        Some((text, body)) => (text, Some(body.to_owned())),
        None => (text, None),
    };
    let mut words = text.split_ascii_whitespace();
    let mut first = words.next().unwrap_or_default();
    let mut method = None;
    if !first.contains('/') {
        method = Some(self::method(first)?);
        first = words.next().ok_or("a URL is missing")?;
    }
    let wanted = Wanted::parse(first)?;
    let mut weight = None;
    for word in words {
        let value = word.strip_prefix("weight=");
        let value = value.ok_or_else(|| format!("'{word}' is neither weight=N nor body=TEXT"))?;
        let number = value.parse().ok();
        let number = number.filter(|one: &f64| one.is_finite() && *one >= 0.0);
        weight = Some(number.ok_or_else(|| format!("'{value}' is not a weight"))?);
    }
    Ok(Line {
        method,
        wanted,
        weight,
        body,
    })
}

/// Reads a method, which must be in capitals.
///
/// # Errors
/// It is not a method. The message is for a person.
pub fn method(text: &str) -> Result<Method, String> {
    let capitals = text
        .bytes()
        .all(|byte| byte.is_ascii_uppercase() || byte == b'-');
    let method = Method::from_bytes(text.as_bytes()).ok();
    // `CONNECT` makes a tunnel, and has no answer to measure.
    method
        .filter(|method| capitals && *method != Method::CONNECT)
        .ok_or_else(|| format!("'{text}' is neither a method nor a URL"))
}
