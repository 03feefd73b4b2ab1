//! What befalls the server behind the shared tier, as one line of the program's log.

use std::{
    fmt::Display,
    sync::{Mutex, PoisonError},
};

/// Who has to do with that server.
#[derive(Clone, Copy, Debug)]
pub enum Part {
    /// What nodes keep there.
    Tier,
    /// Their log of purges.
    Log,
}

/// One server stands behind both parts: when it goes, only the first that notices says so as a warning, and when it is back, only the
/// last one as news. Anything between is for who looks closely.
#[derive(Debug, Default)]
pub struct Outage(Mutex<Parts>);

/// Which of the parts get no answer.
#[derive(Debug, Default)]
struct Parts {
    tier: bool,
    log: bool,
}

impl Parts {
    fn of(&mut self, part: Part) -> &mut bool {
        match part {
            Part::Tier => &mut self.tier,
            Part::Log => &mut self.log,
        }
    }

    const fn any(&self) -> bool {
        self.tier || self.log
    }
}

impl Outage {
    /// This part gets no answer, or none for another reason.
    pub fn begins(&self, part: Part, what: &dyn Display) {
        if self.is_first(part) {
            tracing::warn!("{what}");
        } else {
            tracing::debug!("{what}");
        }
    }

    /// This part is answered again.
    pub fn ends(&self, part: Part, what: &dyn Display) {
        if self.is_last(part) {
            tracing::info!("{what}");
        } else {
            tracing::debug!("{what}");
        }
    }

    fn is_first(&self, part: Part) -> bool {
        let mut parts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_first = !parts.any();
        *parts.of(part) = true;
        is_first
    }

    fn is_last(&self, part: Part) -> bool {
        let mut parts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *parts.of(part) = false;
        !parts.any()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_says_that_it_goes_and_the_last_that_it_is_back() {
        let outage = Outage::default();
        assert!(outage.is_last(Part::Log), "as it begins to follow");
        assert!(outage.is_first(Part::Log));
        assert!(!outage.is_first(Part::Tier));
        assert!(!outage.is_first(Part::Log), "for another reason");
        assert!(!outage.is_last(Part::Tier));
        assert!(!outage.is_first(Part::Tier));
        assert!(!outage.is_last(Part::Log));
        assert!(outage.is_last(Part::Tier));
        assert!(outage.is_first(Part::Tier), "another one");
    }
}
