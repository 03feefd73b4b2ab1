//! Django: pages carry the tags of what they show, and saving purges those alone.

use crate::common::{Example, get, hit, many, said, same, together};
use testkit::{Response, scratch_dir};

const PAGES: [&str; 4] = ["/", "/articles/bread", "/articles/butter", "/articles/salt"];

#[test]
fn saving_an_article_ends_its_pages_and_no_others() {
    let example = Example::new("django");
    let larder = example.larder(&[]);
    let database = scratch_dir().join("db.sqlite3").display().to_string();
    let variables = [("DATABASE", database.as_str())];
    example.run("python manage.py migrate", &larder, &variables);
    let app = example.start(
        "python manage.py runserver --noreload 5001",
        &example.folder(),
        &larder,
        &variables,
    );

    // The first request of a process is slow; that is not what is counted here.
    app.get("/");
    let before = app.requests();
    for target in PAGES {
        let mut answers = together(&larder, target, 10);
        answers.extend(many(&larder, target, 100));
        same(&answers);
        assert!(answers.iter().skip(10).all(hit), "{target}");
        assert_eq!(answers[0].header("cache-tag"), None, "for Larder alone");
    }
    assert_eq!(
        app.requests() - before,
        PAGES.len(),
        "each page once, of 440"
    );

    // In another process, as a command or the administration would.
    let page = std::fs::read_to_string(example.folder().join("README.md")).expect("a page");
    let line = page
        .lines()
        .find_map(|line| line.strip_prefix("$ python manage.py shell"));
    let line = format!("python manage.py shell{}", line.expect("a command"));
    example.run(&line, &larder, &variables);

    let shown: Vec<Response> = PAGES
        .iter()
        .map(|target| get(&mut larder.client(), target))
        .collect();
    let hits: Vec<bool> = shown.iter().map(hit).collect();
    assert_eq!(
        hits,
        [false, false, true, true],
        "{:?}",
        shown.iter().map(said).collect::<Vec<_>>()
    );
    assert!(shown[0].text().contains("Rye") && shown[1].text().contains("<h1>Rye"));
    assert_eq!(app.requests() - before, PAGES.len() + 2);

    // Nothing listens there: the article is saved all the same.
    let without = [variables[0], ("LARDER_ADMIN", "http://127.0.0.1:1")];
    example.run(&line, &larder, &without);

    // Who is logged in is served by Django.
    let personal = larder
        .get("/")
        .header("Host", "localhost")
        .header("Cookie", "sessionid=x")
        .send();
    assert!(!hit(&personal), "{}", said(&personal));
}
