use super::{AccessLog, line, stamp::Stamp};
use crate::config::{
    meant::{AccessTarget, Log},
    written::AccessFormat,
};
use http::{HeaderValue, Method, StatusCode, Version};
use proptest::prelude::*;
use proxy::outcome::{Counters, Ending, Excerpt, NotQueued, Record, log_queue};
use std::{
    fs,
    path::Path,
    sync::{Arc, atomic::Ordering::Relaxed},
    time::{Duration, Instant},
};
use testkit::{scratch_dir, wait_until};

const HOST: &str = "www.example.com";

fn record() -> Record {
    Record {
        client: Some([192, 0, 2, 7].into()),
        method: Method::GET,
        text: Excerpt::new(
            "/page?a=b",
            HOST,
            Some(&HeaderValue::from_static("https://www.example.com/")),
            Some(&HeaderValue::from_static("curl/8.5.0")),
        ),
        version: Version::HTTP_11,
        status: StatusCode::OK,
        cache: "MISS",
        detail: Some("no-store"),
        origin_time: Some(Duration::from_micros(201_250)),
        at_ms: 1_763_692_560_120,
        took: Duration::from_micros(201_833),
        bytes: 5120,
    }
}

fn written(record: &Record, format: AccessFormat) -> String {
    let mut out = Vec::new();
    line::write(record, format, &mut Stamp::default(), &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn json(record: &Record) -> serde_json::Value {
    serde_json::from_str(&written(record, AccessFormat::Json)).unwrap()
}

#[test]
fn the_page_shows_true_lines() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/access-log.md");
    let page = fs::read_to_string(page).unwrap();
    for format in [AccessFormat::Combined, AccessFormat::Json] {
        let line = written(&record(), format);
        assert!(
            page.contains(&line),
            "docs/access-log.md does not show {line}"
        );
    }
}

#[test]
fn what_is_missing_is_a_dash_or_null() {
    let bare = Record {
        client: None,
        text: Excerpt::new("/page?a=b", HOST, None, None),
        cache: "HIT",
        detail: None,
        origin_time: None,
        ..record()
    };
    assert_eq!(
        written(&bare, AccessFormat::Combined),
        "- - - [21/Nov/2025:02:36:00 +0000] \"GET /page?a=b HTTP/1.1\" 200 5120 \"-\" \"-\" \"HIT\" \"-\" - 0.202\n"
    );
    let json = json(&bare);
    for key in ["client", "referer", "user_agent", "reason", "origin_ms"] {
        assert!(json[key].is_null(), "{key}");
    }
}

#[test]
fn quotes_and_control_bytes_are_escaped() {
    for (bytes, shown) in [
        (&b"a\"b"[..], "a\\x22b"),
        (b"a\\x22b", "a\\x5Cx22b"),
        (b"a\tb", "a\\x09b"),
        (b"caf\xc3\xa9", "caf\\xC3\\xA9"),
        (b"", ""),
    ] {
        let user_agent = HeaderValue::from_bytes(bytes).unwrap();
        let line = written(
            &Record {
                text: Excerpt::new("/", HOST, None, Some(&user_agent)),
                ..record()
            },
            AccessFormat::Combined,
        );
        assert!(line.contains(&format!(" \"{shown}\" \"MISS\"")), "{line}");
    }
    let forged = Record {
        text: Excerpt::new("/\" 200 1 \"-\"\r\n192.0.2.1 - -\x1b[31m", HOST, None, None),
        ..record()
    };
    assert!(
        written(&forged, AccessFormat::Combined)
            .contains(r"GET /\x22 200 1 \x22-\x22\x0D\x0A192.0.2.1 - -\x1B[31m HTTP")
    );
}

proptest! {
    /// Whatever a client sends, a record is one line in which only Larder's quotes are unescaped, and JSON reads back
    /// what was sent.
    #[test]
    fn nothing_a_client_sends_forges_a_line(
        target in ".*",
        host in ".*",
        agent in proptest::collection::vec(any::<u8>(), 0..64),
    ) {
        let user_agent = HeaderValue::from_bytes(&agent).ok();
        let text = Excerpt::new(&target, &host, None, user_agent.as_ref());
        let record = Record { text, ..record() };
        let line = written(&record, AccessFormat::Combined);
        prop_assert_eq!(line.lines().count(), 1);
        prop_assert_eq!(line.matches('"').count(), 10);
        prop_assert!(line.trim_end().bytes().all(|byte| (b' '..=b'~').contains(&byte)));
        let text = written(&record, AccessFormat::Json);
        prop_assert_eq!(text.matches('\n').count(), 1);
        let json = json(&record);
        prop_assert_eq!(json["target"].as_str(), Some(target.as_str()));
        let named = Some(host.as_str()).filter(|host| !host.is_empty());
        prop_assert_eq!(json["host"].as_str(), named);
    }
}

fn log(path: &Path, format: AccessFormat) -> AccessLog {
    let log = Log {
        access: AccessTarget::File(path.to_owned()),
        format,
        ..Log::default()
    };
    AccessLog::start(&log).unwrap().unwrap()
}

fn lines(path: &Path) -> usize {
    fs::read_to_string(path).map_or(0, |text| text.lines().count())
}

#[test]
fn closing_writes_what_is_queued_though_a_sender_is_held() {
    let path = scratch_dir().join("access.log");
    let log = log(&path, AccessFormat::Json);
    let sender = log.sender();
    for _ in 0..1000 {
        sender.send(record()).unwrap();
    }
    log.close();
    assert_eq!(lines(&path), 1000);
    assert_eq!(
        sender.send(record()),
        Err(NotQueued::Closed),
        "nobody writes any more"
    );
}

#[test]
fn lines_reach_the_file_without_an_end() {
    let path = scratch_dir().join("access.log");
    let log = log(&path, AccessFormat::Combined);
    log.sender().send(record()).unwrap();
    wait_until("the line is written", || lines(&path) == 1);
}

#[test]
fn a_log_that_is_there_is_continued() {
    let path = scratch_dir().join("access.log");
    fs::write(&path, "before\n").unwrap();
    let log = log(&path, AccessFormat::Combined);
    log.sender().send(record()).unwrap();
    log.close();
    assert_eq!(lines(&path), 2);
}

#[test]
fn a_file_that_was_moved_away_is_begun_anew() {
    let path = scratch_dir().join("access.log");
    let moved = path.with_extension("1");
    let log = log(&path, AccessFormat::Combined);
    log.sender().send(record()).unwrap();
    wait_until("the line is written", || lines(&path) == 1);
    fs::rename(&path, &moved).unwrap();
    log.reopen();
    wait_until("there is a new file", || path.exists());
    log.sender().send(record()).unwrap();
    log.close();
    assert_eq!((lines(&moved), lines(&path)), (1, 1));
}

#[test]
fn a_record_that_finds_no_room_is_counted_as_lost() {
    let counters = Arc::<Counters>::default();
    let (queue, _records) = log_queue(1, 0);
    for _ in 0..3 {
        drop(Ending::new(
            record(),
            Instant::now(),
            queue.clone(),
            counters.clone(),
        ));
    }
    assert_eq!(counters.log_lost.load(Relaxed), 2);
}

#[test]
fn no_log_and_no_place_for_one() {
    assert!(AccessLog::start(&Log::default()).unwrap().is_none());
    let access = AccessTarget::File(scratch_dir().join("no/such/folder/access.log"));
    AccessLog::start(&Log {
        access,
        ..Log::default()
    })
    .unwrap_err();
}
