//! One hard budget.

use crate::common::{Said, next, sample, serve, start_with};
use testkit::{Client, Gate, Larder, Origin, Reply, wait_until};

/// A larder with a budget of 4 MiB.
fn small() -> (Origin, Larder) {
    let origin = Origin::start();
    let larder = serve(&origin).args(["--memory", "4MiB"]).start();
    (origin, larder)
}

fn used(larder: &Larder) -> u64 {
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
fn patient(memory: &str) -> (Origin, Larder) {
    start_with(&format!(
        "[limits]\nwrite_time = \"1h\"\n[memory]\nsize = \"{memory}\"\n[[origin]]\nservers = \"{{origin}}\"\n"
    ))
}

/// Resident memory of the process, in bytes.
fn resident(larder: &Larder) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", larder.id())).expect("Linux");
    let line = status.lines().find(|line| line.starts_with("VmRSS"));
    let kib = line.and_then(|line| line.split_whitespace().nth(1));
    kib.expect("kB").parse::<u64>().expect("a number") << 10
}

#[test]
fn who_reads_slowly_holds_no_more_than_the_budget() {
    const SIZE: usize = 3_000_000;
    let (origin, larder) = patient("16MiB");
    let body = "x".repeat(SIZE);
    origin.otherwise(move |_| Reply::ok().cache("max-age=60").body(&body));
    let before = resident(&larder);
    let begun: Vec<_> = (0..60)
        .map(|number| {
            let mut client = larder.get(&format!("/{number}")).begin();
            let mut answer = client.read_head();
            client.read_body_exactly(&mut answer, 1);
            (client, answer)
        })
        .collect();
    let grown = resident(&larder).saturating_sub(before);
    assert!(grown < 48 << 20, "{grown} bytes more");
    assert!(used(&larder) <= 16 << 20, "{} bytes", used(&larder));
    for (mut client, mut answer) in begun {
        client.read_content(&mut answer);
        assert!(
            answer.complete && answer.body.len() == SIZE,
            "{} bytes: {}",
            answer.body.len(),
            answer.said()
        );
    }
    wait_until("nothing is left", || {
        sample(&larder, "larder_in_flight_bytes") == 0
    });
}

/// Clients that ask for `target` and read no more than the head and a byte of what never ends for them.
fn stalled(larder: &Larder, target: &str, number: usize) -> Vec<Client> {
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
