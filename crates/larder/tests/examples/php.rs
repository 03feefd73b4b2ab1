//! PHP by FastCGI: no web server between, and saving an article purges the list and its page.

use crate::common::{Example, admin, get, hit, many, said, same, together};
use std::{fs, path::Path};
use testkit::{Larder, PhpFpm, Response, scratch_dir};

/// Copies a folder.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder").flatten() {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.is_dir() {
            copy(&from, &to);
        } else {
            fs::copy(&from, &to).expect("a file");
        }
    }
}

fn requests(larder: &Larder) -> String {
    get(&mut larder.client(), "/requests").text()
}

#[test]
fn scripts_run_once_for_all_readers_and_again_when_something_is_saved() {
    let php = PhpFpm::start(4);
    let example = Example::new("php");
    let site = scratch_dir().join("site");
    copy(&example.folder(), &site);
    let larder = example.larder(&[
        ("unix:/tmp/php-fpm.sock", &php.url()),
        ("/srv/site", &site.display().to_string()),
    ]);
    let config = fs::read_to_string(site.join("config.php")).expect("a file");
    let config = config.replace("127.0.0.1:9180", &admin(&larder).to_string());
    fs::write(site.join("config.php"), config).expect("a file");

    for target in ["/", "/bread", "/butter"] {
        let mut answers = together(&larder, target, 10);
        answers.extend(many(&larder, target, 100));
        same(&answers);
        assert!(answers.iter().skip(10).all(hit), "{target}");
    }
    assert_eq!(requests(&larder), "3", "each page once, of 330");

    let saved = larder
        .ask("POST", "/bread")
        .header("Host", "localhost")
        .header("Content-Type", "application/x-www-form-urlencoded")
        .body("title=Rye")
        .send();
    assert_eq!(saved.status, 303, "{}", saved.text());
    let shown: Vec<Response> = ["/", "/bread", "/butter"]
        .iter()
        .map(|target| get(&mut larder.client(), target))
        .collect();
    let hits: Vec<bool> = shown.iter().map(hit).collect();
    assert_eq!(
        hits,
        [false, false, true],
        "{:?}",
        shown.iter().map(said).collect::<Vec<_>>()
    );
    assert!(shown[0].text().contains("Rye") && shown[1].text().contains("<h1>Rye"));
    assert_eq!(
        requests(&larder),
        "6",
        "two pages again, and what was saved"
    );

    let other = larder.get("//a/bread").send();
    assert_eq!(other.status, 404, "not another address of the page");
}
