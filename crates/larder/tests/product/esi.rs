//! Pages composed of fragments: each include is a request of its own.

use crate::common::{Said, counted, start, start_with};
use testkit::{Gate, Larder, Reply, Request};

/// ESI by route.
pub(crate) const ON: &str = "[[origin]]\nservers = \"{origin}\"\n[[route]]\nesi = true\n";

/// Cached for a day, HTML.
pub(crate) fn page(text: impl AsRef<str>) -> Reply {
    html("max-age=86400", text)
}

pub(crate) fn html(cache: &str, text: impl AsRef<str>) -> Reply {
    Reply::ok()
        .cache(cache)
        .header("Content-Type", "text/html; charset=utf-8")
        .body(text.as_ref())
}

pub(crate) fn counted_fragment(cache: &'static str) -> impl Fn(&Request) -> Reply + Send + Sync {
    move |request| counted(request).cache(cache)
}

pub(crate) fn text(larder: &Larder, target: &str) -> String {
    let answer = larder.get(target).send();
    assert!(answer.complete, "{target}: {:?}", answer.head);
    answer.text()
}

#[test]
fn a_page_cached_for_a_day_carries_a_cart_that_is_never_cached() {
    let (origin, larder) = start_with(ON);
    origin.reply(
        "/",
        page("<p>Shop</p><esi:include src=\"/cart\"/><esi:include src='menu'/><p>End</p>"),
    );
    origin.on("/cart", |request| {
        html("no-store", "").body(format!(
            "[cart {} of {}]",
            request.nth,
            request.header("cookie").unwrap_or("nobody")
        ))
    });
    origin.on("/menu", counted_fragment("max-age=60"));
    for visit in 1..4 {
        let answer = larder.get("/").header("Cookie", "user=ann").send();
        assert_eq!(
            answer.text(),
            format!("<p>Shop</p>[cart {visit} of user=ann]1<p>End</p>")
        );
        assert_eq!(answer.hit(), visit > 1, "{:?}", answer.head);
    }
    let other = larder.get("/").header("Cookie", "user=bob").send();
    assert!(
        other.text().contains("[cart 4 of user=bob]"),
        "{}",
        other.text()
    );
    assert_eq!((origin.requests("/"), origin.requests("/menu")), (1, 1));
}

#[test]
fn an_answer_says_itself_that_it_is_to_be_composed() {
    let (origin, larder) = start();
    for (target, control, composed) in [
        ("/told", Some("content=\"ESI/1.0\""), true),
        ("/told-too", Some("max-age=60, content=\"ESI/1.0\""), true),
        ("/not", None, false),
        ("/other", Some("content=\"Other/1.0\""), false),
    ] {
        let reply = Reply::ok()
            .cache("max-age=60")
            .body("a<esi:include src=\"/f\"/>b");
        let reply = match control {
            Some(control) => reply.header("Surrogate-Control", control),
            None => reply,
        };
        origin.reply(target, reply);
        origin.reply("/f", Reply::ok().cache("max-age=60").body("F"));
        for round in 0..3 {
            let answer = larder.get(target).send();
            let expected = if composed {
                "aFb"
            } else {
                "a<esi:include src=\"/f\"/>b"
            };
            assert_eq!(answer.text(), expected, "{target}, round {round}");
            assert_eq!(answer.hit(), round > 0);
            let passed = answer.head.header("surrogate-control");
            assert_eq!(passed, None, "it was meant for us");
        }
        assert!(
            origin
                .last(target)
                .headers("surrogate-capability")
                .join(", ")
                .contains("ESI/1.0"),
            "the origin is told"
        );
    }
}

#[test]
fn where_it_is_switched_off_pages_pass_untouched() {
    let (origin, larder) = start_with(&ON.replace("true", "false"));
    let raw = "a<esi:include src=\"/f\"/>b";
    let reply = page(raw)
        .header("Surrogate-Control", "content=\"ESI/1.0\"")
        .header("ETag", "\"1\"");
    origin.reply("/", reply);
    for _ in 0..2 {
        let answer = larder.get("/").send();
        assert_eq!(answer.text(), raw);
        assert_eq!(answer.head.header("etag"), Some("\"1\""));
        assert_eq!(answer.head.header("surrogate-control"), None);
    }
    let capability = origin.last("/").headers("surrogate-capability").join(", ");
    assert!(!capability.contains("ESI"), "{capability}");
}

#[test]
fn by_route_only_markup_is_composed() {
    let (origin, larder) = start_with(ON);
    let raw = "<esi:include src=\"/f\"/>";
    for (number, (kind, composed)) in [
        ("text/html", true),
        ("Text/HTML;charset=x", true),
        ("application/xhtml+xml", true),
        ("application/rss+xml", true),
        ("text/xml", true),
        // What a user wrote stands in these as it was written.
        ("application/json", false),
        ("text/plain", false),
        ("text/javascript", false),
        ("image/png", false),
        ("image/svg+xml", false),
        ("", false),
    ]
    .into_iter()
    .enumerate()
    {
        let target = format!("/{number}");
        origin.reply(
            &target,
            Reply::ok()
                .cache("max-age=60")
                .header("Content-Type", kind)
                .body(raw),
        );
        origin.reply("/f", Reply::ok().body("F"));
        for _ in 0..2 {
            assert_eq!(
                text(&larder, &target),
                if composed { "F" } else { raw },
                "{kind}"
            );
        }
    }
}

#[test]
fn variables_and_choices_are_each_clients_own() {
    let (origin, larder) = start_with(ON);
    origin.reply(
        "/",
        page(
            "<esi:vars>Hi $(HTTP_COOKIE{user}|you) at $(HTTP_HOST), q=$(QUERY_STRING{q})</esi:vars> \
             <esi:choose><esi:when test=\"$(HTTP_COOKIE{group})=='gold'\"><esi:include src=\"/gold\"/></esi:when>\
             <esi:otherwise><esi:include src=\"/frag?for=$(HTTP_COOKIE{user}|none)\"/></esi:otherwise></esi:choose>",
        ),
    );
    origin.otherwise(|request| {
        Reply::ok()
            .cache("max-age=60")
            .body(format!("({})", request.target))
    });
    let ask = |cookie: &str, target: &str| {
        larder
            .get(target)
            .header("Host", "shop.test")
            .header("Cookie", cookie)
            .send()
            .text()
    };
    assert_eq!(ask("a=b", "/"), "Hi you at shop.test, q= (/frag?for=none)");
    assert_eq!(
        ask("user=<Ann>&x", "/"),
        "Hi &#60;Ann&#62;&#38;x at shop.test, q= (/frag?for=%3CAnn%3E%26x)"
    );
    assert_eq!(ask("group=gold", "/"), "Hi you at shop.test, q= (/gold)");
    assert_eq!(
        ask("group=silver", "/"),
        "Hi you at shop.test, q= (/frag?for=none)"
    );
    assert_eq!(origin.requests("/"), 1, "one stored page for all of them");
    origin.reply(
        "/?q=%3Cscript%3E",
        page("<esi:vars>$(QUERY_STRING{q})</esi:vars>"),
    );
    assert_eq!(ask("a=b", "/?q=%3Cscript%3E"), "&#60;script&#62;");
}

/// What a visitor sends is a value in the page, whatever it looks like.
#[test]
fn values_are_escaped_as_their_place_demands() {
    let (origin, larder) = start_with(ON);
    let written = "<esi:vars><a href=\"/s?q=$(HTTP_COOKIE{v})&amp;n=1\">$(HTTP_COOKIE{v})</a>\
                   <a href='$(HTTP_COOKIE{v})' onclick=\"f('$(HTTP_COOKIE{v})')\" title=$(HTTP_COOKIE{v})>\
                   <script>x = '$(HTTP_COOKIE{v})'</script></esi:vars>";
    origin.reply("/", page(written));
    for (value, address, first, text, script) in [
        (
            "a&n=2",
            "a%26n%3D2",
            "a%26n%3D2",
            "a&#38;n&#61;2",
            "a\\u0026n\\u003d2",
        ),
        (
            "javascript:f('')",
            "javascript%3Af%28%27%27%29",
            "javascript%3Af%28%27%27%29",
            "javascript:f(&#39;&#39;)",
            "javascript\\u003af\\u0028\\u0027\\u0027\\u0029",
        ),
        (
            "https://b.test/'>",
            "https%3A%2F%2Fb.test%2F%27%3E",
            "https://b.test/&#39;&#62;",
            "https://b.test/&#39;&#62;",
            "https\\u003a\\u002f\\u002fb\\u002etest\\u002f\\u0027\\u003e",
        ),
    ] {
        let ask = larder.get("/").header("Cookie", format!("v={value}"));
        let expected = format!(
            "<a href=\"/s?q={address}&amp;n=1\">{text}</a>\
             <a href='{first}' onclick=\"f('{script}')\" title={text}>\
             <script>x = '{script}'</script>"
        );
        assert_eq!(ask.send().text(), expected);
    }
    assert_eq!(origin.requests("/"), 1);
}

/// What looks like a tag in the text of a title, or like a comment in an attribute, is neither.
#[test]
fn values_and_includes_behind_text_that_looks_like_markup_have_their_place() {
    let (origin, larder) = start_with(ON);
    origin.reply("/cart", page("cart"));
    for (number, before) in [
        "<title>Write <a href=\"x instead</title>",
        "<textarea><!-- </textarea>",
        "<input value=\"<!--\">",
        "<input value='<![CDATA['>",
    ]
    .into_iter()
    .enumerate()
    {
        let target = format!("/{number}");
        let written = "<p onclick=\"f('$(QUERY_STRING{q})')\"><esi:include src=\"/cart\"/></p>";
        origin.reply(
            &target,
            page(format!("<esi:vars>{before}{written}</esi:vars>")),
        );
        assert_eq!(
            text(&larder, &format!("{target}?q='")),
            format!("{before}<p onclick=\"f('\\u0027')\">cart</p>")
        );
    }
}

/// Neither a value nor a character reference hides that an address is code, nor does a document within an attribute.
#[test]
fn values_are_escaped_for_addresses_and_documents_that_hide_what_they_are() {
    let (origin, larder) = start_with(ON);
    let value = "$(QUERY_STRING{q})";
    for (number, (before, query, expected)) in [
        ("<a href=\"javascript&colon;f('", "')", "%5Cu0027%5Cu0029"),
        ("<a href=\"java&#115;cript:f('", "')", "%5Cu0027%5Cu0029"),
        ("<a href=\"", "javascript", "%6Aavascript"),
        ("<a href=\"java", "script", "%73cript"),
        ("<iframe srcdoc=\"<a href='", "javascript:", "javascript%3A"),
        (
            "<iframe srcdoc=\"<p onclick=&quot;f('",
            "')",
            "\\u0027\\u0029",
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let target = format!("/{number}");
        origin.reply(
            &target,
            page(format!("<esi:vars>{before}{value}</esi:vars>")),
        );
        assert_eq!(
            text(&larder, &format!("{target}?q={query}")),
            format!("{before}{expected}")
        );
    }
}

/// What one branch, side or default writes may be code where another writes an address.
#[test]
fn values_are_escaped_for_each_branch_that_may_stand_before_them() {
    let (origin, larder) = start_with(ON);
    let (when, otherwise) = ("<esi:when test=\"$(HTTP_COOKIE{w})\">", "<esi:otherwise>");
    let choose = |first: &str, second: &str| {
        format!(
            "<esi:choose>{when}{first}</esi:when>{otherwise}{second}</esi:otherwise></esi:choose>"
        )
    };
    let code = "javascript:f('";
    for (number, before) in [
        choose("/x?q=", code),
        choose(code, "/x?q="),
        format!(
            "<esi:try><esi:attempt>{code}</esi:attempt><esi:except>/x?q=</esi:except></esi:try>"
        ),
        format!("$(HTTP_COOKIE{{none}}|\"{code}\")"),
    ]
    .into_iter()
    .enumerate()
    {
        let target = format!("/{number}");
        let written = format!("<esi:vars><a href=\"{before}$(QUERY_STRING{{q}})')\"></esi:vars>");
        origin.reply(&target, page(written));
        for cookie in ["w=1", "w="] {
            let ask = larder.get(&format!("{target}?q=');alert(1)//"));
            let text = ask.header("Cookie", cookie).send().text();
            let value = "%5Cu0027%5Cu0029%5Cu003balert%5Cu00281%5Cu0029%5Cu002f%5Cu002f";
            assert!(
                [code, "/x?q="]
                    .map(|start| format!("<a href=\"{start}{value}')\">"))
                    .contains(&text),
                "{text}"
            );
        }
    }
}

#[test]
fn old_clients_and_new_ones_get_the_same_page() {
    let (origin, larder) = start_with(ON);
    let gate = Gate::new();
    origin.reply("/", page("a<esi:include src=\"/f\"/>b"));
    origin.reply(
        "/f",
        Reply::ok()
            .cache("no-store")
            .chunked()
            .body("F")
            .hold(&gate)
            .body("G"),
    );
    gate.open();
    let mut client = larder.client();
    client.send("GET / HTTP/1.0\r\nHost: a\r\n\r\n");
    let answer = String::from_utf8_lossy(&client.read_to_end()).into_owned();
    assert!(answer.ends_with("\r\n\r\naFGb"), "{answer}");
    assert!(
        !answer.to_ascii_lowercase().contains("transfer-encoding"),
        "{answer}"
    );
}
