//! What every topic needs: a larder before an origin, and what its `Cache-Status` says.

use std::{
    io::{self, Read},
    ops::RangeInclusive,
    os::unix::fs::MetadataExt,
};
use testkit::{Command, Larder, Origin, Reply, Request, Response, date, wait_until};

/// A command line of the binary under test.
pub(crate) fn command() -> Command {
    Command::new(env!("CARGO_BIN_EXE_larder"))
}

/// The same for a user to whom modes mean something: where root runs the tests, without the capabilities that make them
/// mean nothing.
pub(crate) fn command_of_anybody() -> Command {
    let is_root = std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0);
    if is_root {
        let binary = env!("CARGO_BIN_EXE_larder");
        let without = "-dac_override,-dac_read_search";
        Command::new("setpriv").args(["--bounding-set", without, binary])
    } else {
        command()
    }
}

/// `larder serve` before this origin, not yet started.
pub(crate) fn serve(origin: &Origin) -> Command {
    Command::serve(env!("CARGO_BIN_EXE_larder")).args([origin.url()])
}

/// A larder with default settings before a fresh origin.
pub(crate) fn start() -> (Origin, Larder) {
    let origin = Origin::start();
    let larder = serve(&origin).start();
    (origin, larder)
}

/// A larder with this configuration before a fresh origin; `{origin}` in the text stands for the origin's URL.
pub(crate) fn start_with(config: &str) -> (Origin, Larder) {
    let origin = Origin::start();
    let config = config.replace("{origin}", &origin.url());
    let larder = Command::serve(env!("CARGO_BIN_EXE_larder"))
        .config(&config)
        .start();
    (origin, larder)
}

/// Has `larder` read `config` anew, and waits until that holds, which `/` tells by `X-Generation`.
pub(crate) fn reload_as(larder: &Larder, config: &str, generation: &str) {
    larder.rewrite_config(&format!(
        "{config}[defaults.response_headers]\nset = \"X-Generation: {generation}\"\n"
    ));
    larder.reload();
    wait_until("the new configuration holds", || {
        larder.get("/").send().header("x-generation") == Some(generation)
    });
}

/// What `larder check` finds wrong with this configuration; empty where it is in order, whatever is warned of.
pub(crate) fn faults(config: &str) -> String {
    faults_of(&format!("listen = \"127.0.0.1:0\"\n{config}"))
}

/// The same where the configuration says where it listens.
pub(crate) fn faults_of(config: &str) -> String {
    let file = testkit::scratch_dir().join("larder.toml");
    std::fs::write(&file, format!("admin = \"off\"\n{config}")).expect("a file");
    let checked = command().args(["check".into(), file.into_os_string()]);
    let told = checked.run();
    match told.code {
        Some(0) => String::new(),
        code => {
            assert!(code == Some(1) && !told.stderr.is_empty(), "{told:?}");
            told.stderr
        }
    }
}

/// 200 whose body is the count of requests to the path, so that a stored response and a fresh one differ.
pub(crate) fn counted(request: &Request) -> Reply {
    Reply::ok().body(request.nth.to_string())
}

/// Replaces each `{N}` by the HTTP date N seconds from now.
pub(crate) fn dated(text: &str) -> String {
    let Some((before, rest)) = text.split_once('{') else {
        return text.to_owned();
    };
    let (seconds, after) = rest.split_once('}').expect("a closed brace");
    format!(
        "{before}{}{}",
        date(seconds.parse().expect("seconds")),
        dated(after)
    )
}

/// Adds these fields, with dates filled in.
pub(crate) fn with(reply: Reply, fields: &[(&str, &str)]) -> Reply {
    fields.iter().fold(reply, |reply, (name, value)| {
        let reply = if name.eq_ignore_ascii_case("date") {
            reply.undated()
        } else {
            reply
        };
        reply.header(name, dated(value))
    })
}

/// What the cache says of how it made an answer (RFC 9211).
pub(crate) trait Said {
    /// Larder's own member of `Cache-Status`.
    fn said(&self) -> String;

    /// Whether this parameter is there.
    fn says(&self, parameter: &str) -> bool {
        self.said().split(';').skip(1).any(|part| {
            part.trim() == parameter || part.trim().starts_with(&format!("{parameter}="))
        })
    }

    /// The value of this parameter.
    fn parameter(&self, name: &str) -> Option<String> {
        let said = self.said();
        said.split(';').find_map(|part| {
            Some(
                part.trim()
                    .strip_prefix(name)?
                    .strip_prefix('=')?
                    .trim_matches('"')
                    .to_owned(),
            )
        })
    }

    /// Whether the answer came from the store.
    fn hit(&self) -> bool {
        self.says("hit")
    }

    /// For how many seconds browsers keep the answer, at least and at most, if a lifetime is all that they are told. They
    /// take its age from that: it has an `Age`, or they count from its `Date`.
    fn left_to_browsers(&self) -> Option<RangeInclusive<u64>>;
}

impl Said for Response {
    fn said(&self) -> String {
        let members = self.joined("cache-status");
        members
            .split(", ")
            .filter(|member| member.starts_with("larder"))
            .last()
            .unwrap_or_default()
            .to_owned()
    }

    fn left_to_browsers(&self) -> Option<RangeInclusive<u64>> {
        let told = self.joined("cache-control");
        let lifetime: u64 = told.strip_prefix("max-age=")?.parse().ok()?;
        let (least, most) = if let Some(age) = self.header("age") {
            let age = age.parse().ok()?;
            (age, age)
        } else {
            let date = httpdate::parse_http_date(self.header("date")?).ok()?;
            (0, date.elapsed().unwrap_or_default().as_secs() + 1)
        };
        Some(lifetime.saturating_sub(most)..=lifetime.checked_sub(least)?)
    }
}

/// Whether browsers keep the answer for so many seconds.
pub(crate) fn browsers_keep(answer: &Response, seconds: u64) -> bool {
    answer
        .left_to_browsers()
        .is_some_and(|left| left.contains(&seconds))
}

/// Asks twice for the path, on which the origin answers with this script, and tells whether the second answer came from
/// the store.
pub(crate) fn reused(origin: &Origin, larder: &Larder, path: &str, reply: Reply) -> bool {
    origin.reply(path, reply);
    let (first, second) = (larder.get(path).send(), larder.get(path).send());
    assert_eq!(first.status, second.status, "{path}");
    assert_eq!(first.body, second.body, "{path}");
    let asked = origin.requests(path);
    assert_eq!(
        second.hit(),
        asked == 1,
        "{path}: asked {asked} times, but {:?}",
        second.head
    );
    asked == 1
}

/// Judges a table. A row is the outcome (`reused`, or `fetched` again), the status, the response's fields separated by
/// ` + `, and after ` -- ` the sentence it is about. All rows are tried, and all that fail are named.
pub(crate) fn judge_reuse(origin: &Origin, larder: &Larder, table: &str) {
    let rows: Vec<&str> = table
        .lines()
        .map(str::trim)
        .filter(|row| !row.is_empty())
        .collect();
    let mut wrong = Vec::new();
    for (number, row) in rows.iter().enumerate() {
        let (exchange, _sentence) = row.split_once(" -- ").expect("a sentence");
        let mut words = exchange.splitn(2, char::is_whitespace);
        let expected = words.next() == Some("reused");
        let (status, fields) = words.next().expect("a status").trim().split_at(3);
        let status = status.parse().expect("a status");
        let reply = fields
            .trim()
            .split(" + ")
            .filter_map(|field| field.split_once(':'))
            .fold(Reply::status(status), |reply, (name, value)| {
                with(reply, &[(name, &value.replace("\\t", "\t"))])
            });
        let reply = if status == 204 {
            reply
        } else {
            reply.body("content")
        };
        if reused(origin, larder, &format!("/row-{number}"), reply) != expected {
            wrong.push(*row);
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {} rows are wrong:\n{}",
        wrong.len(),
        rows.len(),
        wrong.join("\n")
    );
}

/// The value of one sample of the metrics, named with its labels.
pub(crate) fn sample(larder: &Larder, name: &str) -> u64 {
    let text = larder.admin_get("/metrics").send().text();
    let value = text
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    let value = value.unwrap_or_else(|| panic!("{name} is missing in:\n{text}"));
    value
        .parse()
        .unwrap_or_else(|error| panic!("{name} {value}: {error}"))
}

/// A sequence of numbers that looks random and is always the same.
pub(crate) fn next(number: &mut u32) -> u32 {
    *number = number.wrapping_mul(1_103_515_245).wrapping_add(12345);
    *number >> 16
}

/// The message with some of its bytes replaced, removed, doubled or cut off.
pub(crate) fn damaged(message: &[u8], number: &mut u32) -> Vec<u8> {
    const BYTES: &[u8] = b"\r\n\0 :,;=\"\t/%\x7f\x80\xff0159azAZ-+*";
    let mut bytes = message.to_vec();
    for _ in 0..=next(number) % 4 {
        let at = next(number) as usize % bytes.len().max(1);
        let byte = BYTES[next(number) as usize % BYTES.len()];
        match next(number) % 6 {
            0 if !bytes.is_empty() => drop(bytes.remove(at)),
            1 => bytes.insert(at, byte),
            2 => bytes.truncate(at),
            3 => bytes.extend_from_slice(&message[at.min(message.len())..]),
            _ if !bytes.is_empty() => bytes[at] = byte,
            _ => bytes.push(byte),
        }
    }
    bytes
}

/// Reads the head of a message as it is written, and nothing behind it.
pub fn raw_head(connection: &mut impl Read) -> io::Result<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        connection.read_exact(&mut byte)?;
        head.extend(byte);
    }
    String::from_utf8(head).map_err(io::Error::other)
}
