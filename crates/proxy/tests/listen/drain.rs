//! The graceful stop.

use crate::site::Site;
use std::{net::TcpStream, time::Duration};

const AMPLE: Duration = Duration::from_mins(1);

#[test]
fn lets_requests_in_flight_finish_and_closes_the_rest() {
    let mut site = Site::plain();
    let (mut busy, mut idle, mut fresh) = (site.client(), site.client(), site.client());
    busy.send("GET /wait HTTP/1.1\r\nHost: a\r\n\r\n");
    site.stage.wait_entered(1);
    assert_eq!(idle.get("/").send().status, 200);
    site.wait_counted("the third", |counters| counters.accepted == 3);
    site.switch.start(AMPLE);
    assert_eq!(idle.read_to_end(), b"");
    assert_eq!(fresh.read_to_end(), b"");
    assert!(TcpStream::connect(site.address()).is_err(), "still accepts");
    site.stage.let_go(1);
    let response = busy.read();
    assert_eq!(response.text(), "waited");
    assert_eq!(response.header("connection"), Some("close"));
    assert_eq!(busy.read_to_end(), b"");
    site.join();
}

#[test]
fn ends_what_outlasts_the_deadline() {
    let mut site = Site::plain();
    let mut stuck = site.client();
    stuck.send("GET /wait HTTP/1.1\r\nHost: a\r\n\r\n");
    site.stage.wait_entered(1);
    site.switch.start(Duration::from_millis(20));
    site.join();
    site.stage.wait_left(1);
    assert_eq!(stuck.read_to_end(), b"");
}

#[test]
fn serves_what_was_sent_before() {
    let mut site = Site::plain();
    // Many at once: some are accepted, some still wait in the kernel when the drain begins.
    let mut clients: Vec<_> = (0..64).map(|_| site.client()).collect();
    for client in &mut clients {
        client.send("GET /sent HTTP/1.1\r\nHost: a\r\n\r\n");
    }
    site.switch.start(AMPLE);
    for mut client in clients {
        assert_eq!(client.read().text(), "GET /sent");
    }
    site.join();
}
