//! Requests that are sent before the last one has its answer (RFC 9112 section 9.3.2).

use crate::common::{sample, start, start_with};
use socket2::{Domain, Socket, Type};
use std::{
    io::{Read, Write},
    net::TcpStream,
    thread,
    time::{Duration, Instant},
};
use testkit::{Address, Gate, Larder, Reply, wait_until};

const ANSWERS: &str = "larder_responses_total{class=\"2xx\"}";

/// A connection whose client takes little that it does not read.
pub(crate) fn narrow(larder: &Larder) -> TcpStream {
    let Address::Tcp(address) = larder.address() else {
        panic!("a TCP address")
    };
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
    socket.set_recv_buffer_size(4096).expect("a size");
    socket.connect(&address.into()).expect("it listens");
    socket.into()
}

/// Each answer is that to its request: one was lost behind an interim response that the client did not take, and the
/// next was taken for it.
#[test]
fn answers_come_in_order_behind_interim_responses_that_nobody_reads() {
    const MOST: u64 = 100;
    let (origin, larder) = start();
    let link = format!("</{}>; rel=preload", "a".repeat(5000));
    origin.otherwise(move |request| {
        let reply = Reply::ok().cache("no-store");
        let reply = reply.body(format!("answer to {};", request.target));
        (0..10).fold(reply, |reply, _| reply.interim(103, &[("Link", &link)]))
    });
    let mut client = narrow(&larder);
    let ask = |head: &str| format!("{head} HTTP/1.1\r\nHost: a\r\n");
    let mut asked = 0;
    // Until nothing more fits, and no answer is written any more. Where a machine takes longer for one, fewer are asked
    // for.
    while asked < MOST && sample(&larder, ANSWERS) == asked {
        let head = ask(&format!("POST /{asked}"));
        write!(client, "{head}Content-Length: 3\r\n\r\nabc").expect("it reads");
        asked += 1;
        let since = Instant::now();
        while sample(&larder, ANSWERS) < asked && since.elapsed() < Duration::from_secs(1) {
            thread::yield_now();
        }
    }
    let head = ask("GET /after");
    write!(client, "{head}Connection: close\r\n\r\n").expect("it reads");
    let mut all = Vec::new();
    client.read_to_end(&mut all).expect("it closes");
    let all = String::from_utf8(all).expect("text");
    let answers: Vec<_> = all.split("answer to ").skip(1).collect();
    let answers = answers.iter().filter_map(|rest| rest.split(';').next());
    let mut expected: Vec<_> = (0..asked).map(|number| format!("/{number}")).collect();
    expected.push("/after".to_owned());
    assert_eq!(answers.collect::<Vec<_>>(), expected);
}

/// What was sent ahead, and is answered, counts no more.
#[test]
fn what_is_sent_ahead_counts_for_as_long_as_it_lies_there() {
    const HEAD: usize = 12_000;
    let (origin, larder) =
        start_with("[memory]\nsize = \"8MiB\"\n[[origin]]\nservers = \"{origin}\"\n");
    let received = || sample(&larder, "larder_received_bytes_total");
    let mut client = larder.client();
    let send = |client: &mut testkit::Client, number: usize| {
        let before = received();
        let padding = "x".repeat(HEAD);
        client.send(format!(
            "GET /{number} HTTP/1.1\r\nHost: a\r\nX: {padding}\r\n\r\n"
        ));
        wait_until("it is read", || received() >= before + HEAD as u64);
    };
    let gates: Vec<_> = (0..40).map(|_| Gate::new()).collect();
    for (number, gate) in gates.iter().enumerate() {
        let reply = Reply::ok().cache("no-store").hold_head(gate);
        origin.reply(&format!("/{number}"), reply);
    }
    send(&mut client, 0);
    for (number, gate) in gates.iter().enumerate() {
        origin.wait_requests(&format!("/{number}"), 1);
        if number + 1 < gates.len() {
            send(&mut client, number + 1);
        }
        let in_flight = sample(&larder, "larder_in_flight_bytes");
        let is_last = number + 1 == gates.len();
        let held = if is_last { 1..=4 } else { 2..=5 };
        assert!(
            held.contains(&(in_flight / HEAD as u64)),
            "{number}: {in_flight}"
        );
        gate.open();
        assert_eq!(client.read().status, 200);
    }
}

/// A client that has gone is not fetched for, whatever it sent behind its request.
#[test]
fn who_leaves_is_missed_whatever_was_sent_ahead() {
    let (origin, larder) = start();
    origin.otherwise(|_| Reply::ok().hang());
    let all = [
        ("/nothing", ""),
        ("/line", "\r\n"),
        ("/next", "GET /x HTTP/1.1\r\nHost: a\r\n\r\n"),
        ("/part", "GET /x"),
    ];
    let clients = all.map(|(path, behind)| {
        let mut client = larder.client();
        client.send(format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n{behind}"));
        origin.wait_requests(path, 1);
        client
    });
    drop(clients);
    wait_until("all are missed", || {
        sample(&larder, "larder_clients_left_total") == all.len() as u64
    });
    for (path, _) in all {
        wait_until("the origin is let go", || origin.abandoned(path) == 1);
    }
}
