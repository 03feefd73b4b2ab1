//! Which methods are understood. All are passed on but `CONNECT`, and those that are taken for others.

use crate::{
    error::{BadRequest, Failure},
    policy::Route,
    purge_clients::is_ours,
};
use http::Method;
use rules::method::is_safe;

/// Checks the method of a request to a site with these routes.
///
/// # Errors
/// If it is not offered, or is another one in other letters.
pub fn check(routes: &[Route], method: &Method) -> Result<(), Failure> {
    if *method == Method::CONNECT {
        return Err(Failure::MethodNotAllowed);
    }
    if is_in_other_letters(routes, method) {
        return Err(Failure::BadRequest(BadRequest::MethodLetters));
    }
    Ok(())
}

/// Whether in capitals it would be a method of HTTP, of a route, or of those that purge. Methods are case-sensitive (RFC
/// 9110 section 9.1), but many applications take `delete` for `DELETE`, which a route may refuse. Those that do not would
/// be taken for having changed something.
fn is_in_other_letters(routes: &[Route], method: &Method) -> bool {
    let capitals = method.as_str().to_ascii_uppercase();
    capitals != method.as_str()
        && Method::from_bytes(capitals.as_bytes()).is_ok_and(|meant| {
            let mut of_routes = routes.iter().flat_map(|route| &route.matcher.methods);
            is_safe(&meant)
                || is_capitalised(&meant)
                || is_ours(&meant)
                || of_routes.any(|of_route| *of_route == meant)
        })
}

/// Whether browsers send the method in capitals however a page writes it (Fetch, section 2.2.1), and `CONNECT`. They send
/// `patch` as it is, and applications that take it for `PATCH` rely on that.
fn is_capitalised(method: &Method) -> bool {
    matches!(
        *method,
        Method::POST | Method::PUT | Method::DELETE | Method::CONNECT
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        policy::Matcher,
        sample::{key_spec, policy, route},
    };

    #[test]
    fn a_method_in_other_letters_is_not_passed_on() {
        let named = |name: &str| Method::from_bytes(name.as_bytes()).expect("a method");
        let matcher = Matcher {
            methods: vec![named("BREW"), named("Tidy")],
            ..Matcher::default()
        };
        let routes = [route(matcher, policy(key_spec()))];
        for (method, detail) in [
            ("GET", None),
            ("get", Some("method-letters")),
            ("Head", Some("method-letters")),
            ("dELETE", Some("method-letters")),
            ("patch", None),
            ("propfind", Some("method-letters")),
            ("query", Some("method-letters")),
            ("purge", Some("method-letters")),
            ("PURGE", None),
            ("CONNECT", Some("method-not-allowed")),
            ("connect", Some("method-letters")),
            ("BREW", None),
            ("brew", Some("method-letters")),
            ("Tidy", None),
            ("tidy", None),
            ("TIDY", None),
            ("Foo", None),
            ("FOO", None),
            ("get1", None),
        ] {
            let failure = check(&routes, &named(method)).err();
            assert_eq!(failure.map(|why| why.token()), detail, "{method}");
        }
    }
}
