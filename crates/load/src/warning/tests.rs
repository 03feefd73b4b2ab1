//! Each doubt comes from its own figures, and from no others.

use super::{Kind, warnings};
use crate::{
    fault::Fault,
    figures::{About, Round, Target},
    http1::Answer,
    process::Used,
    run::Measured,
};
use std::time::Duration;

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Two thousand answers of 20 ms in ten seconds, on an idle machine.
fn healthy() -> Measured {
    let mut measured = Measured {
        took: Duration::from_secs(10),
        busiest: 0.3,
        machine: Some(0.5),
        tool_cpu: Duration::from_secs(1),
        used: Some(Used {
            cpu: Duration::from_secs(1),
            in_ticks: true,
            memory: 1 << 20,
            processes: 1,
        }),
        ..Measured::default()
    };
    for _ in 0..2000 {
        answer(&mut measured, 200, 20);
    }
    measured
}

fn answer(measured: &mut Measured, status: u16, took: u64) {
    let answer = Answer {
        status,
        ..Answer::default()
    };
    measured.tally.answer(&answer, ms(took));
}

fn told(measured: &Measured, most_rate: Option<f64>, rounds: Vec<Round>) -> Vec<Kind> {
    let about = About {
        most_rate,
        ..about()
    };
    kinds(&Target::new(about, measured, rounds), &[99.0])
}

/// Returns the warnings if somebody relies on these percentiles.
fn relied(measured: &Measured, asked: &[f64]) -> Vec<Kind> {
    kinds(&Target::new(about(), measured, Vec::new()), asked)
}

fn about() -> About {
    About {
        name: "it".to_owned(),
        url: "http://it/".to_owned(),
        urls: 1,
        http: "1.1",
        keep_alive: true,
        most_rate: None,
        warm_up_requests: 0,
        watched: Some("server".to_owned()),
    }
}

fn kinds(target: &Target, asked: &[f64]) -> Vec<Kind> {
    let found = warnings(target, asked);
    found.into_iter().map(|one| one.kind).collect()
}

/// Sets the server's CPU time, which is known exactly or not.
fn used(measured: &mut Measured, cpu: Duration, in_ticks: bool) {
    measured.used = Some(Used {
        cpu,
        in_ticks,
        memory: 1 << 20,
        processes: 1,
    });
}

type Change = fn(&mut Measured);

/// Checks that each change of a healthy result causes this doubt, and no other.
fn each_by_itself(rows: &[(Option<Kind>, Change)]) {
    for (row, (wanted, change)) in rows.iter().enumerate() {
        let mut measured = healthy();
        change(&mut measured);
        let found = told(&measured, None, Vec::new());
        let wanted: Vec<_> = wanted.iter().copied().collect();
        assert_eq!(found, wanted, "row {row}");
    }
}

#[test]
fn doubts_of_the_tool_and_of_the_machine() {
    each_by_itself(&[
        (None, |_| ()),
        (Some(Kind::ToolAtLimit), |one| one.busiest = 0.99),
        (Some(Kind::ToolAtLimit), |one| {
            (one.busiest, one.busiest_waited) = (0.5, 0.49);
        }),
        (None, |one| (one.busiest, one.busiest_waited) = (0.5, 0.4)),
        // On a full machine everything waits, and so does the tool.
        (Some(Kind::MachineAtLimit), |one| {
            (one.busiest, one.busiest_waited) = (0.5, 0.49);
            one.machine = Some(0.99);
            one.tool_cpu = one.took.saturating_mul(10_000);
        }),
        (Some(Kind::MachineAtLimit), |one| {
            one.machine = Some(0.99);
            // At least a twentieth of all cores, however many there are.
            one.tool_cpu = one.took.saturating_mul(10_000);
        }),
        // In fifteen ticks nobody sees that.
        (None, |one| {
            one.took = ms(150);
            one.machine = Some(1.0);
            one.tool_cpu = one.took.saturating_mul(10_000);
        }),
        (Some(Kind::CoarseCpu), |one| used(one, ms(190), true)),
        (None, |one| used(one, ms(190), false)),
        (Some(Kind::Lag), |one| {
            (0..100).for_each(|_| one.tally.lag.record(ms(40)));
        }),
        (None, |one| {
            (0..100).for_each(|_| one.tally.lag.record(ms(4)));
        }),
        (Some(Kind::LateSends), |one| {
            (0..100).for_each(|_| one.tally.late.record(ms(10)));
        }),
        // The longest answer is shown too, and was mostly the tool's own: being late once is enough.
        (Some(Kind::LateSends), |one| {
            (0..1000).for_each(|_| one.tally.late.record(Duration::ZERO));
            one.tally.late.record(ms(11));
        }),
        (None, |one| {
            (0..1000).for_each(|_| one.tally.late.record(Duration::ZERO));
            one.tally.late.record(ms(9));
        }),
        (Some(Kind::Lag), |one| {
            (0..1000).for_each(|_| one.tally.lag.record(Duration::ZERO));
            one.tally.lag.record(ms(11));
        }),
        (Some(Kind::Backlog), |one| {
            (0..100).for_each(|_| one.tally.late.record(Duration::ZERO));
            one.tally.queued = 5;
        }),
    ]);
}

#[test]
fn doubts_of_what_the_server_did() {
    each_by_itself(&[
        (Some(Kind::FastErrors), |one| {
            (0..40).for_each(|_| answer(one, 503, 1));
        }),
        (None, |one| (0..40).for_each(|_| answer(one, 503, 30))),
        (None, |one| (0..10).for_each(|_| answer(one, 503, 1))),
        (Some(Kind::Unanswered), |one| {
            (one.unanswered, one.oldest) = (1, ms(2000));
        }),
        (None, |one| (one.unanswered, one.oldest) = (4, ms(20))),
        // A server that falls behind: the waiting requests are as old as the slowest answer, and are in no percentile.
        (Some(Kind::Unanswered), |one| {
            (one.unanswered, one.unsent, one.oldest) = (900, 900, ms(20));
        }),
        (Some(Kind::Unanswered), |one| {
            one.tally.late.record(Duration::ZERO);
            (one.unanswered, one.oldest) = (900, ms(20));
        }),
        // The same number of users in a closed loop.
        (None, |one| (one.unanswered, one.oldest) = (900, ms(20))),
        (Some(Kind::Local), |one| one.tally.fault(Fault::Local)),
        (Some(Kind::NoProcess), |one| {
            one.used = Some(Used::default());
        }),
        (None, |one| one.used = None),
    ]);
}

/// Being late once in a thousand times does not matter to the 99th percentile.
#[test]
fn late_where_somebody_relies_on_it() {
    let mut measured = healthy();
    // The longest answer takes far longer than that.
    answer(&mut measured, 200, 900);
    let tally = &mut measured.tally;
    for times in [&mut tally.late, &mut tally.lag] {
        (0..995).for_each(|_| times.record(Duration::ZERO));
        (0..5).for_each(|_| times.record(ms(40)));
    }
    assert_eq!(relied(&measured, &[99.0]), []);
    let found = relied(&measured, &[50.0, 99.9]);
    assert_eq!(found, [Kind::Lag, Kind::LateSends, Kind::TooShort]);
}

#[test]
fn nothing_but_errors() {
    let mut measured = Measured {
        took: Duration::from_secs(1),
        ..Measured::default()
    };
    measured.tally.fault(Fault::Refused);
    assert_eq!(told(&measured, None, Vec::new()), [Kind::OnlyErrors]);
}

#[test]
fn a_bound_that_was_reached_and_one_that_was_not() {
    // 200 a second.
    let measured = healthy();
    for (most, wanted) in [(200.0, true), (205.0, true), (1000.0, false)] {
        let found = told(&measured, Some(most), Vec::new());
        assert_eq!(found == [Kind::RateBound], wanted, "{most}: {found:?}");
    }
}

#[test]
fn what_is_compared_are_rounds() {
    let measured = healthy();
    let round = |requests| Round {
        requests,
        ..Round::of(&measured)
    };
    assert_eq!(told(&measured, None, vec![round(2000), round(1500)]), []);
    let short = vec![round(2000), round(350)];
    assert_eq!(told(&measured, None, short), [Kind::TooShort]);
}

#[test]
fn a_tool_that_is_full_at_the_end_of_a_ramp() {
    for (full, kinds) in [(0.2, vec![Kind::ToolAtLimit]), (0.05, vec![])] {
        let mut measured = healthy();
        measured.full = full;
        assert_eq!(told(&measured, None, Vec::new()), kinds, "{full}");
    }
}
