//! A way to the server that can be cut without either end noticing.

use std::path::PathBuf;
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
}

impl Proxy {
    pub fn to(server: PathBuf) -> Self {
        let socket = server.with_extension("proxy");
        let listener = UnixListener::bind(&socket).expect("binds");
        let (open, gate) = watch::channel(true);
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                let Ok(far) = UnixStream::connect(&server).await else {
                    continue;
                };
                let ((near_in, near_out), (far_in, far_out)) =
                    (near.into_split(), far.into_split());
                tokio::spawn(pass(near_in, far_out, gate.clone()));
                tokio::spawn(pass(far_in, near_out, gate.clone()));
            }
        });
        Self { socket, open }
    }

    pub fn url(&self) -> String {
        format!("redis+unix://{}", self.socket.display())
    }

    /// From now on nothing gets through, in either direction.
    pub fn cut(&self) {
        self.open.send_replace(false);
    }

    pub fn mend(&self) {
        self.open.send_replace(true);
    }
}

async fn pass(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mut gate: watch::Receiver<bool>) {
    let mut bytes = [0; 4096];
    while let Ok(count @ 1..) = from.read(&mut bytes).await {
        if gate.wait_for(|open| *open).await.is_err()
            || to.write_all(&bytes[..count]).await.is_err()
        {
            return;
        }
    }
}
