//! Cookies that an application reads otherwise than they are written: its page is for the client that sent them.

use crate::common::{Said, start_with};
use testkit::{Client, Larder, Reply, Request, Response};

/// As Python, Node, Perl and PHP read them, each of these has a cookie `my_session`.
const LINES: [&[u8]; 16] = [
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
