//! Request bodies on their way to scripts: as they come where their length is known, gathered first where it is not.

use crate::{common::Said, fastcgi::Site, fastcgi_bad::serve};
use std::{
    fs,
    io::Write,
    process::{self, Stdio},
};
use testkit::{
    Client, Command, FastCgi, Gate, Larder, SmallDisk,
    fastcgi::{Next, kind, output},
    wait_until,
};

const HEAD: &str = "HTTP/1.1\r\nHost: example.test\r\n";
const WELL: &str = "Cache-Control: no-store\r\n\r\nwell";

/// Text of which no two pieces are the same.
fn text(length: usize) -> Vec<u8> {
    (0..)
        .flat_map(|number: u32| number.to_be_bytes())
        .take(length)
        .collect()
}

/// Begins a request whose length nobody says.
fn begin(larder: &Larder, target: &str) -> Client {
    let mut client = Client::connect(larder.address());
    client.send(format!(
        "POST {target} {HEAD}Transfer-Encoding: chunked\r\n\r\n"
    ));
    client
}

fn send_chunk(client: &mut Client, piece: &[u8]) {
    client.send([format!("{:x}\r\n", piece.len()).as_bytes(), piece, b"\r\n"].concat());
}

/// Sends `body` in chunks of this size.
fn upload(larder: &Larder, target: &str, body: &[u8], chunk: usize) -> testkit::Response {
    let mut client = begin(larder, target);
    for piece in body.chunks(chunk) {
        send_chunk(&mut client, piece);
    }
    client.send("0\r\n\r\n");
    client.read()
}

/// How many files without a name it has open.
fn nameless_files(larder: &Larder) -> usize {
    let open = fs::read_dir(format!("/proc/{}/fd", larder.id())).unwrap();
    let targets = open
        .flatten()
        .filter_map(|entry| fs::read_link(entry.path()).ok());
    targets
        .filter(|target| target.to_string_lossy().ends_with("(deleted)"))
        // Which lies in memory, and is always there.
        .filter(|target| !target.starts_with("/memfd:larder (deleted)"))
        .count()
}

#[test]
fn a_body_of_known_length_is_passed_on_while_it_comes() {
    let gate = Gate::new();
    let halfway = gate.clone();
    let server = FastCgi::start_early(move |call, line| {
        assert_eq!(call.params["CONTENT_LENGTH"], "200000");
        let mut read = 0;
        while let Some((kind::IN, piece)) = line.read()
            && !piece.is_empty()
        {
            let before = read;
            read += piece.len();
            if before < 100_000 && read >= 100_000 {
                halfway.pass();
            }
        }
        line.send(output(format!("Cache-Control: no-store\r\n\r\n{read}")));
        Next::Keep
    });
    let larder = serve(&server, "");
    let mut client = Client::connect(larder.address());
    client.send(format!("POST / {HEAD}Content-Length: 200000\r\n\r\n"));
    client.send(vec![b'x'; 100_000]);
    gate.wait_reached();
    client.send(vec![b'y'; 100_000]);
    gate.open();
    assert_eq!(client.read().text(), "200000");
}

#[test]
fn a_body_of_unknown_length_arrives_whole() {
    let site = Site::new();
    let larder = site.start();
    for length in [0, 1, 100_000, 300_000, 5_000_000] {
        let body = text(length);
        let measured = larder.ask("POST", "/probe/upload.php").body(&body).send();
        let wanted = measured.text();
        assert!(wanted.starts_with(&format!("{length} ")), "{wanted}");
        let unmeasured = upload(&larder, "/probe/upload.php", &body, 64_000);
        assert_eq!(unmeasured.text(), wanted);
    }
    // Piece by piece.
    let body = text(3_000);
    assert!(
        upload(&larder, "/probe/upload.php", &body, 1)
            .text()
            .starts_with("3000 ")
    );
    let told = upload(&larder, "/probe/env.php", b"the body", 3);
    let told: serde_json::Value = serde_json::from_slice(&told.body).unwrap();
    assert_eq!(
        (&told["CONTENT_LENGTH"], &told["body"]),
        (&"8".into(), &"the body".into())
    );
    // What no script is asked for is not gathered: the answer is there before the body.
    let mut early = begin(&larder, "/wp-content/themes/style.css");
    assert_eq!(early.read().status, 405);
    assert_eq!(nameless_files(&larder), 0);
}

#[test]
fn over_http2_too() {
    let site = Site::new();
    let larder = site.start();
    let body = text(1_000_000);
    let wanted = upload(&larder, "/probe/upload.php", &body, 100_000).text();
    // From a pipe, curl cannot say how much will come.
    let mut curl = process::Command::new("curl")
        .args(["-sS", "--max-time", "20", "--http2-prior-knowledge"])
        .args(["-X", "POST", "-T", "-"])
        .arg(format!("{}/probe/upload.php", larder.listeners()[0]))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("curl");
    let mut pipe = curl.stdin.take().unwrap();
    pipe.write_all(&body).unwrap();
    drop(pipe);
    let done = curl.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&done.stdout), wanted);
}

#[test]
fn what_is_gathered_is_in_a_file_that_goes_with_its_request() {
    let server = FastCgi::with_output(WELL);
    let larder = serve(&server, "");
    let mut client = begin(&larder, "/");
    for _ in 0..8 {
        send_chunk(&mut client, &text(100_000));
    }
    wait_until("a file was open", || nameless_files(&larder) == 1);
    assert_eq!(server.requests(), 0, "no script is held up meanwhile");
    drop(client);
    wait_until("the file was gone", || nameless_files(&larder) == 0);
    assert_eq!(server.requests(), 0);
    assert_eq!(upload(&larder, "/", &text(400_000), 50_000).text(), "well");
}

#[test]
fn what_is_too_large_is_refused() {
    let server = FastCgi::start(|call, line| {
        assert_eq!(call.params["CONTENT_LENGTH"], call.body.len().to_string());
        line.send(output(format!(
            "Cache-Control: no-store\r\n\r\n{}",
            call.body.len()
        )));
        Next::Keep
    });
    let larder = serve(&server, "[limits]\nrequest_body = \"1MiB\"");
    assert_eq!(
        upload(&larder, "/", &text(1 << 20), 100_000).text(),
        "1048576"
    );
    let answer = upload(&larder, "/", &text((1 << 20) + 1), 100_000);
    assert_eq!(answer.status, 413, "{:?}", answer.head);
    assert_eq!(server.requests(), 1, "nothing of it reached a script");
    assert_eq!(nameless_files(&larder), 0);
}

#[test]
fn a_client_that_stalls_is_given_up() {
    let server = FastCgi::with_output(WELL);
    let larder = serve(&server, "[limits]\nbody_time = \"100ms\"");
    let mut client = begin(&larder, "/");
    send_chunk(&mut client, &text(400_000));
    assert_eq!(client.read().status, 408);
    let larder = serve(&server, "timeouts.whole = \"100ms\"");
    let mut client = begin(&larder, "/");
    send_chunk(&mut client, &text(400_000));
    let answer = client.read();
    assert_eq!(answer.status, 504, "{:?}", answer.head);
    assert_eq!(answer.parameter("detail").as_deref(), Some("whole-timeout"));
    assert_eq!(server.requests(), 0);
}

#[test]
fn where_nothing_can_be_gathered_that_is_said() {
    let server = FastCgi::with_output(WELL);
    let disk = SmallDisk::new("1m");
    let root = testkit::scratch_dir();
    fs::write(root.join("index.php"), "").unwrap();
    let config = format!(
        "[[origin]]\nfastcgi = {:?}\nroot = {root:?}\n",
        server.url()
    );
    let larder = Command::serve(env!("CARGO_BIN_EXE_larder"))
        .env("TMPDIR", disk.path())
        .config(&config)
        .start();
    let answer = upload(&larder, "/", &text(3_000_000), 100_000);
    assert_eq!(answer.status, 503, "{:?}", answer.head);
    assert_eq!(answer.parameter("detail").as_deref(), Some("spool"));
    larder.wait_output(&format!(
        "{}: No space left on device",
        disk.path().display()
    ));
    assert_eq!(server.requests(), 0);
    // Its room is free again.
    assert_eq!(upload(&larder, "/", &text(600_000), 100_000).text(), "well");
    assert_eq!(upload(&larder, "/", &text(600_000), 100_000).text(), "well");
}

/// It is gathered first, so it has a limit even if the site sets none.
#[test]
fn a_chunked_body_of_more_than_is_gathered_is_too_large() {
    let server = FastCgi::with_output("");
    let larder = serve(&server, "");
    let answer = upload(&larder, "/", &text((64 << 20) + 1), 1 << 20);
    assert_eq!(answer.status, 413, "{:?}", answer.head);
    assert_eq!(server.requests(), 0, "nothing of it reached a script");
    assert_eq!(nameless_files(&larder), 0);
}
