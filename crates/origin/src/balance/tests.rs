use super::*;
use crate::{
    config::{Address, PassiveHealth, Server},
    roster::Roster,
};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Makes one server for each weight, numbered from 0.
fn peers(weights: &[u32]) -> Vec<Arc<Peer>> {
    let servers: Vec<Server> = weights
        .iter()
        .enumerate()
        .map(|(index, weight)| server(index, *weight, false))
        .collect();
    known(&servers)
}

fn server(index: usize, weight: u32, backup: bool) -> Server {
    let host = format!("10.0.0.{index}");
    Server {
        weight,
        backup,
        ..Server::new(Address::Tcp { host, port: 80 })
    }
}

fn known(servers: &[Server]) -> Vec<Arc<Peer>> {
    let roster = Roster::new(servers, None).unwrap();
    roster.peers().to_vec()
}

fn choice<'a>(peers: &'a [Arc<Peer>], tried: &'a [u64], balance: Balance, hash: u64) -> Choice<'a> {
    Choice {
        peers,
        tried,
        balance,
        hash,
        now: 1_000,
        slow_start: Duration::ZERO,
        rest: RULE.rest,
    }
}

const RULE: PassiveHealth = PassiveHealth {
    failures: 1,
    rest: Duration::from_secs(10),
};

fn rest(peer: &Peer) {
    peer.health.failed(1_000, RULE);
}

#[test]
fn round_robin_is_smooth() {
    let peers = peers(&[5, 1, 1]);
    let mut weights = WrrWeights::new();
    let order: Vec<u64> = (0..7)
        .map(|_| {
            choice(&peers, &[], Balance::RoundRobin, 0)
                .make(&mut weights)
                .unwrap()
                .peer
                .number
        })
        .collect();
    assert_eq!(order, [0, 0, 1, 0, 2, 0, 0]);
}

#[test]
fn least_connections_counts_by_weight() {
    let peers = peers(&[2, 1]);
    let mut weights = WrrWeights::new();
    let mut held = Vec::new();
    let mut counts = [0; 2];
    for _ in 0..9 {
        let peer = choice(&peers, &[], Balance::LeastConnections, 0)
            .make(&mut weights)
            .unwrap()
            .peer;
        counts[peer.server.index] += 1;
        held.push(Arc::clone(peer).serve());
    }
    assert_eq!(counts, [6, 3]);
}

/// Otherwise a heavier server would get all requests of a calm hour.
#[test]
fn idle_servers_take_turns_by_their_weights() {
    let peers = peers(&[3, 1]);
    let mut weights = WrrWeights::new();
    let mut counts = [0; 2];
    for _ in 0..8 {
        let chosen = choice(&peers, &[], Balance::LeastConnections, 0);
        counts[chosen.make(&mut weights).unwrap().peer.server.index] += 1;
    }
    assert_eq!(counts, [6, 2]);
}

#[test]
fn a_hash_stays_with_its_server_and_moves_only_when_it_goes() {
    let peers = peers(&[1, 1, 2]);
    let mut weights = WrrWeights::new();
    let mut counts = [0_usize; 3];
    let mut pick = |tried: &[u64], hash| {
        choice(&peers, tried, Balance::ConsistentHash, hash)
            .make(&mut weights)
            .unwrap()
            .peer
            .number
    };
    for hash in 0..4_000 {
        let chosen = pick(&[], hash);
        assert_eq!(chosen, pick(&[], hash));
        let other = (chosen + 1) % 3;
        assert_eq!(
            chosen,
            pick(&[other], hash),
            "another's absence changes nothing"
        );
        assert_ne!(chosen, pick(&[chosen], hash));
        counts[chosen as usize] += 1;
    }
    for (count, want) in counts.into_iter().zip([1_000, 1_000, 2_000]) {
        assert!(count.abs_diff(want) < want / 5, "{counts:?}");
    }
}

/// Makes names with these addresses.
fn named(names: &[(&str, &[u8])]) -> Vec<Arc<Peer>> {
    let servers = names.iter().map(|(name, _)| {
        let host = (*name).to_owned();
        Server::new(Address::Tcp { host, port: 80 })
    });
    let roster = Roster::new(&servers.collect::<Vec<_>>(), None).unwrap();
    for (server, (_, found)) in roster.servers().iter().zip(names) {
        let found = found.iter().map(|last| ([10, 0, 0, *last], 80).into());
        roster.learn(server, found.collect());
    }
    roster.peers().to_vec()
}

#[test]
fn a_hash_stays_with_an_address_and_where_there_is_one_with_the_name() {
    let chosen = |peers: &[Arc<Peer>], hash| {
        let choice = choice(peers, &[], Balance::ConsistentHash, hash);
        Arc::clone(choice.make(&mut WrrWeights::new()).unwrap().peer)
    };
    let before = named(&[("a", &[1, 2, 3]), ("b", &[4])]);
    let rotated = named(&[("a", &[3, 1, 2]), ("b", &[4])]);
    let fewer = named(&[("a", &[1, 3]), ("b", &[4])]);
    let moved = named(&[("a", &[1, 2, 3]), ("b", &[9])]);
    let mut seen = std::collections::BTreeSet::new();
    for hash in 0..1_000 {
        let label = &chosen(&before, hash).label;
        seen.insert(label.to_string());
        assert_eq!(chosen(&rotated, hash).label, *label);
        assert_eq!(
            chosen(&moved, hash).server.label,
            chosen(&before, hash).server.label
        );
        if !label.contains("10.0.0.2") {
            assert_eq!(
                chosen(&fewer, hash).label,
                *label,
                "only its own share moves"
            );
        }
    }
    assert_eq!(seen.len(), 4, "{seen:?}");
}

#[test]
fn addresses_of_a_name_take_turns_as_servers_do() {
    let peers = named(&[("a", &[1, 2]), ("b", &[3])]);
    let mut weights = WrrWeights::new();
    let mut counts = [0; 4];
    for _ in 0..9 {
        let chosen = choice(&peers, &[], Balance::RoundRobin, 0);
        let chosen = chosen.make(&mut weights).unwrap().peer;
        let own = chosen.pair().unwrap().own.ip();
        let IpAddr::V4(own) = own else {
            panic!("{own}")
        };
        counts[usize::from(own.octets()[3])] += 1;
    }
    assert_eq!(counts, [0, 3, 3, 3]);
}

#[test]
fn backups_wait_and_the_resting_come_last() {
    let servers = known(&[server(0, 1, false), server(1, 1, false), server(2, 1, true)]);
    let mut weights = WrrWeights::new();
    let mut chosen = |tried: &[u64]| {
        let made = choice(&servers, tried, Balance::RoundRobin, 0).make(&mut weights);
        made.map(|chosen| chosen.peer.number)
    };
    assert_eq!(chosen(&[0]), Some(1));
    assert_eq!(chosen(&[0, 1]), Some(2));
    rest(&servers[0]);
    assert_eq!(chosen(&[]), Some(1));
    servers[1].health.mark_down();
    assert_eq!(chosen(&[]), Some(2));
    rest(&servers[2]);
    let first = chosen(&[]).unwrap();
    assert_ne!(first, 1, "those held for down are never asked");
    assert!(chosen(&[first]).is_some());
    assert_eq!(chosen(&[0, 2]), None);
}

#[test]
fn who_has_rested_is_tried_by_one_request() {
    for balance in [
        Balance::RoundRobin,
        Balance::LeastConnections,
        Balance::ConsistentHash,
    ] {
        let peers = peers(&[1, 1, 1]);
        rest(&peers[0]);
        let mut weights = WrrWeights::new();
        let mut asked = |now, hashes: std::ops::Range<u64>| {
            let tried = hashes.filter(|hash| {
                let choice = Choice {
                    now,
                    ..choice(&peers, &[], balance, *hash)
                };
                choice.make(&mut weights).unwrap().peer.number == 0
            });
            tried.count()
        };
        assert_eq!(asked(10_999, 0..30), 0, "it rests: {balance:?}");
        assert_eq!(asked(11_000, 0..30), 1, "{balance:?}");
        assert_eq!(asked(20_999, 0..30), 0, "nothing came of it: {balance:?}");
        assert_eq!(asked(21_000, 0..30), 1, "another one: {balance:?}");
        peers[0].health.succeeded(21_000, 21_000);
        assert!(asked(21_000, 0..30) > 1, "it is well: {balance:?}");
    }
}

/// The choice among `peers` at `now`, without those that were tried.
fn at<'a>(now: u64, peers: &'a [Arc<Peer>], tried: &'a [u64]) -> Choice<'a> {
    Choice {
        now,
        ..choice(peers, tried, Balance::RoundRobin, 0)
    }
}

#[test]
fn where_all_rest_a_trial_leaves_the_others_to_be_asked() {
    let peers = peers(&[1, 1]);
    for peer in &peers {
        rest(peer);
    }
    let mut weights = WrrWeights::new();
    let mut chosen = |now, tried: &[u64]| {
        let chosen = at(now, &peers, tried).make(&mut weights);
        chosen.map(|chosen| chosen.peer.number)
    };
    for now in [2_000, 11_000, 12_000] {
        for _ in 0..4 {
            let first = chosen(now, &[]).unwrap();
            assert_eq!(chosen(now, &[first]), Some(1 - first), "at {now}");
        }
    }
}

/// Where all rest, one is asked by many, but only one of them has its trial.
#[test]
fn a_trial_belongs_to_the_request_that_took_it() {
    let peers = peers(&[1, 1]);
    for peer in &peers {
        rest(peer);
    }
    let mut weights = WrrWeights::new();
    let mut trial = |now| {
        let chosen = at(now, &peers, &[1]).make(&mut weights);
        chosen.unwrap().trial
    };
    assert!(trial(2_000).is_none(), "it rests");
    let taken = trial(11_000).unwrap();
    assert!(trial(11_000).is_none(), "it is on trial");
    peers[0].health.give_back(taken, 11_000);
    assert!(trial(11_000).is_some(), "the next");
}

#[test]
fn who_comes_back_works_up_to_its_share() {
    for by_checks in [true, false] {
        let peers = peers(&[1, 1]);
        let back = if by_checks {
            peers[0].health.mark_down();
            peers[0].health.mark_up(1_000);
            1_000
        } else {
            rest(&peers[0]);
            peers[0].health.succeeded(11_000, 11_000);
            11_000
        };
        for (since, expected) in [(0, 10), (1_000, 10), (5_000, 37), (10_000, 55)] {
            let mut weights = WrrWeights::new();
            let choice = Choice {
                now: back + since,
                slow_start: Duration::from_secs(10),
                ..choice(&peers, &[], Balance::RoundRobin, 0)
            };
            let chosen = (0..110).filter(|_| choice.make(&mut weights).unwrap().peer.number == 0);
            let count = chosen.count();
            assert!(
                count.abs_diff(expected) <= 1,
                "{count} of 110 after {since} ms, by checks: {by_checks}"
            );
        }
    }
}

/// Whether each of many choices finds a server while another thread repeats `meanwhile`.
fn always_finds(peers: &[Arc<Peer>], balance: Balance, meanwhile: impl Fn() + Sync) -> bool {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Relaxed) {
                meanwhile();
            }
        });
        let mut weights = WrrWeights::new();
        let found =
            (0..200_000).all(|_| choice(peers, &[], balance, 0).make(&mut weights).is_some());
        done.store(true, Relaxed);
        found
    })
}

#[test]
fn somebody_is_left_whatever_others_do_meanwhile() {
    let many = peers(&[1, 1]);
    let fetched = || many.iter().for_each(|peer| drop(Arc::clone(peer).serve()));
    assert!(always_finds(&many, Balance::LeastConnections, fetched));
    let pair = known(&[server(0, 1, false), server(1, 1, true)]);
    let checked = || {
        pair[0].health.mark_down();
        pair[0].health.mark_up(1);
    };
    assert!(always_finds(&pair, Balance::RoundRobin, checked));
}
