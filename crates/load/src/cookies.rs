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
        let ends = parts.any(|attribute| {
            let (key, age) = attribute.split_once('=').unwrap_or_default();
            key.eq_ignore_ascii_case("max-age") && (age.starts_with('-') || age == "0")
                || key.eq_ignore_ascii_case("expires") && is_past(age)
        });
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

fn is_past(written: &str) -> bool {
    let now = httpdate::fmt_http_date(SystemTime::now());
    date::parse(written).is_some_and(|date| Some(date) < date::parse(&now))
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
