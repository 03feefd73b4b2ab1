//! Files that are not what was written: never a wrong byte, the request goes to the origin.

#![allow(
    clippy::similar_names,
    reason = "a site and the size of what it answers"
)]

use crate::{
    common::{Said, command, counted, next, sample},
    disk::{LARGE, MIDDLE, Site, content, keep, same, wait_written},
    disk_trouble::told,
};
use std::{
    fs::{self, OpenOptions},
    io::{self, Seek as _, SeekFrom, Write as _},
    net::{SocketAddr, TcpStream},
    path::Path,
    thread,
};
use testkit::{Address, Ask, Client, Larder, Reply, Response, scratch_dir, wait_until};

/// Paths with the sizes of their bodies; some of each.
const PAGES: [(&str, usize); 8] = [
    ("/a", 50),
    ("/b", 1000),
    ("/c", 1000),
    ("/d", 5000),
    ("/middle/a", MIDDLE),
    ("/middle/b", MIDDLE),
    ("/large/a", LARGE),
    ("/large/b", LARGE),
];

fn size(path: &str) -> usize {
    let page = PAGES.iter().find(|(page, _)| *page == path);
    page.expect("a page").1
}

/// All pages are on disk, and nothing runs. Their fields name them too.
fn stopped() -> Site {
    let site = Site::with(|request| {
        Reply::ok()
            .cache("max-age=600")
            .header("ETag", format!("\"{}\"", request.path()))
            .header("X-Page", request.path())
            .body(content(request.path(), size(request.path())))
    });
    let larder = site.start();
    fill(&larder);
    larder.stop();
    site
}

#[test]
fn the_command_names_what_is_damaged() {
    let site = stopped();
    let verify = |args: &[&str]| {
        command()
            .args(["disk", "verify"])
            .args(args.iter().copied())
            .run()
    };
    let path = site.path().to_string_lossy().into_owned();
    let sound = verify(&[&path]);
    assert_eq!(sound.code, Some(0), "{sound:?}");
    let file = site.large_files().remove(0);
    let mut bytes = fs::read(&file).expect("read");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&file, bytes).expect("written");
    let config = scratch_dir().join("larder.toml");
    fs::write(&config, site.config()).expect("written");
    let config = config.to_string_lossy().into_owned();
    for args in [vec![path.as_str()], vec!["--config", &config]] {
        let damaged = verify(&args);
        assert_eq!(damaged.code, Some(1), "{damaged:?}");
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        assert!(damaged.stderr.contains(&*name), "{damaged:?}");
        assert!(damaged.stdout.contains("damaged: 1"), "{damaged:?}");
    }
    // A body that was purged or replaced, whose record lies in its segment still.
    fs::remove_file(&file).expect("removed");
    let healthy = verify(&[&path]);
    assert_eq!(healthy.code, Some(0), "{healthy:?}");
    let told = "large bodies that are no longer kept: 1\nnothing is damaged\n";
    assert!(healthy.stdout.ends_with(told), "{healthy:?}");
    assert_eq!(healthy.stderr, "");
    fs::write(&file, "another").expect("written");
    let damaged = verify(&[&path]);
    assert_eq!(damaged.code, Some(1), "{damaged:?}");
    let about = "larder disk tier\nformat 4000\nseed 0123456789abcdef\n";
    fs::write(site.path().join("about"), about).expect("written");
    let newer = verify(&[&path]);
    assert_eq!(newer.code, Some(1), "{newer:?}");
    assert!(newer.stderr.contains("newer version"), "{newer:?}");
    assert_eq!(newer.stderr.lines().count(), 1, "{newer:?}");
}

#[test]
fn the_command_tells_what_is_there() {
    let site = stopped();
    let stat = |path: &str| command().args(["disk", "stat", path]).run();
    let path = site.path().to_string_lossy().into_owned();
    let told = stat(&path);
    assert_eq!(told.code, Some(0), "{told:?}");
    for line in [
        format!("{path}: not in use"),
        "segments: 1 (0 without an index)".to_owned(),
        format!("records in segments with an index: {}", PAGES.len()),
        // Twice 3,000,000 bytes and what lies before and between them.
        "large files: 2, 5.7 MiB".to_owned(),
    ] {
        assert!(told.stdout.contains(&line), "{line}: {told:?}");
    }
    let nowhere = stat(&format!("{path}/nowhere"));
    assert_eq!(nowhere.code, Some(1), "{nowhere:?}");
    assert_eq!(nowhere.stderr.lines().count(), 1, "{nowhere:?}");
}

#[test]
fn the_command_tells_a_directory_that_is_no_store() {
    let site = stopped();
    let above = site.path().parent().expect("a directory");
    for what in ["stat", "verify"] {
        let told = command().args(["disk", what]).args([above]).run();
        assert_eq!(told.code, Some(1), "{told:?}");
        assert!(told.stderr.contains("not a disk tier"), "{told:?}");
        assert_eq!(told.stdout, "");
    }
}

/// Every page is asked for until it is whole in the store. What is damaged may be found so by one reader.
fn fill(larder: &Larder) {
    for (path, _) in PAGES {
        for round in 0..4 {
            let answer = answer(larder.get(path));
            let is_whole = answer
                .as_ref()
                .is_some_and(|answer| answer.complete && answer.body == content(path, size(path)));
            assert!(is_whole || round == 0, "{path}: {answer:.300?}");
        }
    }
}

/// The answer; `None` where the connection was closed instead.
fn answer(ask: Ask<Client>) -> Option<Response> {
    let mut client = ask.begin();
    let mut answer = client.try_read_head()?;
    client.read_content(&mut answer);
    Some(answer)
}

/// Every page is what the origin has, whole and in part. Tells how many came from the store.
fn judge(larder: &Larder, what: &str) -> usize {
    let mut hits = 0;
    for (path, size) in PAGES {
        let wanted = content(path, size);
        let (first, last) = (size / 3, size / 2);
        let range = format!("bytes={first}-{last}");
        for range in [None, Some(&range)] {
            let ask = larder.get(path);
            let ask = match range {
                Some(range) => ask.header("Range", range),
                None => ask,
            };
            // Where the first chunk is damaged, nothing comes at all.
            let Some(answer) = answer(ask) else { continue };
            let said = answer.said();
            assert_eq!(answer.header("x-page"), Some(path), "{what}: {said}");
            assert_eq!(
                answer.header("etag"),
                Some(&*format!("\"{path}\"")),
                "{what}"
            );
            if !answer.complete {
                // It was found damaged after its head had been sent: the client can tell, and nothing before was wrong.
                assert!(wanted.starts_with(&answer.body), "{what}: {path}: {said}");
                continue;
            }
            match answer.status {
                206 => same(&answer.body, &wanted[first..=last], what),
                200 => same(&answer.body, &wanted, what),
                status => panic!("{what}: {path}: {status}: {said}"),
            }
            hits += usize::from(answer.hit());
        }
    }
    hits
}

/// Changes a file at one place, or its length.
fn damage(path: &Path, number: &mut u32) -> String {
    let length = fs::metadata(path).expect("a file").len();
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .open(path)
        .expect("a file");
    let random = (u64::from(next(number)) << 16) | u64::from(next(number));
    // Often at the beginning, where the heads are.
    let at = if next(number).is_multiple_of(2) {
        random % length.clamp(1, 300)
    } else {
        random % length.max(1)
    };
    let name = path
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    match next(number) % 5 {
        0 => {
            file.set_len(at).expect("shorter");
            format!("{name} cut at {at}")
        }
        1 => {
            file.set_len(length + 1 + random % 5000).expect("longer");
            format!("{name} longer")
        }
        2 => {
            let zeros = vec![0; (random % 9000) as usize];
            file.seek(SeekFrom::Start(at)).expect("a place");
            file.write_all(&zeros).expect("written");
            format!("{name}: {} zeros at {at}", zeros.len())
        }
        _ => {
            let bytes = fs::read(path).expect("bytes");
            let byte = bytes.get(at as usize).copied().unwrap_or(0);
            let bit = 1u8 << (next(number) % 8);
            file.seek(SeekFrom::Start(at)).expect("a place");
            file.write_all(&[byte ^ bit]).expect("written");
            format!("{name}: bit {bit} of byte {at}")
        }
    }
}

#[test]
fn damaged_files_never_yield_a_wrong_byte() {
    let site = stopped();
    let mut number = 7;
    for round in 0..8 {
        let mut done = Vec::new();
        for file in site.files() {
            if round % 3 != 0 || done.is_empty() {
                done.push(damage(&file, &mut number));
            }
        }
        let larder = site.start();
        judge(&larder, &format!("round {round}: {done:?}"));
        // What was damaged is forgotten, and what the origin gave in its place is kept.
        fill(&larder);
        let larder = site.restart(larder);
        let hits = judge(&larder, "what was put in its place");
        assert_eq!(hits, 2 * PAGES.len(), "round {round}: {done:?}");
        larder.stop();
    }
}

/// A segment may say that what older ones have was replaced.
#[test]
fn a_segment_without_its_header_is_told_of_and_brings_nothing_older_back() {
    let site = Site::with(|request| counted(request).cache("max-age=600"));
    for _ in 0..2 {
        let larder = site.start();
        let replaced = larder.get("/").header("Cache-Control", "no-cache");
        replaced.send();
        keep(&larder, &["/"]);
        larder.stop();
    }
    let latest = site.files().pop().expect("a segment");
    let mut bytes = fs::read(&latest).expect("read");
    bytes[40] ^= 1;
    fs::write(&latest, bytes).expect("written");
    let larder = site.start();
    let told = told(&larder);
    let said = format!(
        "{} cannot be read: its header is damaged; dropped, and with it 1 older segments, which it may have replaced",
        latest.display()
    );
    assert!(told.len() == 1 && told[0].ends_with(&said), "{told:?}");
    assert_eq!(sample(&larder, "larder_disk_damaged_total"), 1);
    assert!(site.files().is_empty(), "they take no room");
    let asked = site.origin.all().len();
    assert!(!larder.get("/").send().hit(), "the older was replaced");
    assert_eq!(site.origin.all().len(), asked + 1);
}

/// So may one that was not closed, where nobody knows what its damaged bytes were.
#[test]
fn a_segment_that_is_damaged_before_its_end_is_told_of_and_brings_nothing_older_back() {
    let site = Site::with(|request| counted(request).cache("max-age=600"));
    let pages = ["/a", "/b", "/c"];
    let larder = site.start();
    keep(&larder, &pages);
    let larder = site.restart(larder);
    for page in pages {
        larder.get(page).header("Cache-Control", "no-cache").send();
        larder.get(page).send();
    }
    wait_written(&larder, 3);
    larder.kill();
    let latest = site.files().pop().expect("a segment");
    let mut bytes = fs::read(&latest).expect("read");
    bytes[164] ^= 1;
    fs::write(&latest, bytes).expect("written");
    let path = site.path().to_string_lossy().into_owned();
    let verified = command().args(["disk", "verify", &path]).run();
    assert_eq!(verified.code, Some(1), "{verified:?}");
    assert!(verified.stderr.contains(" at 64: "), "{verified:?}");
    let larder = site.start();
    let told = told(&larder);
    let said = format!(
        "{} cannot be read: damaged at byte 64; dropped, and with it 1 older segments, which it may have replaced",
        latest.display()
    );
    assert!(told.len() == 1 && told[0].ends_with(&said), "{told:?}");
    assert_eq!(sample(&larder, "larder_disk_damaged_total"), 1);
    for page in pages {
        assert!(!larder.get(page).send().hit(), "the older was replaced");
    }
}

#[test]
fn a_large_body_without_its_header_is_told_of_by_the_name_of_its_file() {
    let site = stopped();
    let file = site.large_files().remove(0);
    let mut bytes = fs::read(&file).expect("read");
    bytes[20] ^= 1;
    fs::write(&file, bytes).expect("written");
    let path = site.path().to_string_lossy().into_owned();
    let verified = command().args(["disk", "verify", &path]).run();
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let said = format!("{name} at 0: not the header of such a file\n");
    assert_eq!(verified.stderr, said);
    let larder = site.start();
    fill(&larder);
    larder.wait_output("damaged bytes dropped");
    let told = told(&larder);
    let said = format!("damaged bytes dropped: {} at 0", file.display());
    assert!(told.len() == 1 && told[0].ends_with(&said), "{told:?}");
    assert_eq!(sample(&larder, "larder_disk_damaged_total"), 1);
}

#[test]
fn what_a_crash_leaves_before_a_header_is_no_damage() {
    let site = stopped();
    let path = site.path().to_string_lossy().into_owned();
    let left = site.path().join("segment-00000009");
    for bytes in [vec![], vec![0; 10], vec![0; 5000]] {
        fs::write(&left, bytes).expect("written");
        let verified = command().args(["disk", "verify", &path]).run();
        assert_eq!(verified.code, Some(0), "{verified:?}");
        let larder = site.start();
        assert!(!left.exists(), "it takes no room");
        assert_eq!(told(&larder), Vec::<String>::new());
        larder.stop();
    }
}

/// Who is at it gets what comes before. Whoever asks then has it fetched.
#[test]
fn clients_that_come_upon_the_same_damage_are_cut_off_before_it_and_it_is_told_of_once() {
    // More than sockets hold.
    const SIZE: usize = 10 * LARGE;
    let site = Site::of_sizes(|_| SIZE);
    let larder = site.start();
    keep(&larder, &["/"]);
    let larder = site.restart(larder);
    let begin = |_| {
        let mut client = larder.get("/").begin();
        let head = client.read_head();
        (client, head)
    };
    let clients: Vec<_> = (0..4).map(begin).collect();
    let file = site.large_files().remove(0);
    let length = fs::metadata(&file).expect("a file").len();
    let mut open = OpenOptions::new().write(true).open(&file).expect("a file");
    open.seek(SeekFrom::Start(length - 1)).expect("a place");
    open.write_all(b"!").expect("written");
    let wanted = content("/", SIZE);
    for (mut client, mut answer) in clients {
        client.read_content(&mut answer);
        assert!(answer.hit() && !answer.complete, "{}", answer.said());
        assert!(wanted.starts_with(&answer.body));
    }
    let answer = larder.get("/").send();
    assert!(!answer.hit(), "{}", answer.said());
    same(&answer.body, &wanted, "it is fetched");
    larder.wait_output("damaged bytes dropped");
    assert_eq!(told(&larder).len(), 1, "{:#?}", told(&larder));
    assert_eq!(sample(&larder, "larder_disk_damaged_total"), 1);
}

#[test]
fn files_that_took_each_others_names_are_told_apart() {
    let site = stopped();
    let large = site.large_files();
    assert_eq!(large.len(), 2);
    let other = site.path().join("other");
    fs::rename(&large[0], &other).unwrap();
    fs::rename(&large[1], &large[0]).unwrap();
    fs::rename(&other, &large[1]).unwrap();
    let larder = site.start();
    judge(&larder, "large files swapped");
    larder.stop();
    for file in site.files() {
        let segment = file.file_name().unwrap().to_string_lossy().into_owned();
        if let Some(id) = segment.strip_prefix("segment-") {
            let copy = u32::from_str_radix(id, 16).unwrap() + 5;
            fs::copy(&file, site.path().join(format!("segment-{copy:08x}"))).unwrap();
        }
    }
    let larder = site.start();
    judge(&larder, "segments doubled under other numbers");
}

#[test]
fn files_of_another_directory_are_not_believed() {
    let (site, other) = (stopped(), Site::with(|_| Reply::status(500)));
    other.origin.otherwise(|request| {
        Reply::ok()
            .cache("max-age=600")
            .header("ETag", format!("\"{}\"", request.path()))
            .header("X-Page", request.path())
            .body(content(request.path(), size(request.path())))
    });
    other.start().stop();
    for file in site.files() {
        fs::copy(&file, other.path().join(file.file_name().unwrap())).unwrap();
    }
    let larder = other.start();
    for (path, _) in PAGES {
        assert!(
            !larder.get(path).send().hit(),
            "{path} was never asked for here"
        );
    }
    judge(&larder, "another's files");
}

#[test]
fn missing_files_are_fetched_again() {
    let site = stopped();
    for file in site.large_files() {
        fs::remove_file(file).unwrap();
    }
    let larder = site.start();
    judge(&larder, "no large files");
    fill(&larder);
    larder.stop();
    fs::remove_file(site.path().join("about")).unwrap();
    let larder = site.start();
    judge(&larder, "nothing about the directory");
    fill(&larder);
    larder.stop();
    fs::write(site.path().join("about"), "something else\n").unwrap();
    let larder = site.start();
    judge(&larder, "something else about the directory");
    fill(&larder);
    larder.stop();
    for file in site.files() {
        fs::remove_file(file).unwrap();
    }
    let larder = site.start();
    judge(&larder, "no files");
}

#[test]
fn files_that_change_while_it_runs_never_yield_a_wrong_byte() {
    let site = stopped();
    let mut number = 11;
    for round in 0..6 {
        let larder = site.start();
        let done: Vec<_> = site
            .files()
            .iter()
            .map(|file| damage(file, &mut number))
            .collect();
        judge(&larder, &format!("round {round}: {done:?}"));
        fill(&larder);
        judge(&larder, "again");
        larder.stop();
    }
}

#[test]
fn a_crash_in_the_middle_of_much_writing_leaves_no_wrong_byte() {
    let size = |number: usize| match number % 10 {
        0 => LARGE,
        1 => MIDDLE,
        _ => 100 + 37 * number,
    };
    let site = Site::with(move |request| {
        let number = request.path()[1..].parse().expect("a number");
        Reply::ok()
            .cache("max-age=600")
            .body(content(request.path(), size(number)))
    });
    let mut larder = site.start();
    let mut first = 0;
    for round in 1..5 {
        let Address::Tcp(address) = larder.address() else {
            panic!("a TCP address")
        };
        let before = site.origin.all().len();
        let writers: Vec<_> = (0..3)
            .map(|_| {
                thread::spawn(move || {
                    // Each page three times, until nobody is there any more.
                    let mut number = first;
                    while ask_thrice(address, number).is_ok() {
                        number += 1;
                    }
                    number
                })
            })
            .collect();
        wait_until("much was asked for", || {
            site.origin.all().len() >= before + 25 * round
        });
        larder = site.crash(larder);
        let last = writers
            .into_iter()
            .map(|writer| writer.join().expect("a number"));
        let last = last.max().expect("a writer");
        for number in first..=last {
            let path = format!("/{number}");
            let answer = larder.get(&path).send();
            assert!(answer.complete, "{path}: {}", answer.said());
            same(&answer.body, &content(&path, size(number)), &path);
        }
        first = last + 1;
    }
}

fn ask_thrice(address: SocketAddr, number: usize) -> io::Result<()> {
    for _ in 0..3 {
        let mut stream = TcpStream::connect(address)?;
        write!(
            stream,
            "GET /{number} HTTP/1.1\r\nHost: example.test\r\nConnection: close\r\n\r\n"
        )?;
        io::copy(&mut stream, &mut io::sink())?;
    }
    Ok(())
}
