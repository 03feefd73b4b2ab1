//! Our rules against `http-cache-semantics`, an independent reading of the same RFCs, over random exchanges.
//!
//! Storing, lifetime, age and reuse are compared one by one ([`exchange`]), then which request a variant answers
//! ([`variants`]) and what a 304 makes of a stored response ([`freshening`]). Where the two differ, [`explain`] must
//! name a reason that allows the difference in that direction. If the reason is spelling or repetition, the difference
//! must disappear without them. A fixed run must meet every reason, so that none outlives its cause.

#![expect(clippy::unwrap_used, reason = "a test's own input is what it says")]

mod exchange;
mod explain;
mod freshening;
mod variants;

use exchange::{CASES, Case, Compared};
use explain::Why;
use proptest::{prelude::*, strategy::ValueTree, test_runner::TestRunner};
use std::collections::BTreeSet;

/// What is compared for a case.
#[derive(Clone, Copy, Debug)]
enum Question {
    Storing,
    Lifetime,
    Age,
    Reuse,
}

/// Both answers to a question, whether they differ, and why.
#[derive(Debug)]
struct Answers {
    ours: u64,
    differ: bool,
    why: Option<Why>,
}

impl Question {
    const ALL: [Self; 4] = [Self::Storing, Self::Lifetime, Self::Age, Self::Reuse];

    /// Returns `None` if one of the two does not store: there is nothing to ask then.
    fn ask(self, case: &Case) -> Option<Answers> {
        let compared = Compared::of(case);
        Some(match self {
            Self::Storing => {
                let storing = compared.storing();
                Answers {
                    ours: storing.ours.into(),
                    differ: storing.ours != storing.theirs,
                    why: explain::storing(case, storing),
                }
            }
            Self::Lifetime => {
                let lifetime = compared.lifetime()?;
                Answers {
                    ours: lifetime.ours,
                    // The other's heuristic counts in whole seconds.
                    differ: lifetime.ours.abs_diff(lifetime.theirs) >= 1000,
                    why: explain::lifetime(case, lifetime),
                }
            }
            Self::Age => {
                let age = compared.age()?;
                Answers {
                    ours: age.ours,
                    differ: age.ours != age.theirs,
                    why: explain::age(case, age),
                }
            }
            Self::Reuse => {
                let reuse = compared.reuse()?;
                Answers {
                    ours: reuse.ours.into(),
                    differ: reuse.ours != reuse.theirs,
                    why: explain::reuse(case, &reuse),
                }
            }
        })
    }

    /// Returns the reasons for the difference. The last one explains it by itself.
    fn explain(self, case: &Case) -> Result<Vec<Why>, TestCaseError> {
        let mut reasons = Vec::new();
        let mut case = case.clone();
        while let Some(answers) = self.ask(&case).filter(|answers| answers.differ) {
            if let Some(why) = answers.why {
                reasons.push(why);
                break;
            }
            let fault = || TestCaseError::fail(format!("{self:?}: {:?}", Compared::of(&case)));
            let (why, plainer) = explain::plainer(&case).ok_or_else(fault)?;
            let again = self.ask(&plainer);
            // Reuse is judged by their lifetime.
            let is_ours = !matches!(self, Self::Reuse);
            if is_ours && again.is_some_and(|again| again.ours != answers.ours) {
                return Err(TestCaseError::fail(format!(
                    "{why:?} changes what we say: {:?}",
                    Compared::of(&case)
                )));
            }
            reasons.push(why);
            case = plainer;
        }
        Ok(reasons)
    }
}

/// Compares a case. Returns the reasons for the differences found.
fn compare(case: &Case) -> Result<Vec<Why>, TestCaseError> {
    let mut reasons = Vec::new();
    for question in Question::ALL {
        reasons.extend(question.explain(case)?);
    }
    Ok(reasons)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(CASES / 4))]
    #[test]
    fn every_disagreement_has_a_reason(case in exchange::cases()) {
        compare(&case)?;
    }

    #[test]
    fn every_disagreement_over_variants_has_a_reason(case in variants::cases()) {
        case.compare().map_err(TestCaseError::fail)?;
    }

    #[test]
    fn every_disagreement_over_a_304_has_a_reason(case in freshening::cases()) {
        case.compare().map_err(TestCaseError::fail)?;
    }
}

#[test]
fn every_reason_is_met() {
    let mut runner = TestRunner::deterministic();
    let mut met = BTreeSet::new();
    for _ in 0..CASES {
        let case = exchange::cases().new_tree(&mut runner).unwrap().current();
        met.extend(compare(&case).unwrap());
        let case = variants::cases().new_tree(&mut runner).unwrap().current();
        met.extend(case.compare().unwrap());
        let case = freshening::cases().new_tree(&mut runner).unwrap().current();
        met.extend(case.compare().unwrap());
    }
    met.extend(compare(&exchange::at_the_end_of_max_stale()).unwrap());
    let unmet: Vec<_> = Why::ALL
        .into_iter()
        .filter(|why| !met.contains(why))
        .collect();
    assert_eq!(unmet, []);
}
