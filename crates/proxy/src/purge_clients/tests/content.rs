//! What the content of a request names.

use super::*;

#[test]
fn contents_are_understood() {
    let fastly = api::Expected::Fastly { soft: true };
    let cloudflare = api::Expected::Cloudflare("z".to_owned());
    for (expected, content, wishes) in [
        (
            &fastly,
            r#"{"surrogate_keys":["a","b,c"]}"#,
            vec![tags(&["a", "b,c"])],
        ),
        (
            &cloudflare,
            r#"{"purge_everything":true}"#,
            vec![Wish::Everything],
        ),
        (
            &cloudflare,
            r#"{"tags":["a"],"hosts":["h"]}"#,
            vec![tags(&["a"]), Wish::Host("h".into())],
        ),
        (
            &cloudflare,
            r#"{"files":["https://s/a?c",{"url":"http://s","headers":{}}]}"#,
            vec![url("s", "/a?c"), url("s", "")],
        ),
        (
            &cloudflare,
            r#"{"prefixes":["s/img/"]}"#,
            vec![prefix("s", "/img/")],
        ),
    ] {
        let command = api::content(expected, content.as_bytes()).expect(content);
        assert_eq!(command.wishes, wishes, "{content}");
    }
    for (expected, content) in [
        (&fastly, ""),
        (&fastly, "{}"),
        (&fastly, r#"{"surrogate_keys":[]}"#),
        (&fastly, r#"{"surrogate_keys":"a"}"#),
        (&cloudflare, "not JSON"),
        (&cloudflare, "{}"),
        (&cloudflare, r#"{"files":["/a"]}"#),
        (&cloudflare, r#"{"files":["http:///a"]}"#),
        (&cloudflare, r#"{"files":[1]}"#),
        // An empty name is not one for everything.
        (&cloudflare, r#"{"files":[""]}"#),
        (&cloudflare, r#"{"files":["http://:80/a"]}"#),
        (&cloudflare, r#"{"hosts":[""]}"#),
        (&cloudflare, r#"{"hosts":["h",":80"]}"#),
        (&cloudflare, r#"{"prefixes":[""]}"#),
        (&cloudflare, r#"{"prefixes":["/"]}"#),
        (&cloudflare, r#"{"prefixes":["https://"]}"#),
        (&cloudflare, r#"{"prefixes":["s/a",":80/a"]}"#),
    ] {
        assert!(
            api::content(expected, content.as_bytes()).is_err(),
            "{content}"
        );
    }
}

proptest! {
    #[test]
    fn any_content_is_read(content in "[ -~]{0,60}") {
        let _ = api::content(&api::Expected::Cloudflare(String::new()), content.as_bytes());
        let _ = api::content(&api::Expected::Fastly { soft: false }, content.as_bytes());
    }
}
