//! Finds what is on the server, and waits for what another node brings.

mod tags;
mod usable;

use super::{
    IfNothing, Inner, Question, SharedTierLookup, guard::Failed, lease::Lease, name, remote::Read,
};
use crate::Stored;
use rules::time::Time;
use std::{ops::ControlFlow, sync::Arc, time::Duration};
use tokio::time::{Instant, sleep};

/// The first pause of a wait. Each of the next is half as long again.
const FIRST_PAUSE: Duration = Duration::from_millis(2);

/// The longest pause of a wait.
const LONGEST_PAUSE: Duration = Duration::from_millis(25);

impl Inner {
    pub(super) async fn find(
        self: &Arc<Self>,
        question: &mut Question<'_>,
        if_nothing: IfNothing,
    ) -> SharedTierLookup {
        let counts = &self.guard.counts;
        let name = self.name(question.key);
        match self.look(question, &name).await {
            Ok(found) if !found.is_empty() => {
                counts.hits.up();
                return SharedTierLookup::Here(found);
            }
            Ok(_) => counts.misses.up(),
            Err(Failed(_)) => return SharedTierLookup::Nothing,
        }
        match if_nothing {
            IfNothing::Leave => SharedTierLookup::Nothing,
            IfNothing::TakeLease => self.lead(question, &name, Time::default()).await,
        }
    }

    /// Takes the lease, or waits for what its holder brings: for a response to the request that was received after
    /// `than`. That wait is not part of the question's own time.
    pub(super) async fn lead(
        self: &Arc<Self>,
        question: &mut Question<'_>,
        name: &str,
        than: Time,
    ) -> SharedTierLookup {
        let counts = &self.guard.counts;
        let lease = name::lease(name, question.variant);
        let began = self.begins_at(question, None);
        let taken = Lease::take(self, &lease, None, began, question.until);
        let lease = match taken.await {
            Ok(Some(lease)) => lease,
            Ok(None) => return self.wait(question, name, than).await,
            Err(Failed(_)) => return SharedTierLookup::Nothing,
        };
        // Its last holder may have brought something since we looked.
        match self.look(question, name).await {
            Ok(found) if question.is_answered(&found, than) || question.learns_from(&found) => {
                counts.hits.up();
                SharedTierLookup::Here(found)
            }
            Ok(_) => {
                counts.leases.up();
                SharedTierLookup::Lead(lease)
            }
            Err(Failed(_)) => SharedTierLookup::Nothing,
        }
    }

    async fn look(&self, question: &Question<'_>, name: &str) -> Result<Vec<Arc<Stored>>, Failed> {
        match self.guard.get(name, Read::Any, question.until).await? {
            None => Ok(Vec::new()),
            Some(value) => self.usable(question, name, value, Read::Any).await,
        }
    }

    /// Waits for what another node fetches.
    ///
    /// If its lease ends and nothing is there, what it fetched cannot be shared, or it has died: then every node
    /// fetches alone. Each look has the time of a whole question, and so has what is asked next.
    async fn wait(
        self: &Arc<Self>,
        question: &mut Question<'_>,
        name: &str,
        than: Time,
    ) -> SharedTierLookup {
        let counts = &self.guard.counts;
        counts.waits.up();
        let begun = Instant::now();
        let end = *question.patience.get_or_insert(begun + self.config.lease);
        let names = [name.to_owned(), name::lease(name, question.variant)];
        let mut pause = FIRST_PAUSE;
        while Instant::now() < end {
            sleep(pause).await;
            pause = (pause * 3 / 2).min(LONGEST_PAUSE);
            question.until = self.guard.deadline();
            match self.look_again(question, &names, than).await {
                ControlFlow::Continue(()) => {}
                ControlFlow::Break(Some(found)) => return found,
                ControlFlow::Break(None) => break,
            }
        }
        counts.waits_in_vain.up();
        SharedTierLookup::Nothing
    }

    /// Looks what has come of a wait: at the record and at the lease, which have these names. `Break(None)` if it was in
    /// vain.
    async fn look_again(
        self: &Arc<Self>,
        question: &Question<'_>,
        names: &[String; 2],
        than: Time,
    ) -> ControlFlow<Option<SharedTierLookup>> {
        let (guard, [name, lease_name]) = (&self.guard, names);
        let asked = guard.get_many(names, Read::Latest, question.until);
        let Ok(mut values) = asked.await else {
            return ControlFlow::Break(None);
        };
        let (lease, mut record) = (values.pop().flatten(), values.pop().flatten());
        if record.is_none() && lease.is_none() {
            // The record and the lease may be on different servers: it may have arrived between the two looks.
            let asked = guard.get(name, Read::Latest, question.until);
            record = asked.await.unwrap_or_default();
        }
        if let Some(record) = record.clone() {
            let found = self.usable(question, name, record, Read::Latest).await;
            let Ok(found) = found else {
                return ControlFlow::Break(None);
            };
            // While the lease lives, its holder may bring more than variants to learn from.
            let learns = lease.is_none() && question.learns_from(&found);
            if learns || question.is_answered(&found, than) {
                guard.counts.hits.up();
                return ControlFlow::Break(Some(SharedTierLookup::Here(found)));
            }
        }
        let Some(lease) = lease else {
            return ControlFlow::Break(None);
        };
        if self.outdated(question, &lease, record.as_ref()).is_none() {
            return ControlFlow::Continue(());
        }
        let began = self.begins_at(question, record.as_ref());
        let taken = Lease::take(self, lease_name, Some(&lease), began, question.until);
        match taken.await {
            Ok(Some(lease)) => {
                guard.counts.leases.up();
                ControlFlow::Break(Some(SharedTierLookup::Lead(lease)))
            }
            // Another node was sooner, or it was given back.
            Ok(None) => ControlFlow::Continue(()),
            Err(Failed(_)) => ControlFlow::Break(None),
        }
    }
}

impl Question<'_> {
    /// Whether any of `found` is for the request and was received after `than`.
    fn is_answered(&self, found: &[Arc<Stored>], than: Time) -> bool {
        let mut scratch = Vec::new();
        found.iter().any(|stored| {
            stored.facts.response_time > than && stored.matches(self.request, &mut scratch)
        })
    }

    /// Whether `found` tells what selects variants, which was not known: then this request waits for its own.
    fn learns_from(&self, found: &[Arc<Stored>]) -> bool {
        !self.knows_variants() && found.iter().any(|stored| stored.variant.is_some())
    }
}
