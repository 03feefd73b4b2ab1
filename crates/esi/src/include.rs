//! `<esi:include>`.

use crate::{tag::Tag, template::Template, variable::Request};
use std::time::Duration;

/// An include as the page has it.
#[derive(Clone, Debug, PartialEq)]
pub struct Include {
    src: Template,
    alt: Option<Template>,
    /// `onerror="continue"`.
    may_fail: bool,
    /// `maxwait`, in milliseconds.
    wait: Option<u32>,
}

/// An include as one request needs it. References are as the page has them: relative to the page's address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// What to include; `None` if a value of the request makes it unusable.
    pub src: Option<String>,
    /// What to include if that fails.
    pub alt: Option<String>,
    /// Whether the page is complete without it (`onerror="continue"`).
    pub may_fail: bool,
    /// The longest time that the page allows for it.
    pub wait: Option<Duration>,
}

impl Include {
    /// Reads a tag; `None` if it names nothing to include.
    pub(crate) fn read(tag: &Tag<'_>) -> Option<Self> {
        let src = tag.get("src").filter(|src| !src.trim().is_empty())?;
        let alt = tag.get("alt").filter(|alt| !alt.trim().is_empty());
        Some(Self {
            src: Template::read(src.trim()),
            alt: alt.map(|alt| Template::read(alt.trim())),
            may_fail: tag.get("onerror").is_some_and(|word| word == "continue"),
            wait: tag.get("maxwait").and_then(|wait| wait.trim().parse().ok()),
        })
    }

    /// Returns the include for one request.
    pub(crate) fn address(&self, request: &dyn Request) -> Address {
        Address {
            src: self.src.address(request),
            alt: self.alt.as_ref().and_then(|alt| alt.address(request)),
            may_fail: self.may_fail,
            wait: self.wait.map(|wait| Duration::from_millis(wait.into())),
        }
    }

    /// The bytes of memory that it takes.
    pub(crate) fn weight(&self) -> usize {
        size_of::<Self>() + self.src.weight() + self.alt.as_ref().map_or(0, Template::weight)
    }
}
