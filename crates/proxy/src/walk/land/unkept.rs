//! Answers that are not stored: what is remembered of them, and which stored responses they show to be out of date.

use crate::{
    body::{Content, Unstored},
    hit_for_miss::{Credentials, Unshared},
    outcome::{Detail, Unkept},
    walk::{
        fetch::{Fetch, Landing},
        tiers,
    },
    way,
};
use http::{StatusCode, response};
use http_body::Body as _;
use origin::ResponseBody;
use store::Stored;

/// Takes out of a response that is not kept what the store alone needs, since it may be most of its head.
pub fn lighten(stored: &mut Stored) {
    (stored.variant, stored.marks) = (None, None);
}

impl Fetch<'_> {
    /// Whether the last answer was lately found to be larger than what is kept.
    pub(super) fn was_too_large(&self) -> bool {
        let table = &self.worker.cache.hit_for_miss;
        let key = self.need.collapse_key(self.ask);
        table.knows(&key, Credentials::None, self.times.response)
            && table.why(&key) == Some(Unshared::TooLarge)
    }

    /// Returns an error if a reload has overruled the request: then its answer is not stored.
    pub fn not_overruled(&self) -> Result<(), Detail> {
        if self.ask.is_overruled(self.worker) {
            return Err(Detail::Unkept(Unkept::Overruled));
        }
        Ok(())
    }

    /// Withdraws all that could have been chosen for this request, except what a later request has brought.
    pub fn withdraw(&self) {
        let selected = self.need.selected.as_deref();
        tiers::withdraw_chosen(self.worker, self.ask, selected, self.ticket);
    }

    /// Withdraws what is stored if the answer of `status`, which is not stored for the reason `why`, shows that it is out
    /// of date.
    pub(super) fn withdraw_if_outdated(&self, why: Unshared, status: StatusCode) {
        let selected = self.need.selected.as_ref();
        let is_fresh =
            selected.is_some_and(|held| held.facts.remaining(self.times.response).is_some());
        if why.withdraws(status, is_fresh, self.ask.credentials()) {
            self.withdraw();
        }
    }

    /// Returns content that goes out as it comes, without being stored.
    pub fn unstored(&self, body: ResponseBody) -> Content {
        Content::Origin(Unstored::new(body, &self.worker.counters))
    }

    /// Lets the origin's answer go out as it came, without storing it, for the reason `why`. That is remembered for its
    /// key. If the answer shows that stored responses are out of date, they are withdrawn.
    pub fn raw(&self, head: response::Parts, body: ResponseBody, why: Detail) -> Landing {
        let has_length = body.size_hint().exact().is_some();
        self.remember_unkept(head.status, &why, has_length);
        Landing::Raw {
            head,
            content: self.unstored(body),
            kept: Err(why),
            pump: None,
        }
    }

    /// Remembers for its key that an answer of `status` is not stored for the reason `why`. If that one shows that stored
    /// responses are out of date, they are withdrawn.
    pub fn remember_unkept(&self, status: StatusCode, why: &Detail, has_length: bool) {
        let unshared = Unshared::of(status, why);
        // A response without a known length is kept again from time to time, to see whether it is still too large.
        if unshared != Unshared::TooLarge || has_length {
            let key = self.need.collapse_key(self.ask);
            let now = self.times.response;
            self.ask.remember_unshared(self.worker, &key, unshared, now);
        }
        self.withdraw_if_outdated(unshared, status);
    }

    /// Remembers an answer that is not worth queueing for because it must be validated each time. `unkept` says why
    /// this one is not found again.
    pub fn remember_uncollapsible(&self, stored: &Stored, unkept: Option<&Detail>) {
        if let Some(Detail::Unkept(Unkept::Overruled)) = unkept {
            // The next is judged by other rules.
            return;
        }
        let key = self.need.collapse_key(self.ask);
        let unkept = unkept.map(|why| Unshared::of(stored.status, why));
        match Unshared::of_kept(&stored.facts).or(unkept) {
            Some(why) => {
                let now = self.times.response;
                self.ask.remember_unshared(self.worker, &key, why, now);
            }
            // Requests that wait for such an answer in vain remember that themselves.
            None if way::is_late(&stored.facts) => {}
            None => {
                let table = &self.worker.cache.hit_for_miss;
                table.forget(&key, self.ask.credentials());
            }
        }
    }
}
