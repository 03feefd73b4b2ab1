//! Our rules against `http-cache-semantics`, an independent reading of the same RFCs, over random exchanges.
//!
//! Storing, lifetime, age and reuse are compared one by one. Where the two differ, [`explain`] must name the reason, and
//! that reason must allow the difference in that direction. Every reason is met in a fixed run, so that none outlives
//! its cause.

#![expect(clippy::unwrap_used, reason = "a test's own input is what it says")]

mod exchange;
mod explain;

use exchange::{CASES, Case, Compared};
use explain::Why;
use proptest::{prelude::*, strategy::ValueTree, test_runner::TestRunner};
use std::collections::BTreeSet;

/// Compares a case; gives the reasons of the differences found.
fn compare(case: &Case) -> Result<Vec<Why>, TestCaseError> {
    let compared = Compared::of(case);
    let mut reasons = Vec::new();
    let mut check = |what: &str, differs: bool, reason: Option<Why>| {
        if differs {
            let unexplained = || TestCaseError::fail(format!("{what}: {compared:?}"));
            reasons.push(reason.ok_or_else(unexplained)?);
        }
        Ok::<(), TestCaseError>(())
    };
    let storing = compared.storing();
    check(
        "storing",
        storing.ours != storing.theirs,
        explain::storing(case, storing),
    )?;
    if let Some(lifetime) = compared.lifetime() {
        // The heuristic of the other counts in whole seconds.
        let differs = lifetime.ours.abs_diff(lifetime.theirs) >= 1000;
        check("lifetime", differs, explain::lifetime(case, lifetime))?;
    }
    if let Some(age) = compared.age() {
        check("age", age.ours != age.theirs, explain::age(case, age))?;
    }
    if let Some(reuse) = compared.reuse() {
        check(
            "reuse",
            reuse.ours != reuse.theirs,
            explain::reuse(case, &reuse),
        )?;
    }
    Ok(reasons)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(CASES / 4))]
    #[test]
    fn every_disagreement_has_a_reason(case in exchange::cases()) {
        compare(&case)?;
    }
}

#[test]
fn every_reason_is_met() {
    let mut runner = TestRunner::deterministic();
    let mut met = BTreeSet::new();
    for _ in 0..CASES {
        let case = exchange::cases().new_tree(&mut runner).unwrap().current();
        met.extend(compare(&case).unwrap());
    }
    met.extend(compare(&exchange::at_the_end_of_max_stale()).unwrap());
    let unmet: Vec<_> = Why::ALL
        .into_iter()
        .filter(|why| !met.contains(why))
        .collect();
    assert_eq!(unmet, []);
}
