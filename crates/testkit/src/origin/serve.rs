//! The connections of a scripted origin.

use super::{Shared, lock};
use crate::{
    Reply, Request,
    reply::Played,
    stream::Stream,
    wire::{Body, Head, Wire},
};
use std::{
    io::{self, Write as _},
    net::Shutdown,
    sync::{Arc, Mutex},
    thread,
};

/// Serves a connection that was accepted after so many `stops`, on a thread of its own.
pub(super) fn accept(shared: &Arc<Mutex<Shared>>, stops: usize, stream: io::Result<Stream>) {
    let Ok(stream) = stream else { return };
    let Ok(copy) = stream.try_clone() else { return };
    let connection = {
        let mut shared = lock(shared);
        if shared.stops != stops {
            return;
        }
        shared.open.push(copy);
        shared.connections += 1;
        shared.connections
    };
    let shared = Arc::clone(shared);
    thread::spawn(move || {
        let mut wire = Wire::new(stream);
        // An error is a connection that went away or idles for longer than the bound: the same end as a clean one.
        while let Ok(Some(head)) = wire.head() {
            if !matches!(
                answer(&shared, connection, head, &mut wire),
                Ok(Played::Keep)
            ) {
                break;
            }
        }
        wire.stream.shutdown(Shutdown::Both);
    });
}

/// Reads the rest of one request and plays its answer.
fn answer(
    shared: &Mutex<Shared>,
    connection: usize,
    head: Head,
    wire: &mut Wire,
) -> io::Result<Played> {
    let (method, target) = (head.word(0).to_owned(), head.word(1).to_owned());
    let mut request = Request {
        method,
        target,
        head,
        body: Vec::new(),
        trailers: Vec::new(),
        nth: 0,
        connection,
    };
    let path = request.path().to_owned();
    if request
        .header("expect")
        .is_some_and(|value| value.eq_ignore_ascii_case("100-continue"))
    {
        wire.stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
    }
    let body = read_body(&request.head, wire, |piece| {
        *lock(shared).received.entry(path.clone()).or_default() += piece.len();
    })?;
    if !body.complete {
        return Ok(Played::Close);
    }
    request.body = body.bytes;
    request.trailers = body.trailers;
    let handler = {
        let mut shared = lock(shared);
        request.nth = 1 + shared
            .requests
            .iter()
            .filter(|other| other.path() == path)
            .count();
        shared.requests.push(request.clone());
        let handlers = &shared.handlers;
        handlers
            .get(&request.target)
            .or_else(|| handlers.get(&path))
            .or(shared.otherwise.as_ref())
            .cloned()
    };
    let reply = handler.map_or_else(
        || Reply::status(404).cache("no-store").body("no script"),
        |handler| handler(&request),
    );
    let played = reply.play(&request.method, wire);
    if played == Played::Abandoned {
        *lock(shared).abandoned.entry(path).or_default() += 1;
    }
    let close = request
        .header("connection")
        .is_some_and(|value| value.eq_ignore_ascii_case("close"));
    Ok(if close { Played::Close } else { played })
}

fn read_body(head: &Head, wire: &mut Wire, seen: impl FnMut(&[u8])) -> io::Result<Body> {
    if head.chunked() {
        wire.chunks(seen)
    } else {
        wire.exactly(head.length().unwrap_or(0), seen)
    }
}
