//! Successors of a stored response: the same, except for one thing.

use super::{Derived, Stored, place::placed};
use crate::{Body, Fields};
use bytes::Bytes;
use http::{
    HeaderMap,
    header::{ACCESS_CONTROL_ALLOW_ORIGIN, SET_COOKIE},
};
use rules::{fields::remove_where, freshness::Facts, time::Time};
use std::sync::Arc;

impl Stored {
    /// The same response over the content of `old`.
    pub(crate) fn over_content_of(self, old: &Self) -> Self {
        Self {
            content: old.content,
            notes: self.notes.with_chunks_of(&old.notes),
            ..self
        }
    }

    /// The same response with what was made of its body.
    #[must_use]
    pub fn with_derived(&self, derived: Arc<dyn Derived>) -> Self {
        Self {
            derived: Some(derived),
            ..self.clone()
        }
    }

    /// The same response after `uses` uses.
    #[must_use]
    pub(crate) fn with_uses(self, uses: u64) -> Self {
        self.set_uses(uses);
        self
    }

    /// The same response as a replacement of `old`, with as many uses.
    #[must_use]
    pub fn after(self, old: &Self) -> Self {
        self.set_uses(old.uses());
        self
    }

    /// The same response, stale from `at` on: it was softly purged before the log stood at `checked`.
    #[must_use]
    pub fn stale_since(&self, at: Time, checked: u64) -> Self {
        let facts = self.facts.softly_purged(at);
        Self {
            facts,
            ..self.clone().checked_up_to(checked)
        }
    }

    /// The same response [of unknown age](Facts::with_age_unknown), if it is at `now`.
    pub fn with_age_unknown(&self, now: Time) -> Option<Self> {
        let facts = self.facts.with_age_unknown(now)?;
        Some(Self {
            facts,
            ..self.clone()
        })
    }

    /// The same response, as if the log of purges had not been looked at since it stood at `checked`.
    #[must_use]
    pub fn checked_up_to(self, checked: u64) -> Self {
        Self {
            notes: self.notes.clone().checked_up_to(checked),
            ..self
        }
    }

    /// A marker that the origin has given up this response. It takes the response's place where that cannot be removed
    /// for good, and answers nothing. The log of purges stood at `checked`.
    #[must_use]
    pub fn given_up(&self, checked: u64) -> Self {
        let facts = Facts {
            lifetime_ms: 0,
            stale_while_revalidate: None,
            stale_if_error: None,
            no_cache: true,
            ..self.facts
        };
        Self::new(
            checked,
            self.status,
            Fields::pack(&HeaderMap::new()),
            facts,
            self.variant.clone(),
            None,
            Body::Whole(Bytes::new()),
        )
    }

    /// Whether it is such a [marker](Self::given_up). A response from an origin has fields: a `Date` at the least.
    pub(crate) fn is_given_up(&self) -> bool {
        let is_unusable = self.facts.no_cache && self.facts.lifetime_ms == 0;
        is_unusable && self.fields.is_empty() && self.body.length() == Some(0)
    }

    /// The same response, unusable until the origin has confirmed it.
    #[must_use]
    pub fn to_be_validated(&self) -> Self {
        let facts = Facts {
            lifetime_ms: 0,
            no_cache: true,
            must_revalidate: true,
            ..self.facts
        };
        Self {
            facts,
            ..self.clone()
        }
    }

    /// The same response for a request that does not select it: without what its fields say to those that do, their
    /// cookies and the site that may read it, unless every site may
    /// ([Fetch, section 3.3](https://fetch.spec.whatwg.org/#http-cors-protocol)).
    #[must_use]
    pub fn lent(&self) -> Self {
        let mut fields = self.fields.unpack(0);
        fields.remove(SET_COOKIE);
        let readers = fields.get(ACCESS_CONTROL_ALLOW_ORIGIN);
        if readers.is_some_and(|readers| readers != "*") {
            remove_where(&mut fields, |name| {
                name.as_str().starts_with("access-control-")
            });
        }
        Self {
            fields: Fields::pack(&fields),
            ..self.clone()
        }
    }

    /// The same response with its content in another [`Body`]. A small body moves to its place (`place`).
    #[must_use]
    pub fn with_body(self, body: Body) -> Self {
        let (fields, body) = placed(self.fields, body);
        Self {
            fields,
            body,
            // Parts may have become whole.
            notes: self.notes.without_chunks(),
            ..self
        }
    }
}
