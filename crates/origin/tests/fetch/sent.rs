//! Whether some of a request may have reached a server, also where nobody waits for the answer any more.

use crate::{
    fastcgi,
    http2_unbegun::{Does, origin_that},
    support::*,
};
use http::{Method, Request};
use origin::{Context, Error, Kind, Origin, RequestBody, ResponseBody, Sent, config::Retry};
use std::sync::Arc;
use testkit::{Gate, Reply, fastcgi::Next};

fn post(body: RequestBody) -> Request<RequestBody> {
    request(Method::POST, "/index.php", body)
}

/// Asks for what must not be asked twice, unless it is `repeatable`.
async fn fetch(
    origin: &Arc<Origin>,
    asked: Request<RequestBody>,
    repeatable: bool,
    sent: &Sent,
) -> Result<http::Response<ResponseBody>, Error> {
    let context = Context {
        repeatable,
        sent: sent.clone(),
        ..Context::default()
    };
    origin.fetch(asked, context).await
}

/// Asks, and gives up when this holds. Returns whether some of the request may have reached the server.
async fn given_up(
    origin: &Arc<Origin>,
    asked: Request<RequestBody>,
    when: impl Fn() -> bool,
) -> bool {
    let sent = Sent::default();
    tokio::select! {
        ended = fetch(origin, asked, false, &sent) => panic!("{:?}", ended.map(drop)),
        () = until(when) => {}
    }
    sent.was_sent()
}

/// Asks in vain. Returns what went wrong, and whether some of the request may have reached a server. Who waited is told
/// the same.
async fn failed(
    origin: &Arc<Origin>,
    asked: Request<RequestBody>,
    repeatable: bool,
) -> (Kind, bool) {
    let sent = Sent::default();
    let ended = fetch(origin, asked, repeatable, &sent).await;
    let error = ended.map(drop).unwrap_err();
    assert_eq!(error.was_sent(), sent.was_sent(), "{error}");
    (error.kind(), sent.was_sent())
}

/// Whatever the server speaks, and whether or not there is content.
#[test]
fn what_a_server_has_was_sent_if_nobody_waits_any_more() {
    for content in [empty as fn() -> RequestBody, || full("content")] {
        let server = testkit::Origin::start();
        server.otherwise(|_| Reply::ok().hang());
        let origin = plain(&server);
        let came = || server.requests("/index.php") == 1;
        assert!(work(given_up(&origin, post(content()), came)), "HTTP/1.1");

        let sent = work(async {
            let (origin, came) = origin_that(|_, _| Does::SaysNothing).await;
            given_up(&origin, post(content()), || came.borrow().len() == 1).await
        });
        assert!(sent, "HTTP/2");

        let gate = Gate::new();
        let held = gate.clone();
        let server = testkit::FastCgi::start(move |_, _| {
            held.pass();
            Next::Close
        });
        let origin = fastcgi::origin_of(&server);
        let came = || gate.reached() == 1;
        assert!(work(given_up(&origin, post(content()), came)), "FastCGI");
        gate.open();
    }
}

#[test]
fn what_waits_for_its_turn_was_not_sent() {
    let server = testkit::Origin::start();
    server.otherwise(|_| Reply::ok().hang());
    let mut config = config([tcp(server.address())]);
    config.concurrency.most = 1;
    let origin = Origin::new(config).unwrap();
    work(async {
        let sent = Sent::default();
        let first = fetch(&origin, post(empty()), false, &sent);
        let second = async {
            until(|| server.requests("/index.php") == 1).await;
            for content in [empty(), full("content")] {
                let waits = || origin.report().queued == 1;
                assert!(!given_up(&origin, post(content), waits).await);
            }
        };
        tokio::select! {
            ended = first => panic!("{:?}", ended.map(drop)),
            () = second => {}
        }
        assert!(sent.was_sent());
    });
}

/// Content that is broken from its first byte on takes the head with it that waits for it.
#[test]
fn content_that_breaks_off_was_sent_only_if_some_of_the_request_was() {
    let server = testkit::Origin::start();
    server.otherwise(|_| Reply::ok().hang());
    let origin = plain(&server);
    let script = testkit::FastCgi::with_output("X-A: b\r\n\r\n");
    let scripts = fastcgi::origin_of(&script);
    work(async {
        for origin in [&origin, &scripts] {
            let (sender, body) = pieces();
            sender.send("!").await.unwrap();
            let told = failed(origin, post(body), false).await;
            assert_eq!(told, (Kind::RequestBody, false));
        }
        let (sender, body) = pieces_of(2);
        let breaks = async {
            sender.send("a").await.unwrap();
            until(|| server.received("/index.php") == 1).await;
            sender.send("!").await.unwrap();
        };
        let (told, ()) = tokio::join!(failed(&origin, post(body), false), breaks);
        assert_eq!(told, (Kind::RequestBody, true));
    });
    assert_eq!(script.requests(), 0);
}

/// What one server had, another cannot take back.
#[test]
fn what_any_of_several_servers_may_have_was_sent() {
    let dead = || {
        let server = testkit::Origin::start();
        server.stop();
        server
    };
    let hangs_up = testkit::Origin::start();
    hangs_up.otherwise(|_| Reply::close());
    let (gone, also_gone) = (dead(), dead());
    for (servers, was_sent) in [
        ([&gone, &also_gone], false),
        ([&hangs_up, &gone], true),
        ([&gone, &hangs_up], true),
    ] {
        let mut config = config(servers.map(|server| tcp(server.address())));
        config.retry = Retry {
            attempts: 3,
            ..config.retry
        };
        let origin = Origin::new(config).unwrap();
        for repeatable in [true, false] {
            let asked = request(Method::GET, "/", empty());
            let (kind, sent) = work(failed(&origin, asked, repeatable));
            assert_eq!(sent, was_sent, "{kind:?}, repeatable: {repeatable}");
        }
    }
}

/// RFC 9113 section 8.7: it had not begun with it.
#[test]
fn what_a_server_of_http2_refuses_was_not_sent() {
    const REFUSED_STREAM: u8 = 7;
    const CANCEL: u8 = 8;
    work(async {
        for content in [empty as fn() -> RequestBody, || full("content")] {
            let (origin, _) = origin_that(|_, _| Does::Resets(REFUSED_STREAM)).await;
            let told = failed(&origin, post(content()), false).await;
            assert_eq!(told, (Kind::StreamRefused, false));
            let (origin, _) = origin_that(|_, _| Does::Resets(CANCEL)).await;
            let told = failed(&origin, post(content()), false).await;
            assert_eq!(told, (Kind::Protocol, true));
        }
    });
}

/// The answer to a second attempt says nothing of the first. What never went out leaves nothing to be heard of.
#[test]
fn an_attempt_that_is_not_answered_goes_unheard() {
    let hangs_up = || {
        let server = testkit::Origin::start();
        server.otherwise(|_| Reply::close());
        server
    };
    let refuses = || {
        let server = testkit::Origin::start();
        server.stop();
        server
    };
    for (first, unheard) in [(hangs_up(), true), (refuses(), false)] {
        let good = testkit::Origin::start();
        good.reply("/", Reply::status(404));
        let servers = [first.address(), good.address()].map(tcp);
        let origin = Origin::new(config(servers)).unwrap();
        let sent = Sent::default();
        let answer = work(async {
            let asked = request(Method::DELETE, "/", empty());
            read(fetch(&origin, asked, true, &sent).await.unwrap()).await
        });
        assert_eq!(answer.unwrap().status, 404);
        assert_eq!((sent.was_sent(), sent.went_unheard()), (true, unheard));
    }
}
