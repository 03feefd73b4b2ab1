//! Lines of each format as the servers write them, and the results of parsing them.

use super::{
    Bad, Format, Heed, Line, Parser,
    format::Read,
    template::{Template, Unusable},
};
use proptest::prelude::*;
use std::fmt::Write as _;

/// Parses a log, and returns a line for each request: time, client, method, scheme, host, target, status, bytes, times,
/// fields.
fn read(format: &str, text: &str) -> Vec<String> {
    let mut parser = Parser::new(Format::named(format).unwrap(), Heed::All);
    text.lines()
        .filter_map(|line| match parser.read(line.as_bytes()) {
            Read::Line(line) => Some(told(&line)),
            Read::Nothing => None,
            Read::Bad(bad) => Some(bad.to_string()),
        })
        .collect()
}

fn told(line: &Line<'_>) -> String {
    let text = |bytes: Option<&[u8]>| String::from_utf8_lossy(bytes.unwrap_or(b"-")).into_owned();
    let mut told = format!(
        "{} {} {}{} {}{}",
        line.time.unwrap().as_millis(),
        line.client
            .map_or_else(|| "-".to_owned(), |client| client.to_string()),
        text(line.method.as_deref()),
        line.tls
            .map_or("", |tls| if tls { " https" } else { " http" }),
        line.host
            .as_deref()
            .map_or_else(String::new, |host| text(Some(host))),
        text(line.target.as_deref()),
    );
    if let Some(query) = &line.query {
        write!(told, "?{}", text(Some(query))).unwrap();
    }
    write!(told, " {}", line.status.unwrap()).unwrap();
    for (name, number) in [("bytes", line.bytes), ("all", line.all_bytes)] {
        if let Some(number) = number {
            write!(told, " {name}={number}").unwrap();
        }
    }
    for (name, time) in [("origin", line.origin_time), ("took", line.took)] {
        if let Some(time) = time {
            write!(told, " {name}={time:?}").unwrap();
        }
    }
    if let Some(answered) = line.answered {
        write!(told, " {answered:?}").unwrap();
    }
    if let Some(reason) = &line.reason {
        write!(told, " because {}", text(Some(reason))).unwrap();
    }
    for (mark, fields) in [('>', &line.request), ('<', &line.response)] {
        for (name, value) in fields {
            write!(told, " {mark}{name}: {}", text(Some(value.as_bytes()))).unwrap();
        }
    }
    told
}

const AT: &str = "1763692560000";

#[test]
fn combined_and_common() {
    for (line, wanted) in [
        (
            r#"192.0.2.7 - - [21/Nov/2025:02:36:00 +0000] "GET /page?a=b HTTP/1.1" 200 5120 "https://www.example.com/" "curl/8.5.0""#,
            "192.0.2.7 GET /page?a=b 200 bytes=5120 >referer: https://www.example.com/ >user-agent: curl/8.5.0",
        ),
        (
            r#"2001:db8::1 - - [21/Nov/2025:02:36:00 +0000] "GET / HTTP/2.0" 304 -"#,
            "2001:db8::1 GET / 304",
        ),
        (
            r#"www.example.com - Jane Doe [21/Nov/2025:02:36:00 +0000] "POST /form HTTP/1.1" 302 0 "-" "-""#,
            "- POST /form 302 bytes=0 >authorization: Basic",
        ),
        // Apache's `vhost_combined`.
        (
            r#"www.example.com:80 192.0.2.7 - - [21/Nov/2025:02:36:00 +0000] "GET / HTTP/1.1" 200 5 "-" "-""#,
            "192.0.2.7 GET http www.example.com/ 200 bytes=5",
        ),
        (
            r#"www.example.com:443 2001:db8::1 - Jane Doe [21/Nov/2025:02:36:00 +0000] "GET / HTTP/1.1" 200 5"#,
            "2001:db8::1 GET https www.example.com/ 200 bytes=5 >authorization: Basic",
        ),
        // `X-Forwarded-For` in place of the address, or after it.
        (
            r#"192.0.2.7, 10.0.0.1, 10.0.0.2 - - [21/Nov/2025:02:36:00 +0000] "GET / HTTP/1.1" 200 5"#,
            "192.0.2.7 GET / 200 bytes=5",
        ),
        (
            r#"a.example 192.0.2.7, 10.0.0.1 - - [21/Nov/2025:02:36:00 +0000] "GET / HTTP/1.1" 200 5"#,
            "192.0.2.7 GET a.example/ 200 bytes=5",
        ),
        (
            r#"10.0.0.1 192.0.2.7 - - [21/Nov/2025:02:36:00 +0000] "GET / HTTP/1.1" 200 5"#,
            "10.0.0.1 GET / 200 bytes=5",
        ),
        // Larder's own.
        (
            r#"192.0.2.7 - - [21/Nov/2025:02:36:00 +0000] "GET /page HTTP/1.1" 200 5120 "-" "curl/8.5.0" "MISS" "no-store" 0.201 0.202"#,
            "192.0.2.7 GET /page 200 bytes=5120 origin=201ms took=202ms FromOrigin because no-store >user-agent: curl/8.5.0",
        ),
        (
            r#"192.0.2.7 - - [21/Nov/2025:02:36:00 +0000] "GET /page HTTP/1.1" 200 5120 "-" "-" "HIT" "-" - 0.001"#,
            "192.0.2.7 GET /page 200 bytes=5120 took=1ms FromStore",
        ),
        // Text that others append is not ours.
        (
            r#"192.0.2.7 - - [21/Nov/2025:02:36:00 +0000] "GET /page HTTP/1.1" 200 5120 "-" "-" "10.0.0.9" 0.201"#,
            "192.0.2.7 GET /page 200 bytes=5120",
        ),
        // varnishncsa writes whole URIs, and escapes quotes with a backslash.
        (
            r#"192.0.2.7 - - [21/Nov/2025:02:36:00 +0000] "GET http://a.example/x HTTP/1.1" 200 3 "-" "a \"b\" c""#,
            r#"192.0.2.7 GET http://a.example/x 200 bytes=3 >user-agent: a "b" c"#,
        ),
        // nginx writes what it cannot print as \xHH.
        (
            r#"192.0.2.7 - - [21/Nov/2025:02:36:00 +0000] "GET /\xC3\xA9\x22 HTTP/1.1" 400 150 "-" "-""#,
            "192.0.2.7 GET /é\" 400 bytes=150",
        ),
    ] {
        let got = read("auto", line);
        assert_eq!(got, [format!("{AT} {wanted}")], "{line}");
    }
}

#[test]
fn json_of_larder_caddy_and_nginx() {
    for (line, wanted) in [
        (
            r#"{"time":"2025-11-21T02:36:00.000Z","client":"192.0.2.7","method":"GET","host":"www.example.com","target":"/page?a=b","version":"HTTP/1.1","status":200,"bytes":5120,"referer":null,"user_agent":"curl","cache":"MISS","reason":"private","origin_ms":201.25,"took_ms":201.833}"#,
            "192.0.2.7 GET www.example.com/page?a=b 200 bytes=5120 origin=201.25ms took=201.833ms FromOrigin because private >user-agent: curl",
        ),
        (
            r#"{"level":"info","ts":1763692560.0,"logger":"http.log.access","msg":"handled request","request":{"remote_ip":"192.0.2.7","client_ip":"192.0.2.7","proto":"HTTP/2.0","method":"GET","host":"localhost","uri":"/p","headers":{"Accept":["*/*"],"Accept-Encoding":["gzip","br"]},"tls":{"resumed":false,"version":772,"proto":"h2"}},"bytes_read":0,"user_id":"","duration":0.0409,"size":10,"status":200,"resp_headers":{"Server":["Caddy"],"Cache-Control":["max-age=60"],"Vary":["Accept-Encoding"]}}"#,
            "192.0.2.7 GET https localhost/p 200 bytes=10 took=40.9ms >accept: */* >accept-encoding: gzip >accept-encoding: br <server: Caddy <cache-control: max-age=60 <vary: Accept-Encoding",
        ),
        (
            r#"{"time_iso8601":"2025-11-21T03:36:00+01:00","remote_addr":"192.0.2.7","request":"GET /p\u0022 HTTP/1.1","status":"200","body_bytes_sent":"10","request_time":"0.010","upstream_response_time":"0.004, 0.005","http_user_agent":"a","host":"h","scheme":"https","upstream_cache_status":"HIT","sent_http_cache_control":"no-store"}"#,
            "192.0.2.7 GET https h/p\" 200 bytes=10 origin=9ms took=10ms FromStore >user-agent: a <cache-control: no-store",
        ),
        // The client's text takes precedence over what the server made of it, and a time with a fraction over one
        // without.
        (
            r#"{"request_uri":"/a?x=1","uri":"/index.php","args":"p=7","http_host":"a.example","server_name":"_","msec":"1763692560.000","method":"GET","status":200}"#,
            "- GET a.example/a?x=1 200",
        ),
        (
            r#"{"server_name":"www.example.com","uri":"/p","args":"x=1","method":"GET","status":200,"ts":1763692560}"#,
            "- GET www.example.com/p?x=1 200",
        ),
        (
            r#"{"uri":"/index.php","request_uri":"/a","args":"p=7","server_name":"a","host":"b","time_iso8601":"2025-11-21T02:36:00Z","method":"GET","status":200}"#,
            "- GET b/a 200",
        ),
        // CloudFront's, as JSON.
        (
            r#"{"date":"2025-11-21","time":"02:36:00","c-ip":"192.0.2.7","cs-method":"GET","cs-uri-stem":"/p","cs-uri-query":"x=1","sc-status":"200","sc-bytes":"900"}"#,
            "192.0.2.7 GET /p?x=1 200 all=900",
        ),
        (
            r#"{"time":"2025-11-21T02:36:00Z","method":"GET","target":"/","status":"000"}"#,
            "- GET / 0",
        ),
    ] {
        assert_eq!(read("auto", line), [format!("{AT} {wanted}")], "{line}");
    }
}

#[test]
fn columns_of_cloudfront_and_others() {
    let cloudfront = "#Version: 1.0\n\
        #Fields: date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem sc-status cs(Referer) cs(User-Agent) cs-uri-query cs(Cookie) x-edge-result-type x-edge-request-id x-host-header cs-protocol cs-bytes time-taken\n\
        2025-11-21\t02:36:00\tLHR1\t2390\t192.0.2.7\tGET\td111.cloudfront.net\t/view/page.html\t200\t-\tMozilla/5.0%20(X11)\tx=1\t-\tHit\tid==\twww.example.com\thttps\t23\t0.001\n\
        2025-11-21\t02:36:00\tLHR1\t0\t192.0.2.7\tGET\td111.cloudfront.net\t/gone\t000\t-\t-\t-\t-\tError\tid==\twww.example.com\thttp\t23\t0.001";
    assert_eq!(
        read("auto", cloudfront),
        [
            format!(
                "{AT} 192.0.2.7 GET https www.example.com/view/page.html?x=1 200 all=2390 took=1ms >user-agent: Mozilla/5.0 (X11)"
            ),
            format!("{AT} 192.0.2.7 GET http www.example.com/gone 0 all=0 took=1ms"),
        ]
    );
    // IIS writes milliseconds.
    let iis = "#Fields: date time cs-method cs-uri-stem cs-uri-query sc-status time-taken cs-host\n\
        2025-11-21 02:36:00 GET /p a=1 200 250 www.example.com";
    assert_eq!(
        read("auto", iis),
        [format!("{AT} - GET www.example.com/p?a=1 200 took=250ms")]
    );
    let blanks = "#Fields: date time cs-method cs-uri-stem sc-status\n2025-11-21 02:36:00 GET /p 200\n2025-11-21 02:36:00 GET";
    assert_eq!(
        read("w3c", blanks),
        [format!("{AT} - GET /p 200"), Bad::Form.to_string()]
    );
}

#[test]
fn format_strings() {
    let nginx = r#"$remote_addr [$time_local] "$request" $status $body_bytes_sent rt=$request_time uct="$upstream_response_time" cs=$upstream_cache_status host=${host} cc="$sent_http_cache_control" ck="$http_cookie""#;
    let line = r#"192.0.2.7 [21/Nov/2025:02:36:00 +0000] "GET /p HTTP/1.1" 200 10 rt=0.010 uct="0.009" cs=MISS host=a.example cc="max-age=60" ck="a=1; b=2""#;
    assert_eq!(
        read(nginx, line),
        [format!(
            "{AT} 192.0.2.7 GET a.example/p 200 bytes=10 origin=9ms took=10ms FromOrigin >cookie: a=1; b=2 <cache-control: max-age=60"
        )]
    );
    let rewritten = r#"$msec "$request" $uri $status $time_iso8601"#;
    assert_eq!(
        read(
            rewritten,
            r#"1763692560.250 "GET /p?x=1 HTTP/1.1" /index.php 200 2025-11-21T02:36:00+00:00"#
        ),
        ["1763692560250 - GET /p?x=1 200"]
    );
    let json = r#"{"t":"$msec","r":"$request","s":$status}"#;
    assert_eq!(
        read(
            json,
            r#"{"t":"1763692560.000","r":"GET /p\"q HTTP/1.1","s":200}"#
        ),
        [format!("{AT} - GET /p\"q 200")]
    );
    let varnish = r#"%h %l %u %t "%r" %s %b "%{Referer}i" "%{User-agent}i" %{Varnish:hitmiss}x %{Varnish:time_firstbyte}x %D %{Vary}o"#;
    let line = r#"192.0.2.7 - - [21/Nov/2025:02:36:00 +0000] "GET http://a.example/p HTTP/1.1" 200 10 "-" "-" miss 0.250000 260000 Accept"#;
    assert_eq!(
        read(varnish, line),
        [format!(
            "{AT} 192.0.2.7 GET http://a.example/p 200 bytes=10 origin=250ms took=260ms FromOrigin <vary: Accept"
        )]
    );
    // The format that Debian's Apache calls combined.
    let apache = r#"%h %l %u %t "%r" %>s %O "%{Referer}i" "%{User-Agent}i""#;
    let line = r#"192.0.2.7 - - [21/Nov/2025:02:36:00 +0000] "GET /p HTTP/1.1" 200 310 "-" "curl""#;
    assert_eq!(
        read(apache, line),
        [format!(
            "{AT} 192.0.2.7 GET /p 200 all=310 >user-agent: curl"
        )]
    );
    for (format, why) in [
        ("nothing", Unusable::Constant),
        ("", Unusable::Constant),
        (
            "$remote_addr$status",
            Unusable::Touching("$remote_addr".to_owned()),
        ),
        ("$request $status", Unusable::Without("the time")),
        ("[$time_local] $status", Unusable::Without("the request")),
        ("%t %r", Unusable::Without("the status")),
        ("%t %r %", Unusable::Broken("%".to_owned())),
        ("%{x", Unusable::Broken("%{x".to_owned())),
        ("$msec ${x", Unusable::Broken("${x".to_owned())),
    ] {
        assert_eq!(Template::new(format).unwrap_err(), why, "{format}");
    }
}

#[test]
fn what_a_proxy_says_in_a_format_string() {
    let proxied = r#"$msec "$request" $status $http_x_forwarded_proto $http_x_forwarded_for"#;
    assert_eq!(
        read(
            proxied,
            r#"1763692560.000 "GET /p HTTP/1.1" 200 https 192.0.2.7"#
        ),
        [format!(
            "{AT} - GET https /p 200 >x-forwarded-for: 192.0.2.7"
        )]
    );
}

#[test]
fn what_is_wrong_with_a_line() {
    for (line, why) in [
        ("hello", Bad::Form),
        ("\u{1}\u{2}", Bad::Binary),
        (
            r#"192.0.2.7 - - [yesterday] "GET / HTTP/1.1" 200 5"#,
            Bad::Time,
        ),
        (
            r#"192.0.2.7 - - [21/Nov/2025:02:36:00 +0000] "-" 400 0"#,
            Bad::Request,
        ),
        (
            r#"192.0.2.7 - - [21/Nov/2025:02:36:00 +0000] "GET / HTTP/1.1" what 5"#,
            Bad::Status,
        ),
        (
            r#"192.0.2.7 - - [21/Nov/2025:02:36:00 +0000] "GET / HTTP/1.1" 99 5"#,
            Bad::Status,
        ),
        (
            r#"192.0.2.7 - - [21/Nov/2025:02:36:00 +0000] "GET / HT"#,
            Bad::Form,
        ),
        // One word too many.
        (
            r#"www.example.com client.example - - [21/Nov/2025:02:36:00 +0000] "GET / HTTP/1.1" 200 5"#,
            Bad::Form,
        ),
    ] {
        assert_eq!(read("combined", line), [why.to_string()], "{line}");
    }
    for (line, why) in [
        ("[1,2]", Bad::Json),
        ("{", Bad::Json),
        ("{} {}", Bad::Json),
        ("{}", Bad::Time),
        (r#"{"time":"x"}"#, Bad::Time),
        (r#"{"time":1763692560,"method":"GET"}"#, Bad::Request),
        (
            r#"{"time":1763692560,"method":"GET","uri":"/"}"#,
            Bad::Status,
        ),
    ] {
        assert_eq!(read("json", line), [why.to_string()], "{line}");
    }
    let within = format!("{}1{}", "{\"a\":[".repeat(9), "]}".repeat(9));
    let line = format!(r#"{{"ts":1763692560,"x":{within},"method":"GET","uri":"/","status":200}}"#);
    let found = read("json", &line);
    assert_ne!(found, [Bad::Json.to_string()], "what is not looked into");
    let deep = format!("{}1{}", "{\"a\":".repeat(200_000), "}".repeat(200_000));
    assert_eq!(read("json", &deep), [Bad::Time.to_string()]);
}

fn line() -> impl Strategy<Value = Vec<u8>> {
    let pieces = prop::sample::select(vec![
        "192.0.2.7 - - [21/Nov/2025:02:36:00 +0000] \"GET /p HTTP/1.1\" 200 5 \"-\" \"-\"",
        "{\"time\":1763692560,\"method\":\"GET\",\"uri\":\"/\",\"status\":200",
        "\"",
        "\\",
        "\\x",
        "\\x4",
        "\\u00",
        " [",
        "] \"",
        "\" ",
        "{",
        "}",
        ":",
        ",",
        "[",
        "]",
        "-",
        " ",
        "\t",
        "#Fields: time",
        "\r",
        "21/Nov/2025:02:36:00 +0000",
        "é",
    ]);
    let piece = prop_oneof![
        4 => pieces.prop_map(|text| text.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..12),
    ];
    prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

proptest! {
    /// No line stops a parser, and a line that it understood has what a simulation needs.
    #[test]
    fn anything_is_understood_or_not(lines in prop::collection::vec(line(), 1..4)) {
        let varied = [r#"$remote_addr [$time_local] "$request" $status"#, r#"%h %l %u %t "%r" %s %b"#];
        for format in ["auto", "combined", "json", "w3c"].into_iter().chain(varied) {
            let mut parser = Parser::new(Format::named(format).unwrap(), Heed::All);
            for line in &lines {
                if let Read::Line(line) = parser.read(line) {
                    prop_assert!(line.time.is_some() && line.status.is_some());
                    prop_assert!(line.method.is_some() && line.target.is_some());
                }
            }
        }
    }

    /// The target is read back as it was, however the server had to escape it.
    #[test]
    fn a_target_survives_escaping(target in prop::collection::vec(any::<u8>(), 1..40)) {
        let mut escaped = String::new();
        for byte in &target {
            match byte {
                b'!' | b'#'..=b'[' | b']'..=b'~' => escaped.push(char::from(*byte)),
                byte => write!(escaped, "\\x{byte:02X}").unwrap(),
            }
        }
        let line = format!("192.0.2.7 - - [21/Nov/2025:02:36:00 +0000] \"GET {escaped} HTTP/1.1\" 200 5 \"-\" \"-\"");
        let mut parser = Parser::new(Format::Auto, Heed::All);
        let Read::Line(read) = parser.read(line.as_bytes()) else { panic!("understood") };
        // Escaped spaces are spaces again, and the last word is the version.
        prop_assert_eq!(read.target.as_deref(), Some(&target[..]));
    }

    #[test]
    fn any_format_string_is_one_or_not(format in "[$%{}a-z_ \\[\\]\"]{0,40}") {
        let _ = Template::new(&format);
    }
}
