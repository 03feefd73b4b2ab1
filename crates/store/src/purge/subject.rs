//! One stored response as purges see it.

use super::{Address, Marks, On, Purge, What, name::tag_name, pool::pool};
use std::cell::OnceCell;

/// The tags of a stored response, wherever they are kept.
#[derive(Clone, Copy)]
pub(super) enum Tagged<'a> {
    /// As memory keeps them.
    Marks(Option<&'a Marks>),
    /// As they were read.
    Texts(&'a [&'a str]),
}

impl<'a> Tagged<'a> {
    /// The text of each tag.
    pub fn texts(self) -> impl Iterator<Item = &'a str> {
        let (marks, texts) = self.parts();
        let marks = marks.into_iter().flat_map(Marks::texts);
        marks.chain(texts.iter().copied())
    }

    /// The names by which the log knows them.
    pub fn names(self) -> impl Iterator<Item = u64> {
        let (marks, texts) = self.parts();
        let marks = marks.into_iter().flat_map(Marks::names);
        marks.chain(texts.iter().map(|text| tag_name(text)))
    }

    fn parts(self) -> (Option<&'a Marks>, &'a [&'a str]) {
        match self {
            Self::Marks(marks) => (marks, &[]),
            Self::Texts(texts) => (None, texts),
        }
    }
}

/// One stored response as purges see it.
pub(super) struct Subject<'a> {
    pub address: Address<'a>,
    pub tags: Tagged<'a>,
    pub content_type: &'a dyn Fn() -> String,
}

/// The texts that expressions are matched against. Each is built once, when it is first needed.
pub(super) struct Texts<'a> {
    subject: &'a Subject<'a>,
    url: OnceCell<String>,
    content_type: OnceCell<String>,
    tags: OnceCell<String>,
    souin: OnceCell<String>,
}

impl<'a> Texts<'a> {
    /// Makes the texts of `subject`; none is built yet.
    pub fn of(subject: &'a Subject<'a>) -> Self {
        Self {
            subject,
            url: OnceCell::new(),
            content_type: OnceCell::new(),
            tags: OnceCell::new(),
            souin: OnceCell::new(),
        }
    }

    /// Returns the text that an expression on `on` is matched against; empty if the response has nothing of the kind.
    pub fn get(&self, on: On) -> &str {
        let Subject {
            address,
            tags,
            content_type,
        } = self.subject;
        match on {
            On::Url => self.url.get_or_init(|| address.url()),
            On::Host => address.host,
            On::Target => address.target,
            On::ContentType => self.content_type.get_or_init(content_type),
            On::Tags => self.tags.get_or_init(|| {
                let texts: Vec<_> = tags.texts().collect();
                texts.join(",")
            }),
            On::Souin => self.souin.get_or_init(|| address.souin_lines()),
            On::Pool => tags.texts().find_map(pool).unwrap_or_default(),
        }
    }
}

/// Whether one purge covers `subject`.
pub(super) fn covers(purge: &Purge, subject: &Subject<'_>) -> bool {
    let Address { host, target, .. } = subject.address;
    let of_host = |named: &str| host.is_empty() || host == named;
    match &purge.what {
        What::Url(urls) => urls.iter().any(|url| {
            let rest = url
                .strip_prefix("//")
                .and_then(|rest| rest.strip_prefix(host));
            rest == Some(target)
        }),
        What::Prefix { host, path } => {
            host.as_deref().is_none_or(of_host) && target.starts_with(path.as_str())
        }
        What::Tags(tags) => {
            let mut texts = subject.tags.texts();
            texts.any(|text| tags.iter().any(|tag| tag == text))
        }
        What::Host(host) => of_host(host),
        What::Pattern(pattern) => {
            let texts = Texts::of(subject);
            pattern.matches(|on| texts.get(on))
        }
        What::Everything => true,
    }
}
