//! A proxy before the server that can be cut without either end noticing.

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::SeqCst},
    },
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        UnixListener, UnixStream,
        unix::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::watch,
};

/// Passes bytes on while it is open, and holds them back while it is cut.
pub struct Proxy {
    socket: PathBuf,
    open: watch::Sender<bool>,
    /// Connections that were made.
    made: Arc<AtomicU64>,
    /// How many of them are lost, counted from the first.
    lost: Arc<AtomicU64>,
    /// The connection that ends instead of answering once more.
    ends: Arc<AtomicU64>,
    /// The most bytes of an answer that get through.
    longest: Arc<AtomicU64>,
}

impl Proxy {
    pub fn to(server: PathBuf) -> Self {
        let socket = server.with_extension("proxy");
        let listener = UnixListener::bind(&socket).expect("binds");
        let (open, gate) = watch::channel(true);
        let (made, lost) = <(Arc<AtomicU64>, Arc<AtomicU64>)>::default();
        let (count, bound) = (Arc::clone(&made), Arc::clone(&lost));
        let ends = Arc::new(AtomicU64::new(u64::MAX));
        let end = Arc::clone(&ends);
        let longest = Arc::new(AtomicU64::new(u64::MAX));
        let most = Arc::clone(&longest);
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                let Ok(far) = UnixStream::connect(&server).await else {
                    continue;
                };
                let ((near_in, near_out), (far_in, far_out)) =
                    (near.into_split(), far.into_split());
                let number = count.fetch_add(1, SeqCst);
                let is_lost = {
                    let bound = Arc::clone(&bound);
                    move || number < bound.load(SeqCst)
                };
                let answered = Arc::new(AtomicU64::new(0));
                let (most, length) = (Arc::clone(&most), Arc::clone(&answered));
                let lost = is_lost.clone();
                let asks = move |_| {
                    answered.store(0, SeqCst);
                    lost()
                };
                let answers = move |count| {
                    let length = length.fetch_add(count, SeqCst) + count;
                    is_lost() || length > most.load(SeqCst)
                };
                let end = Arc::clone(&end);
                let ends = move || number == end.load(SeqCst);
                let there = pass(near_in, far_out, gate.clone(), asks, || false);
                let back = pass(far_in, near_out, gate.clone(), answers, ends);
                tokio::spawn(async move {
                    // Whichever direction ends first ends both.
                    tokio::select! {
                        () = there => {}
                        () = back => {}
                    }
                });
            }
        });
        Self {
            socket,
            open,
            made,
            lost,
            ends,
            longest,
        }
    }

    pub fn url(&self) -> String {
        format!("redis+unix://{}", self.socket.display())
    }

    /// From now on nothing gets through, in either direction.
    pub fn cut(&self) {
        self.open.send_replace(false);
    }

    /// From now on nothing gets through over existing connections. New ones work.
    pub fn lose(&self) {
        self.lost.store(self.made.load(SeqCst), SeqCst);
    }

    /// The server gets the newest connection's next question, and its answer is lost with the connection.
    pub fn end_newest(&self) {
        self.ends.store(self.made.load(SeqCst) - 1, SeqCst);
    }

    /// From now on no more of an answer gets through than this, as over a slow line while anybody waits.
    pub fn shorten(&self, longest: u64) {
        self.longest.store(longest, SeqCst);
    }

    pub fn mend(&self) {
        self.open.send_replace(true);
    }
}

async fn pass(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut gate: watch::Receiver<bool>,
    is_lost: impl Fn(u64) -> bool,
    ends: impl Fn() -> bool,
) {
    let mut bytes = [0; 4096];
    while let Ok(count @ 1..) = from.read(&mut bytes).await {
        if ends()
            || gate.wait_for(|open| *open).await.is_err()
            || !is_lost(count as u64) && to.write_all(&bytes[..count]).await.is_err()
        {
            return;
        }
    }
}
