//! A slow application, like many others: it makes every page anew, and takes its time.

use super::content::{Content, Pieces};
use http::{Method, Request, Response};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use std::{
    convert::Infallible,
    io,
    net::{Ipv4Addr, SocketAddr, TcpListener},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    thread::{self, JoinHandle},
};
use tokio::{runtime, sync::oneshot, task::JoinSet};

/// The application. It stops when dropped.
#[derive(Debug)]
pub struct Application {
    address: SocketAddr,
    /// The number of answers made so far; it continues across a stop.
    made: Arc<AtomicU64>,
    running: Option<Running>,
}

#[derive(Debug)]
struct Running {
    stop: oneshot::Sender<()>,
    thread: JoinHandle<()>,
}

impl Application {
    /// Starts the application on a free port of this machine.
    ///
    /// # Errors
    /// There is no port, or no thread.
    pub fn start() -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let mut application = Self {
            address: listener.local_addr()?,
            made: Arc::default(),
            running: None,
        };
        application.run(listener)?;
        Ok(application)
    }

    /// The address at which it listens while it runs.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Stops the application: closes the port and cuts every connection.
    pub fn stop(&mut self) {
        if let Some(running) = self.running.take() {
            // An error means that it has ended by itself.
            let _ = running.stop.send(());
            let _ = running.thread.join();
        }
    }

    /// Starts the application again on the same port.
    ///
    /// # Errors
    /// The port was taken meanwhile, or there is no thread.
    pub fn start_again(&mut self) -> io::Result<()> {
        self.stop();
        self.run(TcpListener::bind(self.address)?)
    }

    fn run(&mut self, listener: TcpListener) -> io::Result<()> {
        listener.set_nonblocking(true)?;
        let runtime = runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let (stop, stopped) = oneshot::channel();
        let made = self.made.clone();
        let thread = thread::Builder::new()
            .name("application".to_owned())
            .spawn(move || {
                // Dropping the runtime at the end cuts the remaining connections.
                runtime.block_on(async {
                    tokio::select! {
                        _ = stopped => {}
                        // Without a listener nobody can connect, and the visitor will report that.
                        _ = serve(listener, made) => {}
                    }
                });
            })?;
        self.running = Some(Running { stop, thread });
        Ok(())
    }
}

impl Drop for Application {
    fn drop(&mut self) {
        self.stop();
    }
}

async fn serve(listener: TcpListener, made: Arc<AtomicU64>) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let mut connections = JoinSet::new();
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let made = made.clone();
        let service = service_fn(move |request| answer(request, made.clone()));
        let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
        connections.spawn(connection);
        while connections.try_join_next().is_some() {}
    }
}

async fn answer(
    request: Request<Incoming>,
    made: Arc<AtomicU64>,
) -> Result<Response<Pieces>, Infallible> {
    let content = match *request.method() {
        Method::GET | Method::HEAD => Content::of(request.uri().path()),
        _ => Content::OtherMethod,
    };
    if let Some(delay) = content.delay() {
        tokio::time::sleep(delay).await;
    }
    Ok(content.response(made.fetch_add(1, Relaxed) + 1))
}
