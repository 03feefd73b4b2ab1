//! Files of a folder that change, and conditions and ranges of those that do not.

use crate::{
    common::Said,
    static_root::{fetched, folder, serve, serve_with, settled, write},
};
use std::{
    fs::{self, File, Permissions},
    io::Write as _,
    os::unix::fs::PermissionsExt as _,
    time::{Duration, SystemTime},
};
use testkit::wait_until;

#[test]
fn the_neighbour_that_the_client_takes_is_sent() {
    let root = folder(&[
        ("a.css", b"plain"),
        ("a.css.br", b"brotli"),
        ("a.css.zst", b"zstd"),
        ("a.css.gz", b"gzip"),
        ("b.css", b"plain"),
        ("b.css.gz", b"of yesterday"),
        ("c.css", b"plain"),
    ]);
    let hour_ago = SystemTime::now() - Duration::from_hours(1);
    let old = File::options()
        .write(true)
        .open(root.join("b.css.gz"))
        .expect("a file");
    old.set_modified(hour_ago).expect("a time");
    let larder = serve(&root);
    let mut tags = Vec::new();
    for (accept, coding, body) in [
        (None, None, "plain"),
        (Some("gzip, deflate, br, zstd"), Some("br"), "brotli"),
        (Some("gzip, zstd"), Some("zstd"), "zstd"),
        (Some("gzip"), Some("gzip"), "gzip"),
        (Some("br;q=0.5, gzip;q=0.8"), Some("gzip"), "gzip"),
        (Some("br;q=0.5, identity"), None, "plain"),
        (Some("br;q=0"), None, "plain"),
        (Some("*"), Some("br"), "brotli"),
    ] {
        for round in 0..2 {
            let ask = larder.get("/a.css");
            let answer = match accept {
                Some(accept) => ask.header("Accept-Encoding", accept).send(),
                None => ask.send(),
            };
            assert_eq!(answer.text(), body, "{accept:?} {round}");
            assert_eq!(answer.header("content-encoding"), coding, "{accept:?}");
            assert_eq!(answer.header("vary"), Some("Accept-Encoding"), "{accept:?}");
            assert_eq!(
                answer.header("content-type"),
                Some("text/css; charset=utf-8")
            );
        }
        let ask = || larder.get("/a.css").header("Cache-Control", "no-cache");
        let mut tag = None;
        wait_until("the file had an ETag", || {
            let answer = ask()
                .header("Accept-Encoding", accept.unwrap_or("identity"))
                .send();
            tag = answer.header("etag").map(str::to_owned);
            tag.is_some()
        });
        tags.push((body, tag));
    }
    for (body, tag) in &tags {
        let same = tags.iter().filter(|(_, other)| other == tag);
        assert!(
            same.clone().all(|(other, _)| other == body),
            "a tag for each coding: {tags:?}"
        );
    }
    for path in ["/b.css", "/c.css"] {
        let answer = larder
            .get(path)
            .header("Accept-Encoding", "gzip, br")
            .send();
        assert_eq!(
            (answer.text().as_str(), answer.header("vary")),
            ("plain", None),
            "{path}"
        );
    }
}

#[test]
fn a_changed_file_is_seen_although_its_time_and_length_are_the_same() {
    let root = folder(&[("page.html", b"one")]);
    let larder = serve(&root);
    let time = SystemTime::now() - Duration::from_hours(1);
    let put = |text: &[u8]| {
        write(&root, "page.html", text);
        let file = File::options()
            .write(true)
            .open(root.join("page.html"))
            .expect("a file");
        file.set_modified(time).expect("a time");
    };
    put(b"two");
    assert_eq!(fetched(&larder, "/page.html").text(), "two");
    // Twice within a step of the file system's clock: the first may not be confirmed by the second.
    put(b"six");
    assert_eq!(fetched(&larder, "/page.html").text(), "six");
    let old = settled(&larder, "/page.html");
    put(b"ten");
    let new = fetched(&larder, "/page.html");
    assert_eq!(new.text(), "ten");
    assert_ne!(new.header("etag"), old.header("etag"));
    // Without being asked past the store, within a second.
    wait_until("the change was seen", || {
        put(b"end");
        larder.get("/page.html").send().text() == "end"
    });
}

#[test]
fn a_file_that_is_as_it_was_is_confirmed() {
    let root = folder(&[("a.txt", b"content")]);
    let larder = serve(&root);
    let first = settled(&larder, "/a.txt");
    assert!(first.header("last-modified").is_some());
    assert!(
        !first
            .header("etag")
            .is_some_and(|tag| tag.starts_with("W/"))
    );
    let again = fetched(&larder, "/a.txt");
    assert_eq!(
        again.parameter("fwd-status").as_deref(),
        Some("304"),
        "{}",
        again.said()
    );
    assert_eq!((again.status, again.text().as_str()), (200, "content"));
    let tag = first.header("etag").expect("a tag");
    let answer = larder.get("/a.txt").header("If-None-Match", tag).send();
    assert_eq!(answer.status, 304);
}

/// The folder's own answers, since nothing is stored.
#[test]
fn conditions_and_ranges_are_answered_without_a_store() {
    let root = folder(&[("a.txt", b"0123456789")]);
    // A date of this minute puts no parts together.
    let file = File::open(root.join("a.txt")).expect("a file");
    let hour_ago = SystemTime::now() - Duration::from_hours(1);
    file.set_modified(hour_ago).expect("a time");
    let larder = serve_with(&root, "[defaults]\ncache = false");
    let first = settled(&larder, "/a.txt");
    let (tag, date) = (
        first.header("etag").unwrap(),
        first.header("last-modified").unwrap(),
    );
    let never = "Thu, 01 Jan 1970 00:00:00 GMT";
    let future = "Fri, 01 Jan 2100 00:00:00 GMT";
    let range = ("Range", "bytes=2-4");
    for (fields, status, body) in [
        (vec![("If-None-Match", tag)], 304, ""),
        (vec![("If-None-Match", "\"other\"")], 200, "0123456789"),
        (
            vec![("If-None-Match", "\"other\""), ("If-Modified-Since", date)],
            200,
            "0123456789",
        ),
        (vec![("If-Modified-Since", date)], 304, ""),
        (vec![("If-Modified-Since", never)], 200, "0123456789"),
        // A file that was put back is older than that, and another.
        (vec![("If-Modified-Since", future)], 200, "0123456789"),
        (vec![("If-Match", tag)], 200, "0123456789"),
        (vec![("If-Match", "\"other\"")], 412, ""),
        (vec![("If-Unmodified-Since", never)], 412, ""),
        (vec![range], 206, "234"),
        (vec![("Range", "bytes=8-")], 206, "89"),
        (vec![("Range", "bytes=-2")], 206, "89"),
        (vec![("Range", "bytes=10-")], 416, ""),
        (vec![("Range", "bytes=0-1,8-9")], 200, "0123456789"),
        (vec![("Range", "pages=1")], 200, "0123456789"),
        (vec![range, ("If-Range", tag)], 206, "234"),
        (vec![range, ("If-Range", date)], 206, "234"),
        (vec![range, ("If-Range", "\"other\"")], 200, "0123456789"),
        (vec![range, ("If-None-Match", tag)], 304, ""),
    ] {
        let ask = fields
            .iter()
            .fold(larder.get("/a.txt"), |ask, (name, value)| {
                ask.header(name, value)
            });
        let answer = ask.send();
        assert_eq!(
            (answer.status, answer.text().as_str()),
            (status, body),
            "{fields:?}"
        );
        let part = answer.header("content-range");
        assert_eq!(part.is_some(), matches!(status, 206 | 416), "{fields:?}");
    }
}

#[test]
fn ranges_of_large_files_are_read_alone() {
    let root = folder(&[]);
    let content: Vec<u8> = (0..1_000_000_u32)
        .flat_map(|number| (number as u16).to_le_bytes())
        .collect();
    write(&root, "film.mp4", &content);
    let larder = serve(&root);
    settled(&larder, "/film.mp4");
    let larder = serve(&root);
    let part = larder
        .get("/film.mp4")
        .header("Range", "bytes=1000000-1000099")
        .send();
    assert_eq!(
        (part.status, part.body.as_slice()),
        (206, &content[1_000_000..1_000_100])
    );
    let whole = larder.get("/film.mp4").send();
    assert_eq!((whole.status, whole.body.len()), (200, content.len()));
    assert!(whole.body == content);
    let parts = larder
        .get("/film.mp4")
        .header("Range", "bytes=0-1,4-5")
        .send();
    assert_eq!(parts.status, 206);
}

#[test]
fn a_file_that_shrinks_while_it_is_sent_never_ends_as_if_it_were_whole() {
    let root = folder(&[]);
    let length = 256 << 20;
    let file = File::create(root.join("large.bin")).expect("a file");
    file.set_len(length).expect("room");
    for more in [
        "[defaults]\ncache = false",
        "[defaults]\nlargest_body = \"1MiB\"",
        "",
    ] {
        file.set_len(length).expect("room");
        let larder = serve_with(&root, more);
        let mut client = larder.get("/large.bin").begin();
        let mut answer = client.read_head();
        assert_eq!(
            answer.header("content-length"),
            Some(length.to_string().as_str())
        );
        client.read_body_exactly(&mut answer, 1 << 20);
        file.set_len(1 << 20).expect("less room");
        let rest = client.read_to_end();
        assert!(
            (rest.len() as u64) < length - (1 << 20),
            "{more}: {} bytes more",
            rest.len()
        );
        assert_eq!(
            larder.get("/large.bin").send().body.len(),
            1 << 20,
            "{more}: nothing half is stored"
        );
    }
}

/// Length and date are those of before, as where a build gives all files the same date.
#[test]
fn a_file_with_other_content_never_ends_one_that_began_with_the_old() {
    let root = folder(&[]);
    let (path, length) = (root.join("large.bin"), 64 << 20);
    let date = SystemTime::now() - Duration::from_hours(1);
    let put = |letter: u8| {
        let mut file = File::create(&path).expect("a file");
        file.write_all(&vec![letter; length]).expect("room");
        file.set_modified(date).expect("a date");
    };
    let changes: [(&str, &dyn Fn()); 4] = [
        ("deleted", &|| fs::remove_file(&path).expect("deleted")),
        ("linked", &|| {
            fs::hard_link(&path, root.join("other.bin")).expect("linked");
        }),
        ("for fewer", &|| {
            let few = Permissions::from_mode(0o600);
            fs::set_permissions(&path, few).expect("for fewer");
        }),
        ("written", &|| put(b'b')),
    ];
    for (name, change) in changes {
        let _ = fs::remove_file(&path);
        put(b'a');
        let larder = serve_with(&root, "[defaults]\ncache = false");
        let ask = larder.get("/large.bin").header("Connection", "close");
        let mut client = ask.begin();
        let mut answer = client.read_head();
        client.read_body_exactly(&mut answer, 1 << 20);
        change();
        let rest = client.read_to_end();
        let is_whole = rest.len() == length - (1 << 20);
        assert_eq!(is_whole, name != "written", "{name}: {}", rest.len());
        assert!(rest.iter().all(|byte| *byte == b'a'), "{name}");
    }
}
