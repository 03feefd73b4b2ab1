//! What is under way while a reload changes the rules.

use crate::common::{Said, counted, reload_as};
use testkit::{Gate, Larder, Origin, Reply};

/// One worker before this origin, with these defaults: once it has answered a request, it has begun with all before that.
fn before(origin: &Origin, defaults: &str) -> String {
    let url = origin.url();
    format!("workers = 1\n[[origin]]\nservers = {url:?}\n[defaults]\n{defaults}\n")
}

fn start(config: &str) -> Larder {
    testkit::Command::serve(env!("CARGO_BIN_EXE_larder"))
        .config(config)
        .start()
}

/// RFC 9111 section 4.4: its success makes invalid what was stored meanwhile, under whatever key, and what will be found
/// again if the change is taken back.
#[test]
fn a_post_invalidates_what_both_configurations_key() {
    let changes = ["query = \"none\"", "sort = true", "host = false"];
    let rows = changes.map(|change| {
        let change = match change {
            "host = false" => "key.host = false\norigin_host = \"a.example\"".to_owned(),
            change => format!("key.{change}"),
        };
        [(String::new(), change.clone()), (change, String::new())]
    });
    for (then, now) in rows.into_iter().flatten() {
        let (origin, gate) = (Origin::start(), Gate::new());
        let held = gate.clone();
        for path in ["/page", "/other"] {
            let held = held.clone();
            origin.on(path, move |request| match request.method.as_str() {
                "POST" => Reply::ok()
                    .header("Location", "/other?b=1&a=2")
                    .hold_head(&held),
                _ => counted(request).cache("max-age=600"),
            });
        }
        let (then, now) = (before(&origin, &then), before(&origin, &now));
        let larder = start(&then);
        let pages = ["/page?b=1&a=2", "/other?b=1&a=2"];
        let keep = || {
            for page in pages {
                larder.get(page).send();
                assert!(larder.get(page).send().hit(), "{page}: {now}");
            }
        };
        let is_gone = || pages.map(|page| !larder.get(page).send().hit());
        keep();
        let mut post = larder.ask("POST", pages[0]).begin();
        gate.wait_reached();
        reload_as(&larder, &now, "2");
        keep();
        gate.open();
        assert_eq!(post.read().status, 200);
        assert_eq!(is_gone(), [true; 2], "{now}");
        reload_as(&larder, &then, "3");
        assert_eq!(is_gone(), [true; 2], "{then}");
    }
}

/// A page of two configurations would be none.
#[test]
fn the_fragments_of_a_page_are_those_of_its_configuration() {
    for now in ["replaced", "refused"] {
        let [old, new] = [Origin::start(), Origin::start()];
        let gate = Gate::new();
        let page = Reply::ok()
            .cache("no-store")
            .header("Content-Type", "text/html")
            .header("Surrogate-Control", "content=\"ESI/1.0\"")
            .chunked();
        let include = "<esi:include src=\"/fragment\"/>";
        old.reply("/page", page.body("[old page]").hold(&gate).body(include));
        for (origin, name) in [(&old, "old"), (&new, "new")] {
            let fragment = format!("[{name} fragment]");
            origin.reply("/fragment", Reply::ok().cache("no-store").body(fragment));
        }
        let larder = start(&before(&old, ""));
        let mut client = larder.get("/page").begin();
        gate.wait_reached();
        let config = match now {
            "replaced" => before(&new, ""),
            _ => before(&old, "") + "[[route]]\npath = \"/fragment\"\nrefuse = \"403\"\n",
        };
        reload_as(&larder, &config, "2");
        gate.open();
        let answer = client.read();
        assert_eq!(answer.text(), "[old page][old fragment]", "{now}");
        assert!(answer.complete);
    }
}
