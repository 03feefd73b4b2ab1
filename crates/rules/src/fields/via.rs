//! `Via` (RFC 9110 section 7.6.3).

use http::{HeaderMap, HeaderValue, Version, header::VIA};

/// Our elements of `Via` (RFC 9110 section 7.6.3), rendered once: `1.1 larder` or the like, one for each version in
/// which a message can be received. Empty if the pseudonym cannot stand in a field value.
#[derive(Clone, Debug)]
pub struct Via(Vec<(Version, HeaderValue)>);

impl Via {
    /// Renders the elements of the intermediary with this pseudonym.
    pub fn new(pseudonym: &str) -> Self {
        let protocols = [
            (Version::HTTP_11, "1.1"),
            (Version::HTTP_2, "2.0"),
            (Version::HTTP_10, "1.0"),
            (Version::HTTP_3, "3.0"),
            (Version::HTTP_09, "0.9"),
        ];
        let elements = protocols.into_iter().filter_map(|(version, protocol)| {
            let element = HeaderValue::try_from(format!("{protocol} {pseudonym}"));
            Some((version, element.ok()?))
        });
        Self(elements.collect())
    }

    /// Appends our element to the fields of a message that was received in `version`.
    pub fn append(&self, fields: &mut HeaderMap, version: Version) {
        let mut elements = self.0.iter();
        if let Some((_, element)) = elements.find(|(known, _)| *known == version) {
            fields.append(VIA, element.clone());
        }
    }
}
