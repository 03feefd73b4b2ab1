//! Tunnel: after 101, bytes pass both ways untouched until both sides have ended.

use std::{
    io,
    pin::{Pin, pin},
    task::{Context, Poll, ready},
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf, copy, split},
    time::{Sleep, sleep, timeout},
};

/// How long a tunnel waits for those at its ends.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// For one to end after the other has: most peers that end do not read any more, and one that only listens would
    /// never learn of it. What it sends meanwhile is passed on.
    pub ended: Duration,
    /// For a client that takes nothing of what comes for it.
    pub untaken: Duration,
}

/// Passes bytes between the two until both have ended or one has failed. Tells `sent` how many come for the client.
pub async fn pass<A, B>(client: A, origin: B, patience: Patience, sent: impl FnMut(u64) + Unpin)
where
    A: AsyncRead + AsyncWrite,
    B: AsyncRead + AsyncWrite,
{
    let (from_client, to_client) = split(client);
    let (from, to_origin) = split(origin);
    let from_origin = Counted { from, count: sent };
    let to_client = Timed {
        to: to_client,
        patience: patience.untaken,
        waits: None,
    };
    let mut there = pin!(one_way(from_client, to_origin));
    let mut back = pin!(one_way(from_origin, to_client));
    // However it ends, nobody is left to be told.
    tokio::select! {
        ended = &mut there => if ended.is_ok() {
            let _ = timeout(patience.ended, back).await;
        },
        ended = &mut back => if ended.is_ok() {
            let _ = timeout(patience.ended, there).await;
        },
    }
}

/// Passes on what comes, and then the end.
async fn one_way<A, B>(mut from: A, mut to: B) -> io::Result<()>
where
    A: AsyncRead + Unpin,
    B: AsyncWrite + Unpin,
{
    copy(&mut from, &mut to).await?;
    to.shutdown().await
}

/// A reader whose bytes are counted.
struct Counted<R, F> {
    from: R,
    count: F,
}

impl<R: AsyncRead + Unpin, F: FnMut(u64) + Unpin> AsyncRead for Counted<R, F> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.from).poll_read(cx, buffer))?;
        (self.count)((buffer.filled().len() - before) as u64);
        Poll::Ready(Ok(()))
    }
}

/// A writer that fails once the other side has taken nothing for so long.
struct Timed<W> {
    to: W,
    patience: Duration,
    waits: Option<Pin<Box<Sleep>>>,
}

impl<W: AsyncWrite + Unpin> AsyncWrite for Timed<W> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let taken = Pin::new(&mut self.to).poll_write(cx, bytes);
        self.timed(cx, taken)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let taken = Pin::new(&mut self.to).poll_flush(cx);
        self.timed(cx, taken)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let taken = Pin::new(&mut self.to).poll_shutdown(cx);
        self.timed(cx, taken)
    }
}

impl<W> Timed<W> {
    /// What was `taken`; a failure if that has been pending for too long. TLS holds back some of what was written: it is
    /// taken when it is flushed.
    fn timed<T>(
        &mut self,
        cx: &mut Context<'_>,
        taken: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if taken.is_ready() {
            self.waits = None;
            return taken;
        }
        let patience = self.patience;
        let waits = self.waits.get_or_insert_with(|| Box::pin(sleep(patience)));
        ready!(waits.as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::{
        io::{AsyncReadExt, DuplexStream, duplex},
        task::JoinHandle,
    };

    const PATIENCE: Patience = Patience {
        ended: Duration::from_secs(75),
        untaken: Duration::from_secs(30),
    };

    /// Returns both ends of a tunnel, and the tunnel.
    fn tunnel() -> (DuplexStream, DuplexStream, JoinHandle<()>) {
        let ((client, near), (origin, far)) = (duplex(64), duplex(64));
        (
            client,
            origin,
            tokio::spawn(pass(near, far, PATIENCE, |_| {})),
        )
    }

    #[tokio::test(start_paused = true)]
    async fn who_does_not_end_is_given_its_time_and_no_more() {
        let (mut client, mut origin, tunnel) = tunnel();
        client.write_all(b"bye").await.expect("room");
        client.shutdown().await.expect("open");
        let mut said = String::new();
        origin.read_to_string(&mut said).await.expect("text");
        assert_eq!(said, "bye");
        origin.write_all(b"one more").await.expect("room");
        let mut late = [0; 8];
        client.read_exact(&mut late).await.expect("it is passed on");
        assert_eq!(&late, b"one more");
        tunnel.await.expect("it ends");
        assert_eq!(client.read(&mut late).await.expect("the end"), 0);
        assert!(origin.write_all(b"x").await.is_err(), "closed");
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_takes_nothing_is_given_up() {
        let (mut client, mut origin, tunnel) = tunnel();
        // More than fits on the way, taken at last.
        origin.write_all(&[1; 64]).await.expect("room");
        let flood = tokio::spawn(async move { origin.write_all(&vec![2; 1 << 20]).await });
        tokio::time::sleep(PATIENCE.untaken / 2).await;
        client.read_exact(&mut [0; 64]).await.expect("open");
        tokio::time::sleep(PATIENCE.untaken / 2).await;
        assert!(!tunnel.is_finished(), "it took some");
        tunnel.await.expect("it ends");
        assert!(flood.await.expect("it ran").is_err(), "closed");
    }

    /// As TLS does, it takes what is written at once, and waits for room when that is flushed.
    #[tokio::test(start_paused = true)]
    async fn a_client_that_takes_nothing_of_the_last_bytes_is_given_up() {
        let (mut origin, far) = duplex(64);
        let (near, _client) = duplex(64);
        let tunnel = tokio::spawn(pass(
            tokio::io::BufStream::with_capacity(64, 4096, near),
            far,
            PATIENCE,
            |_| {},
        ));
        origin.write_all(&[1; 1000]).await.expect("room");
        origin.shutdown().await.expect("open");
        tunnel.await.expect("it ends");
    }

    #[tokio::test(start_paused = true)]
    async fn it_lasts_while_both_do() {
        let (mut client, mut origin, tunnel) = tunnel();
        tokio::time::advance(PATIENCE.ended * 1000).await;
        origin.write_all(b"x").await.expect("room");
        let mut said = [0; 1];
        client.read_exact(&mut said).await.expect("open");
        drop(client);
        drop(origin);
        tunnel.await.expect("it ends");
    }
}
