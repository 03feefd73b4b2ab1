use super::*;
use crate::template::Template;

/// A request for tests.
#[derive(Default)]
pub(crate) struct TestRequest {
    pub(crate) query: Option<&'static str>,
    pub(crate) fields: &'static [(&'static str, &'static str)],
}

impl Request for TestRequest {
    fn host(&self) -> &'static str {
        "example.com"
    }
    fn path(&self) -> &'static str {
        "/a/b"
    }
    fn query(&self) -> Option<&str> {
        self.query
    }
    fn field(&self, name: &str) -> Option<Cow<'_, str>> {
        let mut fields = self.fields.iter();
        fields.find_map(|(found, value)| (*found == name).then_some(Cow::Borrowed(*value)))
    }
}

const LANGUAGES: &str = "de-AT, en;q=0.5, fr;q=0.0, it ; Q=0, nl;x=1;q=0, sv;x=0;q=0.1";

#[test]
fn variables_have_the_values_of_the_request() {
    let request = TestRequest {
        query: Some("a=1&b=x%2Fy+z&a=2&c&d%20d=%zz"),
        fields: &[
            ("cookie", "one=1; two=a=b ;  one=3; three="),
            ("referer", "http://r/"),
            ("user-agent", "Agent/1"),
            ("accept-language", LANGUAGES),
        ],
    };
    let table = [
        ("$(HTTP_COOKIE{one})", "1"),
        ("$(HTTP_COOKIE{'two'})", "a=b"),
        ("$(HTTP_COOKIE{three}|none)", "none"),
        ("$(HTTP_COOKIE{One}|none)", "none"),
        ("$(HTTP_COOKIE)", "one=1; two=a=b ;  one=3; three="),
        ("$(QUERY_STRING{a})", "1"),
        ("$(QUERY_STRING{b})", "x/y z"),
        ("$(QUERY_STRING{c}|'a)b')", "a)b"),
        ("$(QUERY_STRING{d d})", "%zz"),
        ("$(QUERY_STRING)", "a=1&b=x%2Fy+z&a=2&c&d%20d=%zz"),
        ("$(HTTP_HOST)", "example.com"),
        ("$(REQUEST_PATH)", "/a/b"),
        ("$(HTTP_REFERER)", "http://r/"),
        ("$(HTTP_USER_AGENT)", "Agent/1"),
        ("$(HTTP_USER_AGENT{browser}|?)", "OTHER"),
        ("$(HTTP_USER_AGENT{version})", "1"),
        ("$(HTTP_USER_AGENT{engine}|?)", "?"),
        ("$(HTTP_ACCEPT_LANGUAGE)", LANGUAGES),
        ("$(HTTP_ACCEPT_LANGUAGE{de})", "true"),
        ("$(HTTP_ACCEPT_LANGUAGE{en})", "true"),
        ("$(HTTP_ACCEPT_LANGUAGE{fr})", "false"),
        ("$(HTTP_ACCEPT_LANGUAGE{e})", "false"),
        // The name of a weight may be in either case, and behind others.
        ("$(HTTP_ACCEPT_LANGUAGE{it})", "false"),
        ("$(HTTP_ACCEPT_LANGUAGE{nl})", "false"),
        ("$(HTTP_ACCEPT_LANGUAGE{sv})", "true"),
        ("$(HTTP_AUTHORIZATION)", ""),
    ];
    for (text, expected) in table {
        let (variable, length) = Variable::read(text).expect(text);
        assert_eq!(length, text.len(), "{text}");
        let value = variable.sent(&request);
        let value = value.as_deref().unwrap_or(variable.default());
        assert_eq!(value, expected, "{text}");
    }
}

#[test]
fn agents_are_told_by_kind() {
    let chrome = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36";
    for (agent, browser, version, os) in [
        (chrome, "MOZILLA", "5.0", "UNIX"),
        (
            "Mozilla/4.0 (compatible; MSIE 6.0; Windows NT 5.1)",
            "MSIE",
            "6.0",
            "WIN",
        ),
        (
            "Mozilla/5.0 (Windows NT 6.1; Trident/7.0; rv:11.0) like Gecko",
            "MSIE",
            "11.0",
            "WIN",
        ),
        (
            "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7)",
            "MOZILLA",
            "5.0",
            "MAC",
        ),
        ("curl/8.5.0", "OTHER", "8.5.0", "OTHER"),
        ("é", "OTHER", "", "OTHER"),
        ("MSIE ", "MSIE", "", "OTHER"),
    ] {
        let entry = |key| agent::entry(Cow::Borrowed(agent), key);
        let told = ["browser", "version", "os"].map(|key| entry(key).unwrap_or_default());
        assert_eq!(told, [browser, version, os], "{agent}");
        assert_eq!(entry("Browser"), None);
    }
}

#[test]
fn what_is_no_variable_is_told_from_what_may_become_one() {
    for text in [
        "$",
        "$(",
        "$(HTTP",
        "$(HTTP_COOKIE{",
        "$(HTTP_COOKIE{a",
        "$(HTTP_COOKIE{a}",
        "$(A|",
        "$(A|b",
        "$(A|'b)",
    ] {
        assert_eq!(Variable::begin(text), Reading::More, "{text}");
    }
    for text in [
        "x",
        "$x",
        "$(a",
        "$()",
        "$( A)",
        "$(A x)",
        "$(A{b}c)",
        "$(A|'b'c)",
    ] {
        assert_eq!(Variable::begin(text), Reading::Not, "{text}");
    }
}

#[test]
fn in_an_address_values_are_encoded_and_never_lead_upwards() {
    let request = |query| TestRequest {
        query: Some(query),
        ..TestRequest::default()
    };
    let table = [
        ("/plain?x=$(y)", "", Some("/plain?x=$(y)")),
        ("/f/$(QUERY_STRING{v})/g", "v=a/b?c", Some("/f/a%2Fb%3Fc/g")),
        (
            "$(QUERY_STRING{v})",
            "v=http://evil.test/",
            Some("http%3A%2F%2Fevil.test%2F"),
        ),
        (
            "/f?q=$(QUERY_STRING)",
            "a=1&b=2",
            Some("/f?q=a%3D1%26b%3D2"),
        ),
        ("/f/$(QUERY_STRING{v}|x/y)", "", Some("/f/x/y")),
        ("/f/$(QUERY_STRING{v})/secret", "v=..", None),
        ("/f/$(QUERY_STRING{v}).", "v=.", None),
        ("/f?v=$(QUERY_STRING{v})", "v=..", Some("/f?v=..")),
        ("../up", "", Some("../up")),
        // The page's own path segments stay.
        ("../f?x=$(QUERY_STRING{v})", "v=1", Some("../f?x=1")),
        ("./f/$(QUERY_STRING{v})", "v=1", Some("./f/1")),
        ("../$(QUERY_STRING{v})/..", "v=.a", Some("../.a/..")),
        ("/f/.$(QUERY_STRING{v})/s", "", None),
        // Some servers decode before they check.
        ("/f/$(QUERY_STRING{v})/s", "v=../a", None),
        ("/f/$(QUERY_STRING{v})/s", "v=a%5C..", None),
        ("/f?$(QUERY_STRING{v})", "v=../a", Some("/f?..%2Fa")),
        ("http://$(HTTP_HOST)/x", "", Some("http://example.com/x")),
    ];
    for (text, query, expected) in table {
        let address = Template::read(text).address(&request(query));
        assert_eq!(address.as_deref(), expected, "{text} with {query}");
    }
}

#[test]
fn an_address_is_no_longer_than_what_servers_take() {
    let request = TestRequest {
        query: Some("v=12345678"),
        ..TestRequest::default()
    };
    let of = |times| {
        let text = "$(QUERY_STRING{v})".repeat(times);
        Template::read(&text).address(&request)
    };
    assert_eq!(of(8_000).map(|address| address.len()), Some(64_000));
    assert_eq!(of(10_000), None);
}
