//! The scripted origin.

mod serve;

use crate::{BOUND, Reply, Request, stream::Stream, wait_until};
use serve::accept;
use socket2::{Domain, Socket, Type};
use std::{
    collections::HashMap,
    fmt, io,
    net::{Shutdown, SocketAddr, TcpListener},
    os::unix::net::UnixListener,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
};

type Handler = Arc<dyn Fn(&Request) -> Reply + Send + Sync>;

/// An origin that answers by script and records what it is asked. Stops when dropped.
///
/// Handlers are found by the target as it came, then by its path without query, then by [`Origin::otherwise`]; a path
/// without any is answered with 404 and `no-store`. Counts go by path without query.
pub struct Origin {
    address: SocketAddr,
    shared: Arc<Mutex<Shared>>,
}

#[derive(Default)]
struct Shared {
    handlers: HashMap<String, Handler>,
    otherwise: Option<Handler>,
    requests: Vec<Request>,
    abandoned: HashMap<String, usize>,
    /// Bytes of request content by path, as they arrive.
    received: HashMap<String, usize>,
    open: Vec<Stream>,
    connections: usize,
    /// Changed by each stop: a connection accepted before it is turned away.
    stops: usize,
    /// Keeps the port while stopped.
    held: Option<Socket>,
}

impl Origin {
    /// Starts on a free port of 127.0.0.1.
    pub fn start() -> Self {
        Self::start_at(SocketAddr::from(([127, 0, 0, 1], 0)))
    }

    /// Starts on an address of this machine; port 0 is a free one.
    pub fn start_at(address: SocketAddr) -> Self {
        let socket = bind(address).expect("a free port");
        let address = socket
            .local_addr()
            .ok()
            .and_then(|address| address.as_socket());
        let origin = Self {
            address: address.expect("an IP address"),
            shared: Arc::default(),
        };
        origin.lock().held = Some(socket);
        origin.start_again();
        origin
    }

    /// Starts on a Unix socket. It has no [`Origin::address`], and cannot be stopped and started again.
    pub fn start_unix(path: &Path) -> Self {
        let listener = UnixListener::bind(path).expect("a free path for a Unix socket");
        let origin = Self {
            address: SocketAddr::from(([0, 0, 0, 0], 0)),
            shared: Arc::default(),
        };
        let shared = Arc::clone(&origin.shared);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                accept(&shared, 0, Stream::unix(stream));
            }
        });
        origin
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Answers requests for this target (with its query) or path (with any query) from now on.
    pub fn on(&self, path: &str, handler: impl Fn(&Request) -> Reply + Send + Sync + 'static) {
        self.lock()
            .handlers
            .insert(path.to_owned(), Arc::new(handler));
    }

    /// Answers every request for this path with the same script.
    pub fn reply(&self, path: &str, reply: Reply) {
        self.on(path, move |_| reply.clone());
    }

    /// Answers requests for which there is no other handler.
    pub fn otherwise(&self, handler: impl Fn(&Request) -> Reply + Send + Sync + 'static) {
        self.lock().otherwise = Some(Arc::new(handler));
    }

    /// How many requests for this path have come, of any method and query.
    pub fn requests(&self, path: &str) -> usize {
        self.lock()
            .requests
            .iter()
            .filter(|request| request.path() == path)
            .count()
    }

    /// The requests for this path, in the order in which they came.
    pub fn recorded(&self, path: &str) -> Vec<Request> {
        self.lock()
            .requests
            .iter()
            .filter(|request| request.path() == path)
            .cloned()
            .collect()
    }

    /// The last request for this path.
    pub fn last(&self, path: &str) -> Request {
        self.recorded(path)
            .pop()
            .unwrap_or_else(|| panic!("the origin was never asked for {path}"))
    }

    /// Every request, in the order in which they came.
    pub fn all(&self) -> Vec<Request> {
        self.lock().requests.clone()
    }

    /// Waits until at least so many requests for this path have come.
    pub fn wait_requests(&self, path: &str, count: usize) {
        wait_until(
            &format!("the origin was asked {count} times for {path}"),
            || self.requests(path) >= count,
        );
    }

    /// How many answers for this path ended because the other side went away.
    pub fn abandoned(&self, path: &str) -> usize {
        self.lock().abandoned.get(path).copied().unwrap_or_default()
    }

    /// How many bytes of content have come in requests for this path, those under way included.
    pub fn received(&self, path: &str) -> usize {
        self.lock().received.get(path).copied().unwrap_or_default()
    }

    /// How many connections have been accepted.
    pub fn connections(&self) -> usize {
        self.lock().connections
    }

    /// Stops listening and closes every connection. The port stays ours: connections to it are refused.
    pub fn stop(&self) {
        let mut shared = self.lock();
        shared.stops += 1;
        for stream in shared.open.drain(..) {
            stream.shutdown(Shutdown::Both);
        }
        drop(shared);
        if self.address.port() != 0 && self.lock().held.is_none() {
            // Wakes the thread that accepts; it sees the stop and closes the listener.
            drop(std::net::TcpStream::connect_timeout(&self.address, BOUND));
            let mut held = None;
            wait_until("the origin's port can be held", || {
                held = bind(self.address).ok();
                held.is_some()
            });
            self.lock().held = held;
        }
    }

    /// Closes every connection and goes on listening.
    pub fn drop_connections(&self) {
        for stream in self.lock().open.drain(..) {
            stream.shutdown(Shutdown::Both);
        }
    }

    /// Listens again on the same port, after [`Origin::stop`].
    pub fn start_again(&self) {
        let mut shared = self.lock();
        let socket = shared.held.take().expect("an origin that was stopped");
        socket.listen(1024).expect("the port that was kept");
        let listener = TcpListener::from(socket);
        let stops = shared.stops;
        drop(shared);
        let shared = Arc::clone(&self.shared);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if lock(&shared).stops != stops {
                    return;
                }
                accept(&shared, stops, Stream::tcp(stream));
            }
        });
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        lock(&self.shared)
    }
}

impl Drop for Origin {
    fn drop(&mut self) {
        if !thread::panicking() {
            self.stop();
        }
    }
}

impl fmt::Debug for Origin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Origin")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

fn bind(address: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    Ok(socket)
}
