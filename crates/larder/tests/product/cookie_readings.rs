//! Cookies that an application reads otherwise than they are written: its page is for the client that sent them.

use crate::common::{Said, start_with};
use testkit::{Client, Larder, Origin, Reply, Request, Response};

/// As Python, Node, Perl, PHP, Jetty and ASP.NET read them, each of these has a cookie `my_session`.
const LINES: [&[u8]; 19] = [
    b"my_session=mallory",
    b"\xa0my_session=mallory",
    b"my_session\x85=mallory",
    b"\xc2\xa0my_session=mallory",
    b"a=1;my_session\xe3\x80\x80=mallory",
    b"\xef\xbb\xbfmy_session=mallory",
    b"a=1 my_session=mallory",
    b"a=1\tmy_session =mallory",
    b"a=\"1 2\" my_session=mallory",
    b"a=1; secure my_session=mallory",
    b"$Version my_session=mallory",
    b"a=1,my_session=mallory",
    b"a=\"1\"my_session=mallory",
    b"my.session=mallory",
    b"my_session[]=mallory",
    b"my%5Fsession=mallory",
    b"MY_SESSION=mallory",
    b"a=1; My_Session=mallory",
    b"MY.session=mallory",
];

fn hello(request: &Request) -> Reply {
    let cookies = request.header("cookie").unwrap_or_default();
    let name = if cookies.contains("mallory") {
        "mallory"
    } else {
        "nobody"
    };
    Reply::ok().cache("max-age=60").body(name)
}

fn ask(larder: &Larder, path: &str, cookies: &[u8]) -> Response {
    let mut client = Client::connect(larder.address());
    let begin = format!("GET {path} HTTP/1.1\r\nHost: example.test\r\nCookie: ");
    client.send([begin.as_bytes(), cookies, b"\r\n\r\n"].concat());
    client.read()
}

#[test]
fn a_page_for_a_cookie_in_any_reading_goes_to_nobody_else() {
    for (config, takes_others) in [
        ("[defaults]\nbypass.cookies = \"my_session\"", false),
        ("[defaults]\nbypass.misses_with = \"my_session\"", true),
        (
            "[[route]]\ncookie = \"my_session\"\ncache = false\n[[route]]",
            false,
        ),
        ("[defaults]\nkey.cookies = \"my_session\"", false),
    ] {
        let (origin, larder) =
            start_with(&format!("[[origin]]\nservers = \"{{origin}}\"\n{config}"));
        origin.otherwise(hello);
        for (at, line) in LINES.iter().enumerate() {
            let (path, what) = (
                format!("/{at}"),
                format!("{config}: {}", line.escape_ascii()),
            );
            let hers = ask(&larder, &path, line);
            assert_eq!(hers.text(), "mallory", "{what}");
            let others = || ask(&larder, &path, b"a=1; b=2");
            assert_eq!(others().text(), "nobody", "{what}: {}", hers.said());
            assert!(others().hit(), "{what}");
            let again = ask(&larder, &path, line);
            let expected = if takes_others { "nobody" } else { "mallory" };
            assert_eq!(again.text(), expected, "{what}: {}", again.said());
        }
    }
}

/// How an application finds the value of a cookie in a line.
type Reading = fn(&str) -> Option<String>;

fn values(line: &str) -> impl DoubleEndedIterator<Item = String> {
    let pairs = line.split(';').map(str::trim_start);
    pairs.filter_map(|pair| pair.strip_prefix("currency=").map(str::to_owned))
}

fn first(line: &str) -> Option<String> {
    values(line).next()
}

fn last(line: &str) -> Option<String> {
    values(line).next_back()
}

/// As ASP.NET Core.
fn in_any_case(line: &str) -> Option<String> {
    last(&line.to_ascii_lowercase()).map(|value| value.to_ascii_uppercase())
}

/// As Python's `SimpleCookie`: a semicolon within quotes ends nothing, it stops at what it cannot read, and gives all
/// up at a word that is no cookie, or at an attribute before the first.
fn quoted(line: &str) -> Option<String> {
    let (mut rest, mut found, mut seen) = (line, None, false);
    while let Some((pair, behind)) = next_pair(rest) {
        let (name, value) = pair;
        if name.eq_ignore_ascii_case("version") || name.eq_ignore_ascii_case("path") {
            value.filter(|_| seen)?;
        } else if !name.starts_with('$') {
            seen = true;
            let value = value?;
            found = (name == "currency").then(|| value.to_owned()).or(found);
        }
        rest = behind;
    }
    found
}

type Pair<'a> = (&'a str, Option<&'a str>);

fn next_pair(text: &str) -> Option<(Pair<'_>, &str)> {
    let text = text.trim_start();
    let ends = |text: &str| text.is_empty() || text.starts_with([';', ' ', '\t']);
    let name = text.find(|one: char| !one.is_ascii_alphanumeric() && one != '$');
    let (name, after) = text.split_at(name.unwrap_or(text.len()));
    let (value, after) = match after.strip_prefix('=') {
        None => (None, after),
        Some(value) => {
            let quotes = value.strip_prefix('"').and_then(|inner| inner.find('"'));
            let bare =
                value.find(|one: char| matches!(one, ';' | '"' | '\\') || one.is_whitespace());
            let length = quotes.map_or(bare.unwrap_or(value.len()), |at| at + 2);
            let (value, after) = value.split_at(length);
            (Some(value.trim_matches('"')), after)
        }
    };
    let is_read = !name.is_empty() && ends(after);
    let after = after.trim_start();
    is_read.then(|| ((name, value), after.strip_prefix(';').unwrap_or(after)))
}

const READINGS: [(&str, Reading); 4] = [
    ("/first", first),
    ("/last", last),
    ("/in-any-case", in_any_case),
    ("/quoted", quoted),
];

fn in_currency(origin: &Origin) {
    for (path, reading) in READINGS {
        origin.on(path, move |request| {
            let read = reading(request.header("cookie").unwrap_or_default());
            Reply::ok()
                .cache("max-age=60")
                .body(read.as_deref().unwrap_or("default"))
        });
    }
}

fn keyed_by_currency() -> (Origin, Larder) {
    let (origin, larder) =
        start_with("[[origin]]\nservers = \"{origin}\"\n[defaults]\nkey.cookies = \"currency\"\n");
    in_currency(&origin);
    (origin, larder)
}

/// To some applications a quotation mark, or what is no cookie, hides cookies that others read.
#[test]
fn a_cookie_that_some_applications_do_not_find_changes_nobody_elses_page() {
    const GIVEN_UP: [&str; 4] = [
        "currency=USD; x",
        "x; currency=USD",
        "currency=USD; path",
        "currency=USD; a=1 2",
    ];
    for line in [
        "currency=USD; Currency=EUR",
        "CURRENCY=EUR; currency=USD; x=\"\"\"",
        "x=\"; currency=USD; y=\"",
        "x=\"; currency=USD; currency=EUR; y=\"",
        "currency=USD; x=\"; currency=EUR; y=\"",
        "currency=EUR; x=\"; currency=USD; y=\"",
        "p={\"a\":1}; currency=USD",
        "currency=USD; p={\"a\":1}",
        "; currency=USD",
        "a=1;; currency=USD",
        "version=1; currency=USD",
        "$Version=1; currency=USD",
        "currency=\"USD; x=\"",
    ]
    .iter()
    .chain(&GIVEN_UP)
    {
        let (_origin, larder) = keyed_by_currency();
        for (path, _) in READINGS {
            ask(&larder, path, line.as_bytes());
            let plain = ask(&larder, path, b"a=1; currency=USD");
            assert_eq!(plain.text(), "USD", "{path} {line}: {}", plain.said());
            let other = ask(&larder, path, b"j={\"b\":[2]}; currency=USD");
            let shares = path == "/quoted" && GIVEN_UP.contains(line);
            let expected = if shares { "default" } else { "USD" };
            assert_eq!(other.text(), expected, "{path} {line}: {}", other.said());
        }
    }
}

#[test]
fn who_sends_what_is_no_cookie_shares_pages_with_others_who_do() {
    let (origin, larder) = keyed_by_currency();
    for (line, hit) in [
        ("j={\"b\":[2]}; currency=USD", false),
        ("currency=USD; k=\"\"\"", true),
        ("j={\"b\":[2]}; currency=EUR", false),
        ("j={\"b\":[2]}", false),
        ("a=1", true),
    ] {
        let got = ask(&larder, "/quoted", line.as_bytes());
        assert_eq!(got.hit(), hit, "{line}: {}", got.said());
    }
    let sent = origin.recorded("/quoted");
    let sent: Vec<_> = sent.iter().map(|one| one.header("cookie")).collect();
    let expected = [
        "currency=USD; j={\"b\":[2]}",
        "currency=EUR; j={\"b\":[2]}",
        "j={\"b\":[2]}",
    ];
    assert_eq!(sent, expected.map(Some));
}

/// A request that bypasses the store goes out as it came.
#[test]
fn an_answer_to_cookies_as_they_came_fills_nothing() {
    let (origin, larder) = keyed_by_currency();
    let post = |line: &str| {
        let asked = larder.ask("POST", "/quoted").header("Cookie", line);
        asked.header("Content-Length", "0").send()
    };
    origin.on("/quoted", |request| {
        let read = quoted(request.header("cookie").unwrap_or_default());
        Reply::ok()
            .cache("max-age=60")
            .header("Content-Location", "/quoted")
            .body(read.as_deref().unwrap_or("default"))
    });
    let line = "x=\"; currency=USD; y=\"";
    assert_eq!(post(line).text(), "default");
    assert_eq!(origin.last("/quoted").header("cookie"), Some(line));
    let other = ask(&larder, "/quoted", b"j={\"b\":[2]}; currency=USD");
    assert_eq!(other.text(), "USD", "{}", other.said());
    post("currency=EUR");
    assert!(ask(&larder, "/quoted", b"currency=EUR").hit());
}

#[test]
fn case_does_not_count_in_the_names_of_cookies() {
    for pattern in ["my_*", "my*ion", "~ my_session|x", "my_session=mallory"] {
        let (origin, larder) = start_with(&format!(
            "[[origin]]\nservers = \"{{origin}}\"\n[defaults]\nbypass.cookies = \"{pattern}\"\n"
        ));
        origin.otherwise(hello);
        ask(&larder, "/", b"MY_SESSION=mallory");
        let answer = ask(&larder, "/", b"a=1");
        assert_eq!(answer.text(), "nobody", "{pattern}: {}", answer.said());
    }
    let (origin, larder) = start_with(
        "[[origin]]\nservers = \"{origin}\"\n[defaults]\nset_cookie = \"store\"\nbypass.sets = \"my_session\"\n",
    );
    let sets = |request: &Request| hello(request).header("Set-Cookie", "My_Session=1; Path=/");
    origin.otherwise(sets);
    for _ in 0..2 {
        assert!(!ask(&larder, "/", b"a=1").hit());
    }
}

/// Most applications do not find such a cookie, or not with this value: what they answer is no page for those who have it.
#[test]
fn a_cookie_in_another_reading_spoils_no_route_of_those_who_have_it() {
    for (pattern, other) in [
        ("wp_beta", "WP_BETA=1"),
        ("wp_be*", "WP_BETA=1"),
        ("wp_be*a", "WP_BETA=1"),
        ("~ wp_b.*", "WP_BETA=1"),
        ("wp_beta", "wp.beta=1"),
        ("wp_be*", "wp.beta=1"),
        ("wp_beta", "wp%5Fbeta=1"),
        ("wp_beta", "wp_beta"),
        ("wp_be*", "a=1; wp_beta"),
        ("wp_beta=1", "wp_beta=%31"),
        ("wp_beta=1", "wp_beta=\"1\""),
    ] {
        let (origin, larder) = start_with(&format!(
            "[[origin]]\nservers = \"{{origin}}\"\n[[route]]\ncookie = {pattern:?}\n[[route]]\n"
        ));
        origin.otherwise(|request| {
            let is_beta = request.header("cookie") == Some("wp_beta=1");
            let page = if is_beta { "beta" } else { "plain" };
            Reply::ok().cache("max-age=60").body(page)
        });
        let answer = ask(&larder, "/", other.as_bytes());
        assert_eq!(answer.text(), "plain");
        let detail = answer.parameter("detail");
        let what = format!("{pattern} {other}");
        assert_eq!(detail.as_deref(), Some("path-ambiguous"), "{what}");
        for hit in [false, true] {
            let answer = ask(&larder, "/", b"wp_beta=1");
            let told = (answer.text(), answer.hit());
            assert_eq!(told, ("beta".into(), hit), "{what}");
        }
    }
}
