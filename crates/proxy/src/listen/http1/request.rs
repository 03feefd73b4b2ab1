//! One request that `hyper` has read, and its answer.

use super::{
    super::{
        InterimSink, RequestBody, Serve, Served,
        answer::AnswerBody,
        check::{behind_head, check, check_framing},
        date,
        in_flight::InFlight,
        own,
        service::{Begun, Panicked, Session, begin, unpanicked},
        watch::Watch,
    },
    target::name_server,
};
use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode, Version, header};
use http_body_util::Either;
use hyper::{
    body::{Body as _, Incoming},
    ext::ReasonPhrase,
};
use std::{
    convert::Infallible,
    mem,
    rc::Rc,
    sync::{Arc, PoisonError},
};

/// No request follows.
const CLOSE: HeaderValue = HeaderValue::from_static("close");

/// Answers the request.
pub(super) fn answer<S: Serve>(
    session: &Session<S>,
    request: Request<Incoming>,
) -> impl Future<Output = Result<Response<AnswerBody<S::Body>>, Infallible>> + use<S> {
    let version = request.version();
    session.is_old.set(version < Version::HTTP_11);
    let begun = session.begun.take();
    if begun.is_some() {
        take_head(&session.watch, false);
    }
    let fields = request.headers();
    let may_upgrade = begun.is_none() && fields.contains_key(header::UPGRADE);
    if may_upgrade {
        session.watch.keep();
    }
    let begun = begun.unwrap_or_else(|| begin_read(session, request));
    let is_last = session.is_for_one;
    let Begun { served, in_flight } = begun;
    let answered = match served {
        Ok(Served::Now(response)) => Either::Left(Ok(response)),
        Ok(Served::Prepared(prepared)) => Either::Left(Ok(prepared.response())),
        Ok(Served::Later(response)) => {
            Either::Right((unpanicked(response), Rc::clone(&session.service)))
        }
        Err(own) => Either::Left(Err(own)),
    };
    async move {
        let served = match answered {
            Either::Left(served) => served,
            Either::Right((waited, service)) => {
                let waited = waited.await;
                waited.map_err(|Panicked| own::panicked(&*service, &in_flight.watch))
            }
        };
        let mut answer = finished(served, in_flight, may_upgrade, is_last);
        if version < Version::HTTP_11 && answer.headers().get(header::CONNECTION) == Some(&CLOSE) {
            // With an answer of 1.1, `hyper` says `keep-alive` if the client wants that.
            *answer.version_mut() = version;
        }
        Ok(answer)
    }
}

/// Makes the service begin the request.
fn begin_read<S: Serve>(session: &Session<S>, request: Request<Incoming>) -> Begun<S::Body> {
    let watch = &session.watch;
    let brings_content = !request.body().is_end_stream();
    let raw = take_head(watch, brings_content);
    let version = request.version();
    let may_expect = brings_content && version == Version::HTTP_11;
    let expects = may_expect && request.headers().contains_key(header::EXPECT);
    // What follows a CONNECT that is refused may be meant for the tunnel.
    watch.hold_back(expects || request.method() == Method::CONNECT);
    let mut request = request.map(|body| {
        if brings_content {
            let most = session.limits.held_content(version);
            let came = !behind_head(&raw).is_empty();
            RequestBody::http1(body, came, Arc::clone(watch), most)
        } else {
            RequestBody::none()
        }
    });
    name_server(&mut request);
    let interim = InterimSink::http1(watch, version);
    begin(session, request, interim, |request| {
        check(request, &session.limits)?;
        if brings_content {
            check_framing(request.headers(), &raw)?;
        }
        Ok(())
    })
}

/// Completes the answer for `hyper` to write. If `is_last`, nothing follows it, whatever is known about its request.
fn finished<B: http_body::Body<Data = Bytes>>(
    served: Result<Response<B>, Box<Response<Bytes>>>,
    in_flight: InFlight,
    may_upgrade: bool,
    is_last: bool,
) -> Response<AnswerBody<B>> {
    let watch = Arc::clone(&in_flight.watch);
    watch.outbox.close();
    let mut answer = match served {
        Ok(response) => response.map(|body| AnswerBody::served(body, in_flight)),
        Err(own) => own.map(|text| AnswerBody::own(text, in_flight)),
    };
    if answer.status().canonical_reason().is_none() {
        // `hyper` makes one up.
        let none = ReasonPhrase::from_static(b"");
        answer.extensions_mut().insert(none);
    }
    date::complete(answer.headers_mut());
    let upgrades = answer.status() == StatusCode::SWITCHING_PROTOCOLS;
    if may_upgrade && !upgrades {
        watch.let_go();
    }
    if !upgrades && (is_last || watch.ends_with_answer()) {
        // Behind content that is not read, the next request cannot be found. After a refusal, it is not known whether
        // the content comes.
        answer.headers_mut().insert(header::CONNECTION, CLOSE);
    }
    answer
}

/// Takes the raw head of a request. A request that came in the same read then finds its own head, or none, rather than
/// that of another. Behind content, it is not known where heads begin.
fn take_head(watch: &Watch, brings_content: bool) -> Vec<u8> {
    let mut came = watch.head.lock().unwrap_or_else(PoisonError::into_inner);
    let raw = mem::take(&mut *came);
    if !brings_content {
        *came = behind_head(&raw).to_vec();
    }
    raw
}

#[cfg(test)]
mod tests;
