use super::*;
use crate::config::{self, Flags};
use proptest::prelude::*;

fn site() -> Site {
    let text = "[[origin]]\nservers = \"http://127.0.0.1:1\"\n";
    config::parse(text, "test", &Flags::default()).unwrap().site
}

fn understood(body: &str) -> Result<Vec<Purge>, Bad> {
    Request::read(body.as_bytes())?.purges(&site())
}

#[test]
fn what_is_understood() {
    let tags = |list: &[&str]| What::Tags(list.iter().map(|tag| (*tag).to_owned()).collect());
    let url = What::Url(vec!["//a.example/x".to_owned()]);
    for (body, purge) in [
        (r#"{"url":"http://A.example/x"}"#, Purge::hard(url.clone())),
        (
            r#"{"url":"https://a.example/x#y","soft":true}"#,
            Purge::soft(url),
        ),
        (r#"{"tag":"b"}"#, Purge::hard(tags(&["b"]))),
        (r#"{"tags":["b","a","b"]}"#, Purge::hard(tags(&["a", "b"]))),
        (
            r#"{"host":"A.example"}"#,
            Purge::hard(What::Host("a.example".to_owned())),
        ),
        (
            r#"{"groups":["b","a b"],"host":"A.example"}"#,
            Purge::hard(tags(&[
                "group http://a.example a b",
                "group http://a.example b",
                "group https://a.example a b",
                "group https://a.example b",
            ])),
        ),
        (
            r#"{"everything":true,"soft":true}"#,
            Purge::soft(What::Everything),
        ),
        (
            r#"{"purges":[{"tags":["a b"],"soft":true}],"relay":false}"#,
            Purge::soft(tags(&["a b"])),
        ),
    ] {
        assert_eq!(understood(body).unwrap(), [purge], "{body}");
    }
}

#[test]
fn what_is_refused() {
    for (body, told) in [
        ("", "not a purge in JSON"),
        ("[]", "not a purge in JSON"),
        ("{\"url\":", "not a purge in JSON"),
        (r#"{"urll":"http://a/"}"#, "unknown field `urll`"),
        (r#"{"url":1}"#, "invalid type"),
        (
            r#"{"url":"http://a/","url":"http://b/"}"#,
            "duplicate field",
        ),
        ("{}", "nothing is named"),
        (r#"{"soft":true}"#, "nothing is named"),
        (r#"{"tags":[]}"#, "nothing is named"),
        (r#"{"everything":false}"#, "nothing is named"),
        (r#"{"url":"http://a/","tag":"b"}"#, "url and tag are named"),
        (r#"{"tag":"a","tags":["b"]}"#, "tag and tags are named"),
        (r#"{"url":"/x"}"#, "write it whole"),
        (r#"{"url":"http://a/ b"}"#, "write it whole"),
        (r#"{"prefix":"x"}"#, "/path for every host"),
        (r#"{"host":"http://a"}"#, "is not a host"),
        (r#"{"tag":""}"#, "is not a tag"),
        (r#"{"tags":["a"," b"]}"#, "is not a tag"),
        (r#"{"tags":["a\nb"]}"#, "is not a tag"),
        (r#"{"groups":["a"]}"#, "of one host"),
        (r#"{"groups":[],"host":"a.example"}"#, "nothing is named"),
        (r#"{"groups":["a"],"host":"a/b"}"#, "is not a host"),
        (
            r#"{"groups":["a","é"],"host":"a.example"}"#,
            "is not a cache group",
        ),
        (
            r#"{"groups":["a"],"host":"a.example","tag":"a"}"#,
            "tag and groups are named",
        ),
        (r#"{"url":""}"#, "write it whole"),
        (r#"{"prefix":""}"#, "/path for every host"),
        (r#"{"prefix":"http://"}"#, "/path for every host"),
        (r#"{"host":""}"#, "is not a host"),
        (r#"{"host":":80"}"#, "is not a host"),
        (r#"{"groups":["a"],"host":""}"#, "is not a host"),
        (r#"{"regex":""}"#, "say everything instead"),
        (r#"{"regex":"("}"#, "not a regular expression"),
        (r#"{"regex":"a{1000}{1000}"}"#, "not a regular expression"),
        (r#"{"purges":[{}]}"#, "a purge names one thing"),
        (r#"{"purges":[1]}"#, "not what nodes send"),
        (r#"{"everything":true,"wait":"soon"}"#, "is not a duration"),
        (
            r#"{"everything":true,"wait":3}"#,
            "true, false or a duration",
        ),
    ] {
        let bad = understood(body).expect_err(body).to_string();
        assert!(bad.contains(told), "{body}: {bad}");
    }
    let long = Request::read(br#"{"everything":true,"wait":"6m"}"#).unwrap();
    assert!(long.wait().is_err());
}

#[test]
fn waits() {
    for (wait, time) in [
        ("true", Some(USUAL_WAIT)),
        ("false", None),
        ("null", None),
        ("\"250ms\"", Some(Duration::from_millis(250))),
    ] {
        let body = format!("{{\"everything\":true,\"wait\":{wait}}}");
        let request = Request::read(body.as_bytes()).unwrap();
        assert_eq!(request.wait().unwrap(), time, "{wait}");
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read(url in prop::option::of("[ -~é]{0,12}"), tags in prop::option::of(prop::collection::vec("[ -~]{0,4}", 0..3)),
        soft: bool, everything: bool, wait in prop::option::of(0..400_000_u64), relay: Option<bool>
    ) {
        let wait = wait.map(|wait| Wait::For(Duration::from_millis(wait)));
        let request = Request { url, tags, everything, soft, wait, relay, ..Request::default() };
        let text = serde_json::to_vec(&request).unwrap();
        prop_assert_eq!(Request::read(&text).unwrap(), request);
    }

    #[test]
    fn any_text_is_read(text in "\\PC{0,30}|\\{\"(url|prefix|host|regex|tag)\":\"[ -~é]{0,20}\"\\}") {
        let _ = understood(&text);
    }
}
