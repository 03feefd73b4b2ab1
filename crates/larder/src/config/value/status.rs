//! Statuses and classes of statuses.

use super::{Word, Wrong};
use crate::config::keys::nearest;
use http::StatusCode;
use proxy::policy::StatusPattern;

/// What others write for `any`.
const ALL: [&str; 3] = ["all", "default", "*"];

impl Word for StatusPattern {
    const WHAT: &'static str = "a status";
    const EXAMPLES: &'static [&'static str] = &["200", "5xx", "any"];

    fn parse(text: &str) -> Result<Self, Wrong> {
        if text.eq_ignore_ascii_case("any") {
            return Ok(Self::Any);
        }
        // Exactly three digits; a number could have a sign.
        let code = StatusCode::from_bytes(text.as_bytes()).map(|status| status.as_u16());
        match (text.as_bytes(), code) {
            ([digit @ b'2'..=b'5', b'x' | b'X', b'x' | b'X'], _) => Ok(Self::Class(digit - b'0')),
            (_, Ok(code @ 200..=599)) => Ok(Self::Exact(code)),
            _ => {
                let what = format!(
                    "`{text}` is not a final status, such as `200`, a class of them, such as `2xx`, or `any`"
                );
                let word = text.to_ascii_lowercase();
                let known = ["any", "2xx", "3xx", "4xx", "5xx"].into_iter();
                Err(match nearest(&word, known) {
                    Some(near) => Wrong::new(what).instead(near),
                    None if ALL.contains(&word.as_str()) => Wrong::new(what).instead("any"),
                    None => Wrong::new(what),
                })
            }
        }
    }
}

/// Returns the fault of a number where its text is expected.
fn as_text(number: i64) -> Wrong {
    Wrong::new("write the status in quotes, as in `ttl`").instead(number)
}

/// A status, or a class of statuses, that counts as a failure of the origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailingStatus(pub StatusPattern);

impl Word for FailingStatus {
    const WHAT: &'static str = "the status of an error";
    const EXAMPLES: &'static [&'static str] = &["503", "5xx", "429"];
    const PATTERN: &'static str = "^[45]([0-9]{2}|[xX]{2})$";

    fn parse(text: &str) -> Result<Self, Wrong> {
        if let Ok(pattern @ (StatusPattern::Exact(400..) | StatusPattern::Class(4..))) =
            StatusPattern::parse(text)
        {
            return Ok(Self(pattern));
        }
        // As in nginx's `proxy_cache_use_stale`.
        let code = text.strip_prefix("http_");
        let code = code.filter(|code| Self::parse(code).is_ok());
        let what = format!("`{text}` is not the status of an error");
        let wrong = Wrong::new(what);
        Err(match code {
            Some(code) => wrong.instead(code),
            None => wrong.as_in(Self::EXAMPLES),
        })
    }

    fn number(number: i64) -> Wrong {
        as_text(number).proposing::<Self>()
    }
}

/// The status with which a route refuses its requests. `None`: the route lets them pass, whatever `[defaults]` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal(pub Option<StatusCode>);

impl Word for Refusal {
    const WHAT: &'static str = "the status of a refusal";
    const EXAMPLES: &'static [&'static str] = &["403", "404", "off"];
    const PATTERN: &'static str = "^(4[0-9]{2}|off)$";

    fn parse(text: &str) -> Result<Self, Wrong> {
        if text == "off" {
            return Ok(Self(None));
        }
        match StatusCode::from_bytes(text.as_bytes()) {
            Ok(status) if status.is_client_error() => Ok(Self(Some(status))),
            _ => {
                let off = nearest(text, ["off"].into_iter());
                let what = format!("`{text}` is not the status of a refusal");
                let wrong = Wrong::new(what);
                Err(match off {
                    Some(off) => wrong.instead(off),
                    None => wrong.as_in(Self::EXAMPLES),
                })
            }
        }
    }

    fn number(number: i64) -> Wrong {
        as_text(number).proposing::<Self>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses() {
        assert_eq!(StatusPattern::parse("404"), Ok(StatusPattern::Exact(404)));
        assert_eq!(StatusPattern::parse("5xx"), Ok(StatusPattern::Class(5)));
        assert_eq!(StatusPattern::parse("any"), Ok(StatusPattern::Any));
        for bad in ["99", "103", "1xx", "600", "20x", "ok", "+200", "0200", ""] {
            StatusPattern::parse(bad).unwrap_err();
        }
        for (text, instead) in [
            ("2x", Some("\"2xx\"")),
            ("default", Some("\"any\"")),
            ("200-299", None),
            ("103", None),
        ] {
            let proposed = StatusPattern::parse(text).unwrap_err().instead;
            assert_eq!(proposed.as_deref(), instead, "{text}");
        }
    }

    #[test]
    fn statuses_of_errors() {
        for (text, pattern) in [
            ("400", StatusPattern::Exact(400)),
            ("599", StatusPattern::Exact(599)),
            ("4xx", StatusPattern::Class(4)),
            ("5XX", StatusPattern::Class(5)),
        ] {
            assert_eq!(FailingStatus::parse(text), Ok(FailingStatus(pattern)));
        }
        for bad in ["200", "399", "3xx", "any", "600", "503 ", ""] {
            FailingStatus::parse(bad).unwrap_err();
        }
        for (text, instead) in [("http_500", "\"500\""), ("http_200", "\"503\"")] {
            let proposed = FailingStatus::parse(text).unwrap_err().instead;
            assert_eq!(proposed.as_deref(), Some(instead));
        }
    }

    #[test]
    fn refusals() {
        for good in ["400", "403", "404", "451", "499"] {
            let Refusal(status) = Refusal::parse(good).unwrap();
            assert_eq!(status.unwrap().as_str(), good);
        }
        assert_eq!(Refusal::parse("off"), Ok(Refusal(None)));
        for bad in ["200", "302", "500", "4xx", "40", "4030", "", "403 "] {
            Refusal::parse(bad).unwrap_err();
        }
    }
}
