//! Keeps purges that one node publishes at the same time from counting on the same room for expressions.

use super::lock;
use crate::purge::{Log, Purge, TooMany, What};
use std::{
    mem,
    sync::{Arc, Mutex},
};

/// Expressions of this node that were published and have yet to be applied here.
#[derive(Debug, Default)]
pub struct UnderWay(Arc<Mutex<Vec<Purge>>>);

/// The room of expressions that are under way. Given back when this is dropped; if they have been applied by then, the
/// log has counted them.
#[derive(Debug)]
pub struct ReservedRoom {
    all: Arc<Mutex<Vec<Purge>>>,
    own: Vec<Purge>,
}

impl UnderWay {
    /// Takes the room that `purges` need, beside what is under way already. Known expressions need none, even if what
    /// is under way has none any more.
    ///
    /// # Errors
    /// There is not enough of it.
    pub fn admit(&self, log: &Log, purges: &[Purge]) -> Result<ReservedRoom, TooMany> {
        let mut room = ReservedRoom {
            all: Arc::clone(&self.0),
            own: Vec::new(),
        };
        let expressions = purges.iter().filter(|purge| is_expression(purge));
        let own: Vec<_> = expressions.cloned().collect();
        if !own.is_empty() {
            let mut all = lock(&self.0);
            let before = all.len();
            all.extend(own.iter().cloned());
            if let Err(refused) = log.admits(&all)
                && log.needs_room(&own)
            {
                all.truncate(before);
                return Err(refused);
            }
            room.own = own;
        }
        Ok(room)
    }
}

fn is_expression(purge: &Purge) -> bool {
    matches!(purge.what, What::Pattern(_))
}

impl Drop for ReservedRoom {
    fn drop(&mut self) {
        let own = mem::take(&mut self.own);
        if own.is_empty() {
            return;
        }
        let mut all = lock(&self.all);
        for purge in own {
            if let Some(at) = all.iter().position(|known| *known == purge) {
                all.swap_remove(at);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::purge::{On, Pattern};
    use rules::time::Time;

    fn expression(text: &str) -> Purge {
        let pattern = Pattern::default().with(On::Url, text);
        Purge::hard(What::Pattern(Box::new(pattern.expect("valid"))))
    }

    /// Another node may have taken the room that was found for what is under way here.
    #[test]
    fn what_is_known_needs_no_room_whatever_else_is_under_way() {
        let (log, under_way) = (Log::default(), UnderWay::default());
        let known = |number: u64| expression(&format!("known-{number}"));
        let apply = |number: u64| log.apply(known(number), Time::from_secs(1), None);
        for number in 1..1024 {
            apply(number);
        }
        let new = under_way.admit(&log, &[expression("new")]);
        let _room = new.expect("the last room");
        apply(1024);
        let admitted = under_way.admit(&log, &[known(7), known(1024)]);
        assert!(admitted.is_ok(), "{admitted:?}");
        let refused = under_way.admit(&log, &[known(7), expression("newer")]);
        assert!(refused.is_err(), "{refused:?}");
    }
}
