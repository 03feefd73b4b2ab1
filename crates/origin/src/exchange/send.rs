//! Sends the request on its connection, and waits for the answer's head.

use super::{Attempt, ExchangeAnswer, Failure, http2};
use crate::{
    Error, Kind,
    body::{Carried, Carrier, Incoming},
    connect::Speaks,
    direct, fastcgi,
    leave::Leave,
    link::{Http1, StreamSlot, alarm},
    message::{self, Afterwards, Announced},
    spares,
    upload::{Outgoing, Upload},
    wait::{Lost, Wait},
};
use http::{HeaderMap, Method, Request, StatusCode};
use hyper::client::conn::TrySendError;
use std::error::Error as _;
use tokio::time::Instant;

impl Attempt<'_> {
    pub(super) async fn send_direct(
        &self,
        link: direct::Link,
        request: Box<Request<Outgoing>>,
    ) -> Result<ExchangeAnswer, Failure> {
        let asking = direct::Asking {
            request: &request,
            asked: self.asked,
            largest_head: self.origin.config.largest_head,
            repeatable: self.repeatable,
            interim: self.interim,
        };
        // A connection that lay idle was available at once.
        let now = if link.reused {
            self.began
        } else {
            Instant::now()
        };
        let direct::Lost {
            error,
            unsent,
            was_closing,
        } = match direct::ask(&asking, self.wait(&request, now), link).await {
            Ok(arrived) => {
                spares::keep(request.into_parts().0.headers);
                return Ok(ExchangeAnswer::Direct(arrived));
            }
            Err(lost) => lost,
        };
        if unsent {
            return Err(Failure::Unsent {
                request,
                error,
                was_closing,
            });
        }
        let again = self.repeatable.then_some(request);
        Err(Failure::Sent {
            error,
            was_closing,
            again,
        })
    }

    pub(super) async fn send_http1(
        &self,
        mut link: Http1,
        mut request: Request<Outgoing>,
    ) -> Result<ExchangeAnswer, Failure> {
        let before = link.heard();
        let wait = self.wait(&request, Instant::now());
        let upload = Upload::of(&request);
        let is_head = request.method() == Method::HEAD;
        let may_leave_content = message::may_be_left_unread(&request);
        let leave = message::expects_continue(request.headers()).then(Leave::default);
        if let Some(leave) = &leave {
            request.body_mut().await_leave(leave);
        }
        let passing = self.interim.cloned();
        if passing.is_some() || leave.is_some() {
            hyper::ext::on_informational(&mut request, move |interim| {
                match (interim.status(), &leave, &passing) {
                    (StatusCode::CONTINUE, Some(leave), _) => leave.give(),
                    (status, _, Some(passing)) => passing.pass(status, interim.headers()),
                    _ => {}
                }
            });
        }
        let sending = link.sender.try_send_request(request);
        let sending = async { sending.await.map_err(given_back) };
        let waited = wait.head(sending, &mut link.alarm).await;
        let response = waited.map_err(|lost| {
            let was_closing = link.reused && link.heard() == before;
            let told = failure(lost, was_closing);
            if self.has_no_choice() && link.hears_http2() {
                told.map(|error| Error::new(Kind::NoUpgrade).because(error))
            } else {
                told
            }
        })?;
        let mut response = response.map(Incoming::Http1);
        let judged = message::judge(&mut response, self.asked, Speaks::Http1)
            .map_err(failed_after_sending)?;
        let keeps = direct::head::keeps(&response) && judged.announced != Announced::Nothing;
        if self.repeatable && message::came_too_late(&response, link.reused, keeps) {
            let lost = Lost::Sent(Error::new(Kind::Truncated));
            return Err(failure(lost, true));
        }
        link.reused = true;
        let carrier = if response.status() == StatusCode::SWITCHING_PROTOCOLS {
            link.hand_over();
            Carrier::Upgraded
        } else {
            // Content may follow the head all the same, even after the next request was sent. A connection with a 204,
            // the usual answer to uploads, is kept: if the 204 announces content, the connection is closed anyway.
            let is_bare = direct::is_bare(&response, is_head);
            let may_bring_more = is_bare && response.status() != StatusCode::NO_CONTENT;
            // It may read what comes next as something else than HTTP.
            let declined = self.asked.upgrade.is_some();
            let afterwards = if may_bring_more || may_leave_content || declined {
                Afterwards::Close
            } else {
                judged.afterwards
            };
            Carrier::Http1 { link, afterwards }
        };
        let body = Carried { carrier, upload };
        Ok(ExchangeAnswer::Http(response, Box::new(body)))
    }

    pub(super) async fn send_http2(
        &self,
        slot: StreamSlot,
        request: Request<Outgoing>,
    ) -> Result<ExchangeAnswer, Failure> {
        let had_answered = slot.has_answered();
        let mut listening = slot.listening();
        let is_head = request.method() == Method::HEAD;
        let wait = self.wait(&request, Instant::now());
        let upload = Upload::of(&request);
        let leave = message::expects_continue(request.headers()).then(Leave::default);
        let told = |status, fields: &HeaderMap| {
            if let Some(passing) = self.interim {
                passing.pass(status, fields);
            }
        };
        let sending = http2::ask(slot, request, leave, told);
        let mut alarm = alarm(Instant::now());
        let waited = wait.head(sending, &mut alarm).await;
        let http2::Arrived {
            mut response,
            slot,
            uploading,
        } = waited.map_err(|lost| {
            if matches!(lost, Lost::Late(_)) {
                listening.ran_out();
            }
            let was_closing = match &lost {
                // A connection that ends with its first request may end because of that request: another is an attempt
                // like any other.
                Lost::Sent(error) => !was_taken(error) && (had_answered || is_untouched(error)),
                _ => true,
            };
            failure(lost, was_closing)
        })?;
        slot.answered();
        listening.goes_on();
        message::judge(&mut response, self.asked, Speaks::Http2).map_err(failed_after_sending)?;
        if direct::is_bare(&response, is_head) && !response.body().is_ended() {
            response.body_mut().end();
        }
        let carrier = Carrier::Http2 {
            alarm,
            listening,
            _uploading: uploading,
            _slot: slot,
        };
        let body = Carried { carrier, upload };
        Ok(ExchangeAnswer::Http(response, Box::new(body)))
    }

    pub(super) async fn send_fastcgi(
        &self,
        link: fastcgi::Link,
        request: Request<Outgoing>,
    ) -> Result<ExchangeAnswer, Failure> {
        let Some(call) = self.call else {
            return Err(failed_after_sending(
                Error::new(Kind::Configuration).because("not a call of a script"),
            ));
        };
        let (head, body) = request.into_parts();
        let limits = fastcgi::Limits {
            first_byte: self.origin.config.timeouts.first_byte,
            until: self.until,
        };
        let exchange = fastcgi::Exchange::new(link, call, &self.origin.complaints, body);
        let largest = self.origin.config.largest_head;
        match exchange.head(limits, largest).await {
            Ok((arrived, exchange)) => Ok(ExchangeAnswer::FastCgi(arrived, Box::new(exchange))),
            Err(lost) => {
                let fastcgi::Lost {
                    error,
                    unsent,
                    was_closing,
                } = *lost;
                Err(match unsent {
                    Some(body) => Failure::Unsent {
                        request: Box::new(Request::from_parts(head, body)),
                        error,
                        was_closing,
                    },
                    None => Failure::Sent {
                        error,
                        was_closing,
                        again: self.repeatable.then(|| {
                            let again = Outgoing::again(self.content);
                            Box::new(Request::from_parts(head, again))
                        }),
                    },
                })
            }
        }
    }

    fn wait(&self, request: &Request<Outgoing>, now: Instant) -> Wait {
        let first_byte = self.origin.config.timeouts.first_byte;
        Wait::new(first_byte, self.until, Upload::of(request), now)
    }
}

/// Translates the error of hyper, which gives a request back that it has not sent.
fn given_back(mut refused: TrySendError<Request<Outgoing>>) -> Lost {
    let unsent = refused.take_message();
    let error = Error::of_hyper(refused.into_error());
    match unsent {
        Some(request) => Lost::Unsent(Box::new(request), error),
        None => Lost::Sent(error),
    }
}

/// Turns a missing head into the attempt's failure.
fn failure(lost: Lost, was_closing: bool) -> Failure {
    match lost {
        Lost::Unsent(request, error) => Failure::Unsent {
            request,
            error,
            was_closing,
        },
        Lost::Sent(error) => Failure::Sent {
            error,
            was_closing,
            again: None,
        },
        Lost::Late(kind) => failed_after_sending(Error::new(kind)),
    }
}

/// Whether the server had begun with a request before it gave up the stream, and not the connection. A server says so
/// if it had not (RFC 9113 section 8.7).
fn was_taken(error: &Error) -> bool {
    !is_refusal(error) && lost(error).is_some_and(h2::Error::is_reset)
}

/// Whether the server has said that it had not begun with a request: it refused the stream, or went away without it.
pub(super) fn is_untouched(error: &Error) -> bool {
    was_left(error) || is_refusal(error)
}

/// Whether the server went away without an error and without having begun with a request (RFC 9113 section 6.8).
pub(crate) fn was_left(error: &Error) -> bool {
    let goes = |lost: &h2::Error| {
        lost.is_remote() && lost.is_go_away() && lost.reason() == Some(h2::Reason::NO_ERROR)
    };
    lost(error).is_some_and(goes)
}

/// Whether the server refused the stream.
pub(super) fn is_refusal(error: &Error) -> bool {
    error.kind() == Kind::StreamRefused
}

/// Whether the server wants the request over HTTP/1.1 (RFC 9113 section 7).
pub(crate) fn wants_http1(error: &Error) -> bool {
    let wants = |lost: &h2::Error| {
        lost.is_remote() && lost.is_reset() && lost.reason() == Some(h2::Reason::HTTP_1_1_REQUIRED)
    };
    lost(error).is_some_and(wants)
}

/// Returns the h2 error behind `error`.
fn lost(error: &Error) -> Option<&h2::Error> {
    let mut cause = error.source();
    while let Some(one) = cause {
        if let Some(lost) = one.downcast_ref() {
            return Some(lost);
        }
        cause = one.source();
    }
    None
}

fn failed_after_sending(error: Error) -> Failure {
    Failure::Sent {
        error,
        was_closing: false,
        again: None,
    }
}
