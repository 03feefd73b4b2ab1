//! One connection. A task owns it and sends one question after another without waiting for answers. The caller may go
//! away at any time: the answer is then dropped when it comes.

use super::{
    address::Address,
    answer::{self, Answer, Broken, Piece, Value, broken},
};
use crate::{Error, Kind};
use bytes::BytesMut;
use std::{io, time::Duration};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::{TcpStream, UnixStream},
    sync::{mpsc, oneshot},
    time::timeout,
};

/// A handle to a connection. The connection closes when the last handle is dropped.
pub type Line = mpsc::Sender<Question>;

/// Questions that may wait to be written. Further ones wait outside.
const QUEUE: usize = 1024;

/// Bytes of questions that are written at once, approximately.
const AT_ONCE: usize = 64 << 10;

/// How long a server may take nothing before it is given up. Callers have left long before.
const STUCK: Duration = Duration::from_secs(2);

/// Largest buffer that is kept, in bytes.
const LARGE_BUFFER: usize = 64 << 10;

/// A question, and where its answer goes.
#[derive(Debug)]
pub struct Question {
    /// The command as it is written.
    pub command: Vec<u8>,
    /// The answers that are valid.
    pub expected: Expected,
    /// The caller that waits. Dropped without an answer if the connection breaks.
    pub reply: oneshot::Sender<Result<Answer, Error>>,
}

/// The valid answers to a question. After any other answer it is unknown which answer belongs to which question.
#[derive(Debug)]
pub enum Expected {
    /// Values of these keys, separated by spaces, at most one for each.
    Values(String),
    /// Whether something was done.
    Done,
}

/// A question that has been written.
struct Asked {
    expected: Expected,
    /// Values so far.
    values: Vec<Value>,
    reply: oneshot::Sender<Result<Answer, Error>>,
}

impl Asked {
    /// Takes a piece of the answer. Returns the answer once it is complete.
    ///
    /// # Errors
    /// The piece belongs to another question.
    fn take(&mut self, piece: Piece) -> Result<Option<Result<Answer, Error>>, Broken> {
        match (piece, &self.expected) {
            (Piece::Value(value), Expected::Values(keys)) => {
                let is_asked = keys.split(' ').any(|key| *key.as_bytes() == *value.key);
                if !is_asked || self.values.len() >= keys.split(' ').count() {
                    return Err(broken("a value that was not asked for"));
                }
                self.values.push(value);
                Ok(None)
            }
            (Piece::End, Expected::Values(_)) => {
                Ok(Some(Ok(Answer::Values(std::mem::take(&mut self.values)))))
            }
            (Piece::Whole(answer), Expected::Done) => Ok(Some(Ok(answer))),
            // A server without room for a question uses the same words as one without room for a value.
            (Piece::Failed(error), Expected::Values(_)) if error.kind == Kind::Full => {
                Ok(Some(Err(Error::new(Kind::Rejected, error.detail))))
            }
            (Piece::Failed(error), _) => Ok(Some(Err(error))),
            (other, _) => Err(broken(&format!("an answer to something else: {other}"))),
        }
    }
}

/// Connects, on the caller's runtime.
///
/// # Errors
/// Nobody is there.
pub async fn connect(address: Address) -> Result<Line, Error> {
    let (line, questions) = mpsc::channel(QUEUE);
    let failed = |error: io::Error| Error::new(Kind::Unreachable, error);
    match &address {
        Address::Tcp(host, port) => {
            let stream = TcpStream::connect(format!("{host}:{port}"))
                .await
                .map_err(failed)?;
            stream.set_nodelay(true).map_err(failed)?;
            let (read, write) = stream.into_split();
            tokio::spawn(run(read, write, questions));
        }
        Address::Unix(path) => {
            let stream = UnixStream::connect(path).await.map_err(failed)?;
            let (read, write) = stream.into_split();
            tokio::spawn(run(read, write, questions));
        }
    }
    Ok(line)
}

/// Runs until the connection breaks, or all handles are gone.
async fn run(
    read: impl AsyncRead + Unpin + Send,
    write: impl AsyncWrite + Unpin + Send,
    questions: mpsc::Receiver<Question>,
) {
    let (asked, waiting) = mpsc::unbounded_channel();
    // Callers that still wait notice the end because their reply is dropped.
    tokio::select! {
        _ = ask(write, questions, asked) => {}
        _ = listen(read, waiting) => {}
    }
}

async fn ask(
    mut write: impl AsyncWrite + Unpin,
    mut questions: mpsc::Receiver<Question>,
    asked: mpsc::UnboundedSender<Asked>,
) -> io::Result<()> {
    let mut buffer = Vec::new();
    while let Some(first) = questions.recv().await {
        let mut next = Some(first);
        while let Some(question) = next {
            let Question {
                command,
                expected,
                reply,
            } = question;
            // A caller that has left needs no answer.
            if !reply.is_closed() {
                let _ = asked.send(Asked {
                    expected,
                    values: Vec::new(),
                    reply,
                });
                buffer.extend_from_slice(&command);
            }
            next = (buffer.len() < AT_ONCE)
                .then(|| questions.try_recv().ok())
                .flatten();
        }
        let mut rest = buffer.as_slice();
        while !rest.is_empty() {
            if timeout(STUCK, write.write_buf(&mut rest)).await?? == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
        }
        buffer.clear();
        buffer.shrink_to(LARGE_BUFFER);
    }
    Ok(())
}

async fn listen(
    mut read: impl AsyncRead + Unpin,
    mut waiting: mpsc::UnboundedReceiver<Asked>,
) -> Result<(), Broken> {
    let mut buffer = BytesMut::new();
    let mut first = None;
    loop {
        if let Err(Broken(error)) = heard(&mut buffer, &mut first, &mut waiting) {
            fail(first, &mut waiting, &error);
            return Err(Broken(error));
        }
        if buffer.is_empty() && buffer.capacity() > LARGE_BUFFER {
            buffer = BytesMut::new();
        }
        buffer.reserve(4096);
        if !matches!(read.read_buf(&mut buffer).await, Ok(1..)) {
            if first.is_some() || !buffer.is_empty() {
                let error = Error::new(Kind::Closed, "in the middle of an answer");
                fail(first, &mut waiting, &error);
            }
            return Ok(());
        }
    }
}

/// Reports the error to the question that is being answered, or comes next. The others only learn that the connection
/// is gone.
fn fail(first: Option<Asked>, waiting: &mut mpsc::UnboundedReceiver<Asked>, error: &Error) {
    if let Some(Asked { reply, .. }) = first.or_else(|| waiting.try_recv().ok()) {
        // The caller may have left.
        let _ = reply.send(Err(error.clone()));
    }
}

/// Takes the pieces that have come. `first` is the question that is being answered, if its answer has begun.
fn heard(
    buffer: &mut BytesMut,
    first: &mut Option<Asked>,
    waiting: &mut mpsc::UnboundedReceiver<Asked>,
) -> Result<(), Broken> {
    while let Some(piece) = answer::take(buffer)? {
        let Some(mut asked) = first.take().or_else(|| waiting.try_recv().ok()) else {
            return Err(broken("an answer that nobody asked for"));
        };
        match asked.take(piece) {
            Ok(Some(answer)) => {
                // The caller may have left.
                let _ = asked.reply.send(answer);
            }
            Ok(None) => *first = Some(asked),
            Err(error) => {
                *first = Some(asked);
                return Err(error);
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_server_that_takes_nothing_is_given_up() {
        let (near, _far) = tokio::io::duplex(16);
        let (read, write) = tokio::io::split(near);
        let (line, questions) = mpsc::channel(1);
        let (reply, answer) = oneshot::channel();
        let command = vec![0; 17];
        let question = Question {
            command,
            expected: Expected::Done,
            reply,
        };
        line.send(question).await.expect("room");
        run(read, write, questions).await;
        assert!(answer.await.is_err(), "nobody will answer");
    }
}
