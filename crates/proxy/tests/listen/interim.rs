//! Interim responses: in order, whole, and never after the final head has begun.

use crate::site::{LARGE, Site};

fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n")
}

#[test]
fn goes_out_before_the_final_head_that_is_ready_at_once() {
    let site = Site::plain();
    let response = site.ask(get("/hint"));
    assert_eq!(response.status, 200);
    assert_eq!(response.text(), "hinted");
    let hint = &response.interim[0];
    assert_eq!(hint.start, "HTTP/1.1 103 Early Hints");
    // RFC 9110 section 8.6: no Content-Length in a 1xx.
    assert_eq!(
        hint.fields,
        [("link".to_owned(), "</a.css>; rel=preload".to_owned())]
    );
    assert_eq!(response.interim.len(), 1);
}

#[test]
fn goes_out_while_the_final_head_is_waited_for() {
    let site = Site::plain();
    let mut client = site.client();
    client.send(get("/hint-and-wait"));
    assert!(client.read_interim().start.starts_with("HTTP/1.1 103 "));
    site.stage.let_go(1);
    assert_eq!(client.read().text(), "hinted");
    client.send(get("/next"));
    assert_eq!(client.read().text(), "GET /next");
}

#[test]
fn comes_from_another_task_until_the_final_head() {
    let site = Site::plain();
    let mut client = site.client();
    client.send(get("/hint-from-elsewhere"));
    assert!(client.read_interim().start.starts_with("HTTP/1.1 102 "));
    site.stage.let_go(1);
    let response = client.read();
    assert_eq!(response.interim.len(), 1);
    assert_eq!(response.text(), "hinted twice");
    site.stage.let_go(1);
    site.stage.wait_entered(3);
    client.send(get("/next"));
    let next = client.read();
    assert_eq!(
        (next.interim.len(), next.text()),
        (0, "GET /next".to_owned())
    );
}

#[test]
fn more_than_a_client_may_leave_lying_is_dropped() {
    let site = Site::plain();
    let response = site.ask(get("/hints"));
    assert_eq!(response.text(), "hinted");
    // Each takes a little more than a thousand bytes.
    let hints = response.interim.len();
    assert!((32..=64).contains(&hints), "{hints}");
}

#[test]
fn never_cuts_into_a_body() {
    let site = Site::plain();
    let mut client = site.client();
    client.send(get("/hint-then-stream"));
    let mut response = client.read_head();
    assert_eq!(response.interim.len(), 1);
    for _ in 0..3 {
        site.stage.let_go(1);
        client.read_body_exactly(&mut response, 5);
    }
    client.read_content(&mut response);
    assert_eq!(response.text(), "piecepiecepiece");
    assert!(response.complete);
}

#[test]
fn stands_between_pipelined_answers() {
    let site = Site::plain();
    let mut client = site.client();
    client.send(get("/one") + &get("/hint") + &get("/endless-not") + &get("/hint"));
    for (text, hints) in [
        ("GET /one", 0),
        ("hinted", 1),
        ("GET /endless-not", 0),
        ("hinted", 1),
    ] {
        let response = client.read();
        assert_eq!(
            (response.text().as_str(), response.interim.len()),
            (text, hints)
        );
    }
}

#[test]
fn does_not_bother_http_1_0() {
    let site = Site::plain();
    let response = site.ask("GET /hint HTTP/1.0\r\n\r\n");
    assert_eq!(
        (response.text().as_str(), response.interim.len()),
        ("hinted", 0)
    );
}

#[test]
fn comes_after_100_continue() {
    let site = Site::plain();
    let mut client = site.client();
    client.send(
        "POST /read HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n",
    );
    assert!(client.read_interim().start.starts_with("HTTP/1.1 100 "));
    client.send("ok");
    assert_eq!(client.read().text(), "ok");
}

#[test]
fn waits_for_an_answer_that_the_client_takes_slowly() {
    let site = Site::plain();
    let mut client = site.client();
    // The second request is begun only once the first answer is out, which the socket does not hold.
    client.send(get("/large") + &get("/hint-and-wait") + &get("/large"));
    let large = client.read();
    assert_eq!((large.body.len(), large.interim.len()), (LARGE, 0));
    assert!(client.read_interim().start.starts_with("HTTP/1.1 103 "));
    site.stage.let_go(1);
    assert_eq!(client.read().text(), "hinted");
    assert_eq!(client.read().body.len(), LARGE);
}
