//! `Max-Forwards`: how many servers a request may still pass (RFC 9110 section 7.6.2).

use crate::ask::Ask;
use http::{HeaderMap, HeaderName, HeaderValue, Method};

const MAX_FORWARDS: HeaderName = HeaderName::from_static("max-forwards");

/// Whether we are the request's last recipient.
pub fn ends_here(ask: &Ask) -> bool {
    left(ask) == Some(0)
}

/// Writes to `fields` how many servers are left after the next one.
pub fn count_down(ask: &Ask, fields: &mut HeaderMap) {
    if let Some(left) = left(ask) {
        fields.insert(MAX_FORWARDS, HeaderValue::from(left.saturating_sub(1)));
    }
}

/// The field's value, for methods to which it applies.
fn left(ask: &Ask) -> Option<u64> {
    let counts = ask.method == Method::OPTIONS || ask.method == Method::TRACE;
    max_forwards(ask.fields.get(&MAX_FORWARDS).filter(|_| counts)?)
}

/// Parses digits alone. A value that is no number, or is too large, counts as absent.
fn max_forwards(value: &HeaderValue) -> Option<u64> {
    let text = value.to_str().ok()?.trim();
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn max_forwards_is_a_number(number: u64, space in "[ \t]{0,2}") {
            let value = HeaderValue::try_from(format!("{space}{number}{space}")).expect("text");
            prop_assert_eq!(max_forwards(&value), Some(number));
        }

        #[test]
        fn what_is_no_number_says_nothing(text in "[ -~]{0,8}") {
            let value = HeaderValue::try_from(text.as_str()).expect("text");
            let text = text.trim();
            let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            prop_assert_eq!(max_forwards(&value).is_some(), is_number);
        }

        #[test]
        fn any_bytes_may_come(bytes in prop::collection::vec(any::<u8>(), 0..30)) {
            if let Ok(value) = HeaderValue::from_bytes(&bytes) {
                let _ = max_forwards(&value);
            }
        }
    }

    #[test]
    fn a_sign_is_no_digit() {
        assert_eq!(max_forwards(&HeaderValue::from_static("+0")), None);
        assert_eq!(
            max_forwards(&HeaderValue::from_static("18446744073709551616")),
            None
        );
    }
}
