use super::*;
use crate::{
    Stored, clock,
    purge::{Purge, What},
    shared::{
        SharedTier,
        remote::Read,
        tests::{KEY, in_language, memory, page, slow, until, with_memory},
    },
};
use http::HeaderMap;
use std::sync::Arc;

/// Where the lease of the tables below began.
const BEGAN: &str = "1.5 5-0";

fn url(path: &str) -> What {
    What::Url(vec![format!("//a.example{path}")])
}

fn tag(tag: &str) -> What {
    What::Tags(vec![tag.to_owned()])
}

/// A tier that knows purges of this, which have these positions; those of none are not in the shared log yet.
fn after(purges: Vec<(What, bool, Option<u64>)>) -> Arc<SharedTier> {
    let memory = memory(1 << 20);
    for (what, soft, position) in purges {
        let (purge, at) = (Purge { what, soft }, clock::now());
        match position {
            Some(position) => memory.log().apply(purge, at, Some(Position(position, 0))),
            None => memory.log().apply_ahead(purge, at),
        };
    }
    with_memory(slow(0), &memory)
}

/// A row: what was purged and where, softly or not, what the server holds, and whether the fetch is outdated for a client
/// and for a refresh.
#[test]
fn what_was_purged_since_a_fetch_began_outdates_it() {
    for (what, soft, position, lease, is_outdated) in [
        (url("/"), false, Some(6), BEGAN, [true, true]),
        (url("/"), true, Some(6), BEGAN, [true, false]),
        (url("/"), false, Some(5), BEGAN, [false, false]),
        (url("/"), false, Some(4), BEGAN, [false, false]),
        (url("/other"), false, Some(6), BEGAN, [false, false]),
        (What::Everything, false, Some(6), BEGAN, [true, true]),
        // Its tags are not known.
        (tag("a"), false, Some(6), BEGAN, [false, false]),
        // Purged here, and not in the shared log yet.
        (url("/"), false, None, BEGAN, [true, true]),
        (url("/other"), false, None, BEGAN, [false, false]),
        // Before this node began to read the log: it could not use what comes.
        (url("/other"), false, Some(6), "1.5 0-1", [true, true]),
        // Does not say when it began.
        (url("/"), false, Some(6), "1.5", [false, false]),
        (url("/"), false, Some(6), "another's", [false, false]),
        (url("/"), false, Some(6), "", [false, false]),
    ] {
        let row = format!("{what:?}, {soft}, {position:?}, {lease:?}");
        let (shared, request) = (after(vec![(what, soft, position)]), HeaderMap::new());
        let mut question = shared.question(KEY, &request);
        let mut outdated = [None; 2];
        outdated[0] = shared.0.outdated(&question, lease.as_bytes(), None);
        question.for_refresh();
        outdated[1] = shared.0.outdated(&question, lease.as_bytes(), None);
        let expected = is_outdated.map(|is| is.then_some(Outdated::Purged));
        assert_eq!(outdated, expected, "{row}");
    }
}

/// A row: whether a reload has replaced the application, who fetches, and why that is outdated.
#[test]
fn a_reload_outdates_the_fetches_of_this_process_alone() {
    let (shared, request) = (after(vec![]), HeaderMap::new());
    let own = shared.0.process;
    for (leaves_own, process, expected) in [
        (true, own, Some(Outdated::Overruled)),
        (true, own ^ 1, None),
        (false, own, None),
    ] {
        for began in [None, Some(Position(5, 0))] {
            let held = Held {
                process,
                number: 5,
                began,
            };
            let mut question = shared.question(KEY, &request);
            question.leave_own(leaves_own);
            let outdated = shared
                .0
                .outdated(&question, held.to_string().as_bytes(), None);
            assert_eq!(outdated, expected, "{leaves_own}, {process:x}, {began:?}");
        }
    }
}

/// Before that, it cannot tell, and what it would fetch itself is of no use to the others.
#[test]
fn a_node_that_has_not_read_the_log_takes_no_lease_over() {
    let memory = Arc::new(crate::Memory::new(1 << 20, Arc::default()));
    let shared = with_memory(slow(0), &memory);
    let request = HeaderMap::new();
    let question = shared.question(KEY, &request);
    assert_eq!(shared.0.outdated(&question, BEGAN.as_bytes(), None), None);
    assert_eq!(shared.0.begins_at(&question, None), None);
}

/// Nobody, here or elsewhere, takes it over before there is another purge.
#[test]
fn a_lease_is_not_outdated_when_it_is_taken() {
    let everything = || What::Everything;
    for (purges, began) in [
        (vec![], Some(1)),
        (vec![(everything(), false, Some(6))], Some(6)),
        (vec![(url("/other"), false, None)], Some(1)),
        (vec![(url("/"), true, None)], None),
        (
            vec![(everything(), false, Some(6)), (url("/"), false, None)],
            None,
        ),
        (
            vec![(url("/"), false, None), (everything(), false, Some(6))],
            None,
        ),
    ] {
        let row = format!("{purges:?}");
        let (shared, request) = (after(purges), HeaderMap::new());
        let question = shared.question(KEY, &request);
        let tells = shared.0.begins_at(&question, None);
        assert_eq!(tells, began.map(|began| Position(began, 0)), "{row}");
        let held = Held {
            process: 1,
            number: 5,
            began: tells,
        };
        let lease = held.to_string();
        let outdated = shared.0.outdated(&question, lease.as_bytes(), None);
        assert_eq!(outdated, None, "{row}");
    }
}

/// What is there for the request is most likely what the fetch validates. Its answer will have the same tags.
#[tokio::test(start_paused = true)]
async fn the_tags_of_what_is_there_count_too() {
    let memory = memory(1 << 20);
    let shared = with_memory(slow(0), &memory);
    let log = memory.log();
    for (count, language) in (1..).zip(["de", "en"]) {
        let mut page = Stored::clone(&page(language, 100));
        page.marks = log.tags().marks([language], page.checked());
        shared.keep(KEY, &Arc::new(page), None);
        until(|| shared.statistics().stored == count).await;
    }
    let guard = &shared.0.guard;
    let (name, until) = (shared.0.name(KEY), guard.deadline());
    let record = guard.get(&name, Read::Latest, until).await;
    let record = record.expect("an answer");
    assert!(record.is_some());
    for (tagged, soft, position) in [("other", false, 6), ("de", true, 7), ("en", false, 8)] {
        let purge = Purge {
            what: tag(tagged),
            soft,
        };
        log.apply(purge, clock::now(), Some(Position(position, 0)));
    }
    for (language, began, is_outdated) in [
        ("de", 6, true),
        ("de", 7, false),
        ("en", 7, true),
        ("en", 8, false),
        ("fr", 6, false),
    ] {
        let (lease, request) = (format!("1.5 {began}-0"), in_language(language));
        let mut question = shared.question(KEY, &request);
        let outdated = shared
            .0
            .outdated(&question, lease.as_bytes(), record.as_ref());
        assert_eq!(outdated.is_some(), is_outdated, "{language}, {began}");
        let told = shared.0.begins_at(&question, record.as_ref());
        assert_eq!(told, Some(Position(8, 0)));
        question.for_refresh();
        let outdated = shared
            .0
            .outdated(&question, lease.as_bytes(), record.as_ref());
        assert_eq!(outdated, None, "a refresh goes by the key alone");
    }
}
