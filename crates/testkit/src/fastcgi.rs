//! A FastCGI server of the test's own making, to the byte.

use std::{
    collections::BTreeMap,
    fmt,
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    thread,
};

/// Types of records, for [`record`].
pub mod kind {
    /// `FCGI_END_REQUEST`.
    pub const END: u8 = 3;
    /// `FCGI_STDIN`.
    pub const IN: u8 = 5;
    /// `FCGI_STDOUT`.
    pub const OUT: u8 = 6;
    /// `FCGI_STDERR`.
    pub const ERR: u8 = 7;
}

/// One record of request 1 (FastCGI Specification section 3.3), without padding.
pub fn record(kind: u8, content: impl AsRef<[u8]>) -> Vec<u8> {
    let content = content.as_ref();
    let length = u16::try_from(content.len()).expect("at most 65535 bytes");
    let [high, low] = length.to_be_bytes();
    let mut bytes = vec![1, kind, 0, 1, high, low, 0, 0];
    bytes.extend(content);
    bytes
}

/// The record that ends a request well.
pub fn end() -> Vec<u8> {
    record(kind::END, [0; 8])
}

/// A whole response: this output, and the end.
pub fn output(text: impl AsRef<[u8]>) -> Vec<u8> {
    let mut bytes = record(kind::OUT, text);
    bytes.extend(record(kind::OUT, ""));
    bytes.extend(end());
    bytes
}

/// What a server was asked.
#[derive(Clone, Debug, Default)]
pub struct Call {
    /// The parameters.
    pub params: BTreeMap<String, String>,
    /// The request's body.
    pub body: Vec<u8>,
    /// Which request this is, beginning with 1.
    pub nth: usize,
}

/// One connection, in the hands of a script.
#[derive(Debug)]
pub struct Line(TcpStream);

impl Line {
    /// Writes these bytes. The other side may have closed already.
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.try_send(bytes);
    }

    /// Sends these bytes; returns whether there was anybody to take them.
    pub fn try_send(&mut self, bytes: impl AsRef<[u8]>) -> bool {
        self.0.write_all(bytes.as_ref()).is_ok()
    }

    /// Reads one record: its type and content; `None` where the connection has ended.
    pub fn read(&mut self) -> Option<(u8, Vec<u8>)> {
        let mut header = [0; 8];
        self.0.read_exact(&mut header).ok()?;
        let [_, kind, _, _, high, low, padding, _] = header;
        let length = usize::from(u16::from_be_bytes([high, low]));
        let mut content = vec![0; length + usize::from(padding)];
        self.0.read_exact(&mut content).ok()?;
        content.truncate(length);
        Some((kind, content))
    }

    /// The next request: all of it, or its parameters where its body is left to the script.
    fn call(&mut self, early: bool) -> Option<Call> {
        const PARAMS: u8 = 4;
        use kind::IN;
        let mut call = Call::default();
        let mut params = Vec::new();
        loop {
            let (kind, content) = self.read()?;
            match kind {
                PARAMS if content.is_empty() && early => break,
                PARAMS => params.extend(content),
                IN if content.is_empty() => break,
                IN => call.body.extend(content),
                _ => {}
            }
        }
        call.params = pairs(&params);
        Some(call)
    }
}

/// Names and values (section 3.4).
fn pairs(mut bytes: &[u8]) -> BTreeMap<String, String> {
    fn length(bytes: &mut &[u8]) -> usize {
        let first = bytes[0];
        if first < 0x80 {
            *bytes = &bytes[1..];
            return usize::from(first);
        }
        let (four, rest) = bytes.split_first_chunk::<4>().expect("four bytes");
        *bytes = rest;
        (u32::from_be_bytes(*four) & 0x7fff_ffff) as usize
    }
    let mut pairs = BTreeMap::new();
    while !bytes.is_empty() {
        let (name, value) = (length(&mut bytes), length(&mut bytes));
        let (pair, rest) = bytes.split_at(name + value);
        bytes = rest;
        let (name, value) = pair.split_at(name);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        pairs.insert(text(name), text(value));
    }
    pairs
}

/// What is done with a request. The connection is closed unless it says that it is kept.
type Script = dyn Fn(&Call, &mut Line) -> Next + Send + Sync;

/// What becomes of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// It takes the next request.
    Keep,
    /// It is closed.
    Close,
}

/// Answers each request by a script that writes whatever bytes it likes.
pub struct FastCgi {
    address: SocketAddr,
    state: Arc<State>,
}

struct State {
    script: Mutex<Arc<Script>>,
    /// Scripts are called before the request's body is read.
    early: bool,
    connections: AtomicUsize,
    requests: AtomicUsize,
}

impl fmt::Debug for FastCgi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FastCgi")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

impl FastCgi {
    /// Listens on a free port of 127.0.0.1, with this script.
    pub fn start(script: impl Fn(&Call, &mut Line) -> Next + Send + Sync + 'static) -> Self {
        Self::serving(script, false)
    }

    /// One whose script is called as soon as the parameters are there, and reads the request's body itself
    /// ([`Line::read`]).
    pub fn start_early(script: impl Fn(&Call, &mut Line) -> Next + Send + Sync + 'static) -> Self {
        Self::serving(script, true)
    }

    fn serving(
        script: impl Fn(&Call, &mut Line) -> Next + Send + Sync + 'static,
        early: bool,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        let state = Arc::new(State {
            script: Mutex::new(Arc::new(script)),
            early,
            connections: AtomicUsize::new(0),
            requests: AtomicUsize::new(0),
        });
        let own = Arc::clone(&state);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let state = Arc::clone(&own);
                state.connections.fetch_add(1, SeqCst);
                thread::spawn(move || state.serve(stream));
            }
        });
        Self { address, state }
    }

    /// One that answers every request with this output.
    pub fn with_output(text: &str) -> Self {
        let bytes = output(text);
        Self::start(move |_, line| {
            line.send(&bytes);
            Next::Keep
        })
    }

    /// Answers by another script from now on.
    pub fn answer(&self, script: impl Fn(&Call, &mut Line) -> Next + Send + Sync + 'static) {
        let mut current = self
            .state
            .script
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *current = Arc::new(script);
    }

    /// As `fastcgi` has it in a configuration.
    pub fn url(&self) -> String {
        format!("tcp://{}", self.address)
    }

    /// How many connections there have been.
    pub fn connections(&self) -> usize {
        self.state.connections.load(SeqCst)
    }

    /// How many requests there have been.
    pub fn requests(&self) -> usize {
        self.state.requests.load(SeqCst)
    }
}

impl State {
    fn serve(&self, stream: TcpStream) {
        let mut line = Line(stream);
        while let Some(mut call) = line.call(self.early) {
            call.nth = self.requests.fetch_add(1, SeqCst) + 1;
            let script = Arc::clone(&self.script.lock().unwrap_or_else(PoisonError::into_inner));
            if script(&call, &mut line) == Next::Close {
                return;
            }
        }
    }
}
