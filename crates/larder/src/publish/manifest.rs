//! The manifest `.larder-publish.json`: what files cannot say. `docs/publish.md` describes the format.

use super::name;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The manifest's file, at the root of the folder.
pub const FILE: &str = ".larder-publish.json";

/// The format that is written and read.
pub const FORMAT: u32 = 1;

/// A site as it was published.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// [`FORMAT`].
    pub format: u32,
    /// The application, as it was named on the command line.
    pub site: String,
    /// How it was asked: a digest, which changes with everything but the target that decides its answers. Empty if an
    /// earlier version did not write it.
    #[serde(default)]
    pub asked: String,
    /// Files that no page has any more and that are about to be removed.
    #[serde(default)]
    pub unused: Vec<String>,
    /// Pages by their targets.
    pub pages: BTreeMap<String, Page>,
}

/// One page.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Page {
    /// 200, or the status of a redirect.
    pub status: u16,
    /// The target of a redirect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
    /// The path of the file, from the root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// `Content-Type`.
    #[serde(default, skip_serializing_if = "Option::is_none", rename = "type")]
    pub kind: Option<String>,
    /// The length of the file in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length: Option<u64>,
    /// The XXH3 hash of the file, 128 bits, in hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// The application's `ETag`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub etag: Option<String>,
    /// The application's `Last-Modified`, if it is a strong validator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modified: Option<String>,
    /// Other fields of the answer that belong to the page.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub fields: BTreeMap<String, String>,
    /// The tags that it can be purged by.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// The cache groups that it is in (RFC 9875).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
}

/// Why a text is not a usable manifest. The operator can mend these.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    /// The text is not JSON, or not the expected JSON.
    #[error("it is no manifest: {0}")]
    Json(#[from] serde_json::Error),
    /// A newer version wrote it.
    #[error("it was written by a newer version (format {0})")]
    Newer(u32),
    /// It names a file that no page can have.
    #[error("it names {0:?}, which is no file of a page")]
    File(String),
    /// It names something that is not a target.
    #[error("it names {0:?}, which is no target of a page")]
    Target(String),
}

/// The part that is read first.
#[derive(Deserialize)]
struct Head {
    format: u32,
}

impl Manifest {
    /// Parses a manifest.
    ///
    /// # Errors
    /// See [`Unreadable`]. Without an error, everything that the manifest names is safe to write and to remove.
    pub fn read(text: &[u8]) -> Result<Self, Unreadable> {
        let Head { format } = serde_json::from_slice(text)?;
        if format != FORMAT {
            return Err(Unreadable::Newer(format));
        }
        let manifest: Self = serde_json::from_slice(text)?;
        for (target, page) in &manifest.pages {
            if !target.starts_with('/') {
                return Err(Unreadable::Target(target.clone()));
            }
            page.check()?;
        }
        for file in &manifest.unused {
            check(file)?;
        }
        Ok(manifest)
    }

    /// Formats the manifest: one page a line, so that people can compare two.
    pub fn to_text(&self) -> String {
        let quoted = |text: &str| serde_json::Value::from(text).to_string();
        let mut text = format!(
            "{{\"format\": {}, \"site\": {}, \"asked\": {}, ",
            self.format,
            quoted(&self.site),
            quoted(&self.asked)
        );
        if !self.unused.is_empty() {
            let unused: Vec<_> = self.unused.iter().map(|file| quoted(file)).collect();
            text.extend(["\"unused\": [", &unused.join(", "), "], "]);
        }
        text.push_str("\"pages\": {");
        for (index, (target, page)) in self.pages.iter().enumerate() {
            text.push_str(if index == 0 { "\n" } else { ",\n" });
            text.push_str(&quoted(target));
            text.push_str(": ");
            // Strings and numbers can always be written as JSON.
            text.push_str(&serde_json::to_string(page).unwrap_or_default());
        }
        text.push_str("\n}}\n");
        text
    }
}

impl Page {
    /// Returns the page without its validators: the application is not asked whether it has changed.
    pub(super) fn unvalidated(self) -> Self {
        Self {
            etag: None,
            modified: None,
            ..self
        }
    }

    /// Checks that the file is one that a page can have.
    pub(super) fn check(&self) -> Result<(), Unreadable> {
        self.file.as_deref().map_or(Ok(()), check)
    }
}

fn check(file: &str) -> Result<(), Unreadable> {
    if name::is_safe(file) {
        Ok(())
    } else {
        Err(Unreadable::File(file.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_page() -> impl Strategy<Value = Page> {
        let text = "[ -~é]{0,8}";
        let names = prop::collection::vec(text, 0..3);
        let fields = prop::collection::btree_map("[a-z-]{1,8}", text, 0..3);
        (
            any::<u16>(),
            prop::option::of(text),
            prop::option::of(any::<u64>()),
            (names.clone(), names),
            fields,
        )
            .prop_map(|(status, etag, length, (tags, groups), fields)| Page {
                status,
                etag,
                length,
                tags,
                groups,
                fields,
                file: Some("a/b.html".to_owned()),
                ..Page::default()
            })
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(pages in prop::collection::btree_map("/[ -~é]{0,8}", any_page(), 0..4)) {
            let unused = pages.keys().map(|target| format!("a{target}.b")).filter(|file| name::is_safe(file)).collect();
            let (site, asked) = ("http://a/\"".to_owned(), "1f".to_owned());
            let manifest = Manifest { format: FORMAT, site, asked, unused, pages };
            prop_assert_eq!(Manifest::read(manifest.to_text().as_bytes()).expect("ours"), manifest);
        }

        #[test]
        fn any_text_is_read(text in "[ -~]{0,60}") {
            let _ = Manifest::read(text.as_bytes());
        }
    }

    #[test]
    fn what_is_no_manifest() {
        let with = |pages: &str| format!("{{\"format\":1,\"site\":\"x\",\"pages\":{pages}}}");
        for (text, why) in [
            ("", "it is no manifest"),
            ("[]", "it is no manifest"),
            ("{\"format\":2}", "newer version (format 2)"),
            (&with("[]"), "it is no manifest"),
            (&with("{\"x\":{\"status\":200}}"), "no target"),
            (
                &with("{\"/x\":{\"status\":200,\"file\":\"../x\"}}"),
                "no file of a page",
            ),
            (
                &with("{\"/x\":{\"status\":200,\"file\":\".larder-publish/lock\"}}"),
                "no file of a page",
            ),
        ] {
            let error = Manifest::read(text.as_bytes())
                .expect_err("no manifest")
                .to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
        let unused = "{\"format\":1,\"site\":\"x\",\"unused\":[\"../x\"],\"pages\":{}}";
        assert!(Manifest::read(unused.as_bytes()).is_err());
        let more = with("{\"/x\":{\"status\":301,\"location\":\"/y\",\"unknown\":[1]}}");
        assert_eq!(Manifest::read(more.as_bytes()).expect("one").pages.len(), 1);
    }
}
