//! Thousands of tags at once, by each way in: all of them are purged, or it is refused and nothing is.

use crate::{
    common::{Said, counted, sample, start, start_with},
    purge::{kept, post, run},
};
use serde_json::{Value, json};
use std::fmt::Write as _;
use testkit::{Client, Larder, Origin, Reply, Response};

const MANY: usize = 10_000;
const HOST: &str = "example.test";

/// What the head of a request may take where nothing is said.
const HEAD: usize = 32 << 10;

/// The tag of this number, of which ten thousand take less than 96 KiB.
fn tag(number: usize) -> String {
    format!("tag-{number}")
}

/// A site in which `/7` carries the tag of that number.
fn site(config: &str) -> (Origin, Larder) {
    let (origin, larder) = start_with(&format!("[[origin]]\nservers = \"{{origin}}\"\n{config}"));
    origin.otherwise(|request| {
        let name = request.path()[1..].to_owned();
        let number = name.parse().map_or(name, tag);
        counted(request).cache("max-age=600").header("xkey", number)
    });
    (origin, larder)
}

/// Stores the page of each number.
fn warm(larder: &Larder, numbers: &[usize]) {
    for number in numbers {
        let page = format!("/{number}");
        larder.get(&page).send();
        assert!(kept(larder, HOST, &page), "{page}");
    }
}

/// Which of these pages are not stored any more.
fn gone(larder: &Larder, numbers: &[usize]) -> Vec<usize> {
    let all = numbers.iter().copied();
    all.filter(|number| !kept(larder, HOST, &format!("/{number}")))
        .collect()
}

fn told(answer: &Response) -> Value {
    serde_json::from_slice(&answer.body).expect("JSON")
}

#[test]
fn the_admin_api_takes_a_megabyte_of_tags_and_not_more() {
    let (_origin, larder) = site("");
    let pages = [0, MANY / 2, MANY - 1];
    // Long ones, so that the last of them decides whether it is a megabyte.
    let body = |last: usize| {
        let all = (0..MANY).map(|number| format!("{}{:x<90}", tag(number), "-"));
        let short = pages.map(tag);
        let tags: Vec<String> = all.chain(short).chain(["y".repeat(last)]).collect();
        json!({ "tags": tags }).to_string()
    };
    let most = 1 << 20;
    let room = most - body(0).len();
    assert!((1..64 << 10).contains(&room), "{room}");
    warm(&larder, &pages);
    // What nodes write around a purge is not held against it.
    let answer = post(&larder, body(room + 1025));
    assert_eq!(answer.status, 413, "{}", answer.text());
    let error = told(&answer)["error"].as_str().expect("a text").to_owned();
    assert!(error.contains("several requests"), "{error}");
    assert_eq!(gone(&larder, &pages), [0; 0], "nothing was purged");

    let answer = post(&larder, body(room));
    assert_eq!(answer.status, 200, "{}", answer.text());
    let told = told(&answer);
    let understood = told["purged"]["tags"].as_array().map(Vec::len);
    assert_eq!(understood, Some(MANY + pages.len() + 1));
    assert_eq!(told["touched"], 3);
    assert_eq!(gone(&larder, &pages), pages);
}

#[test]
fn the_command_takes_ten_thousand_tags() {
    let (_origin, larder) = site("");
    let pages = [0, 1, MANY / 2, MANY - 1, MANY];
    let run_with = |tags: &[String]| {
        let arguments = tags.iter().flat_map(|tag| ["--tag", tag.as_str()]);
        run(&larder, &arguments.collect::<Vec<_>>())
    };
    warm(&larder, &pages);
    let long: Vec<String> = (0..MANY)
        .map(|number| format!("{}{:x<110}", tag(number), "-"))
        .chain(pages.map(tag))
        .collect();
    let finished = run_with(&long);
    assert_eq!(finished.code, Some(1), "more than a megabyte");
    let error = &finished.stderr;
    assert!(error.contains("several requests"), "{error}");
    assert_eq!(finished.stdout, "");
    assert_eq!(gone(&larder, &pages), [0; 0], "nothing was purged");

    let tags: Vec<String> = (0..MANY).map(tag).collect();
    let finished = run_with(&tags);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let mut lines: Vec<&str> = finished.stdout.lines().collect();
    assert_eq!(
        lines.pop(),
        Some("purged: 4 stored responses in memory here, sequence 1")
    );
    let mut expected: Vec<String> = tags.iter().map(|tag| format!("tag {tag}")).collect();
    expected.sort();
    assert!(lines == expected, "each of them is told");
    assert_eq!(gone(&larder, &pages), &pages[..4]);
}

/// A field that clients list tags in: method, name, what stands between the tags, and around them.
type Field = (&'static str, &'static str, &'static str, [&'static str; 2]);

const FIELDS: [Field; 7] = [
    ("PURGE", "xkey", " ", ["", ""]),
    ("PURGEKEYS", "xkey-purge", " ", ["", ""]),
    ("PURGETAGS", "X-Cache-Tags", ",", ["", ""]),
    ("PURGE", "Surrogate-Key", " ", ["", ""]),
    ("BAN", "Cache-Tags", ",", ["", ""]),
    ("BAN", "X-Cache-Tags", "|", ["(^|,)(", ")(,|$)"]),
    (
        "PURGE",
        "X-Magento-Tags-Pattern",
        "|",
        ["((^|,)(", ")(,|$))"],
    ),
];

/// A purge by tags whose head has so many bytes, and how many tags it names: the last is filled up with letters.
fn message(field: Field, length: usize) -> (String, usize) {
    let (method, name, between, [before, after]) = field;
    let mut text = format!("{method} / HTTP/1.1\r\nHost: {HOST}\r\n{name}: {before}");
    let end = format!("{between}filler{after}\r\n\r\n");
    let mut count = 0;
    loop {
        let next = format!("{}{}", if count == 0 { "" } else { between }, tag(count));
        if text.len() + next.len() + end.len() > length {
            break;
        }
        text.push_str(&next);
        count += 1;
    }
    let room = length - text.len() - end.len();
    let _ = write!(text, "{between}filler{}{after}\r\n\r\n", "x".repeat(room));
    assert_eq!(text.len(), length);
    (text, count)
}

fn send(larder: &Larder, message: &str) -> Response {
    let mut client = larder.client();
    client.send(message);
    client.read()
}

#[test]
fn a_list_on_the_listener_may_fill_the_head_and_not_a_byte_more() {
    let (origin, larder) = site("");
    for field in FIELDS {
        let what = format!("{} with {}", field.0, field.1);
        let (fits, count) = message(field, HEAD);
        let (too_long, _) = message(field, HEAD + 1);
        assert!(count > 3000, "{what}: {count}");
        let pages = [0, count / 2, count - 1];
        warm(&larder, &pages);
        let answer = send(&larder, &too_long);
        assert_eq!(answer.status, 431, "{what}: {}", answer.text());
        assert_eq!(gone(&larder, &pages), [0; 0], "{what}: nothing was purged");
        let answer = send(&larder, &fits);
        assert_eq!(answer.status, 200, "{what}: {}", answer.text());
        assert_eq!(
            answer.header("cache-purge-result"),
            Some("tags; count=3"),
            "{what}"
        );
        assert_eq!(gone(&larder, &pages), pages, "{what}");
    }
    let odd = origin.all().into_iter();
    assert_eq!(odd.filter(|request| request.method != "GET").count(), 0);
}

/// Purges the first so many tags, named in this field in so many lines.
fn in_lines(larder: &Larder, field: Field, count: usize, lines: usize) -> Response {
    let (method, name, between, [before, after]) = field;
    let tags: Vec<String> = (0..count).map(tag).collect();
    let mut message = format!("{method} / HTTP/1.1\r\nHost: {HOST}\r\n");
    for part in tags.chunks(count.div_ceil(lines)) {
        let list = part.join(between);
        let _ = write!(message, "{name}: {before}{list}{after}\r\n");
    }
    send(larder, &(message + "\r\n"))
}

/// Where the site lets heads be larger.
#[test]
fn ten_thousand_tags_in_one_field_are_all_purged_or_refused() {
    let (_origin, larder) = site("[limits]\nheader_size = \"256KiB\"\n");
    let pages = [0, MANY / 2, MANY - 1];
    for field in FIELDS {
        let what = format!("{} with {}", field.0, field.1);
        warm(&larder, &pages);
        let answer = in_lines(&larder, field, MANY, 1);
        let wanted: &[usize] = match answer.status {
            200 => &pages,
            400 => &[],
            status => panic!("{what}: {status}, {}", answer.text()),
        };
        assert_eq!(gone(&larder, &pages), wanted, "{what}: {}", answer.status);
    }
}

/// Lines of one field are one list (RFC 9110 section 5.3).
#[test]
fn a_list_in_several_lines_is_read_to_its_end() {
    let (_origin, larder) = site("[limits]\nheader_size = \"256KiB\"\n");
    let count = 6000;
    let pages = [0, count / 2, count - 1];
    let is_list = |field: &Field| field.3 == [""; 2] && field.1 != "xkey-purge";
    for field in FIELDS.into_iter().filter(is_list) {
        for lines in [1, 2, 20] {
            let what = format!("{} with {} in {lines} lines", field.0, field.1);
            warm(&larder, &pages);
            let answer = in_lines(&larder, field, count, lines);
            assert_eq!(answer.status, 200, "{what}: {}", answer.text());
            assert_eq!(gone(&larder, &pages), pages, "{what}");
        }
    }
}

#[test]
fn ten_thousand_tags_in_the_content_are_all_purged() {
    let (origin, larder) = site("");
    let pages = [0, MANY / 2, MANY - 1];
    let tags: Vec<String> = (0..MANY).map(tag).collect();
    for (target, key, content) in [
        (
            "/service/s/purge",
            "Fastly-Key",
            json!({ "surrogate_keys": tags }),
        ),
        (
            "/client/v4/zones/z/purge_cache",
            "X-Auth-Key",
            json!({ "tags": tags }),
        ),
    ] {
        warm(&larder, &pages);
        let ask = Client::connect(larder.address());
        let ask = testkit::Ask::new(ask, "POST", target).header(key, "k");
        let answer = ask.body(content.to_string()).send();
        assert_eq!(answer.status, 200, "{target}: {}", answer.text());
        assert_eq!(
            answer.header("cache-purge-result"),
            Some("tags; count=3"),
            "{target}"
        );
        assert_eq!(gone(&larder, &pages), pages, "{target}");
    }
    let odd = origin.all().into_iter();
    assert_eq!(odd.filter(|request| request.method != "GET").count(), 0);
}
/// A list that is not read to its end purges nothing.
#[test]
fn ten_thousand_tags_in_ten_lines_are_all_purged_or_refused() {
    let (_origin, larder) = site("[limits]\nheader_size = \"256KiB\"\n");
    let pages = [0, MANY / 2, MANY - 1];
    let mut wrong = Vec::new();
    for field in FIELDS {
        warm(&larder, &pages);
        let answer = in_lines(&larder, field, MANY, 10);
        let gone = gone(&larder, &pages);
        let wanted: &[usize] = if answer.status == 200 { &pages } else { &[] };
        if gone != wanted {
            wrong.push(format!(
                "{} with {}: {}, gone {gone:?}",
                field.0, field.1, answer.status
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What renews a page carries the same tags, and is made while the page still has them.
#[test]
fn tags_count_after_a_page_was_renewed() {
    for status in [304, 200] {
        let (origin, larder) = start();
        let tags: Vec<_> = (0..300).map(|tag| format!("{tag:0>60}")).collect();
        let tags = tags.join(" ");
        let length = tags.len() as u64;
        origin.on("/page", move |request| {
            let page = |status| {
                let page = Reply::status(status).header("ETag", "\"a\"");
                page.header("Surrogate-Key", &tags)
            };
            match request.nth {
                1 => page(200).cache("max-age=60").header("Age", "100"),
                _ => page(status).cache("max-age=60"),
            }
        });
        let stored = || sample(&larder, "larder_stored_bytes");
        for _ in 0..3 {
            assert_eq!(larder.get("/page").send().status, 200);
            assert!(stored() > length, "{status}: {} of {length}", stored());
        }
        assert!(larder.get("/page").send().hit());
    }
}
