//! What servers tell the users of `larder bench` to keep: cookies, and the dates that end them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use load::cookies::{Jar, MOST};
use std::time::{Duration, SystemTime};

const DAY: Duration = Duration::from_secs(86_400);

/// What stands between the words of a date, in the three formats of RFC 9110 section 5.6.7; the last one pads days.
const SEPARATORS: [&str; 4] = [",    :: ", ", -- :: ", "   :: ", "    :: "];

/// What a user sends after these lines.
fn sent<'a>(lines: impl IntoIterator<Item = &'a [u8]>) -> Option<String> {
    let mut jar = Jar::default();
    for line in lines {
        jar.set(0, line);
    }
    jar.field(0, None)
}

fuzz_target!(|data: &[u8]| {
    let field = sent(data.split(|byte| *byte == b'\n'));
    if let Some(field) = &field {
        let pairs = || field.split("; ").map(str::as_bytes);
        assert!(pairs().count() <= MOST);
        assert_eq!(sent(pairs()).as_ref(), Some(field), "set again");
    }
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let Ok(date) = httpdate::parse_http_date(text) else {
        return;
    };
    let now = SystemTime::now();
    // Some of its separators may be any byte, which is no date in a cookie (RFC 6265 section 5.1.1).
    let separators: String = text.chars().filter(|one| !one.is_ascii_alphanumeric()).collect();
    if !SEPARATORS.contains(&separators.as_str()) {
        return;
    }
    // At a moment that is now, the two may see different ones.
    if date + DAY < now || now + DAY < date {
        let line = format!("a=1; Expires={text}");
        let stays = sent([line.as_bytes()]).is_some();
        assert_eq!(stays, date > now, "{text}");
    }
});
