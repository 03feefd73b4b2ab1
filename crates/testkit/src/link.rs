//! A way to a server that can be cut without either end noticing, as a whole or a connection alone, or held in one
//! direction.

use std::{
    io::{Read, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Condvar, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    thread,
};

/// A port of 127.0.0.1 that passes bytes on to a server, and holds them back while it is cut: connections stay open,
/// new ones are taken, nothing gets through. Where it leads may be said later, and changed. A server whose answers
/// alone are held back is slow.
#[derive(Debug)]
pub struct Link {
    address: SocketAddr,
    state: Arc<State>,
}

#[derive(Debug, Default)]
struct State {
    way: Mutex<Way>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Way {
    to: Option<String>,
    is_cut: bool,
    /// Nothing that the server says gets through.
    is_held: bool,
    /// Once a client has said this, nothing that the server says gets through.
    holds_at: Option<String>,
    /// All connections that were made.
    connections: Vec<Arc<Connection>>,
}

/// What was said over a connection, and whether it is lost.
#[derive(Debug, Default)]
struct Connection {
    said: Mutex<Vec<u8>>,
    is_lost: AtomicBool,
}

/// Which way bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    ToServer,
    Back,
}

impl State {
    fn change(&self, change: impl FnOnce(&mut Way)) {
        change(&mut self.way.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.notify_all();
    }

    /// A client says this.
    fn hear(&self, said: &[u8]) {
        self.change(|way| {
            let is_it = |word: &mut String| {
                let word = word.as_bytes();
                said.windows(word.len()).any(|bytes| bytes == word)
            };
            way.is_held |= way.holds_at.take_if(is_it).is_some();
        });
    }

    /// Waits until it leads somewhere and bytes get through in this direction; where to.
    fn open(&self, direction: Direction) -> String {
        let mut way = self.way.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let is_shut = way.is_cut || way.is_held && direction == Direction::Back;
            match &way.to {
                Some(to) if !is_shut => return to.clone(),
                _ => {}
            }
            way = self
                .changed
                .wait(way)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Connection {
    fn note(&self, bytes: &[u8]) {
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        said.extend_from_slice(bytes);
    }

    fn has_said(&self, word: &str) -> bool {
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        said.windows(word.len())
            .any(|bytes| bytes == word.as_bytes())
    }
}

impl Link {
    /// One that leads nowhere yet: whoever connects waits.
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        let state = Arc::new(State::default());
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for near in listener.incoming().map_while(Result::ok) {
                let state = Arc::clone(&shared);
                thread::spawn(move || connect(near, &state));
            }
        });
        Self { address, state }
    }

    /// One that leads to the server at this address.
    pub fn to(server: &str) -> Self {
        let link = Self::start();
        link.lead_to(server);
        link
    }

    /// New connections go there.
    pub fn lead_to(&self, server: &str) {
        self.state.change(|way| way.to = Some(server.to_owned()));
    }

    /// From now on nothing gets through, in either direction.
    pub fn cut(&self) {
        self.state.change(|way| way.is_cut = true);
    }

    /// Loses the connections over which a client has said this, as a firewall does that has forgotten them: neither end
    /// notices, and nothing gets through any more. How many these are.
    pub fn lose(&self, said: &str) -> usize {
        let mut lost = 0;
        self.state.change(|way| {
            for connection in way.connections.iter().filter(|it| it.has_said(said)) {
                connection.is_lost.store(true, SeqCst);
                lost += 1;
            }
        });
        lost
    }

    /// Whether a client has said both over one connection.
    pub fn is_one_connection(&self, said: [&str; 2]) -> bool {
        let way = self.state.way.lock();
        let way = way.unwrap_or_else(PoisonError::into_inner);
        way.connections
            .iter()
            .any(|connection| said.iter().all(|word| connection.has_said(word)))
    }

    /// From now on the server hears what it is asked, and nothing that it says gets through.
    pub fn hold_answers(&self) {
        self.state.change(|way| way.is_held = true);
    }

    /// The same from when a client next says this: the answer to it is held.
    pub fn hold_answers_from(&self, said: &str) {
        self.state
            .change(|way| way.holds_at = Some(said.to_owned()));
    }

    /// Whether what the server says is held.
    pub fn holds_answers(&self) -> bool {
        let way = self.state.way.lock();
        way.unwrap_or_else(PoisonError::into_inner).is_held
    }

    /// What was held back gets through.
    pub fn mend(&self) {
        self.state.change(|way| {
            way.is_cut = false;
            way.is_held = false;
        });
    }

    /// `127.0.0.1:port`.
    pub fn address(&self) -> String {
        self.address.to_string()
    }
}

fn connect(near: TcpStream, state: &Arc<State>) {
    let Ok(far) = TcpStream::connect(state.open(Direction::ToServer)) else {
        return;
    };
    let (Ok(from), Ok(to)) = (near.try_clone(), far.try_clone()) else {
        return;
    };
    let connection = Arc::new(Connection::default());
    state.change(|way| way.connections.push(Arc::clone(&connection)));
    let (back, same) = (Arc::clone(state), Arc::clone(&connection));
    thread::spawn(move || pass(far, near, Direction::Back, &back, &same));
    pass(from, to, Direction::ToServer, state, &connection);
}

fn pass(
    mut from: TcpStream,
    mut to: TcpStream,
    direction: Direction,
    state: &State,
    connection: &Connection,
) {
    let mut bytes = [0; 4096];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        if direction == Direction::ToServer {
            connection.note(&bytes[..count]);
            state.hear(&bytes[..count]);
        }
        state.open(direction);
        if !connection.is_lost.load(SeqCst) && to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}
