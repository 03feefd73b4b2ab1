//! One stored response as purges see it.

use super::{Address, Marks, On, Purge, What};
use std::cell::OnceCell;

/// One stored response as purges see it.
pub(super) struct Subject<'a> {
    pub address: Address<'a>,
    pub marks: Option<&'a Marks>,
    pub content_type: &'a dyn Fn() -> String,
}

/// What expressions are held against, each text built once and when it is asked for.
pub(super) struct Texts<'a> {
    subject: &'a Subject<'a>,
    url: OnceCell<String>,
    content_type: OnceCell<String>,
    tags: OnceCell<String>,
    souin: OnceCell<String>,
}

impl<'a> Texts<'a> {
    pub fn of(subject: &'a Subject<'a>) -> Self {
        Self {
            subject,
            url: OnceCell::new(),
            content_type: OnceCell::new(),
            tags: OnceCell::new(),
            souin: OnceCell::new(),
        }
    }

    pub fn get(&self, on: On) -> &str {
        let Subject {
            address,
            marks,
            content_type,
        } = self.subject;
        match on {
            On::Url => self.url.get_or_init(|| address.url()),
            On::Host => address.host,
            On::Target => address.target,
            On::ContentType => self.content_type.get_or_init(content_type),
            On::Tags => self.tags.get_or_init(|| {
                let texts: Vec<_> = marks.iter().flat_map(|marks| marks.texts()).collect();
                texts.join(",")
            }),
            On::Souin => self.souin.get_or_init(|| address.souin_lines()),
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
            let mut texts = subject.marks.into_iter().flat_map(Marks::texts);
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
