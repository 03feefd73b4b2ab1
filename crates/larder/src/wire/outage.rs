//! Reports an outage of the server behind the shared tier as one line in the program's log.

use std::{
    fmt::Display,
    sync::{Mutex, PoisonError},
};

/// The parts that use that server.
#[derive(Clone, Copy, Debug)]
pub enum Part {
    /// The tier that nodes share.
    Tier,
    /// The log of purges that nodes share.
    Log,
}

/// One server is behind both parts. When it fails, only the first part to notice reports that as a warning; when it is
/// back, only the last one reports that, at level info. Everything between is at level debug.
#[derive(Debug, Default)]
pub struct Outage(Mutex<Parts>);

/// The parts that get no answer.
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
    /// Reports that this part gets no answer, or that the reason has changed.
    pub fn begins(&self, part: Part, what: &dyn Display) {
        if self.is_first(part) {
            tracing::warn!("{what}");
        } else {
            tracing::debug!("{what}");
        }
    }

    /// Reports that this part gets answers again.
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
