use super::*;
use crate::config::{Address, PassiveHealth};

fn tcp(host: &str) -> Server {
    let host = host.to_owned();
    Server::new(Address::Tcp { host, port: 80 })
}

/// A roster with a name between two servers that have none.
fn roster() -> Roster {
    Roster::new(&[tcp("10.1.0.1"), tcp("name.invalid"), tcp("::1")], None).unwrap()
}

fn learn(roster: &Roster, lasts: impl IntoIterator<Item = u8>) {
    let found = lasts.into_iter().map(|last| ([10, 0, 0, last], 80).into());
    roster.learn(&roster.servers()[1], found.collect());
}

fn labels(roster: &Roster) -> Vec<String> {
    let peers = roster.peers();
    peers.iter().map(|peer| peer.label.to_string()).collect()
}

fn peer(roster: &Roster, index: usize) -> Arc<Peer> {
    Arc::clone(&roster.peers()[index])
}

#[test]
fn a_name_stands_for_its_addresses_until_they_are_known() {
    let roster = roster();
    assert_eq!(
        labels(&roster),
        ["10.1.0.1:80", "name.invalid:80", "[::1]:80"]
    );
    assert!(peer(&roster, 1).is_unknown());
    learn(&roster, [2, 1]);
    let all = [
        "10.1.0.1:80",
        "name.invalid:80 at 10.0.0.1",
        "name.invalid:80 at 10.0.0.2",
        "[::1]:80",
    ];
    assert_eq!(labels(&roster), all);
    assert_eq!(roster.count(&peer(&roster, 1)), 2);
    assert_eq!(peer(&roster, 1).host(), "name.invalid:80");
}

#[test]
fn addresses_that_stay_are_who_they_were() {
    let roster = roster();
    learn(&roster, [1, 2]);
    let [one, two] = [1, 2].map(|index| peer(&roster, index));
    let rule = PassiveHealth {
        failures: 1,
        rest: Duration::from_secs(10),
    };
    two.health.failed(0, rule);
    learn(&roster, [2, 1, 2]);
    assert!(
        roster.has(&one) && roster.has(&two),
        "an order is no change"
    );
    learn(&roster, [3, 2]);
    assert!(!roster.has(&one));
    assert!(Arc::ptr_eq(&two, &peer(&roster, 1)), "with its health");
    learn(&roster, [1, 2]);
    let back = peer(&roster, 1);
    assert_ne!(back.number, one.number, "connections are its own");
    assert_eq!(roster.peers().len(), 4);
}

#[test]
fn who_joins_others_works_up_to_its_share() {
    let roster = roster();
    let share = |peer: Arc<Peer>| {
        let ramp = Duration::from_hours(1);
        peer.health.availability(roster.at(Instant::now()), ramp)
    };
    learn(&roster, [1]);
    assert_eq!(share(peer(&roster, 1)), Availability::Healthy(1.0));
    learn(&roster, [1, 2]);
    assert_eq!(share(peer(&roster, 1)), Availability::Healthy(1.0));
    assert_eq!(share(peer(&roster, 2)), Availability::Healthy(0.1));
}

#[test]
fn a_name_has_so_many_addresses_at_most() {
    let roster = roster();
    let many = 1..=u8::try_from(MOST + 1).unwrap();
    learn(&roster, many.clone());
    assert_eq!(roster.peers().len(), MOST + 2);
    let before = labels(&roster);
    learn(&roster, many.rev());
    assert_eq!(labels(&roster), before, "the same ones");
}

#[test]
fn a_name_is_well_while_one_of_its_addresses_is() {
    let roster = roster();
    learn(&roster, [1, 2]);
    let healthy = || roster.report(0, Duration::ZERO)[1].healthy;
    peer(&roster, 1).health.mark_down();
    assert!(healthy());
    peer(&roster, 2).health.mark_down();
    assert!(!healthy());
    assert_eq!(roster.report(0, Duration::ZERO).len(), 3, "by server");
}

#[tokio::test]
async fn the_last_good_answer_is_kept() {
    let roster = Arc::new(roster());
    let name = Arc::clone(&roster.servers()[1]);
    roster.resolve(&name).await.unwrap_err();
    learn(&roster, [1]);
    let before = labels(&roster);
    roster.refresh(&name).await.unwrap_err();
    assert_eq!(labels(&roster), before);
    roster.resolve(&name).await.unwrap();
}

#[tokio::test]
async fn a_name_that_changed_is_followed() {
    let roster = Arc::new(Roster::new(&[tcp("localhost")], None).unwrap());
    let name = Arc::clone(&roster.servers()[0]);
    let gone = SocketAddr::from(([127, 0, 0, 9], 80));
    roster.learn(&name, vec![gone]);
    roster.refresh(&name).await.unwrap();
    let known = peer(&roster, 0).pair().unwrap().own;
    assert!(known.ip().is_loopback() && known != gone, "{known}");
    let before = peer(&roster, 0);
    roster.refresh(&name).await.unwrap();
    assert!(Arc::ptr_eq(&before, &peer(&roster, 0)), "nothing changed");
}
