//! HTTP/2, through hyper: the requests of several streams on one connection.

use crate::{
    cached::Said,
    fault::Fault,
    http1::Answer,
    site::{Request, Two},
    stream::{ForHyper, Stream},
};
use bytes::Bytes;
use http::header;
use http_body_util::{BodyExt, Full};
use hyper::{
    body::Incoming,
    client::conn::http2::{Builder, SendRequest},
    rt::Executor,
};
use hyper_util::rt::TokioTimer;
use std::{cell::RefCell, error::Error, io};
use tokio::{
    sync::{Mutex, MutexGuard},
    task::spawn_local,
    time::{Instant, timeout_at},
};

/// The window of a connection and of a stream. It is large enough not to be what is measured.
const WINDOW: u32 = 16 << 20;

/// Runs hyper's own tasks on the worker.
#[derive(Clone, Copy, Debug)]
struct OnWorker;

impl<F: Future + 'static> Executor<F> for OnWorker {
    fn execute(&self, task: F) {
        spawn_local(async move {
            task.await;
        });
    }
}

/// A connection that several askers share. It may not be open.
#[derive(Debug, Default)]
pub(crate) struct Lane {
    sender: RefCell<Option<SendRequest<Full<Bytes>>>>,
    /// Held by the asker that opens it. The others wait.
    opening: Mutex<()>,
}

impl Lane {
    /// Returns a sender for the open connection, if it is open.
    pub(crate) fn sender(&self) -> Option<SendRequest<Full<Bytes>>> {
        let mut sender = self.sender.borrow_mut();
        sender.take_if(|sender| sender.is_closed());
        sender.clone()
    }

    /// Waits for the right to open it.
    pub(crate) async fn turn(&self) -> MutexGuard<'_, ()> {
        self.opening.lock().await
    }

    /// Begins HTTP/2 on a new connection, and keeps it.
    pub(crate) async fn begin(
        &self,
        stream: Stream,
        deadline: Instant,
    ) -> Result<SendRequest<Full<Bytes>>, Fault> {
        let mut builder = Builder::new(OnWorker);
        builder
            .timer(TokioTimer::new())
            .initial_stream_window_size(WINDOW)
            .initial_connection_window_size(WINDOW);
        let shaking = builder.handshake(ForHyper::new(stream));
        let shaken = timeout_at(deadline, shaking).await;
        let (sender, connection) = shaken
            .map_err(|_| Fault::ConnectTimeout)?
            .map_err(|error| meaning(&error))?;
        spawn_local(async move {
            // An asker that waits for an answer gets the error there.
            let _ = connection.await;
        });
        *self.sender.borrow_mut() = Some(sender.clone());
        Ok(sender)
    }

    /// Closes it for later requests.
    pub(crate) fn close(&self) {
        self.sender.borrow_mut().take();
    }
}

/// Sends a request and reads the complete answer.
pub(crate) async fn exchange(
    mut sender: SendRequest<Full<Bytes>>,
    request: http::Request<Full<Bytes>>,
    with_cookies: bool,
    deadline: Instant,
) -> Result<Answer, Fault> {
    let head = timeout_at(deadline, sender.send_request(request)).await;
    let response = head
        .map_err(|_| Fault::Timeout)?
        .map_err(|error| meaning(&error))?;
    let (head, mut body) = response.into_parts();
    let mut answer = Answer {
        status: head.status.as_u16(),
        ..Answer::default()
    };
    let mut said = Said::default();
    for (name, value) in &head.headers {
        said.see(name.as_str(), value.as_bytes());
        if with_cookies && name == header::SET_COOKIE {
            answer.cookies.push(value.as_bytes().to_vec());
        }
    }
    answer.cached = said.cached();
    let reading = read(&mut body, &mut answer.body);
    timeout_at(deadline, reading)
        .await
        .map_err(|_| Fault::Endless)??;
    Ok(answer)
}

async fn read(body: &mut Incoming, count: &mut u64) -> Result<(), Fault> {
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| meaning(&error))?;
        *count += frame.data_ref().map_or(0, |data| data.len() as u64);
    }
    Ok(())
}

/// Makes hyper's form of a request, with the fields of this user.
pub(crate) fn message(
    request: &Request,
    two: &Two,
    own: &[(header::HeaderName, String)],
) -> http::Request<Full<Bytes>> {
    let mut message = http::Request::new(Full::new(two.body.clone()));
    *message.method_mut() = request.method.clone();
    *message.uri_mut() = two.uri.clone();
    *message.headers_mut() = two.fields.clone();
    for (name, value) in own {
        if let Ok(value) = http::HeaderValue::from_str(value) {
            message.headers_mut().append(name.clone(), value);
        }
    }
    message
}

/// Translates hyper's error: that of the socket, if there is one below it.
fn meaning(error: &hyper::Error) -> Fault {
    let mut cause = error.source();
    while let Some(one) = cause {
        if let Some(error) = one.downcast_ref::<io::Error>() {
            return Fault::exchanging(error);
        }
        cause = one.source();
    }
    if error.is_canceled() || error.is_closed() || error.is_incomplete_message() {
        Fault::Closed
    } else {
        Fault::Http2
    }
}
