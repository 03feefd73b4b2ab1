//! HTTP/2 by prior knowledge, frame by frame (RFC 9113).

use crate::{
    frames::{Script, Step},
    site::{SOON, Site, quick},
};
use std::{
    io::{Read, Write},
    net::TcpStream,
    time::Duration,
};
use testkit::BOUND;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const CONTINUATION: u8 = 9;
const END_STREAM: u8 = 1;
const ACK: u8 = 1;
const END_HEADERS: u8 = 4;

/// A connection past its preface.
pub struct Frames<S> {
    stream: S,
}

#[derive(Debug)]
pub struct Frame {
    kind: u8,
    flags: u8,
    stream: u32,
    payload: Vec<u8>,
}

impl<S: Read + Write> Frames<S> {
    pub fn new(mut stream: S) -> Self {
        stream
            .write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
            .unwrap();
        let mut frames = Self { stream };
        frames.send(SETTINGS, 0, 0, &[]);
        frames
    }

    fn send(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
        let mut bytes = length[1..].to_vec();
        bytes.extend([kind, flags]);
        bytes.extend(stream.to_be_bytes());
        bytes.extend(payload);
        // The other side may have closed; what it said can still be read.
        let _ = self.stream.write_all(&bytes);
    }

    /// A request with these fields on top of `GET`, `http` and the path.
    pub fn ask(&mut self, stream: u32, path: &str, fields: &[(&str, &str)], flags: u8) {
        // RFC 7541 appendix A: 2 is `:method: GET`, 6 is `:scheme: http`, 4 is `:path`.
        let mut block = vec![0x82, 0x86, 0x04];
        text(&mut block, path);
        for (name, value) in fields {
            block.push(0);
            text(&mut block, name);
            text(&mut block, value);
        }
        self.send(HEADERS, END_HEADERS | flags, stream, &block);
    }

    fn next(&mut self) -> Option<Frame> {
        let mut head = [0; 9];
        self.stream.read_exact(&mut head).ok()?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let mut payload = vec![0; length as usize];
        self.stream.read_exact(&mut payload).ok()?;
        Some(Frame {
            kind: head[3],
            flags: head[4],
            stream: u32::from_be_bytes([head[5], head[6], head[7], head[8]]),
            payload,
        })
    }

    /// The next frame of this kind; `None` when the connection ends before.
    fn wait(&mut self, kind: u8) -> Option<Frame> {
        loop {
            let frame = self.next()?;
            if frame.kind == kind && !(kind == SETTINGS && frame.flags & ACK != 0) {
                return Some(frame);
            }
        }
    }

    /// Status and content of the answer on this stream.
    pub fn answer(&mut self, stream: u32) -> (u16, String) {
        let head = self.wait(HEADERS).unwrap();
        assert_eq!(head.stream, stream);
        let mut content = Vec::new();
        let mut ended = head.flags & END_STREAM != 0;
        while !ended {
            let data = self.wait(DATA).unwrap();
            assert_eq!(data.stream, stream);
            content.extend(data.payload);
            ended = data.flags & END_STREAM != 0;
        }
        (status(&head.payload), String::from_utf8(content).unwrap())
    }
}

fn text(block: &mut Vec<u8>, text: &str) {
    block.push(u8::try_from(text.len()).unwrap());
    block.extend(text.as_bytes());
}

/// `:status` is the first field; either a static entry, or a literal with Huffman-coded or plain digits.
fn status(block: &[u8]) -> u16 {
    let indexed = [200, 204, 206, 304, 400, 404, 500];
    match block {
        [entry @ 0x88..=0x8e, ..] => indexed[usize::from(entry - 0x88)],
        [0x48, 0x83, 0x69, 0x90, 0xff, ..] => 431,
        _ => 0,
    }
}

fn connect(site: &Site) -> Frames<TcpStream> {
    let stream = TcpStream::connect(site.address()).unwrap();
    stream.set_read_timeout(Some(BOUND)).unwrap();
    Frames::new(stream)
}

const HOST: (&str, &str) = (":authority", "a");

#[test]
fn serves_streams_of_one_connection() {
    let site = Site::plain();
    let mut frames = connect(&site);
    for (stream, path) in [(1, "/one"), (3, "/two")] {
        frames.ask(stream, path, &[HOST], END_STREAM);
        assert_eq!(frames.answer(stream), (200, format!("GET http://a{path}")));
    }
}

#[test]
fn a_preface_in_pieces_is_known() {
    let site = Site::plain();
    let mut stream = TcpStream::connect(site.address()).unwrap();
    for byte in b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" {
        stream.write_all(&[*byte]).unwrap();
    }
    let mut frames = Frames { stream };
    frames.send(SETTINGS, 0, 0, &[]);
    frames.ask(1, "/", &[HOST], END_STREAM);
    assert_eq!(frames.answer(1).0, 200);
}

#[test]
fn a_preface_in_pieces_is_no_slow_head() {
    let site = Site::with(quick(|limits| {
        limits.head_time = SOON;
        limits.idle_time = SOON * 2;
    }));
    let mut stream = TcpStream::connect(site.address()).unwrap();
    stream.set_read_timeout(Some(BOUND)).unwrap();
    stream.write_all(b"PRI * HTTP/2.0\r\n").unwrap();
    site.wait_counted("the first piece", |counters| counters.accepted == 1);
    stream.write_all(b"\r\nSM\r\n\r\n").unwrap();
    let mut frames = Frames { stream };
    frames.send(SETTINGS, 0, 0, &[]);
    frames.wait(GOAWAY).expect("the end of an idle connection");
    assert_eq!(site.limiter.snapshot().timeouts, 0);
}

#[test]
fn hosts() {
    let site = Site::plain();
    let rows: [(&[_], u16); 8] = [
        (&[("host", "a")], 200),
        (&[HOST, ("host", "a")], 200),
        (&[HOST, ("host", "A.")], 200),
        (&[HOST, ("host", "a:80")], 200),
        (&[HOST, ("host", "a:81")], 400),
        (&[HOST, ("host", "b")], 400),
        (&[HOST, ("host", "a"), ("host", "a")], 400),
        (&[("host", "a b")], 400),
    ];
    let mut frames = connect(&site);
    for (nth, (fields, status)) in rows.into_iter().enumerate() {
        let stream = u32::try_from(nth).unwrap() * 2 + 1;
        frames.ask(stream, "/", fields, END_STREAM);
        assert_eq!(frames.answer(stream).0, status, "{fields:?}");
    }
}

/// RFC 9113 section 8.2.1: a value "MUST NOT start or end with an ASCII whitespace character". What takes it away
/// behind us would see another value than routes and keys did.
#[test]
fn values_with_white_space_around_them_are_malformed() {
    let site = Site::plain();
    let mut frames = connect(&site);
    let rows = [
        ("1", 200),
        ("1 \t1", 200),
        ("", 200),
        (" 1", 400),
        ("1 ", 400),
        ("\t1", 400),
        ("1\t", 400),
        (" ", 400),
    ];
    for (nth, (value, status)) in rows.into_iter().enumerate() {
        let stream = u32::try_from(nth).unwrap() * 2 + 1;
        frames.ask(stream, "/", &[HOST, ("x-preview", value)], END_STREAM);
        assert_eq!(frames.answer(stream).0, status, "{value:?}");
    }
}

#[test]
fn fields_that_concern_the_connection_are_malformed() {
    let site = Site::plain();
    for field in [
        ("connection", "close"),
        ("transfer-encoding", "chunked"),
        ("Upper", "x"),
    ] {
        let mut frames = connect(&site);
        frames.ask(1, "/", &[HOST, field], END_STREAM);
        // RFC 9113 section 8.1.1: a stream error, or a connection error.
        let refused = loop {
            match frames.next() {
                Some(frame) if frame.kind == HEADERS => break false,
                Some(frame) if frame.kind != RST_STREAM && frame.kind != GOAWAY => {}
                _ => break true,
            }
        };
        assert!(refused, "{field:?}");
    }
}

#[test]
fn says_its_limits() {
    let site = Site::with(quick(|limits| {
        limits.http2_streams = 7;
        limits.header_size = 9000;
    }));
    let settings = connect(&site).wait(SETTINGS).unwrap().payload;
    let settings: Vec<_> = settings.chunks(6).collect();
    assert!(settings.contains(&&[0, 3, 0, 0, 0, 7][..]), "{settings:?}");
    assert!(
        settings.contains(&&[0, 6, 0, 0, 0x23, 0x28][..]),
        "{settings:?}"
    );
}

/// Some clients discard an answer that comes together with a reset.
#[test]
fn content_that_nobody_reads_may_end_after_the_answer() {
    let site = Site::plain();
    let mut frames = connect(&site);
    for (stream, path) in [(1, "/unread"), (3, "/one")] {
        frames.ask(stream, path, &[HOST], 0);
        frames.send(DATA, 0, stream, &[b'x'; 100]);
        frames.answer(stream);
        frames.send(DATA, END_STREAM, stream, b"x");
        frames.send(PING, 0, 0, &[0; 8]);
        loop {
            let frame = frames.next().unwrap();
            assert_ne!(frame.kind, RST_STREAM, "{path}");
            if frame.kind == PING {
                break;
            }
        }
    }
    frames.ask(5, "/", &[HOST], END_STREAM);
    assert_eq!(frames.answer(5).0, 200);
}

#[test]
fn content_that_nobody_reads_and_that_does_not_end_is_reset() {
    let site = Site::with(quick(|limits| limits.linger_time = SOON));
    let mut frames = connect(&site);
    frames.ask(1, "/unread", &[HOST], 0);
    assert_eq!(frames.answer(1).1, "too large");
    let reset = frames.wait(RST_STREAM).expect("the connection stays");
    // NO_ERROR: RFC 9113 section 8.1.
    assert_eq!((reset.stream, reset.payload), (1, vec![0; 4]));
    frames.ask(3, "/", &[HOST], END_STREAM);
    assert_eq!(frames.answer(3).0, 200);
}

/// It learns so that it need not send it.
#[test]
fn content_that_is_held_back_and_that_nobody_reads_is_reset_at_once() {
    let site = Site::with(quick(|limits| limits.linger_time = BOUND * 2));
    let mut frames = connect(&site);
    frames.ask(1, "/unread", &[HOST, ("expect", "100-continue")], 0);
    assert_eq!(frames.answer(1).1, "too large");
    let reset = frames.wait(RST_STREAM).expect("the connection stays");
    assert_eq!((reset.stream, reset.payload), (1, vec![0; 4]));
}

/// By `h2` itself: nothing is said of it, and nothing counted.
#[test]
fn a_head_that_is_too_large_is_refused_on_its_stream() {
    let site = Site::with(quick(|limits| limits.header_size = 9000));
    let mut frames = connect(&site);
    let long = "x".repeat(100);
    let fields = [&[HOST][..], &vec![("x", long.as_str()); 80]].concat();
    frames.ask(1, "/", &fields, END_STREAM);
    let head = frames.wait(HEADERS).expect("the connection stays");
    assert_eq!((head.stream, status(&head.payload)), (1, 431));
    assert_eq!(head.payload.len(), 5, "the status alone");
    assert_eq!(head.flags & END_STREAM, END_STREAM);
    frames.ask(3, "/", &[HOST], END_STREAM);
    assert_eq!(frames.answer(3).0, 200);
    assert_eq!(site.limiter.snapshot().protocol_errors, 0);
}

/// RFC 9113 section 5.1.2: one more than was announced is refused, on its stream, and the others go on.
#[test]
fn one_stream_too_many_is_refused() {
    let site = Site::with(quick(|limits| limits.http2_streams = 2));
    let mut frames = connect(&site);
    for (nth, stream) in [1, 3].into_iter().enumerate() {
        frames.ask(stream, "/wait", &[HOST], END_STREAM);
        site.stage.wait_entered(nth + 1);
    }
    frames.ask(5, "/wait", &[HOST], END_STREAM);
    let reset = frames.wait(RST_STREAM).expect("the connection stays");
    assert_eq!(reset.stream, 5);
    // REFUSED_STREAM: it may be asked again.
    assert_eq!(reset.payload, 7_u32.to_be_bytes());
    for (nth, stream) in [1, 3].into_iter().enumerate() {
        site.stage.let_go(nth + 1);
        assert_eq!(frames.answer(stream), (200, "waited".to_owned()));
    }
    frames.ask(7, "/", &[HOST], END_STREAM);
    assert_eq!(frames.answer(7).0, 200);
}

/// Which is the last that may be cancelled: with none, the first ends the connection.
#[test]
fn as_many_as_are_allowed_may_be_cancelled() {
    for allowed in [0, 3] {
        let site = Site::with(quick(|limits| limits.http2_resets = allowed));
        let mut frames = connect(&site);
        for nth in 0..allowed {
            frames.ask(nth * 2 + 1, "/wait", &[HOST], END_STREAM);
            site.stage.wait_entered(nth as usize + 1);
            frames.send(RST_STREAM, 0, nth * 2 + 1, &8_u32.to_be_bytes());
            site.stage.wait_left(nth as usize + 1);
        }
        frames.ask(101, "/wait", &[HOST], END_STREAM);
        site.stage.wait_entered(allowed as usize + 1);
        frames.send(RST_STREAM, 0, 101, &8_u32.to_be_bytes());
        while frames.next().is_some() {}
        site.wait_counted("the close", |counters| counters.active == 0);
    }
}

#[test]
fn a_storm_of_resets_ends_the_connection() {
    let site = Site::with(quick(|limits| limits.http2_resets = 10));
    let mut frames = connect(&site);
    for nth in 0..200 {
        frames.ask(nth * 2 + 1, "/wait", &[HOST], END_STREAM);
        frames.send(RST_STREAM, 0, nth * 2 + 1, &8_u32.to_be_bytes());
    }
    while frames.next().is_some() {}
    site.wait_counted("the close", |counters| counters.active == 0);
}

#[test]
fn a_body_that_does_not_come_in_time_ends_its_stream_alone() {
    // Whether the connection itself is silent does not matter.
    for pings in [true, false] {
        let site = Site::with(quick(|limits| limits.body_time = SOON));
        let mut frames = connect(&site);
        frames.ask(1, "/echo", &[HOST], 0);
        frames.ask(3, "/wait", &[HOST], END_STREAM);
        site.stage.wait_entered(1);
        let cut = loop {
            if pings {
                frames.send(PING, 0, 0, &[0; 8]);
            }
            let frame = frames.next().expect("the connection stays");
            if frame.kind == RST_STREAM {
                break frame;
            }
        };
        assert_eq!(cut.stream, 1);
        site.stage.let_go(1);
        assert_eq!(frames.answer(3), (200, "waited".to_owned()));
        frames.ask(5, "/", &[HOST], END_STREAM);
        assert_eq!(frames.answer(5).0, 200);
    }
}

#[test]
fn some_resets_are_no_storm() {
    let site = Site::with(quick(|limits| limits.http2_resets = 10));
    let mut frames = connect(&site);
    for nth in 0..40 {
        let (cancelled, finished) = (nth * 4 + 1, nth * 4 + 3);
        frames.ask(cancelled, "/wait", &[HOST], END_STREAM);
        site.stage.wait_entered(nth as usize + 1);
        frames.send(RST_STREAM, 0, cancelled, &8_u32.to_be_bytes());
        site.stage.wait_left(nth as usize + 1);
        frames.ask(finished, "/", &[HOST], END_STREAM);
        assert_eq!(frames.answer(finished).0, 200);
    }
}

/// What comes for a stream that has its answer was on its way, and is nobody's fault (RFC 9113 section 5.1).
#[test]
fn content_of_answered_requests_ends_no_other_stream() {
    const AT_ONCE: u32 = 40;
    let site = Site::with(quick(|limits| limits.linger_time = Duration::ZERO));
    let mut frames = connect(&site);
    let mut first = 1;
    for _ in 0..40 {
        let streams = (first..).step_by(2).take(AT_ONCE as usize);
        for stream in streams.clone() {
            frames.ask(stream, "/", &[HOST], 0);
        }
        let mut answered = 0;
        while answered < AT_ONCE {
            let frame = frames.next().expect("the connection goes on");
            assert_ne!(frame.kind, GOAWAY, "{frame:?}");
            answered += u32::from(frame.kind == RST_STREAM);
        }
        for stream in streams {
            frames.send(DATA, END_STREAM, stream, b"late");
        }
        first += 2 * AT_ONCE;
    }
    frames.ask(first, "/last", &[HOST], END_STREAM);
    assert_eq!(frames.answer(first).0, 200);
}

#[test]
fn what_a_client_gave_up_gets_no_interim_response_any_more() {
    let site = Site::plain();
    let mut frames = connect(&site);
    frames.ask(1, "/hint-from-elsewhere", &[HOST], END_STREAM);
    assert_eq!(frames.wait(HEADERS).unwrap().stream, 1);
    frames.send(RST_STREAM, 0, 1, &8_u32.to_be_bytes());
    frames.ask(3, "/", &[HOST], END_STREAM);
    assert_eq!(frames.answer(3).0, 200);
    site.stage.let_go(1);
    site.stage.wait_entered(2);
    frames.ask(5, "/", &[HOST], END_STREAM);
    assert_eq!(frames.wait(HEADERS).unwrap().stream, 5);
}

/// Nor does it count as idle, or as served, until all of it was taken.
#[test]
fn an_answer_of_which_its_client_takes_a_byte_is_reset_in_time() {
    let site = Site::with(quick(|limits| limits.write_time = SOON));
    let mut frames = connect(&site);
    // RFC 9113 section 6.5.2: SETTINGS_INITIAL_WINDOW_SIZE.
    frames.send(SETTINGS, 0, 0, &[0, 4, 0, 0, 0, 1]);
    frames.ask(1, "/one", &[HOST], END_STREAM);
    let reset = loop {
        frames.send(PING, 0, 0, &[0; 8]);
        match frames.next().unwrap() {
            frame if frame.kind == RST_STREAM => break frame,
            frame => assert!(frame.kind != DATA || frame.payload.len() <= 1),
        }
    };
    assert_eq!(reset.stream, 1);
    site.wait_counted("the cut", |counters| counters.timeouts == 1);
}

/// Whatever else the connection does.
#[test]
fn a_head_that_does_not_become_whole_in_time_ends_the_connection() {
    // Half a frame, and a whole one without an end.
    for (length, flags) in [(20, END_HEADERS), (1, 0)] {
        let site = Site::with(quick(|limits| limits.head_time = SOON));
        let mut frames = connect(&site);
        frames.ask(1, "/wait", &[HOST], END_STREAM);
        site.stage.wait_entered(1);
        let [.., length] = u32::to_be_bytes(length);
        let half = [0, 0, length, HEADERS, flags | END_STREAM, 0, 0, 0, 3, 0x82];
        frames.stream.write_all(&half).unwrap();
        while frames.next().is_some() {
            // Answers, of which there are none, would count too.
        }
        site.wait_counted("the cut", |counters| counters.timeouts == 1);
    }
}

#[test]
fn a_head_that_comes_in_pieces_is_answered() {
    // Long enough for six pieces.
    let limit = 5 * SOON;
    let site = Site::with(quick(|limits| limits.head_time = limit));
    let mut frames = connect(&site);
    for stream in [1, 3, 5] {
        let block = [0x82, 0x86, 0x84, 0x01, 1, b'a'];
        for (nth, byte) in block.iter().enumerate() {
            let (kind, flags) = match nth {
                0 => (HEADERS, END_STREAM),
                5 => (CONTINUATION, END_HEADERS),
                _ => (CONTINUATION, 0),
            };
            frames.send(kind, flags, stream, &[*byte]);
        }
        assert_eq!(frames.answer(stream).0, 200);
    }
    // As long again as any of them had.
    frames.ask(7, "/wait", &[HOST], END_STREAM);
    site.stage.wait_entered(1);
    let began = std::time::Instant::now();
    testkit::wait_until("time to pass", || began.elapsed() > 2 * limit);
    site.stage.let_go(1);
    assert_eq!(frames.answer(7), (200, "waited".to_owned()));
    assert_eq!(site.limiter.snapshot().timeouts, 0);
}

#[test]
fn an_idle_connection_gets_goaway() {
    let site = Site::with(quick(|limits| limits.idle_time = SOON));
    let mut frames = connect(&site);
    frames.ask(1, "/", &[HOST], END_STREAM);
    assert_eq!(frames.answer(1).0, 200);
    let farewell = frames.wait(GOAWAY).unwrap();
    assert_eq!(farewell.payload[4..8], [0; 4], "no error");
}

#[test]
fn a_drain_finishes_streams_in_flight() {
    let mut site = Site::plain();
    let mut frames = connect(&site);
    frames.ask(1, "/wait", &[HOST], END_STREAM);
    site.stage.wait_entered(1);
    site.switch.start(BOUND);
    frames.wait(GOAWAY).unwrap();
    site.stage.let_go(1);
    assert_eq!(frames.answer(1), (200, "waited".to_owned()));
    drop(frames);
    site.join();
}

/// RFC 9113 section 6.8: the farewell waits for the client to have read it; one that never says so holds nothing up.
#[test]
fn a_drain_does_not_wait_for_a_client_that_asks_nothing_and_confirms_nothing() {
    let mut site = Site::plain();
    let (mut asked, mut silent) = (connect(&site), connect(&site));
    asked.ask(1, "/", &[HOST], END_STREAM);
    assert_eq!(asked.answer(1).0, 200);
    silent.wait(SETTINGS).unwrap();
    site.switch.start(2 * BOUND);
    for (mut frames, last) in [(asked, 1), (silent, 0)] {
        frames.wait(GOAWAY).unwrap();
        let farewell = frames.wait(GOAWAY).expect("a second one");
        assert_eq!(farewell.payload[..4], [0, 0, 0, last]);
        assert_eq!(farewell.payload[4..8], [0; 4], "no error");
        assert!(frames.next().is_none());
    }
    site.join();
}

/// Neither does the farewell cut off an answer whose client confirms nothing.
#[test]
fn a_drain_finishes_streams_of_a_client_that_confirms_nothing() {
    let mut site = Site::plain();
    let mut frames = connect(&site);
    frames.ask(1, "/wait", &[HOST], END_STREAM);
    site.stage.wait_entered(1);
    let mut idle = connect(&site);
    idle.wait(SETTINGS).unwrap();
    site.switch.start(2 * BOUND);
    // Until one is given up that is at rest.
    while idle.next().is_some() {}
    site.stage.let_go(1);
    assert_eq!(frames.answer(1), (200, "waited".to_owned()));
    frames.wait(GOAWAY).expect("a second farewell");
    site.join();
}

#[test]
fn a_stream_whose_window_its_client_does_not_open_is_reset_whatever_else_it_sends() {
    // What we cancel is not what the client cancels.
    let site = Site::with(quick(|limits| {
        limits.write_time = SOON;
        limits.http2_resets = 0;
    }));
    let mut frames = connect(&site);
    // 65,535 bytes come, then nothing: the window is never opened further.
    for (stream, path) in [(1, "/endless"), (3, "/endless")] {
        frames.ask(stream, path, &[HOST], END_STREAM);
        let reset = loop {
            // Each is answered.
            frames.send(PING, 0, 0, &[0; 8]);
            match frames.next().unwrap() {
                frame if frame.kind == RST_STREAM => break frame,
                _ => {}
            }
        };
        assert_eq!(reset.stream, stream);
    }
    site.wait_counted("the cuts", |counters| counters.timeouts == 2);
    frames.ask(5, "/", &[HOST], END_STREAM);
    let head = frames.wait(HEADERS).unwrap();
    assert_eq!((head.stream, status(&head.payload)), (5, 200));
}

#[test]
fn a_panic_ends_one_stream_alone() {
    let site = Site::plain();
    let mut frames = connect(&site);
    frames.ask(1, "/panic", &[HOST], END_STREAM);
    assert_eq!(
        frames.answer(1),
        (500, "Internal Server Error\n".to_owned())
    );
    frames.ask(3, "/", &[HOST], END_STREAM);
    assert_eq!(frames.answer(3).0, 200);
}

#[test]
fn a_panic_in_content_ends_one_stream_alone() {
    let site = Site::plain();
    let mut frames = connect(&site);
    let panics = Script::new(2, false, [Step::Bytes(5), Step::Panic]);
    frames.ask(1, &panics.target(), &[HOST], END_STREAM);
    assert_eq!(frames.wait(RST_STREAM).unwrap().stream, 1);
    frames.ask(3, "/", &[HOST], END_STREAM);
    assert_eq!(frames.answer(3).0, 200);
    assert_eq!(site.limiter.snapshot().panics, 1);
}

/// RFC 9113 section 8.2.3: browsers send each cookie in a line of its own, and all are one field.
#[test]
fn the_pairs_of_a_cookie_count_as_one_field() {
    let site = Site::plain();
    let mut frames = connect(&site);
    let pairs = vec![("cookie", "a=b"); 300];
    frames.ask(1, "/one", &[&[HOST], &*pairs].concat(), END_STREAM);
    assert_eq!(frames.answer(1).0, 200);
    let others = vec![("x", "y"); 101];
    frames.ask(3, "/one", &[&[HOST], &*others].concat(), END_STREAM);
    assert_ne!(frames.answer(3).0, 200);
}
