//! What other web servers are told by `.htaccess` files, Larder does by itself: what is guarded is not sent, and
//! nothing is run that visitors uploaded.

use crate::common::Said;
use std::{
    ffi::OsStr,
    fs,
    os::unix::{ffi::OsStrExt, fs::symlink},
    path::Path,
};
use testkit::{
    Command, FastCgi, Larder,
    fastcgi::{Next, output},
    scratch_dir,
};

/// A larder before a site of these files; whatever is run says so.
fn site(files: &[&str], more: &str) -> (FastCgi, Larder) {
    let root = scratch_dir();
    for path in files {
        let file = root.join(path.trim_start_matches('/'));
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, "the file itself").unwrap();
    }
    fs::write(root.join("index.php"), "").unwrap();
    serve(&root, more)
}

fn serve(root: &Path, more: &str) -> (FastCgi, Larder) {
    let server = FastCgi::with_output("Cache-Control: no-store\r\n\r\na script");
    let config = format!(
        "[[origin]]\nfastcgi = {:?}\nroot = {:?}\n{more}\n",
        server.url(),
        root.display().to_string()
    );
    let larder = Command::serve(env!("CARGO_BIN_EXE_larder"))
        .config(&config)
        .start();
    (server, larder)
}

const GUARDED: &[&str] = &[
    "/wp-content/uploads/woocommerce_uploads/2026/01/book.pdf",
    "/blog/wp-content/uploads/sites/3/woocommerce_uploads/book.pdf",
    "/wp-content/uploads/wc-logs/fatal-errors.log",
    "/wp-content/uploads/edd/2026/01/book.epub",
    "/wp-content/uploads/wpcf7_uploads/7/letter.docx",
    "/wp-content/updraft/backup_db.gz",
    "/wp-content/debug.log",
    "/wp-content/debug.log.1",
    "/error.LOG",
    "/sites/default/files/private/x.pdf",
    "/sites/default/private/x.pdf",
    "/drupal/sites/a.example/files/config_x7/system.site",
    "/media/downloadable/files/links/b/o/book.pdf",
    "/media/customer/i/d/id.jpg",
    "/pub/media/import/products.csv",
    "/media/custom_options/quote/a.png",
    "/media/theme_customization/x.xml",
    "/var/export/orders.csv",
    "/dump.sql",
    "/backup/dump.sql.gz",
    "/dump.sql.tar.bz2",
    "/includes/bootstrap.inc",
    "/modules/a/a.module",
    "/modules/a/a.install",
    "/config/settings.yml",
    "/config/services.yaml",
    "/composer.json",
    "/composer.lock",
    "/shop/auth.json",
    "/web.config",
    "/wp-config.bak",
    "/notes.txt~",
];

const FREE: &[&str] = &[
    "/wp-content/uploads/2026/01/book.pdf",
    "/wp-content/uploads/edd/2026/01/cover.jpg",
    "/wp-content/themes/a/style.css",
    "/css/jquery-ui.theme.min.css",
    "/core/modules/system/css/system.module.css",
    "/js/catalog.js",
    "/sites/default/files/letter.pdf",
    "/media/catalog/product/a.jpg",
    "/manifest.json",
    "/sitemap.xml",
    "/robots.txt",
];

#[test]
fn what_htaccess_guards_is_not_sent() {
    let files: Vec<&str> = GUARDED.iter().chain(FREE).copied().collect();
    let (server, larder) = site(&files, "");
    let mut client = larder.client();
    for path in GUARDED {
        for path in [(*path).to_owned(), path.replace('o', "%6F")] {
            for method in ["GET", "HEAD"] {
                let answer = client.ask(method, &path).send();
                assert_eq!(answer.status, 403, "{method} {path}");
                assert!(!answer.text().contains("the file"), "{path}");
            }
        }
    }
    for path in FREE {
        let answer = client.get(path).send();
        assert_eq!(
            (answer.status, answer.text().as_str()),
            (200, "the file itself"),
            "{path}"
        );
    }
    // A name that is not there says nothing: the application answers.
    assert_eq!(client.get("/none.sql").send().text(), "a script");
    assert_eq!(server.requests(), 1);
}

#[test]
fn which_files_are_guarded_is_the_sites_word() {
    let (_server, larder) = site(&["/openapi.yml", "/a/secret.txt"], "no_file = \"/a/*\"");
    assert_eq!(larder.get("/openapi.yml").send().status, 200);
    assert_eq!(larder.get("/a/secret.txt").send().status, 403);
}

#[test]
fn a_link_opens_nothing_that_is_guarded() {
    let root = scratch_dir();
    fs::create_dir_all(root.join("media/downloadable")).unwrap();
    fs::write(root.join("media/downloadable/book.pdf"), "the file itself").unwrap();
    let outside = root.with_extension("outside");
    fs::write(&outside, "the file itself").unwrap();
    for (name, to) in [
        ("book.pdf", Path::new("media/downloadable/book.pdf")),
        ("outside.txt", &outside),
    ] {
        symlink(to, root.join(name)).unwrap();
    }
    let (_server, larder) = serve(&root, "");
    for path in ["/book.pdf", "/outside.txt"] {
        assert_eq!(larder.get(path).send().status, 403, "{path}");
    }
}

/// What counts is where a link leads, and not how it is written.
#[test]
fn an_absolute_link_is_followed_inside_the_root() {
    let root = scratch_dir();
    for (path, text) in [
        ("a.css", "a style"),
        ("shared/up/p.png", "an image"),
        ("shared/up/index.html", "a page"),
        ("shared/notes", "notes"),
        ("dump.sql", "a dump"),
    ] {
        let file = root.join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
    let release = root.with_extension("current");
    symlink(&root, &release).unwrap();
    fs::create_dir(root.join("wp-content")).unwrap();
    for (name, to) in [
        ("abs.css", root.join("a.css")),
        ("twice.css", root.join("abs.css")),
        ("released.css", release.join("a.css")),
        ("wp-content/uploads", root.join("shared/up")),
        ("notes.txt", root.join("shared/notes")),
        ("dump.txt", root.join("dump.sql")),
        ("round.css", root.join("round.css")),
    ] {
        symlink(to, root.join(name)).unwrap();
    }
    let (server, larder) = serve(&release, "");
    for (path, kind, text) in [
        ("/abs.css", "text/css; charset=utf-8", "a style"),
        ("/twice.css", "text/css; charset=utf-8", "a style"),
        ("/released.css", "text/css; charset=utf-8", "a style"),
        ("/wp-content/uploads/p.png", "image/png", "an image"),
        ("/wp-content/uploads/", "text/html; charset=utf-8", "a page"),
        ("/notes.txt", "text/plain; charset=utf-8", "notes"),
    ] {
        let answer = larder.get(path).send();
        assert_eq!(answer.status, 200, "{path}: {}", answer.said());
        assert_eq!(answer.header("content-type"), Some(kind), "{path}");
        assert_eq!(answer.text(), text, "{path}");
    }
    for (path, status) in [("/dump.txt", 403), ("/round.css", 404)] {
        assert_eq!(larder.get(path).send().status, status, "{path}");
    }
    assert_eq!(server.requests(), 0);
    // It may lead out by now.
    let outside = root.with_extension("outside");
    fs::write(&outside, "the file itself").unwrap();
    fs::remove_file(root.join("abs.css")).unwrap();
    symlink(&outside, root.join("abs.css")).unwrap();
    for path in ["/abs.css", "/twice.css"] {
        let answer = larder.get(path).header("Cache-Control", "no-cache").send();
        assert_eq!(answer.status, 403, "{path}: {}", answer.said());
    }
}

/// That a link is refused is told, because the site's owner has to mend it. It is no failure that a stored page hides.
#[test]
fn a_link_that_leads_out_is_told_of() {
    let root = scratch_dir();
    let outside = root.with_extension("outside");
    fs::write(&outside, "the file itself").unwrap();
    let page = root.join("page.html");
    fs::write(&page, "the file itself").unwrap();
    fs::write(root.join("index.php"), "").unwrap();
    let (server, larder) = serve(&root, "[defaults]\nttl = { \"403\" = \"1m\" }");
    assert_eq!(larder.get("/page.html").send().status, 200);
    fs::remove_file(&page).unwrap();
    for path in ["/page.html", "/a.css", "/a.php", "/a.php/x"] {
        let name = root.join(path.trim_start_matches('/').trim_end_matches("/x"));
        if !name.exists() {
            symlink(&outside, name).unwrap();
        }
        let answer = larder.get(path).header("Cache-Control", "no-cache").send();
        assert_eq!(answer.status, 403, "{path}: {}", answer.said());
        let detail = answer.parameter("detail");
        assert_eq!(detail.as_deref(), Some("outside"), "{path}");
        let (text, told) = (answer.text(), outside.display().to_string());
        assert!(!text.contains(&told) && !text.contains("itself"), "{text}");
    }
    let real = page.parent().unwrap().canonicalize().unwrap();
    larder.wait_output(&format!(
        "a link leads out of the folder: {} leads to {}",
        real.join("page.html").display(),
        outside.canonicalize().unwrap().display()
    ));
    assert_eq!(server.requests(), 0);
    // No refusal was stored.
    let mended = root.join("a.css");
    fs::remove_file(&mended).unwrap();
    fs::write(&mended, "the file itself").unwrap();
    assert_eq!(larder.get("/a.css").send().status, 200);
}

#[test]
fn nothing_is_run_that_visitors_uploaded() {
    let uploaded = [
        "/wp-content/uploads/x.php",
        "/blog/wp-content/uploads/2026/01/x.php",
        "/network/wp-content/blogs.dir/3/files/x.php",
        "/sites/default/files/x.php",
        "/drupal/sites/default/files/x.php",
        "/media/x.php",
        "/shop/media/x.php",
        "/pub/media/catalog/x.php",
        "/blog/uploads/x.php",
        "/forum/upload/x.php",
        "/storage/x.php",
        "/app/public/storage/avatars/x.php",
    ];
    let own = ["/wp-admin/media.php", "/a/mediator/x.php", "/files.php"];
    let files: Vec<&str> = uploaded.iter().chain(&own).copied().collect();
    let (_server, larder) = site(&files, "");
    for path in uploaded {
        assert_eq!(larder.get(path).send().status, 403, "{path}");
        let longer = format!("{path}/a.css");
        assert_eq!(larder.get(&longer).send().status, 403, "{longer}");
    }
    for path in own {
        assert_eq!(larder.get(path).send().text(), "a script", "{path}");
    }
}

/// Whatever bytes a name has, patterns with stars or dots cover it.
#[test]
fn what_is_no_text_is_guarded_too() {
    let root = scratch_dir();
    for path in [
        b"wp-content/uploads/woocommerce_uploads/\xe9\n.pdf".as_slice(),
        b"wp-content/uploads/\xe9\n.php",
        b"\xe9/uploads/x.php",
        b"dump\xe9\n.sql",
        b"a.php.\xe9",
        b"free\xe9\n.pdf",
        b"a.php",
        b"b.php",
    ] {
        let file = root.join(OsStr::from_bytes(path));
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, "the file itself").unwrap();
    }
    symlink(OsStr::from_bytes(b"dump\xe9\n.sql"), root.join("dump.txt")).unwrap();
    let routes = "[[route]]\npath = \"/a.php\"\nrefuse = \"403\"\n\
                  [[route]]\npath = \"/b.php/*\"\ncache = false\n";
    let (server, larder) = serve(&root, routes);
    for path in [
        "/wp-content/uploads/woocommerce_uploads/%E9%0A.pdf",
        "/wp-content/uploads/%E9%0A.php",
        "/wp-content/uploads/%E9%0A.php/%E9",
        "/%E9/uploads/x.php",
        "/dump%E9%0A.sql",
        "/dump.txt",
        "/a.php.%E9",
        "/a.php/%E9",
        "/a.php/%0A",
    ] {
        let answer = larder.get(path).send();
        assert_eq!(answer.status, 403, "{path}: {}", answer.text());
    }
    assert_eq!(server.requests(), 0);
    let free = larder.get("/free%E9%0A.pdf").send();
    assert_eq!(free.text(), "the file itself");
    server.answer(|_, line| {
        line.send(output("Cache-Control: max-age=60\r\n\r\na script"));
        Next::Close
    });
    for nth in 1..=2 {
        assert_eq!(larder.get("/b.php/%E9").send().text(), "a script");
        assert_eq!(server.requests(), nth);
    }
}
