//! Interim responses and content over HTTP/2, to a client that reads them.

use crate::site::Site;
use bytes::Bytes;
use h2::{
    Reason, SendStream,
    client::{ResponseFuture, SendRequest, handshake},
};
use http::{HeaderMap, HeaderName, Method, Request};
use std::future::poll_fn;
use testkit::BOUND;
use tokio::{
    net::TcpStream,
    runtime::Builder,
    task::{LocalSet, spawn_local},
    time::timeout,
};

/// Runs the client's part of a test.
fn run(part: impl Future<Output = ()>) {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let bounded = async { timeout(BOUND, part).await.unwrap() };
    LocalSet::new().block_on(&runtime, bounded);
}

async fn connect(site: &Site) -> SendRequest<Bytes> {
    let stream = TcpStream::connect(site.address()).await.unwrap();
    let (send, connection) = handshake(stream).await.unwrap();
    spawn_local(async { connection.await.unwrap() });
    send
}

/// A request for `path`; its content is still to come where it is a `POST`.
async fn ask(
    send: &mut SendRequest<Bytes>,
    method: Method,
    path: &str,
    fields: &[(&str, &str)],
) -> (ResponseFuture, SendStream<Bytes>) {
    let mut request = Request::builder()
        .method(&method)
        .uri(format!("http://a{path}"));
    for (name, value) in fields {
        request = request.header(*name, *value);
    }
    let request = request.body(()).unwrap();
    poll_fn(|cx| send.poll_ready(cx)).await.unwrap();
    let is_all = method != Method::POST;
    send.send_request(request, is_all).unwrap()
}

/// The next interim response; `None`: the final one has come.
async fn interim(answer: &mut ResponseFuture) -> Option<(u16, HeaderMap)> {
    let interim = poll_fn(|cx| answer.poll_informational(cx)).await?;
    let (head, ()) = interim.unwrap().into_parts();
    Some((head.status.as_u16(), head.headers))
}

/// Status and content.
async fn read(answer: ResponseFuture) -> (u16, String) {
    let (head, mut stream) = answer.await.unwrap().into_parts();
    let mut content = Vec::new();
    while let Some(data) = stream.data().await {
        let data = data.unwrap();
        stream.flow_control().release_capacity(data.len()).unwrap();
        content.extend(data);
    }
    (head.status.as_u16(), String::from_utf8(content).unwrap())
}

#[test]
fn goes_out_while_the_final_head_is_waited_for() {
    let site = Site::plain();
    run(async {
        let mut send = connect(&site).await;
        let (mut answer, _) = ask(&mut send, Method::GET, "/hint-and-wait", &[]).await;
        let (status, fields) = interim(&mut answer).await.unwrap();
        // RFC 9110 section 8.6: no Content-Length in a 1xx.
        let names: Vec<_> = fields.keys().map(HeaderName::as_str).collect();
        assert_eq!((status, &*names), (103, &["link"][..]));
        site.stage.let_go(1);
        assert_eq!(interim(&mut answer).await, None);
        assert_eq!(read(answer).await, (200, "hinted".to_owned()));
    });
}

#[test]
fn comes_from_another_task_until_the_final_head() {
    let site = Site::plain();
    run(async {
        let mut send = connect(&site).await;
        let (mut answer, _) = ask(&mut send, Method::GET, "/hint-from-elsewhere", &[]).await;
        assert_eq!(interim(&mut answer).await.unwrap().0, 102);
        site.stage.let_go(1);
        assert_eq!(interim(&mut answer).await.unwrap().0, 103);
        assert_eq!(interim(&mut answer).await, None);
        assert_eq!(read(answer).await, (200, "hinted twice".to_owned()));
        site.stage.let_go(1);
        // What was sent too late went nowhere, or the stream would be broken, and the connection with it.
        site.stage.wait_entered(3);
        let (next, _) = ask(&mut send, Method::GET, "/next", &[]).await;
        assert_eq!(read(next).await, (200, "GET http://a/next".to_owned()));
    });
}

#[test]
fn streams_get_their_own() {
    let site = Site::plain();
    run(async {
        let mut send = connect(&site).await;
        let (mut first, _) = ask(&mut send, Method::GET, "/hint-and-wait", &[]).await;
        let (mut other, _) = ask(&mut send, Method::GET, "/wait", &[]).await;
        assert_eq!(interim(&mut first).await.unwrap().0, 103);
        site.stage.wait_entered(2);
        site.stage.let_go(2);
        assert_eq!(interim(&mut other).await, None);
        assert_eq!(read(other).await, (200, "waited".to_owned()));
        assert_eq!(read(first).await, (200, "hinted".to_owned()));
    });
}

#[test]
fn more_than_a_client_may_leave_lying_is_dropped() {
    let site = Site::plain();
    run(async {
        let mut send = connect(&site).await;
        // A thousand of a thousand bytes each, before anything is read of them.
        let (mut answer, _) = ask(&mut send, Method::GET, "/hints", &[]).await;
        let mut came = 0;
        while let Some((_, fields)) = interim(&mut answer).await {
            came += fields["link"].len();
        }
        assert!((32_000..=64 << 10).contains(&came), "{came}");
        assert_eq!(read(answer).await, (200, "hinted".to_owned()));
    });
}

/// RFC 9110 section 10.1.1: content that is wanted is asked for, and no other.
#[test]
fn content_that_is_held_back_is_asked_for_when_it_is_read() {
    let site = Site::plain();
    let expects = [("expect", "100-continue")];
    run(async {
        let mut send = connect(&site).await;
        let (mut answer, mut content) = ask(&mut send, Method::POST, "/read", &expects).await;
        assert_eq!(interim(&mut answer).await.unwrap().0, 100);
        content.send_data(Bytes::from("content"), true).unwrap();
        assert_eq!(interim(&mut answer).await, None, "once");
        assert_eq!(read(answer).await, (200, "content".to_owned()));

        let (mut answer, _held) = ask(&mut send, Method::POST, "/unread", &expects).await;
        assert_eq!(interim(&mut answer).await, None);
        assert_eq!(read(answer).await.0, 413);
    });
}

/// RFC 9110 section 9.3.2.
#[test]
fn what_we_say_ourselves_to_head_has_no_content() {
    let site = Site::plain();
    run(async {
        let mut send = connect(&site).await;
        for (path, fields, status) in [
            ("/panic", &[][..], 500),
            ("/panic-at-once", &[], 500),
            ("/next", &[("host", "b")], 400),
        ] {
            for method in [Method::GET, Method::HEAD] {
                let is_head = method == Method::HEAD;
                let (answer, _) = ask(&mut send, method, path, fields).await;
                let (told, text) = read(answer).await;
                assert_eq!((told, text.is_empty()), (status, is_head), "{path}");
            }
        }
    });
}

/// RFC 9113 section 8.1.1: what a client gives up is no whole message.
#[test]
fn content_that_is_given_up_is_not_taken_for_whole() {
    let site = Site::plain();
    run(async {
        for reason in [Reason::CANCEL, Reason::NO_ERROR, Reason::INTERNAL_ERROR] {
            let broken = site.stage.broken();
            let mut send = connect(&site).await;
            let (_answer, mut content) = ask(&mut send, Method::POST, "/read", &[]).await;
            content.send_data(Bytes::from("cont"), false).unwrap();
            let (seen, _) = ask(&mut send, Method::GET, "/next", &[]).await;
            assert_eq!(read(seen).await.0, 200);
            content.send_reset(reason);
            let (seen, _) = ask(&mut send, Method::GET, "/next", &[]).await;
            assert_eq!(read(seen).await.0, 200);
            site.stage.wait_broken(broken + 1);
        }
    });
}
