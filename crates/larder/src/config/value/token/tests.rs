use super::*;

#[test]
fn several_methods_are_no_method() {
    for (text, instead) in [
        ("PUT|DELETE", Some("\"PUT\", \"DELETE\"")),
        ("~ ^(put|DELETE)$", Some("\"PUT\", \"DELETE\"")),
        ("GET, HEAD", Some("\"GET\", \"HEAD\"")),
        ("GET HEAD", Some("\"GET\", \"HEAD\"")),
        ("^PURGE$", Some("\"PURGE\"")),
        (" GET", Some("\"GET\"")),
        ("|", None),
    ] {
        let wrong = Method::parse(text).unwrap_err();
        assert_eq!(wrong.instead.as_deref(), instead, "{text}: {wrong}");
    }
    Method::parse("M-SEARCH").unwrap();
    Method::parse("VERSION-CONTROL").unwrap();
}

#[test]
fn several_cookies_and_expressions_are_no_name_of_a_cookie() {
    for (text, instead) in [
        ("session|x", Some("\"session\", \"x\"")),
        ("^session$", None),
        ("(?i)session", None),
        ("a|^b", None),
        ("~session", None),
        ("~a|b", None),
        ("|", None),
        ("a, b", None),
    ] {
        let wrong = CookieName::parse(text).unwrap_err();
        let told = wrong.what.contains("not the name of one cookie");
        assert!(told, "{text}: {wrong}");
        assert_eq!(wrong.instead.as_deref(), instead, "{text}: {wrong}");
    }
    for text in ["currency", "cookie[three]", "Drupal.visitor.name", "$price"] {
        assert!(CookieName::parse(text).is_ok(), "{text}");
    }
}

#[test]
fn methods_and_tokens() {
    assert_eq!(
        Method::parse("get").unwrap_err().instead.as_deref(),
        Some("\"GET\"")
    );
    assert_eq!(Method::parse("PURGE").unwrap().as_str(), "PURGE");
    Method::parse("a b").unwrap_err();
    Method::parse("*").unwrap_err();
    Method::parse("P*").unwrap_err();
    Token::parse("edge-1").unwrap();
    Token::parse("1").unwrap_err();
    Token::parse("a b").unwrap_err();
}
