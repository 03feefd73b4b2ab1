//! Fields that ask for another method than the request has. Scripts send them where they are not sure that each server on
//! the way takes every method: WordPress's deletes by `POST`.

use crate::{policy::Policy, purge_clients};
use http::{HeaderMap, HeaderName, Method};
use rules::method::is_safe;

/// Those of [`POISONOUS`](super::names::POISONOUS) by which clients ask for another method.
static OVERRIDES: [HeaderName; 3] = [
    HeaderName::from_static("x-http-method-override"),
    HeaderName::from_static("x-http-method"),
    HeaderName::from_static("x-method-override"),
];

/// Whether a field asks for another method.
pub fn is_override(name: &HeaderName) -> bool {
    OVERRIDES.contains(name)
}

/// Whether the application may take the request for one with another method.
pub fn is_overridden(fields: &HeaderMap) -> bool {
    OVERRIDES.iter().any(|name| fields.contains_key(name))
}

/// Whether any client may override this method on a route with this policy: nothing that is stored answers such a
/// request or comes from it. Where `POST` asks a GraphQL service, it does.
pub fn may_be_overridden(method: &Method, policy: &Policy) -> bool {
    !is_safe(method) && policy.graphql.is_none()
}

/// Whether each override in `fields` names a method that `is_allowed`. Which of two lines or of two members counts is
/// not known, so there must be one. Applications read them in any case.
pub fn all_name(fields: &HeaderMap, is_allowed: impl Fn(&Method) -> bool) -> bool {
    OVERRIDES.iter().all(|name| {
        let mut lines = fields.get_all(name).iter();
        match (lines.next(), lines.next()) {
            (None, _) => true,
            (Some(line), None) => {
                let named = line.as_bytes().trim_ascii().to_ascii_uppercase();
                let named = Method::from_bytes(&named);
                named.is_ok_and(|named| reaches_applications(&named) && is_allowed(&named))
            }
            (Some(_), Some(_)) => false,
        }
    })
}

fn reaches_applications(method: &Method) -> bool {
    *method != Method::CONNECT && !purge_clients::is_ours(method)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::walk::outbound::trust::names::{OF_ONE_TARGET, misleads};

    /// They are withheld elsewhere, and are not about a page's includes.
    #[test]
    fn overrides_are_withheld_elsewhere() {
        for name in &OVERRIDES {
            assert!(misleads(name), "{name}");
            assert!(OF_ONE_TARGET.contains(&name.as_str()), "{name}");
        }
    }
}
