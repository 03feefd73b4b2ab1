use super::*;

const RULE: PassiveHealth = PassiveHealth {
    failures: 3,
    rest: Duration::from_secs(10),
};

fn availability(health: &Health, now: u64) -> Availability {
    health.availability(now, Duration::ZERO)
}

/// The health of a server that was sent to rest at 100.
fn resting() -> Health {
    let health = Health::default();
    for _ in 0..3 {
        health.failed(100, RULE);
    }
    health
}

fn trial(health: &Health, now: u64) -> Trial {
    match availability(health, now) {
        Availability::Rested(trial) => trial,
        other => panic!("{other:?} at {now}"),
    }
}

#[test]
fn rests_after_failures_in_a_row_only() {
    let health = Health::default();
    for _ in 0..2 {
        health.failed(100, RULE);
    }
    health.succeeded(100, 100);
    for _ in 0..2 {
        health.failed(100, RULE);
    }
    assert_eq!(availability(&health, 100), Availability::Healthy(1.0));
    health.failed(100, RULE);
    assert_eq!(availability(&health, 100), Availability::Resting);
    assert_eq!(availability(&health, 10_099), Availability::Resting);
    assert!(!health.is_good());
}

#[test]
fn a_trial_that_says_nothing_is_given_back() {
    let health = resting();
    let first = trial(&health, 10_100);
    let first = health.take(first, 10_100, RULE.rest).unwrap();
    health.give_back(first, 10_100);
    let again = trial(&health, 10_100);
    let taken = health.take(again, 10_100, RULE.rest).unwrap();
    let other = health.take(again, 10_100, RULE.rest);
    assert!(other.is_none(), "it is taken");
    health.succeeded(10_100, 10_200);
    health.give_back(taken, 10_200);
    assert_eq!(availability(&health, 10_200), Availability::Healthy(1.0));
}

#[test]
fn a_trial_is_given_back_by_the_request_that_took_it() {
    let health = resting();
    let take = |now| health.take(trial(&health, now), now, RULE.rest).unwrap();
    let first = take(10_100);
    let second = take(20_100);
    health.give_back(first, 20_200);
    assert_eq!(availability(&health, 20_200), Availability::Resting);
    health.give_back(second, 20_300);
    let third = take(20_300);
    health.failed(20_400, RULE);
    health.give_back(third, 20_500);
    assert_eq!(availability(&health, 30_399), Availability::Resting);
}

#[test]
fn one_request_tries_a_server_that_has_rested() {
    let health = resting();
    let (one, other) = (trial(&health, 10_100), trial(&health, 10_100));
    assert!(health.take(one, 10_100, RULE.rest).is_some());
    let other = health.take(other, 10_100, RULE.rest);
    assert!(other.is_none(), "it is taken");
    assert_eq!(availability(&health, 10_101), Availability::Resting);
    health.failed(13_100, RULE);
    assert_eq!(
        availability(&health, 23_099),
        Availability::Resting,
        "once is enough"
    );
    let again = trial(&health, 23_100);
    assert!(health.take(again, 23_100, RULE.rest).is_some());
    health.succeeded(23_100, 23_200);
    assert_eq!(availability(&health, 23_200), Availability::Healthy(1.0));
    assert!(health.is_good());
    let ramp = Duration::from_secs(10);
    assert_eq!(
        health.availability(28_200, ramp),
        Availability::Healthy(0.5)
    );
}

#[test]
fn a_trial_that_says_nothing_is_followed_by_another() {
    let health = resting();
    assert!(
        health
            .take(trial(&health, 10_100), 10_100, RULE.rest)
            .is_some()
    );
    assert_eq!(availability(&health, 20_099), Availability::Resting);
    assert!(
        health
            .take(trial(&health, 20_100), 20_100, RULE.rest)
            .is_some()
    );
    health.succeeded(10_100, 20_200);
    assert_eq!(
        availability(&health, 20_200),
        Availability::Healthy(1.0),
        "late, and yet after it failed"
    );
}

#[test]
fn an_answer_to_what_was_asked_before_the_failures_ends_no_rest() {
    let health = resting();
    assert!(!health.succeeded(99, 200));
    assert_eq!(availability(&health, 200), Availability::Resting);
    health.failed(300, RULE);
    assert_eq!(availability(&health, 10_299), Availability::Resting);
    assert!(health.succeeded(300, 400), "who is asked all the same");
    assert_eq!(availability(&health, 400), Availability::Healthy(1.0));
}

/// Between the look of one worker at a server's state and its change to it, another worker notes a failure.
#[test]
fn a_late_answer_ends_neither_a_rest_nor_a_row_that_it_did_not_see() {
    for failed_at in [10_150, 10_200] {
        let health = resting();
        // The trial may fail in the very millisecond in which it was taken.
        assert!(
            health
                .take(trial(&health, 10_150), 10_150, RULE.rest)
                .is_some()
        );
        let (seen, in_row) = (health.rest(Acquire).unwrap(), health.in_row.load(Relaxed));
        assert!(health.is_ended_by(10_100));
        health.failed(failed_at, RULE);
        health.end(seen, 10_300);
        assert!(!health.end_row(in_row));
        assert_eq!(availability(&health, 10_300), Availability::Resting);
        assert!(!health.answers(10_100, 10_300), "it looks again");
        assert_eq!(health.in_row.load(Relaxed), 4);
        assert!(health.succeeded(10_300, 10_400));
        assert!(health.is_good());
    }
}

#[test]
fn the_row_ends_with_an_answer_that_did_not_break() {
    let health = resting();
    assert!(health.answers(10_100, 10_200));
    assert_eq!(availability(&health, 10_200), Availability::Healthy(1.0));
    assert!(!health.is_good(), "what has begun may break");
    health.failed(10_300, RULE);
    assert_eq!(
        availability(&health, 10_300),
        Availability::Resting,
        "it did"
    );
    assert!(!health.answers(10_299, 10_400), "asked before it failed");
    assert!(!health.was_left(10_299, 10_400));
    assert_eq!(availability(&health, 10_400), Availability::Resting);
    assert!(health.was_left(10_300, 10_500), "nobody saw it break");
    assert!(health.is_good());
    health.failed(20_000, RULE);
    health.was_left(19_999, 20_100);
    assert!(!health.is_good(), "it may hang since");
    health.succeeded(19_999, 20_100);
    assert!(health.is_good(), "all of it came");
}

#[test]
fn never_rests_where_the_rule_is_off() {
    let health = Health::default();
    let off = PassiveHealth {
        failures: 0,
        ..RULE
    };
    for _ in 0..100 {
        health.failed(0, off);
    }
    assert_eq!(availability(&health, 0), Availability::Healthy(1.0));
}

#[test]
fn the_log_is_told_of_a_change_and_seldom_of_many() {
    let health = Health::default();
    let succeeded = || health.succeeded(200_000, 200_000);
    assert!(!succeeded(), "it never failed");
    assert!(health.failed(100, RULE));
    assert!(!health.failed(50_000, RULE), "it was said");
    assert!(succeeded());
    assert!(!succeeded());
    assert!(health.failed(60_000, RULE));
    assert!(succeeded());
    for now in 60_001..60_010 {
        assert!(!health.failed(now, RULE), "up and down");
        assert!(!succeeded());
    }
    assert!(!health.failed(69_999, RULE));
    assert!(health.failed(70_000, RULE));
    health.mark_down();
    assert!(health.mark_up(80_000), "the checks say that it is back");
    assert!(!succeeded());
}

#[test]
fn share_grows_after_return() {
    let health = resting();
    let ramp = Duration::from_secs(10);
    assert_eq!(
        Health::default().availability(0, ramp),
        Availability::Healthy(1.0)
    );
    health.mark_down();
    assert_eq!(health.availability(1_000, ramp), Availability::Down);
    health.mark_up(1_000);
    assert_eq!(health.availability(1_000, ramp), Availability::Healthy(0.1));
    assert_eq!(health.availability(6_000, ramp), Availability::Healthy(0.5));
    assert_eq!(
        health.availability(11_000, ramp),
        Availability::Healthy(1.0)
    );
    let joined = Health::joined(1_000);
    assert_eq!(joined.availability(6_000, ramp), Availability::Healthy(0.5));
}
