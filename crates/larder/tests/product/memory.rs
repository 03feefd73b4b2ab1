//! One hard budget.

use super::{
    coding::{coding, page, text},
    frames::{PREFACE, frame, request},
    pipelined::narrow,
    static_root::{folder, serve_with},
};
use crate::{
    common::{Said, dated, next, sample, serve, start, start_with},
    nodes::{node, wait_follows},
    nodes_apart::wait_shared,
};
use std::{
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
    process::{self, Stdio},
    sync::{Arc, Mutex},
};
use testkit::{Address, Ask, Client, Command, Gate, Larder, Origin, Redis, Reply, wait_until};

/// A larder with a budget of 4 MiB.
fn small() -> (Origin, Larder) {
    let origin = Origin::start();
    let larder = serve(&origin).args(["--memory", "4MiB"]).start();
    (origin, larder)
}

pub(crate) fn used(larder: &Larder) -> u64 {
    sample(larder, "larder_stored_bytes") + sample(larder, "larder_in_flight_bytes")
}

#[test]
fn memory_stays_within_its_budget() {
    let origin = Origin::start();
    let larder = serve(&origin).args(["--memory", "4MiB"]).start();
    let body = "x".repeat(20_000);
    origin.otherwise(move |_| Reply::ok().cache("max-age=60").body(&body));
    assert_eq!(sample(&larder, "larder_budget_bytes"), 4 << 20);
    let mut client = larder.client();
    for number in 0..600 {
        assert_eq!(client.get(&format!("/{number}")).send().body.len(), 20_000);
    }
    wait_until("what was evicted is counted", || {
        sample(&larder, "larder_evictions_total") > 300
    });
    let used = sample(&larder, "larder_stored_bytes") + sample(&larder, "larder_in_flight_bytes");
    assert!(used <= 4 << 20 && used > 1 << 20, "{used} bytes");
    assert!(
        client.get("/599").send().hit() || client.get("/599").send().hit(),
        "there is room for new ones"
    );
}

/// For each stored response at most 512 bytes beyond what the origin sent of it: by what the budget counts, and by what
/// the kernel says that the process holds.
#[test]
fn what_is_stored_costs_little_beyond_its_own_bytes() {
    const MANY: u64 = 4_000;
    const BEYOND: u64 = 512;
    let (origin, larder) = start();
    let head = dated(
        "HTTP/1.1 200 OK\r\nDate: {0}\r\nContent-Type: text/html\r\nCache-Control: max-age=600\r\nContent-Length: 1024",
    );
    let whole = format!("{head}\r\n\r\n{}", "x".repeat(1024));
    let own = whole.len() as u64;
    origin.otherwise(move |_| Reply::raw(&whole));
    let mut client = larder.client();
    let mut ask = |from: u64| {
        for number in from..from + MANY {
            client.get(&format!("/page/{number}")).send();
        }
    };
    // What the process needs once is there then.
    ask(0);
    wait_until("the first are stored", || {
        sample(&larder, "larder_cache_keys") == MANY
    });
    let (resident_before, counted) = (resident(&larder), used(&larder));
    ask(MANY);
    wait_until("all are stored", || {
        sample(&larder, "larder_cache_keys") == 2 * MANY
    });
    let counted = (used(&larder) - counted) / MANY;
    assert!(
        (own..=own + BEYOND).contains(&counted),
        "{counted} for {own}"
    );
    let grown = resident(&larder).saturating_sub(resident_before);
    // Tables double when they are full.
    assert!(grown <= MANY * (own + BEYOND) + (8 << 20), "{grown} in all");
}

/// Before an origin of 400,000 bytes a page. A 304 that answers the request of another variant makes the stored body
/// that variant's too.
fn lending() -> (Origin, Larder) {
    let (origin, larder) = small();
    let body = vec![b'x'; 400_000];
    origin.otherwise(move |request| {
        let reply = match request.header("if-none-match") {
            Some(_) => Reply::status(304),
            None => Reply::ok().body(&body),
        };
        let tag = format!("\"{}\"", request.target);
        let reply = reply.cache("max-age=60").header("Vary", "X-Variant");
        reply.header("ETag", tag)
    });
    (origin, larder)
}

#[test]
fn a_body_that_variants_share_is_let_go_when_it_leaves() {
    let (origin, larder) = lending();
    let ask_both = |path: &str| {
        for variant in ["a", "b"] {
            let answer = larder.get(path).header("X-Variant", variant).send();
            assert_eq!((answer.status, answer.body.len()), (200, 400_000));
        }
    };
    let nothing_is_in_flight = |how| {
        wait_until(how, || sample(&larder, "larder_in_flight_bytes") == 0);
    };
    for number in 0..30 {
        ask_both(&format!("/{number}"));
    }
    assert!(sample(&larder, "larder_evictions_total") > 0);
    nothing_is_in_flight("what was evicted is let go");
    for _ in 0..10 {
        ask_both("/one");
        assert_eq!(larder.ask("POST", "/one").body("x").send().status, 200);
    }
    nothing_is_in_flight("what was invalidated is let go");
    assert_eq!(origin.requests("/one"), 30);
}

/// Workers keep copies of short content that is sent often. Here it is a form of a long page.
#[test]
fn what_is_sent_often_is_let_go_when_it_leaves() {
    let (origin, larder) = start();
    let body = text("often", 30_000) + &" ".repeat(70_000);
    origin.otherwise(move |_| page(&body));
    let mut client = larder.client();
    for _ in 0..8 {
        let answer = client.get("/").header("Accept-Encoding", "gzip").send();
        assert_eq!(coding(&answer), "gzip");
        let length = answer.body.len();
        assert!((2 << 10..12 << 10).contains(&length), "{length} bytes");
    }
    assert_eq!(larder.ask("POST", "/").body("x").send().status, 200);
    wait_until("what was invalidated is let go", || {
        sample(&larder, "larder_in_flight_bytes") == 0
    });
}

#[test]
fn a_body_that_variants_share_is_weighed_once() {
    let (_origin, larder) = lending();
    let ask = |number: u32| {
        let ask = larder.get("/").header("X-Variant", number.to_string());
        ask.send()
    };
    for number in 0..30 {
        let answer = ask(number);
        assert_eq!((answer.status, answer.body.len()), (200, 400_000));
    }
    let stored = sample(&larder, "larder_stored_bytes");
    assert!(stored < 500_000, "{stored} bytes");
    assert!((0..30).all(|number| ask(number).hit()));
}

#[test]
fn of_variants_the_oldest_go_where_there_is_no_room_for_all() {
    let (origin, larder) = small();
    let body = vec![b'x'; 900_000];
    origin.otherwise(move |_| {
        let reply = Reply::ok().cache("max-age=60").body(&body);
        reply.header("Vary", "X-Variant")
    });
    let ask = |number: u32| {
        let ask = larder.get("/").header("X-Variant", number.to_string());
        let answer = ask.send();
        assert_eq!((answer.status, answer.body.len()), (200, 900_000));
        answer.hit()
    };
    let nothing_is_in_flight = || {
        wait_until("it is stored, and not in flight", || {
            sample(&larder, "larder_in_flight_bytes") == 0
        });
    };
    for number in 0..6 {
        assert!(!ask(number));
        nothing_is_in_flight();
    }
    assert!([3, 4, 5].into_iter().all(ask), "the last three have room");
    assert!(!ask(0), "the first went for them");
    nothing_is_in_flight();
    assert!([4, 5, 0].into_iter().all(ask));
    assert_eq!(sample(&larder, "larder_cache_keys"), 1);
}

#[test]
fn more_fills_at_once_than_there_is_room_for_all_arrive() {
    let (origin, larder) = small();
    let gate = Gate::new();
    let half = "x".repeat(500_000);
    origin.otherwise({
        let (gate, half) = (gate.clone(), half.clone());
        move |_| {
            Reply::ok()
                .cache("max-age=60")
                .length(1_000_000)
                .body(&half)
                .hold(&gate)
                .body(&half)
        }
    });
    let mut clients: Vec<_> = (0..20)
        .map(|number| larder.get(&format!("/{number}")).begin())
        .collect();
    gate.wait_reached_by(4);
    assert!(used(&larder) <= 4 << 20, "{} bytes", used(&larder));
    gate.open();
    for client in &mut clients {
        let answer = client.read();
        assert!(
            answer.complete && answer.body.len() == 1_000_000,
            "{} bytes: {}",
            answer.body.len(),
            answer.said()
        );
    }
    wait_until("no fill is left", || {
        sample(&larder, "larder_in_flight_bytes") == 0
    });
    assert!(used(&larder) <= 4 << 20, "{} bytes", used(&larder));
}

/// A response is not evicted while its body is on its way, whatever there is beside the body.
#[test]
fn heads_whose_content_is_on_its_way_stay_within_the_budget() {
    for is_part in [false, true] {
        heads_stay_within_the_budget(is_part);
    }
}

fn heads_stay_within_the_budget(is_part: bool) {
    let (origin, larder) = small();
    let gate = Gate::new();
    let held = gate.clone();
    let tags = |page: &str| {
        let all: Vec<_> = (0..3000).map(|tag| format!("{page}-{tag}")).collect();
        all.join(" ")
    };
    origin.otherwise(move |request| {
        let reply = if is_part {
            Reply::status(206).header("Content-Range", "bytes 0-999/2000")
        } else {
            Reply::ok()
        };
        reply
            .cache("max-age=60")
            .header("Surrogate-Key", tags(&request.target[1..]))
            .length(1000)
            .body("x".repeat(10))
            .hold(&held)
            .body("x".repeat(990))
    });
    let ask = |number: usize| {
        let asked = larder.get(&format!("/{number}"));
        if is_part {
            asked.header("Range", "bytes=0-999").begin()
        } else {
            asked.begin()
        }
    };
    let mut clients: Vec<_> = (0..40).map(ask).collect();
    let mut heads: Vec<_> = clients.iter_mut().map(Client::read_head).collect();
    assert!(used(&larder) <= 4 << 20, "{} bytes", used(&larder));
    let is_refused = |said: &str| said.contains("detail=no-room");
    let refused = heads.iter().filter(|head| is_refused(&head.said())).count();
    assert!((30..40).contains(&refused), "{refused} are not stored");
    // A short one has room.
    origin.on("/short", |_| Reply::ok().cache("max-age=60").body("x"));
    assert!(!is_refused(&larder.get("/short").send().said()));
    gate.open();
    for (client, head) in clients.iter_mut().zip(&mut heads) {
        client.read_content(head);
        assert!(head.complete && head.body.len() == 1000, "{}", head.said());
    }
    wait_until("nothing is left", || {
        sample(&larder, "larder_in_flight_bytes") == 0
    });
    assert!(larder.get("/short").send().hit());
}

/// Each has memory of its own, besides its place in the list.
#[test]
fn names_by_which_a_response_varies_count() {
    const MANY: u64 = 2_000;
    let (origin, larder) = start();
    let names: Vec<_> = (0..MANY).map(|number| format!("x-{number:0>4}")).collect();
    let names = names.join(",");
    origin.otherwise(move |request| {
        let name = match &*request.target {
            "/vary" => "Vary",
            _ => "Other",
        };
        Reply::ok().cache("max-age=60").header(name, &names)
    });
    let grown = |path: &str| {
        let before = sample(&larder, "larder_stored_bytes");
        assert_eq!(larder.get(path).send().status, 200);
        assert!(larder.get(path).send().hit());
        sample(&larder, "larder_stored_bytes") - before
    };
    let plain = grown("/plain");
    let beyond = grown("/vary").saturating_sub(plain);
    assert!(beyond > MANY * 80, "{beyond} bytes beyond {plain}");
}

#[test]
fn what_is_evicted_while_it_is_read_is_read_to_its_end() {
    let (origin, larder) = small();
    let content = |target: &str| {
        let number: usize = target[1..].parse().expect("a number");
        format!("{number:06} ").repeat(1 + number * 977 % 40_000)
    };
    origin.otherwise(move |request| {
        let reply = Reply::ok()
            .cache("max-age=60")
            .body(content(&request.target));
        if request.target.len() % 2 == 0 {
            reply.chunked()
        } else {
            reply
        }
    });
    let larder = &larder;
    let crowd = |seed: u32| {
        let (mut client, mut number) = (larder.client(), seed);
        for _ in 0..60 {
            let target = format!("/{}", next(&mut number) % 60);
            let answer = client.get(&target).send();
            assert!(
                answer.complete && answer.text() == content(&target),
                "{target}: {}",
                answer.said()
            );
        }
    };
    std::thread::scope(|scope| {
        for seed in 1..7 {
            scope.spawn(move || crowd(seed));
        }
    });
    assert!(used(larder) <= 4 << 20, "{} bytes", used(larder));
    assert!(
        sample(larder, "larder_evictions_total") > 0,
        "there was not room for all"
    );
}

/// A larder with a budget of `memory`, for clients that may take their time.
pub(crate) fn patient(memory: &str) -> (Origin, Larder) {
    start_with(&format!(
        "[limits]\nwrite_time = \"1h\"\n[memory]\nsize = \"{memory}\"\n[[origin]]\nservers = \"{{origin}}\"\n"
    ))
}

/// Resident memory of the process, in bytes.
pub(crate) fn resident(larder: &Larder) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", larder.id())).expect("Linux");
    let line = status.lines().find(|line| line.starts_with("VmRSS"));
    let kib = line.and_then(|line| line.split_whitespace().nth(1));
    kib.expect("kB").parse::<u64>().expect("a number") << 10
}

#[test]
fn who_reads_slowly_holds_no_more_than_the_budget() {
    many_read_slowly(|ask| ask);
}

#[test]
fn who_reads_a_large_part_slowly_holds_no_more_than_the_budget() {
    many_read_slowly(|ask| ask.header("Range", "bytes=0-2999999"));
}

fn many_read_slowly(of: impl Fn(Ask<Client>) -> Ask<Client>) {
    const SIZE: usize = 3_000_000;
    let (origin, larder) = patient("16MiB");
    let body = "x".repeat(SIZE);
    origin.otherwise(move |request| {
        let reply = match request.header("range") {
            Some(_) => Reply::status(206).header("Content-Range", "bytes 0-2999999/3500000"),
            None => Reply::ok(),
        };
        reply
            .cache("max-age=60")
            .header("ETag", "\"a\"")
            .body(&body)
    });
    let before = resident(&larder);
    let begun: Vec<_> = (0..60)
        .map(|number| {
            let mut client = of(larder.get(&format!("/{number}"))).begin();
            let mut answer = client.read_head();
            client.read_body_exactly(&mut answer, 1);
            (client, answer)
        })
        .collect();
    let grown = resident(&larder).saturating_sub(before);
    assert!(grown < 48 << 20, "{grown} bytes more");
    assert!(used(&larder) <= 16 << 20, "{} bytes", used(&larder));
    let mut whole = 0;
    for (mut client, mut answer) in begun {
        client.read_content(&mut answer);
        assert!(answer.complete, "{}", answer.said());
        // How much the kernel takes for each decides whether there is room for all of them.
        if answer.status < 300 {
            assert_eq!(answer.body.len(), SIZE);
            whole += 1;
        } else {
            assert!(
                answer.said().contains("detail=no-room"),
                "{}",
                answer.said()
            );
        }
    }
    assert!(whole >= 20, "{whole} were answered");
    wait_until("nothing is left", || {
        sample(&larder, "larder_in_flight_bytes") == 0
    });
}

/// Files are read by other threads: all may ask before anything of them counts.
#[test]
fn files_that_many_ask_for_at_once_stay_within_the_budget() {
    let root = folder(&[("large", &vec![b'x'; 12_000_000])]);
    let limits = "[limits]\nwrite_time = \"1h\"\n[memory]\nsize = \"4MiB\"";
    let larder = serve_with(&root, limits);
    let asked = "GET /large HTTP/1.1\r\nHost: a\r\nCache-Control: no-store\r\n\r\n";
    let mut clients: Vec<_> = (0..60).map(|_| narrow(&larder)).collect();
    for client in &mut clients {
        client.write_all(asked.as_bytes()).expect("written");
    }
    for client in &mut clients {
        let mut status = [0; "HTTP/1.1 200".len()];
        client.read_exact(&mut status).expect("an answer");
        assert!(status.ends_with(b"200"));
    }
    let (mut sent, mut same) = (0, 0);
    wait_until("the kernel takes no more of any", || {
        let now = sample(&larder, "larder_sent_bytes_total");
        same = if now == sent { same + 1 } else { 0 };
        sent = now;
        same == 20
    });
    assert!(used(&larder) <= 4 << 20, "{} bytes", used(&larder));
    drop(clients);
    wait_until("nothing is left", || {
        sample(&larder, "larder_in_flight_bytes") == 0
    });
}

/// Clients that ask for `target` and read no more than the head and a byte of what never ends for them.
pub(crate) fn stalled(larder: &Larder, target: &str, number: usize) -> Vec<Client> {
    let stall = |_| {
        let mut client = larder.get(target).begin();
        let mut answer = client.read_head();
        assert_eq!(answer.status, 200, "{}", answer.said());
        client.read_body_exactly(&mut answer, 1);
        client
    };
    (0..number).map(stall).collect()
}

#[test]
fn what_passes_counts_and_is_read_little_by_little_where_memory_is_short() {
    const SIZE: usize = 24_000_000;
    let (origin, larder) = patient("8MiB");
    let body = "x".repeat(SIZE);
    origin.otherwise(move |request| {
        let reply = Reply::ok().cache("no-store").body(&body);
        match &*request.target {
            "/chunks" => reply.chunked(),
            _ => reply,
        }
    });
    let before = resident(&larder);
    let mut clients = stalled(&larder, "/length", 20);
    clients.extend(stalled(&larder, "/chunks", 20));
    wait_until("memory is short", || {
        sample(&larder, "larder_in_flight_bytes") > 2 << 20
    });
    let in_flight = sample(&larder, "larder_in_flight_bytes");
    assert!(in_flight < 6 << 20, "{in_flight} bytes of 40 answers");
    let grown = resident(&larder).saturating_sub(before);
    assert!(grown < 20 << 20, "{grown} bytes more");
    assert_eq!(larder.get("/length").send().body.len(), SIZE);
    drop(clients);
    wait_until("nothing is left", || {
        sample(&larder, "larder_in_flight_bytes") == 0
    });
    assert_eq!(larder.get("/chunks").send().body.len(), SIZE);
}

/// What has come as a whole, and is short enough to be copied for the socket, counts until that has it, too.
#[test]
fn short_answers_that_are_not_read_count() {
    let (origin, larder) = start();
    origin.otherwise(|_| Reply::ok().cache("no-store").body([b'x'; 11_000]));
    let mut client = larder.client();
    // More than the kernel holds for a connection.
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n".repeat(2_000));
    wait_until("an answer waits for its client", || {
        sample(&larder, "larder_in_flight_bytes") >= 11_000
    });
    for _ in 0..2_000 {
        assert_eq!(client.read().body.len(), 11_000);
    }
    wait_until("nothing waits any more", || {
        sample(&larder, "larder_in_flight_bytes") == 0
    });
}

#[test]
fn who_finds_no_room_at_all_is_told() {
    const SIZE: usize = 24_000_000;
    let (origin, larder) = patient("1MiB");
    let body = "x".repeat(SIZE);
    origin.otherwise(move |_| Reply::ok().cache("no-store").body(&body));
    let mut clients = Vec::new();
    let refused = loop {
        let mut client = larder.get("/").begin();
        let mut answer = client.read_head();
        if answer.status != 200 {
            break answer;
        }
        client.read_body_exactly(&mut answer, 1);
        clients.push(client);
        assert!(clients.len() < 140, "{} bytes", used(&larder));
    };
    assert_eq!(refused.status, 503);
    assert!(
        refused.said().contains("detail=no-room"),
        "{}",
        refused.said()
    );
    assert!(
        used(&larder) <= 1 << 20 | 64 << 10,
        "{} bytes",
        used(&larder)
    );
    drop(clients);
    wait_until("there is room again", || {
        larder.get("/").send().status == 200
    });
}

/// The connections of an origin that reads nothing, and a larder with 16 MiB before it.
pub(crate) fn deaf() -> (Arc<Mutex<Vec<TcpStream>>>, Larder) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    let larder = Command::serve(env!("CARGO_BIN_EXE_larder"))
        .config(&format!(
            "[limits]\nbody_time = \"1h\"\n[memory]\nsize = \"16MiB\"\n[[origin]]\nservers = \"http://{address}\"\n\
             most_concurrent = 1000\ntimeouts = {{ first_byte = \"1h\" }}\n"
        ))
        .start();
    let taken = Arc::<Mutex<Vec<TcpStream>>>::default();
    let own = Arc::clone(&taken);
    std::thread::spawn(move || {
        while let Ok((stream, _)) = listener.accept() {
            own.lock().expect("nobody panicked").push(stream);
        }
    });
    (taken, larder)
}

/// Sends content to all of them until none takes any more.
fn fill(uploads: &mut [TcpStream], larder: &Larder, piece: &[u8]) {
    let mut idle = 0;
    while idle < 5 {
        let mut taken = 0;
        for upload in &mut *uploads {
            while let Ok(count) = upload.write(piece) {
                taken += count;
            }
        }
        idle = if taken == 0 { idle + 1 } else { 0 };
        // What was sent has been looked at when this is answered, or soon after.
        sample(larder, "larder_in_flight_bytes");
    }
}

#[test]
fn uploads_that_the_origin_does_not_read_stay_within_the_budget() {
    let lengths = ["Content-Length: 100000000", "Transfer-Encoding: chunked"];
    for (length, piece) in lengths
        .into_iter()
        .zip([vec![b'x'; 65536], b"1\r\nx\r\n".repeat(9000)])
    {
        let (taken, larder) = deaf();
        let before = resident(&larder);
        let mut uploads: Vec<TcpStream> = (0..150)
            .map(|_| {
                let Address::Tcp(address) = larder.address() else {
                    panic!("it listens on TCP");
                };
                let mut stream = TcpStream::connect(address).expect("it listens");
                let head = format!("POST /up HTTP/1.1\r\nHost: a\r\n{length}\r\n\r\n");
                stream.write_all(head.as_bytes()).expect("it reads");
                stream.set_nonblocking(true).expect("a socket");
                stream
            })
            .collect();
        fill(&mut uploads, &larder, &piece);
        let in_flight = sample(&larder, "larder_in_flight_bytes");
        assert!(
            (5 << 20..=8 << 20).contains(&in_flight),
            "{in_flight} bytes"
        );
        let grown = resident(&larder).saturating_sub(before);
        assert!(grown < 24 << 20, "{length}: {grown} bytes more");
        // What is short has room as long as there is any.
        let mut short = larder.ask("POST", "/short").body("x").begin();
        let mut refused = larder.client();
        refused.send(format!(
            "POST /late HTTP/1.1\r\nHost: a\r\n{length}\r\n\r\n"
        ));
        let answer = refused.read_head();
        assert_eq!(answer.status, 503);
        assert_eq!(answer.parameter("detail").as_deref(), Some("no-room"));
        assert!(!short.has_answer());
        drop((uploads, short));
        taken.lock().expect("nobody panicked").clear();
        wait_until("nothing is left", || {
            sample(&larder, "larder_in_flight_bytes") == 0
        });
    }
}

/// As large as what is held, and larger; both ways of framing.
#[test]
fn content_arrives_as_it_was_sent_whatever_is_held_of_it() {
    let (origin, larder) = patient("2MiB");
    origin.otherwise(|request| Reply::ok().cache("no-store").body(&request.body));
    for length in [1, 16_384, 65_536, 300_000, 3_000_001] {
        let content: Vec<u8> = (0..length).map(|at: u32| (at % 251) as u8).collect();
        let answer = larder.ask("POST", "/").body(&content).send();
        assert!(answer.status == 200 && answer.body == content, "{length}");
        let mut client = larder.client();
        client.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
        for piece in content.chunks(1 + length as usize / 7) {
            client.send([format!("{:x}\r\n", piece.len()).as_bytes(), piece, b"\r\n"].concat());
        }
        client.send("0\r\n\r\n");
        assert!(client.read().body == content, "{length} in chunks");
    }
    wait_until("nothing is left", || {
        sample(&larder, "larder_in_flight_bytes") == 0
    });
}

/// Connects, and sends these bytes.
fn sent(larder: &Larder, bytes: &[u8]) -> TcpStream {
    let Address::Tcp(address) = larder.address() else {
        panic!("it listens on TCP");
    };
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream.write_all(bytes).expect("it reads");
    stream.set_nonblocking(true).expect("a socket");
    stream
}

#[test]
fn half_sent_heads_stay_within_the_budget() {
    let head = format!("GET / HTTP/1.1\r\nHost: a\r\nX: {}", "x".repeat(30_000));
    // Read by us from its first byte, and by the library behind content.
    let behind = format!("POST /post HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx{head}");
    for bytes in [&head, &behind] {
        let (origin, larder) = start_with(
            "[limits]\nheader_time = \"1h\"\n[memory]\nsize = \"16MiB\"\n[[origin]]\nservers = \"{origin}\"\n",
        );
        origin.otherwise(|_| Reply::ok().cache("no-store"));
        let before = resident(&larder);
        let halves: Vec<TcpStream> = (0..500).map(|_| sent(&larder, bytes.as_bytes())).collect();
        let has_word = |half: &TcpStream| {
            let mut last = [0; 4096];
            let length = half.peek(&mut last).unwrap_or(0);
            let said = String::from_utf8_lossy(&last[..length]);
            said.contains("HTTP/1.1 503 ") && said.contains("detail=no-room")
        };
        wait_until("those are turned away for which there is no room", || {
            halves.iter().filter(|half| has_word(half)).count() >= 250
        });
        let in_flight = sample(&larder, "larder_in_flight_bytes");
        assert!(
            (5 << 20..=8 << 20).contains(&in_flight),
            "{in_flight} bytes"
        );
        let grown = resident(&larder).saturating_sub(before);
        assert!(grown < 32 << 20, "{grown} bytes more");
        // A short one has room.
        let mut short = larder.client();
        short.send("GET /short HTTP/1.1\r\nHo");
        wait_until("it counts", || {
            sample(&larder, "larder_in_flight_bytes") != in_flight
        });
        short.send("st: a\r\n\r\n");
        assert_eq!(short.read().status, 200);
        drop(halves);
        wait_until("nothing is left", || {
            sample(&larder, "larder_in_flight_bytes") == 0
        });
    }
}

#[test]
fn heads_over_http2_stay_within_the_budget() {
    let (origin, larder) = small();
    let gate = Gate::new();
    let held = gate.clone();
    origin.otherwise(move |_| Reply::ok().cache("no-store").hold_head(&held));
    let load = process::Command::new("h2load")
        .args(["-n", "100", "-c", "1", "-m", "100", "-H"])
        .arg(format!("X: {}", "x".repeat(24_000)))
        // Nobody waits for another's.
        .args((0..100).map(|number| format!("{}/?{number}", larder.listeners()[0])))
        .stdout(Stdio::piped())
        .spawn()
        .expect("h2load runs");
    // All that is not held at the origin.
    let refused = || sample(&larder, "larder_responses_total{class=\"5xx\"}");
    wait_until("those are turned away for which there is no room", || {
        refused() > 0 && refused() + origin.requests("/") as u64 == 100
    });
    let refused = refused();
    let in_flight = sample(&larder, "larder_in_flight_bytes");
    assert!(
        (1 << 20..=2 << 20).contains(&in_flight),
        "{in_flight} bytes"
    );
    // A short one has room.
    let mut short = larder.get("/short").begin();
    gate.open();
    assert_eq!(short.read().status, 200);
    let said = load.wait_with_output().expect("it ends").stdout;
    let said = String::from_utf8_lossy(&said);
    assert!(said.contains(&format!("{refused} 5xx")), "{said}");
    assert!(said.contains(&format!("{} 2xx", 100 - refused)), "{said}");
    wait_until("nothing is left", || {
        sample(&larder, "larder_in_flight_bytes") == 0
    });
}

/// Short fields take many times what they take on the wire.
#[test]
fn many_fields_of_requests_that_wait_stay_within_the_budget() {
    let (origin, larder) = small();
    origin.on("/stored", |_| Reply::ok().cache("max-age=600"));
    larder.get("/stored").send();
    let with_fields = |target: &str| {
        let asked = larder.get(target);
        (0..60).fold(asked, |asked, number| {
            asked.header(&format!("X-{number}"), "1")
        })
    };
    let gate = Gate::new();
    let held = gate.clone();
    origin.otherwise(move |_| Reply::ok().cache("no-store").hold_head(&held));
    // Some lead, and some follow.
    let mut clients: Vec<_> = (0..250)
        .map(|number| with_fields(&format!("/{}", number % 20)).begin())
        .collect();
    let refused = || sample(&larder, "larder_responses_total{class=\"5xx\"}");
    wait_until("those are turned away for which there is no room", || {
        refused() > 100
    });
    let in_flight = sample(&larder, "larder_in_flight_bytes");
    assert!(
        (1 << 20..=2 << 20).contains(&in_flight),
        "{in_flight} bytes"
    );
    // What is stored, or has few fields, is answered.
    assert!(with_fields("/stored").send().hit());
    let mut short = larder.get("/short").begin();
    gate.open();
    assert_eq!(short.read().status, 200);
    for client in &mut clients {
        let answer = client.read();
        let is_refused = answer.said().contains("detail=no-room");
        assert!(answer.status == 200 || is_refused, "{}", answer.said());
    }
    wait_until("nothing is left", || {
        sample(&larder, "larder_in_flight_bytes") == 0
    });
}

/// One connection of HTTP/2 has a hundred, and each is more here than on the wire.
#[test]
fn many_requests_that_wait_stay_within_the_budget() {
    let (origin, larder) = small();
    let gate = Gate::new();
    let held = gate.clone();
    origin.otherwise(move |_| Reply::ok().cache("max-age=60").hold_head(&held));
    let asked: Vec<_> = (0..100)
        .flat_map(|number| request(2 * number + 1, "/"))
        .collect();
    let sent = [PREFACE.as_bytes(), &frame(4, 0, &[]), &asked].concat();
    let clients: Vec<_> = (0..12)
        .map(|_| {
            let mut client = larder.client();
            client.send(&sent);
            client
        })
        .collect();
    let answered = |class: &str| {
        let name = format!("larder_responses_total{{class=\"{class}\"}}");
        sample(&larder, &name)
    };
    wait_until("those are turned away for which there is no room", || {
        answered("5xx") > 300
    });
    let in_flight = sample(&larder, "larder_in_flight_bytes");
    assert!(
        (1 << 20..=3 << 20).contains(&in_flight),
        "{in_flight} bytes"
    );
    gate.open();
    wait_until("all have an answer", || {
        answered("2xx") + answered("5xx") == 1200
    });
    drop(clients);
    wait_until("nothing is left", || {
        sample(&larder, "larder_in_flight_bytes") == 0
    });
}

/// Heads of answers that wait until their client reads.
#[test]
fn heads_that_are_not_read_over_http2_stay_within_the_budget() {
    let (origin, larder) = patient("4MiB");
    origin.otherwise(|request| {
        let cache = if request.target == "/hit" {
            "max-age=600"
        } else {
            "no-store"
        };
        let reply = Reply::ok().cache(cache).body("x");
        (0..150).fold(reply, |reply, number| {
            reply.header(&format!("X-{number}"), "x".repeat(300))
        })
    });
    let in_flight = || sample(&larder, "larder_in_flight_bytes");
    larder.get("/hit").send();
    wait_until("nothing is in flight", || in_flight() == 0);
    let before = resident(&larder);
    let ask = |path: &str| {
        let mut client = narrow(&larder);
        let asked: Vec<_> = (0..127)
            .flat_map(|number| request(2 * number + 1, path))
            .collect();
        let sent = [PREFACE.as_bytes(), &frame(4, 0, &[]), &asked].concat();
        client.write_all(&sent).expect("written");
        client
    };
    let clients: Vec<_> = (0..30)
        .map(|number| ask(if number % 4 == 0 { "/miss" } else { "/hit" }))
        .collect();
    wait_until("what waits takes all of the budget", || {
        in_flight() >= 4 << 20
    });
    let answered = |class: &str| {
        sample(
            &larder,
            &format!("larder_responses_total{{class=\"{class}\"}}"),
        )
    };
    wait_until("all requests are answered", || {
        answered("2xx") + answered("5xx") > clients.len() as u64 * 127
    });
    let in_flight_now = in_flight();
    assert!(in_flight_now < 5 << 20, "{in_flight_now} bytes");
    let grown = resident(&larder).saturating_sub(before);
    // All of them would take 170 MB.
    assert!(grown < 64 << 20, "{grown} bytes more");
    drop(clients);
    wait_until("nothing is left", || in_flight() == 0);
}

/// What the connections have of heads that go on in further frames, which never come.
#[test]
fn half_heads_over_http2_stay_within_the_budget() {
    let (_origin, larder) = small();
    let in_flight = || sample(&larder, "larder_in_flight_bytes");
    let before = in_flight();
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
    let head = b"\0\0\x01\x01\x01\0\0\0\x01\x82";
    let halves: Vec<_> = (0..20)
        .map(|_| {
            let mut client = larder.client();
            client.send([&preface[..], head].concat());
            client
        })
        .collect();
    wait_until("all of them count", || in_flight() >= before + 20 * 32_768);
    drop(halves);
    wait_until("nothing is left", || in_flight() == before);
}

#[test]
fn a_head_is_read_wherever_it_is_cut() {
    let (origin, larder) = start();
    origin.otherwise(|request| {
        let text = request.header("x").map_or(0, str::len).to_string();
        Reply::ok().cache("no-store").body(text)
    });
    let in_flight = || sample(&larder, "larder_in_flight_bytes");
    for length in [10, 16_000, 17_000, 30_000] {
        let head = format!(
            "GET /{length} HTTP/1.1\r\nHost: a\r\nX: {}\r\n\r\n",
            "x".repeat(length)
        );
        let mut client = larder.client();
        for cut in [1, head.len() / 2, head.len() - 1] {
            let (first, rest) = head.split_at(cut);
            client.send(first);
            wait_until("it waits for the rest", || {
                in_flight() >= first.len() as u64
            });
            // Another one at once behind it.
            client.send([rest, &head].concat());
            for _ in 0..2 {
                assert_eq!(client.read().text(), length.to_string(), "cut at {cut}");
            }
            wait_until("nothing is left", || in_flight() == 0);
        }
    }
}

#[test]
fn what_is_asked_for_often_outlives_a_scan() {
    let (origin, larder) = small();
    let body = "x".repeat(10_000);
    origin.otherwise(move |_| Reply::ok().cache("max-age=60").body(&body));
    let mut client = larder.client();
    for _ in 0..5 {
        for number in 0..20 {
            client.get(&format!("/often/{number}")).send();
        }
    }
    for number in 0..1500 {
        client.get(&format!("/once/{number}")).send();
        client.get(&format!("/often/{}", number % 20)).send();
    }
    let fetched: usize = (0..20)
        .map(|number| origin.requests(&format!("/often/{number}")))
        .sum();
    assert!(
        fetched <= 60,
        "20 that are asked for often were fetched {fetched} times"
    );
}

/// What was there before comes back where a newer answer breaks off.
#[test]
fn what_comes_back_into_the_store_is_weighed_once() {
    let (origin, larder) = patient("64MiB");
    let body = "x".repeat(1_000_000);
    origin.otherwise(move |request| {
        let reply = Reply::ok().cache("max-age=0").header("ETag", "\"a\"");
        match request.header("if-none-match") {
            None => reply.body(&body),
            Some(_) => Reply::ok()
                .cache("max-age=60")
                .length(2_000_000)
                .body(&body)
                .cut(),
        }
    });
    for _ in 0..2 {
        larder.get("/").send();
    }
    wait_until("it is stored, and not in flight", || {
        sample(&larder, "larder_stored_bytes") >= 1_000_000
            && sample(&larder, "larder_in_flight_bytes") == 0
    });
}

/// Until its replacement has come, a response may be put back. Both count, each once: there is room for two of the
/// largest.
#[test]
fn what_is_replaced_and_may_be_put_back_counts_once() {
    for size in [500_000, 750_000, 1_000_000] {
        let (origin, larder) = small();
        let gate = Gate::new();
        let held = gate.clone();
        origin.otherwise(move |request| {
            let body = request.nth.to_string().repeat(size);
            let (first, rest) = body.split_at(1);
            let reply = Reply::ok().cache("max-age=60").length(size);
            match request.nth {
                1 => reply.body(body),
                2 => reply.body(first).hold(&held).body(rest),
                _ => reply.body(&rest[..size / 2]).cut(),
            }
        });
        let nothing_is_in_flight = || {
            wait_until("it is stored, and not in flight", || {
                sample(&larder, "larder_in_flight_bytes") == 0
            });
        };
        let is_hit = |text: &str| {
            let answer = larder.get("/").send();
            answer.hit() && answer.text() == text.repeat(size)
        };
        larder.get("/").send();
        nothing_is_in_flight();
        let mut client = larder.get("/").header("Cache-Control", "no-cache").begin();
        let mut answer = client.read_head();
        client.read_body_exactly(&mut answer, 1);
        let in_flight = sample(&larder, "larder_in_flight_bytes") as usize;
        assert!((size..size * 3 / 2).contains(&in_flight), "{in_flight}");
        gate.open();
        client.read_content(&mut answer);
        nothing_is_in_flight();
        assert!(is_hit("2"), "there is room for the new one: {size}");
        let broken = larder.get("/").header("Cache-Control", "no-cache").send();
        assert!(!broken.complete, "{}", broken.said());
        assert!(is_hit("2"), "it was put back: {size}");
        nothing_is_in_flight();
    }
}

/// For the long page there is never as much room at once as it takes.
#[test]
fn a_shared_page_for_which_there_is_no_room_is_not_read() {
    let (redis, origin) = (Redis::start(), Origin::start());
    for (path, length) in [("/long", 3 << 20), ("/short", 500_000)] {
        let body = vec![b'x'; length];
        origin.on(path, move |_| Reply::ok().cache("max-age=60").body(&body));
    }
    let [large, small] = [(0, "64MiB"), (1, "4MiB")].map(|(number, size)| {
        let more = format!("workers = 1\n[memory]\nsize = \"{size}\"\n");
        node(&origin, &redis, number, &more)
    });
    [&large, &small].into_iter().for_each(wait_follows);
    for (path, shared, found, requests) in [("/long", 1, 0, 2), ("/short", 2, 1, 1)] {
        let body = large.get(path).send().body;
        wait_shared(&large, shared);
        assert!(small.get(path).send().body == body, "{path}");
        assert_eq!(origin.requests(path), requests, "{path}");
        assert_eq!(sample(&small, "larder_shared_hits_total"), found, "{path}");
        assert_eq!(sample(&small, "larder_shared_no_room_total"), 1, "{path}");
        wait_until("nothing is in flight", || {
            sample(&small, "larder_in_flight_bytes") == 0
        });
    }
}
