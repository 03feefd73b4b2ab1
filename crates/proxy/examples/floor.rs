//! The floor under everything that benchmarks compare with: what the kernel alone takes for a hit. `--listen ADDR
//! --size N`, and `--answers N` for so many answers that lie apart, of which each request is sent one drawn at random.
//!
//! One thread waits for readable sockets, reads what has come, and takes that for one request, whatever it says; the
//! answer lies there with its head, and is written at once. Of a long one the kernel sends the pages as they lie,
//! without copying them: through a pipe, which costs less than from a file in memory. No server that reads a request
//! from a socket and writes an answer to it does less.

mod flags;

use nix::fcntl::{SpliceFFlags, vmsplice};
use rustix::{
    event::{Timespec, epoll},
    net::{SendFlags, send},
    pipe::{PipeFlags, SpliceFlags, fcntl_setpipe_size, pipe_with, splice},
};
use socket2::SockRef;
use std::{
    error::Error,
    io::{self, ErrorKind, IoSlice, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    os::fd::{AsRawFd, OwnedFd},
};

const LISTENER: u64 = u64::MAX;

/// What is shorter, in bytes, is sent as cheaply by copying it.
const LONG: usize = 32 << 10;

/// What is sent.
struct Answers {
    /// All of them, one behind the other; of a long one its head.
    bytes: Vec<u8>,
    /// How many bytes each has there.
    each: usize,
    /// What follows the head of a long one.
    content: Option<Vec<u8>>,
    /// The last number drawn; never 0.
    drawn: u64,
}

/// A client, where its answer begins, and how much of that is out; all of it where none is due.
struct Client {
    socket: TcpStream,
    at: usize,
    sent: usize,
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut count = 1;
    let (listen, size) = flags::read(&mut [("--answers", &mut count)])?;
    serve(listen, &mut answers(size, count.max(1)))
}

/// With as many fields as a stored page has.
fn answers(size: usize, count: usize) -> Answers {
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/html; charset=utf-8\r\ncache-control: public, max-age=3600\r\n\
         etag: \"5f3c-61b0c8a9d1e40\"\r\nlast-modified: Wed, 01 Oct 2025 10:00:00 GMT\r\nvary: Accept-Encoding\r\n\
         server: floor\r\nage: 17\r\nvia: 1.1 floor\r\ndate: Wed, 01 Oct 2025 10:00:17 GMT\r\ncontent-length: {size}\r\n\r\n"
    );
    let (mut one, content) = (head.into_bytes(), vec![b'x'; size]);
    let is_long = size >= LONG;
    if !is_long {
        one.extend(&content);
    }
    Answers {
        bytes: one.repeat(count),
        each: one.len(),
        content: is_long.then_some(content),
        drawn: 1,
    }
}

impl Answers {
    /// How long one is.
    fn length(&self) -> usize {
        self.each + self.content.as_ref().map_or(0, Vec::len)
    }

    /// Where the next answer begins: the first of all, or one drawn at random (xorshift).
    fn draw(&mut self) -> usize {
        self.drawn ^= self.drawn << 13;
        self.drawn ^= self.drawn >> 7;
        self.drawn ^= self.drawn << 17;
        let count = (self.bytes.len() / self.each) as u64;
        usize::try_from(self.drawn % count).unwrap_or(0) * self.each
    }

    /// Sends what is left of a client's answer, as far as the socket takes it at once; how much that was.
    fn send(&self, client: &Client, pages: &mut Pages) -> io::Result<usize> {
        let (mut socket, sent) = (&client.socket, client.sent);
        let one = self.bytes.get(client.at..client.at + self.each);
        let rest = one.and_then(|one| one.get(sent..)).unwrap_or_default();
        match &self.content {
            None => socket.write(rest),
            Some(_) if !rest.is_empty() => Ok(send(socket, rest, SendFlags::MORE)?),
            Some(content) => pages.send(socket, content.get(sent - self.each..)),
        }
    }
}

/// The pipe through which pages go.
struct Pages {
    out: OwnedFd,
    into: OwnedFd,
}

impl Pages {
    fn new() -> io::Result<Self> {
        let (out, into) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        fcntl_setpipe_size(&into, 1 << 20)?;
        Ok(Self { out, into })
    }

    /// Sends `bytes`, as far as `socket` takes them.
    fn send(&mut self, socket: &TcpStream, bytes: Option<&[u8]>) -> io::Result<usize> {
        let bytes = [IoSlice::new(bytes.unwrap_or_default())];
        let inside = vmsplice(&self.into, &bytes, SpliceFFlags::SPLICE_F_NONBLOCK)?;
        let sent = splice(&self.out, None, socket, None, inside, SpliceFlags::NONBLOCK);
        if sent != Ok(inside) {
            // Something is left in it, which is for this client alone.
            *self = Self::new()?;
        }
        Ok(sent?)
    }
}

fn serve(listen: SocketAddr, answers: &mut Answers) -> Result<(), Box<dyn Error>> {
    let listener = TcpListener::bind(listen)?;
    listener.set_nonblocking(true)?;
    SockRef::from(&listener).set_tcp_nodelay(true)?;
    // As Larder has it on a loopback address; the system's own where it knows none of that name.
    let _ = SockRef::from(&listener).set_tcp_congestion(b"reno");
    println!("listening on {}", listener.local_addr()?);
    let poll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    let (readable, both) = (
        epoll::EventFlags::IN,
        epoll::EventFlags::IN | epoll::EventFlags::OUT,
    );
    epoll::add(
        &poll,
        &listener,
        epoll::EventData::new_u64(LISTENER),
        readable,
    )?;
    let mut clients: Vec<Option<Client>> = Vec::new();
    let mut events = Vec::with_capacity(1024);
    let mut page = vec![0; 16 << 10];
    let mut pages = Pages::new()?;
    loop {
        events.clear();
        epoll::wait(
            &poll,
            rustix::buffer::spare_capacity(&mut events),
            None::<&Timespec>,
        )?;
        for event in &events {
            let number = event.data.u64();
            if number != LISTENER {
                let place = clients.get_mut(usize::try_from(number)?);
                if let Some(place) = place
                    && place
                        .as_mut()
                        .is_some_and(|client| !turn(client, answers, &mut page, &mut pages))
                {
                    *place = None;
                }
                continue;
            }
            while let Ok((socket, _)) = listener.accept() {
                socket.set_nonblocking(true)?;
                let number = usize::try_from(socket.as_raw_fd())?;
                let data = epoll::EventData::new_u64(number as u64);
                epoll::add(&poll, &socket, data, both | epoll::EventFlags::ET)?;
                clients.resize_with(clients.len().max(number + 1), || None);
                let sent = answers.length();
                if let Some(place) = clients.get_mut(number) {
                    *place = Some(Client {
                        socket,
                        at: 0,
                        sent,
                    });
                }
            }
        }
    }
}

/// Goes on with a client as far as its socket lets; whether it is still there.
fn turn(client: &mut Client, answers: &mut Answers, page: &mut [u8], pages: &mut Pages) -> bool {
    let mut all_read = false;
    loop {
        let is_sent = client.sent >= answers.length();
        let done = match is_sent {
            true if all_read => return true,
            true => client.socket.read(page).inspect(|&read| {
                (client.at, client.sent) = (answers.draw(), 0);
                all_read = read < page.len();
            }),
            false => {
                let now = answers.send(client, pages);
                now.inspect(|sent| client.sent += sent)
            }
        };
        match done {
            Ok(0) => return false,
            Ok(_) => {}
            Err(error) => return error.kind() == ErrorKind::WouldBlock,
        }
    }
}
