//! Several origins in turn.

use crate::{
    common::{Said, counted, start_with},
    static_root::folder,
};
use std::path::Path;
use testkit::{Larder, Origin, Reply};

pub(crate) fn start(root: &Path, more: &str) -> (Origin, Larder) {
    let config = format!(
        "[[origin]]\nname = \"static\"\nstatic = \"{}\"\n\
         [[origin]]\nname = \"app\"\nservers = \"{{origin}}\"\n\
         [defaults]\ntry = [\"static\", \"app\"]\n{more}\n",
        root.display()
    );
    let (origin, larder) = start_with(&config);
    origin.otherwise(|request| Reply::ok().body(format!("app {}", request.nth)));
    (origin, larder)
}

#[test]
fn what_the_folder_does_not_have_goes_to_the_application() {
    let root = folder(&[
        ("index.html", b"static"),
        ("docs/index.html", b"static"),
        ("empty/x.txt", b"static"),
        ("app.css", b"static"),
        (".htaccess", b"hidden"),
        ("index.php", b"hidden"),
    ]);
    let (origin, larder) = start(&root, "");
    for (method, target, expected) in [
        ("GET", "/", "static"),
        ("GET", "/docs/", "static"),
        ("GET", "/app.css", "static"),
        // A query may mean another page, but hardly another style sheet.
        ("GET", "/app.css?v=2", "static"),
        ("GET", "/?s=search", "app 1"),
        ("GET", "/docs?s=search", "app 1"),
        ("GET", "/nothing", "app 1"),
        ("GET", "/empty/", "app 1"),
        ("GET", "/empty", "app 1"),
        ("GET", "/.htaccess", "app 1"),
        ("GET", "/index.php", "app 1"),
        ("GET", "/%2e%2e/x", "app 1"),
        ("POST", "/docs/", "app 1"),
        ("PUT", "/app.css", "app 1"),
        ("DELETE", "/app.css", "app 2"),
    ] {
        let answer = larder.ask(method, target).send();
        assert_eq!(
            (answer.status, answer.text().as_str()),
            (200, expected),
            "{method} {target}"
        );
    }
    assert_eq!(
        larder.ask("HEAD", "/docs/").send().header("content-length"),
        Some("6")
    );
    assert_eq!(
        larder.get("/docs").send().header("location"),
        Some("/docs/")
    );
    let with_content = larder.get("/app.css").body("content").send();
    assert_eq!(with_content.text(), "app 3");
    origin.reply("/gone", Reply::status(410).body("final"));
    assert_eq!(larder.get("/gone").send().text(), "final");
}

#[test]
fn who_is_meant_for_the_application_gets_no_page_that_was_made_for_everybody() {
    let root = folder(&[("index.html", b"for all"), ("app.css", b"style")]);
    let (_origin, larder) = start(&root, "bypass.cookies = \"session\"");
    assert_eq!(larder.get("/").send().text(), "for all");
    let own = larder.get("/").header("Cookie", "session=1").send();
    assert_eq!(own.text(), "app 1");
    assert_eq!(own.parameter("fwd").as_deref(), Some("bypass"));
    // Pieces of pages are the same for all.
    let style = larder.get("/app.css").header("Cookie", "session=1").send();
    assert_eq!(style.text(), "style");
    assert_eq!(
        larder.get("/").send().text(),
        "for all",
        "nobody gets another's page"
    );
    // Alone, it is all there is.
    let root = folder(&[("index.html", b"for all")]);
    let config = format!(
        "[defaults]\nbypass.cookies = \"session\"\n[[origin]]\nstatic = \"{}\"",
        root.display()
    );
    let (_unused, alone) = start_with(&config);
    let answer = alone.get("/?a=b").header("Cookie", "session=1").send();
    assert_eq!(answer.text(), "for all");
}

/// As from a page store.
#[test]
fn a_stored_page_of_a_folder_answers_whoever_has_a_token_unless_the_site_says_otherwise() {
    for (config, again) in [
        ("ttl = \"1h\"\nbypass.cookies = []", "for all"),
        (
            "ttl = \"1h\"\nbypass = { cookies = [], headers = \"Authorization\" }",
            "app 2",
        ),
    ] {
        let root = folder(&[("page.html", b"for all")]);
        let (_origin, larder) = start(&root, config);
        let own = || {
            let asked = larder.get("/page.html");
            asked.header("Authorization", "Bearer 1").send().text()
        };
        assert_eq!(own(), "app 1", "{config}: the folder does not answer it");
        assert_eq!(larder.get("/page.html").send().text(), "for all");
        assert_eq!(own(), again, "{config}");
    }
}

#[test]
fn a_page_of_the_application_is_not_given_a_files_lifetime() {
    let root = folder(&[("page.html", b"file")]);
    let (origin, larder) = start(&root, "");
    origin.on("/own", counted);
    for path in ["/own", "/page.html"] {
        larder.get(path).send();
    }
    assert!(
        !larder.get("/own").send().hit(),
        "nothing says how long it holds"
    );
    assert_eq!(origin.requests("/own"), 2);
}

#[test]
fn a_folder_that_is_gone_is_passed_over() {
    let root = folder(&[("page.html", b"file")]);
    let (_origin, larder) = start(&root, "");
    std::fs::remove_dir_all(&root).expect("removed");
    assert_eq!(larder.get("/page.html").send().text(), "app 1");
    larder.wait_output("the folder is skipped");
}

#[test]
fn a_route_may_ask_others_than_the_defaults_say() {
    let root = folder(&[("index.html", b"file"), ("api/index.html", b"file")]);
    let (_origin, larder) = start(&root, "[[route]]\npath = \"/api/*\"\norigin = \"app\"");
    assert_eq!(larder.get("/").send().text(), "file");
    assert_eq!(larder.get("/api/").send().text(), "app 1");
}
