//! Pages and fragments as they should not be. Each outcome is one that `docs/fragments.md` states.

use super::collapse::reading;
use crate::{
    common::{Said, start_with},
    esi::{ON, html, page, text},
    streams::peak_memory,
};
use testkit::{Gate, Larder, Origin, Reply, Response, wait_until};

/// Includes of one source as a page may have them, and what stands in their place when it fails.
const WAYS: [(&str, &str); 6] = [
    ("[<esi:include src=\"SRC\"/>]", "[]"),
    ("[<esi:include src=\"SRC\" onerror=\"continue\"/>]", "[]"),
    ("[<esi:include src=\"SRC\" alt=\"/alt\"/>]", "[alt]"),
    (
        "[<esi:include src=\"SRC\" alt=\"SRC\" onerror=\"continue\"/>]",
        "[]",
    ),
    (
        "[<esi:try><esi:attempt>a<esi:include src=\"/alt\"/><esi:include src=\"SRC\"/></esi:attempt>\
         <esi:except>e<esi:include src=\"/alt\"/></esi:except></esi:try>]",
        "[ealt]",
    ),
    (
        "[<esi:try><esi:attempt>a<esi:include src=\"SRC\" onerror=\"continue\"/></esi:attempt>\
         <esi:except>e</esi:except></esi:try>]",
        "[a]",
    ),
];

/// What stands in for a fragment.
fn alt() -> Reply {
    Reply::ok().cache("max-age=3600").body("alt")
}

/// Holds `source`, which fails, in every way a page may include it, on a first visit and on one of the stored page.
fn fails(origin: &Origin, larder: &Larder, source: &str) {
    origin.reply("/alt", alt());
    for (number, (way, expected)) in WAYS.iter().enumerate() {
        let target = format!("/page{number}{source}").replace(['?', ':', '@'], "-");
        origin.reply(&target, page(way.replace("SRC", source)));
        for visit in ["first", "second"] {
            assert_eq!(
                &text(larder, &target),
                expected,
                "{source} in {way}, {visit} visit"
            );
        }
    }
}

#[test]
fn a_fragment_that_fails_is_left_out_or_replaced() {
    let (origin, larder) = start_with(ON);
    for status in [300, 301, 304, 400, 403, 404, 410, 500, 502, 503] {
        let source = format!("/status{status}");
        origin.on(&source.clone(), move |_| {
            Reply::status(status)
                .header("Location", "/alt")
                .body("error page")
        });
        fails(&origin, &larder, &source);
    }
    origin.reply(
        "/cached-error",
        Reply::status(404).cache("max-age=60").body("error page"),
    );
    fails(&origin, &larder, "/cached-error");
    origin.reply("/closes", Reply::close());
    fails(&origin, &larder, "/closes");
    origin.reply("/nonsense", Reply::raw("nonsense\r\n\r\n"));
    fails(&origin, &larder, "/nonsense");
    origin.reply(
        "/part",
        Reply::status(206)
            .header("Content-Range", "bytes 0-1/9")
            .body("pa"),
    );
    fails(&origin, &larder, "/part");
}

#[test]
fn an_empty_fragment_is_no_failure() {
    let (origin, larder) = start_with(ON);
    origin.reply("/none", Reply::status(204));
    origin.reply("/empty", Reply::ok().cache("max-age=60"));
    origin.reply(
        "/",
        page("[<esi:include src=\"/none\" alt=\"/x\"/><esi:include src=\"/empty\" alt=\"/x\"/>]"),
    );
    for _ in 0..3 {
        assert_eq!(text(&larder, "/"), "[]");
    }
    assert_eq!(origin.requests("/x"), 0);
}

#[test]
fn a_fragment_that_hangs_is_given_up() {
    let config = ON.replace("esi = true", "esi = true\nfragment_wait = \"20ms\"");
    let (origin, larder) = start_with(&config);
    origin.reply("/hangs", Reply::ok().hang());
    origin.reply("/alt", alt());
    // Nobody waits for what is stored, so it is never late.
    wait_until("what stands in for it is stored", || {
        larder.get("/alt").send().hit()
    });
    fails(&origin, &larder, "/hangs");

    // A page can wait less long than the site lets it, and no longer.
    let (origin, larder) =
        start_with(&ON.replace("esi = true", "esi = true\nfragment_wait = \"1h\""));
    origin.reply("/hangs", Reply::ok().hang());
    origin.reply("/", page("[<esi:include src=\"/hangs\" maxwait=\"20\"/>]"));
    assert_eq!(text(&larder, "/"), "[]");
    let (origin, larder) = start_with(&config);
    origin.reply("/hangs", Reply::ok().hang());
    origin.reply(
        "/",
        page("[<esi:include src=\"/hangs\" maxwait=\"3600000\"/>]"),
    );
    assert_eq!(text(&larder, "/"), "[]");
}

#[test]
fn a_fragment_is_no_larger_than_what_the_route_stores() {
    let (origin, larder) =
        start_with(&ON.replace("esi = true", "esi = true\nlargest_body = \"1KiB\""));
    origin.reply(
        "/large",
        Reply::ok().cache("max-age=60").body("x".repeat(2000)),
    );
    fails(&origin, &larder, "/large");
    // Where it does not say how long it is, it has begun when that shows.
    let begun = |path: &str, page_text: &str| {
        let (gate, piece) = (Gate::new(), "x".repeat(1000));
        let reply = Reply::ok().chunked().body(&piece).hold(&gate);
        origin.reply("/larger", reply.body(&piece));
        origin.reply(path, page(page_text));
        let mut client = larder.get(path).begin();
        let mut answer = client.read_head();
        client.read_body_exactly(&mut answer, 2);
        gate.open();
        client.read_content(&mut answer);
        answer
    };
    let answer = begun("/breaks", "[<esi:include src=\"/larger\"/>]");
    assert!(
        !answer.complete && answer.text().starts_with("[x"),
        "{:?}",
        answer.text()
    );
    let goes_on = "[<esi:include src=\"/larger\" onerror=\"continue\"/>]";
    let answer = begun("/goes-on", goes_on).text();
    assert!(
        answer.len() <= 1026 && answer.starts_with("[x") && answer.ends_with(']'),
        "{answer}"
    );
}

#[test]
fn a_huge_fragment_streams_through() {
    let (origin, larder) = start_with(ON);
    let piece = vec![b'x'; 1 << 20];
    let before = peak_memory(&larder);
    let reply = (0..48).fold(Reply::ok().cache("no-store"), |reply, _| reply.body(&piece));
    origin.reply("/huge", reply);
    origin.reply(
        "/",
        page("[<esi:include src=\"/huge\"/>,<esi:include src=\"/small\"/>]"),
    );
    origin.reply("/small", Reply::ok().body("small"));
    let answer = larder.get("/").send();
    assert!(answer.complete && answer.body.len() == (48 << 20) + 8);
    assert!(answer.body.ends_with(b",small]"));
    let peak = peak_memory(&larder) - before;
    assert!(peak < 24, "{peak} MiB more at most: it was not held");
}

/// The answer to a request whose origin breaks off at the gate, once its client has what comes before.
fn broken(larder: &Larder, target: &str, begins: &str, gate: &Gate) -> Response {
    let (mut client, mut response) = reading(larder, target, begins);
    gate.open();
    client.read_content(&mut response);
    response
}

#[test]
fn a_fragment_that_breaks_off_breaks_the_page_off_unless_it_may_fail() {
    let (origin, larder) = start_with(ON);
    for cache in ["no-store", "max-age=60"] {
        // It breaks off when it has begun: otherwise it is a fragment that fails.
        let cut = |gate: &Gate| {
            Reply::ok()
                .cache(cache)
                .length(100)
                .body("begun")
                .hold(gate)
                .cut()
        };
        let gate = Gate::new();
        origin.reply("/cut", cut(&gate));
        origin.reply("/", html("no-store", "[<esi:include src=\"/cut\"/>]"));
        let answer = broken(&larder, "/", "[begun", &gate);
        assert!(!answer.complete, "{cache}: {:?}", answer.text());
        assert!("[begun".starts_with(&answer.text()), "{:?}", answer.text());
        origin.reply(
            "/goes-on",
            html(
                "no-store",
                "[<esi:include src=\"/cut\" onerror=\"continue\"/>]",
            ),
        );
        let gate = Gate::new();
        origin.reply("/cut", cut(&gate));
        assert_eq!(
            broken(&larder, "/goes-on", "[begun", &gate).text(),
            "[begun]"
        );
        origin.reply("/cut", Reply::ok().cache("max-age=60").body("whole"));
        assert_eq!(text(&larder, "/"), "[whole]", "nothing half is stored");
        larder.ask("PURGE", "/cut").send();
    }
}

#[test]
fn a_page_that_breaks_off_is_not_ended_as_if_it_were_whole() {
    let (origin, larder) = start_with(ON);
    origin.reply("/f", Reply::ok().cache("max-age=60").body("F"));
    for (number, cut) in [
        "a<esi:include src=\"/f\"/>b",
        "a<esi:include src=\"/f\"/>b<esi:inclu",
        "a<esi:remove>",
    ]
    .into_iter()
    .enumerate()
    {
        for cache in ["max-age=60", "no-store"] {
            let target = format!("/{number}{cache}");
            let gate = Gate::new();
            origin.reply(&target, html(cache, cut).length(1000).hold(&gate).cut());
            let answer = broken(&larder, &target, "a", &gate);
            assert!(
                !answer.complete && "aFb".starts_with(&answer.text()),
                "{:?}",
                answer.text()
            );
        }
    }
}

#[test]
fn a_page_that_ends_in_a_tag_is_sent_with_the_tag_as_text() {
    let (origin, larder) = start_with(ON);
    origin.reply("/f", Reply::ok().cache("max-age=60").body("F"));
    let cases = [
        ("a<esi:include src=\"/f", "a<esi:include src=\"/f"),
        ("a<esi:include src=\"/f\"", "a<esi:include src=\"/f\""),
        ("a<esi:", "a<esi:"),
        ("a<", "a<"),
        // What was opened and is not closed ends with the page.
        ("a<esi:remove>b", "a"),
        ("a<!--esi b<esi:include src=\"/f\"/>", "a bF"),
        (
            "<esi:choose><esi:when test=\"1==1\">a<esi:include src=\"/f\"/>",
            "aF",
        ),
        ("<esi:try><esi:attempt>a<esi:include src=\"/f\"/>", "aF"),
        (
            "<esi:try><esi:attempt>a<esi:include src=\"/missing\"/></esi:attempt><esi:except>e",
            "e",
        ),
        ("<esi:vars>$(HTTP_HOST", "$(HTTP_HOST"),
        // And what stands where it means nothing means nothing.
        ("a</esi:choose></esi:nothing><esi:nothing>b", "ab"),
        ("<esi:include/>a<esi:include src=\"\"/>", "a"),
    ];
    origin.reply("/missing", Reply::status(404));
    for (number, (body, expected)) in cases.into_iter().enumerate() {
        let target = format!("/{number}");
        origin.reply(&target, page(body));
        for _ in 0..2 {
            assert_eq!(text(&larder, &target), expected, "{body}");
        }
        let streamed = format!("/{number}-streamed");
        let bytes = body
            .chars()
            .fold(html("no-store", "").chunked(), |reply, letter| {
                reply.body(letter.to_string())
            });
        origin.reply(&streamed, bytes);
        assert_eq!(
            text(&larder, &streamed),
            expected,
            "{body}, letter by letter"
        );
    }
}

#[test]
fn tags_count_in_attributes_scripts_and_styles_and_not_in_comments() {
    let (origin, larder) = start_with(ON);
    origin.reply("/f", Reply::ok().cache("max-age=60").body("F"));
    let include = "<esi:include src='/f'/>";
    let cases = [
        ("<a title=\"I\">", "<a title=\"F\">"),
        ("<a title=I>", "<a title=F>"),
        (
            "<script>x = 'I'; if (a<b && c>d) I</script>",
            "<script>x = 'F'; if (a<b && c>d) F</script>",
        ),
        (
            "<script>x = '<!--'</script>I",
            "<script>x = '<!--'</script>F",
        ),
        ("<style>a{b:I}</style>", "<style>a{b:F}</style>"),
        ("<!-- I -->I", "<!-- <esi:include src='/f'/> -->F"),
        ("<![CDATA[ I ]]>I", "<![CDATA[ <esi:include src='/f'/> ]]>F"),
        ("<!-- open I", "<!-- open <esi:include src='/f'/>"),
        ("<textarea>I</textarea>", "<textarea>F</textarea>"),
    ];
    for (number, (body, expected)) in cases.into_iter().enumerate() {
        let target = format!("/{number}");
        origin.reply(&target, page(body.replace('I', include)));
        for _ in 0..2 {
            assert_eq!(text(&larder, &target), expected, "{body}");
        }
    }
}

#[test]
fn an_attempt_that_is_too_large_to_be_held_breaks_the_page_off() {
    let (origin, larder) = start_with(ON);
    let large = "x".repeat(2 << 20);
    let body = format!(
        "a<esi:try><esi:attempt>{large}</esi:attempt><esi:except>e</esi:except></esi:try>b"
    );
    origin.reply("/", html("no-store", body));
    let answer = larder.get("/").send();
    assert!(
        !answer.complete && answer.text().len() <= 1,
        "{}",
        answer.text().len()
    );
}

#[test]
fn a_client_that_leaves_takes_its_fragments_with_it() {
    let (origin, larder) = start_with(ON);
    origin.reply("/", page("a<esi:include src=\"/slow\"/>b"));
    origin.reply("/slow", Reply::ok().hang());
    let mut client = larder.get("/").begin();
    client.read_head();
    origin.wait_requests("/slow", 1);
    drop(client);
    wait_until("the fragment's fetch is given up", || {
        origin.abandoned("/slow") == 1
    });
}
