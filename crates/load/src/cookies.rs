//! The cookies of one user. What servers set is sent back, by name (RFC 6265, without its rules on domains and paths,
//! because a run asks only a few servers that were named).

mod date;

use std::time::SystemTime;

/// The most cookies that a user keeps.
pub const MOST: usize = 100;

/// A user's cookies.
#[derive(Debug, Default)]
pub struct Jar(Vec<Cookie>);

#[derive(Debug)]
struct Cookie {
    origin: usize,
    name: String,
    value: String,
}

impl Jar {
    /// Takes a `Set-Cookie` line of this server. A line that is no text is ignored. A cookie that expires at once is
    /// deleted.
    pub fn set(&mut self, origin: usize, line: &[u8]) {
        let Ok(line) = std::str::from_utf8(line) else {
            return;
        };
        let mut parts = line.split(';').map(str::trim);
        let Some((name, value)) = parts.next().and_then(|pair| pair.split_once('=')) else {
            return;
        };
        let (name, value) = (name.trim(), value.trim());
        let ends = is_over(parts);
        self.0
            .retain(|one| one.origin != origin || one.name != name);
        let wanted = !ends && !name.is_empty() && self.0.len() < MOST;
        if wanted {
            let (name, value) = (name.to_owned(), value.to_owned());
            self.0.push(Cookie {
                origin,
                name,
                value,
            });
        }
    }

    /// Returns the cookies for this server, after `given`. `None`: there are none.
    pub fn field(&self, origin: usize, given: Option<&str>) -> Option<String> {
        let ours = self.0.iter().filter(|one| one.origin == origin);
        let ours = ours.map(|one| format!("{}={}", one.name, one.value));
        let all: Vec<_> = given.map(str::to_owned).into_iter().chain(ours).collect();
        (!all.is_empty()).then(|| all.join("; "))
    }
}

/// Whether a cookie with these attributes expires at once. `Max-Age` counts before `Expires`, and the last of each; what
/// cannot be read is ignored (RFC 6265 sections 5.2 and 5.3).
fn is_over<'a>(attributes: impl Iterator<Item = &'a str>) -> bool {
    let (mut by_age, mut by_date) = (None, None);
    for attribute in attributes {
        let (key, value) = attribute.split_once('=').unwrap_or_default();
        let (key, value) = (key.trim(), value.trim());
        if key.eq_ignore_ascii_case("max-age") {
            by_age = is_no_time(value).or(by_age);
        } else if key.eq_ignore_ascii_case("expires") {
            by_date = is_past(value).or(by_date);
        }
    }
    by_age.or(by_date).unwrap_or(false)
}

/// Whether a number of seconds is zero or less. `None`: it is no number.
fn is_no_time(written: &str) -> Option<bool> {
    let digits = written.strip_prefix('-').unwrap_or(written);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| written.trim_matches('0').is_empty() || written.starts_with('-'))
}

/// Whether a date is past. `None`: it is no date.
fn is_past(written: &str) -> Option<bool> {
    let now = httpdate::fmt_http_date(SystemTime::now());
    let date = date::parse(written)?;
    Some(Some(date) < date::parse(&now))
}

#[cfg(test)]
mod tests {
    use super::Jar;

    #[test]
    fn what_is_set_is_sent_until_it_is_deleted() {
        let mut jar = Jar::default();
        for (line, sent) in [
            ("a=1; Path=/; HttpOnly", Some("a=1")),
            ("b=x=y", Some("a=1; b=x=y")),
            ("a=2", Some("b=x=y; a=2")),
            ("b=; Max-Age=0", Some("a=2")),
            ("nonsense", Some("a=2")),
            ("=7", Some("a=2")),
            ("a=3; Expires=Thu, 01 Jan 1970 00:00:00 GMT", None),
            ("a=4; Expires=Mon, 11-Oct-2199 22:00:00 GMT", Some("a=4")),
            ("a=5; Expires=tomorrow", Some("a=5")),
            ("a=; Expires=Mon, 11-Oct-1999 22:00:00 GMT", None),
            // `Max-Age` counts before `Expires`, and the last of each (RFC 6265 section 5.3).
            (
                "a=6; Max-Age=60; Expires=Thu, 01 Jan 1970 00:00:00 GMT",
                Some("a=6"),
            ),
            (
                "a=7; Expires=Mon, 11-Oct-2199 22:00:00 GMT; Max-Age=0",
                None,
            ),
            ("a=8; Max-Age=0; max-age = 60", Some("a=8")),
            ("a=9; Max-Age=60; Max-Age=-1", None),
            // What is no number or no date is ignored (section 5.2).
            ("a=10; Max-Age=-soon", Some("a=10")),
            ("a=11; Max-Age=00; Max-Age=", None),
            (
                "a=12; Max-Age=soon; Expires=Thu, 01 Jan 1970 00:00:00 GMT",
                None,
            ),
        ] {
            jar.set(0, line.as_bytes());
            assert_eq!(jar.field(0, None).as_deref(), sent, "{line}");
        }
        jar.set(1, b"z=1");
        assert_eq!(jar.field(0, None), None, "another server's");
        assert_eq!(jar.field(1, Some("own=7")).as_deref(), Some("own=7; z=1"));
    }

    #[test]
    fn a_server_cannot_fill_it() {
        let mut jar = Jar::default();
        for number in 0..1000 {
            jar.set(0, format!("c{number}=1").as_bytes());
        }
        assert_eq!(jar.0.len(), super::MOST);
    }
}
