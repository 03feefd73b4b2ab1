use super::*;
use crate::{
    purge::Position,
    sample,
    shared::record::{BodyLocation, ChunkSet},
};
use Ordering::{Greater, Less};
use bytes::Bytes;

/// In seconds, as all that follows.
const NOW: u64 = 1000;

/// A response with this `Date`, if any, that was received half a second after `received`. It is fresh for 100 seconds.
fn response((date, received): (Option<u64>, u64)) -> Stored {
    let mut stored = sample::any_request(received);
    let at = Time::from_millis(received * 1000 + 500);
    stored.facts.response_time = at;
    stored.facts.date = date.map_or(at, Time::from_secs);
    stored.facts.lifetime_ms = 100_000;
    stored
}

fn there(of: (Option<u64>, u64)) -> There {
    let set = ChunkSet { id: 1, count: 1 };
    There {
        entry: Entry {
            variant: 0,
            position: Position(1, 0),
            until: Time::from_secs(NOW + 3600),
            head: Bytes::new(),
            place: BodyLocation::Apart(set),
        },
        facts: response(of).facts,
        standing: Standing::Good,
    }
}

fn order(there: &There, new: (Option<u64>, u64)) -> Option<Ordering> {
    let (new, now) = (response(new), Time::from_secs(NOW));
    match (is_older(there, &new, now), is_newer(there, &new, now)) {
        (true, false) => Some(Less),
        (false, true) => Some(Greater),
        (false, false) => None,
        (true, true) => panic!("older and newer"),
    }
}

/// RFC 9111 section 4: the most recent is determined by `Date`. A row: `Date` and receipt of what is there, those of the
/// new, and what the first is to the second.
#[test]
fn dates_order_responses_and_where_they_do_not_tell_receipt_does() {
    for (old, new, expected) in [
        ((Some(980), 980), (Some(970), 990), Some(Greater)),
        ((Some(970), 990), (Some(980), 980), Some(Less)),
        ((Some(980), 980), (Some(990), 990), Some(Less)),
        // A second is coarse.
        ((Some(980), 980), (Some(980), 990), Some(Less)),
        ((Some(980), 990), (Some(980), 980), Some(Greater)),
        ((Some(980), 980), (Some(980), 980), None),
        // One has none.
        ((None, 980), (Some(970), 990), Some(Less)),
        ((None, 990), (Some(995), 980), Some(Greater)),
        ((Some(995), 980), (None, 990), Some(Less)),
        ((Some(970), 990), (None, 980), Some(Greater)),
        ((None, 980), (None, 990), Some(Less)),
        ((None, 990), (None, 980), Some(Greater)),
        // The origin's clock is ahead, or was.
        ((Some(1001), 980), (Some(990), 990), Some(Less)),
        ((Some(980), 990), (Some(1001), 980), Some(Greater)),
        ((Some(1000), 980), (Some(999), 990), Some(Greater)),
        // Another node's clock is ahead: that changes nothing about the origin's dates.
        ((Some(980), 1001), (Some(970), 990), Some(Greater)),
        ((Some(980), 1001), (Some(980), 990), Some(Less)),
        ((None, 1001), (None, 990), Some(Less)),
        ((None, 1001), (None, 1002), Some(Less)),
        // Nobody knows how old it is.
        ((Some(980), 1100), (Some(970), 990), Some(Less)),
    ] {
        assert_eq!(order(&there(old), new), expected, "{old:?} {new:?}");
    }
}

type Change = fn(&mut There);

#[test]
fn what_answers_nobody_keeps_nothing_out_by_its_date() {
    let rows: [(&str, Change); 6] = [
        ("stale", |there| there.facts.lifetime_ms = 19_500),
        ("to be confirmed", |there| there.facts.no_cache = true),
        ("purged by a tag", |there| there.standing = Standing::Gone),
        ("purged softly", |there| {
            let since = Time::from_secs(NOW - 1);
            there.standing = Standing::Stale { since, checked: 1 };
        }),
        ("unsure", |there| there.standing = Standing::Unsure),
        ("worth nothing", |there| {
            there.entry.until = Time::from_secs(NOW);
        }),
    ];
    let (old, new) = ((Some(980), 980), (Some(970), 990));
    for (why, change) in rows {
        let mut there = there(old);
        change(&mut there);
        assert_eq!(order(&there, new), Some(Less), "{why}");
    }
    let mut over = there((None, 990));
    over.entry.until = Time::from_secs(NOW);
    assert_eq!(order(&over, (None, 980)), None, "worth nothing");
}
