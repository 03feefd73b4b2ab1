//! Content on its way to an application that takes it at its own pace.

use crate::frames::{PREFACE, frame, last, literal};
use std::{
    io::{self, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::mpsc::{Receiver, Sender, channel},
    thread,
};
use testkit::{Command, Origin, Reply};

/// Kinds of frames (RFC 9113 section 6).
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const WINDOW_UPDATE: u8 = 8;

/// Takes one byte of a request's content, and then as many more as it is told. Tells when some of it comes.
fn take(mut larder: TcpStream, more: &Receiver<u32>, came: &Sender<()>) -> io::Result<()> {
    larder.read_exact(&mut [0; PREFACE.len()])?;
    // A stream's window is one byte (RFC 9113 section 6.5.2).
    larder.write_all(&frame(SETTINGS, 0, &[0, 4, 0, 0, 0, 1]))?;
    larder.write_all(&last(frame(SETTINGS, 0, &[])))?;
    loop {
        let mut start = [0; 9];
        larder.read_exact(&mut start)?;
        let [_, high, low, kind, flags, _, _, _, stream] = start;
        let length = usize::from(high) << 8 | usize::from(low);
        larder.read_exact(&mut vec![0; length])?;
        if kind != DATA {
            continue;
        }
        if flags & 1 == 1 {
            let head = frame(HEADERS, stream, &literal((":status", "204")));
            return larder.write_all(&last(head));
        }
        let _ = came.send(());
        let more = more.recv().unwrap_or_default();
        larder.write_all(&frame(WINDOW_UPDATE, stream, &more.to_be_bytes()))?;
    }
}

/// An application that takes some of it now and then does not hang, however little that is.
#[test]
fn what_an_application_of_http2_takes_slowly_may_take_longer_than_an_answer() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let (grant, more) = channel();
    let (came, taken) = channel();
    thread::spawn(move || {
        let (larder, _) = listener.accept().expect("a connection");
        // Larder may end it at any point.
        take(larder, &more, &came)
    });
    let hangs = Origin::start();
    hangs.reply("/hangs", Reply::ok().hang());
    let times = "timeouts.first_byte = \"2s\"";
    let larder = Command::serve(env!("CARGO_BIN_EXE_larder")).config(&format!(
        "[defaults]\norigin = \"app\"\n[[origin]]\nname = \"app\"\nservers = \"http://{address}\"\n\
         protocol = \"http2\"\n{times}\n[[origin]]\nname = \"hangs\"\nservers = \"{}\"\n{times}\n\
         [[route]]\npath = \"/hangs\"\norigin = \"hangs\"\n",
        hangs.url()
    ));
    let larder = larder.start();
    let content = vec![b'x'; 4000];
    let mut client = larder.ask("POST", "/").body(content).begin();
    taken.recv().expect("a byte");
    // This one begins later, and its time runs out.
    let mut late = larder.get("/hangs").begin();
    while !late.has_answer() {
        grant.send(1).expect("it listens");
        taken.recv().expect("a byte");
    }
    assert_eq!(late.read().status, 504);
    grant.send(4000).expect("it listens");
    assert_eq!(client.read().status, 204);
}
