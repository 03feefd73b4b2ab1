use super::template::{BadTemplate, Template, TemplateInput};
use http::{Method, Uri};
use proptest::prelude::*;

fn key(template: &str, host: &str, target: &str) -> Option<String> {
    let uri: Uri = target.parse().expect("a target");
    let template = Template::parse(template).expect("a template");
    template.key(&TemplateInput {
        scheme: "https",
        host,
        method: &Method::GET,
        uri: &uri,
    })
}

#[test]
fn keys_are_made_as_nginx_makes_them() {
    for (template, target, expected) in [
        ("$scheme:$host$uri", "/a?b=c", Some("https:shop.example/a")),
        (
            "$http_host$request_uri",
            "/a%20b?c",
            Some("shop.example:8080/a%20b?c"),
        ),
        ("${uri}x$is_args$args", "/a?b=c", Some("/ax?b=c")),
        ("${uri}x$is_args$args", "/a", Some("/ax")),
        ("$request_method $document_uri", "/a", Some("GET /a")),
        (
            "flask_cache_view/$uri",
            "/caf%C3%A9",
            Some("flask_cache_view//café"),
        ),
        ("$uri?$query_string", "/a?b", Some("/a?b")),
        ("$uri", "/%ff", None),
        ("$uri", "/%0a", None),
        ("$uri", "/%4", None),
    ] {
        let found = key(template, "shop.example:8080", target);
        assert_eq!(found.as_deref(), expected, "{template} {target}");
    }
    assert_eq!(key("$host$uri", "[::1]", "/").as_deref(), Some("[::1]/"));
    assert_eq!(key("$host$uri", "[::1]:80", "/").as_deref(), Some("[::1]/"));
}

#[test]
fn what_is_no_template_is_told() {
    for (template, why) in [
        ("", BadTemplate::WithoutPath),
        ("page", BadTemplate::WithoutPath),
        ("$host", BadTemplate::WithoutPath),
        ("$uri\n", BadTemplate::Control),
        ("$url", BadTemplate::Unknown("url".to_owned())),
        ("$$uri", BadTemplate::Unknown(String::new())),
        ("${uri", BadTemplate::Unknown(String::new())),
        ("$uri$", BadTemplate::Unknown(String::new())),
    ] {
        assert_eq!(Template::parse(template), Err(why), "{template}");
    }
}

proptest! {
    #[test]
    fn any_template_is_read(text in "[$a-z{}_:/ \n]{0,16}") {
        let _ = Template::parse(&text);
    }

    /// Two hosts never share a key if the template contains the host.
    #[test]
    fn hosts_are_kept_apart(one in "[a-z]{1,4}", other in "[a-z]{1,4}", path in "/[a-z]{0,4}") {
        prop_assume!(one != other);
        prop_assert_ne!(key("$host$uri", &one, &path), key("$host$uri", &other, &path));
    }
}
