//! The folder served by nginx, as `docs/publish.md` configures it, gives the same bodies.

use crate::common::{Site, html};
use std::{
    fs,
    path::Path,
    process::{Child, Command, Stdio},
};
use testkit::{Address, Client, Reply, scratch_dir, wait_until};

/// nginx on a Unix socket, with the server block of the documentation.
struct Nginx {
    child: Child,
    socket: std::path::PathBuf,
}

impl Nginx {
    fn start(root: &Path) -> Self {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/publish.md");
        let page = fs::read_to_string(page).expect("the page");
        let block = page
            .split("```nginx\n")
            .nth(1)
            .and_then(|rest| rest.split("```").next());
        let folder = scratch_dir();
        let socket = folder.join("socket");
        let server = block
            .expect("a server block")
            .replace("/var/www/site", &root.display().to_string())
            .replace("listen 80;", &format!("listen unix:{};", socket.display()));
        let config = format!(
            "daemon off;\nmaster_process off;\npid pid;\nerror_log error.log;\nevents {{}}\nhttp {{\n\
             types {{ text/html html; text/css css; text/xml xml; application/json json; text/plain txt; application/pdf pdf; \
             image/png png; font/ttf ttf; }}\naccess_log off;\n\
             client_body_temp_path t1; proxy_temp_path t2; fastcgi_temp_path t3; uwsgi_temp_path t4; scgi_temp_path t5;\n{server}\n}}\n"
        );
        fs::write(folder.join("nginx.conf"), config).expect("a file");
        let child = Command::new("nginx")
            .env(
                "PATH",
                format!("{}:/usr/sbin", std::env::var("PATH").unwrap_or_default()),
            )
            .args(["-e", "stderr", "-c", "nginx.conf", "-p"])
            .arg(&folder)
            .stdin(Stdio::null())
            .spawn()
            .expect("nginx");
        wait_until("nginx listens", || {
            std::os::unix::net::UnixStream::connect(&socket).is_ok()
        });
        Self { child, socket }
    }

    fn get(&self, target: &str) -> testkit::Response {
        let client = Client::connect(Address::Unix(self.socket.clone()));
        testkit::Ask::new(client, "GET", target)
            .header("Host", "localhost")
            .header("Connection", "close")
            .send()
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) const PAGES: [&str; 12] = [
    "/news",
    "/news/",
    "/news/1",
    "/about.html",
    "/caf%C3%A9",
    "/100%25",
    "/list?page=2",
    "/list?page=3&x=%2F",
    "/news/?page=2",
    "/?page=2",
    "/v1.2",
    "/run.php",
];

/// Pages whose names have another ending than their paths, or none, and whose queries are other pages.
const TYPED: [(&str, &str); 18] = [
    ("/shop.php", "text/html"),
    ("/shop.php?page=2", "text/html"),
    ("/shop.php?id=7", "application/json"),
    ("/shop.php?as=pdf", "application/pdf"),
    ("/feed", "text/html"),
    ("/feed?type=rss", "application/rss+xml"),
    ("/feed.php", "application/rss+xml"),
    ("/up/a.svg", "text/plain"),
    ("/up/a.html", "application/json"),
    ("/notes.html", "text/html"),
    ("/notes.html?v=2", "text/html"),
    ("/logo", "image/png"),
    ("/logo/", "image/png"),
    ("/logo?big", "image/png"),
    ("/readme", "text/plain"),
    ("/readme/", "text/plain"),
    ("/own.ttf", "font/ttf"),
    ("/own.ttf?v=1", "font/ttf"),
];

#[test]
fn nginx_serves_the_same_bodies() {
    let site = Site::new(&[("/", &PAGES)]);
    let of = |target: &str| html(&format!("page {target}"));
    site.origin.otherwise(move |request| of(&request.target));
    site.origin.reply("/?page=2", of("/?page=2"));
    let typed = |kind: &str, text: &str| Reply::ok().header("Content-Type", kind).body(text);
    site.origin.reply("/style.css", typed("text/css", "plain"));
    site.origin
        .reply("/style.css?v=3", typed("text/css", "third"));
    site.origin
        .reply("/feed/", typed("application/rss+xml", "<rss/>"));
    for (target, kind) in TYPED {
        site.origin.reply(target, typed(kind, target));
    }
    let listed = ["/items", "/items/1", "/list/", "/items?page=2", "/list.php"];
    for target in listed {
        let text = format!("[\"{target}\"]");
        site.origin.reply(target, typed("application/json", &text));
    }
    let others = ["/", "/style.css", "/style.css?v=3", "/feed/"];
    let named = TYPED.map(|(target, _)| target);
    site.published(&[&others[..], &listed, &named].concat());
    let nginx = Nginx::start(&site.folder);
    let get = |target: &str| {
        let answer = nginx.get(target);
        let kind = answer.header("content-type").unwrap_or_default().to_owned();
        (answer.status, answer.text(), kind)
    };
    let expected = |body: &str, kind: &str| (200, body.to_owned(), kind.to_owned());
    for target in PAGES {
        assert_eq!(
            get(target),
            expected(&format!("page {target}"), "text/html"),
            "{target}"
        );
    }
    assert_eq!(get("/"), expected(&site.text("index.html"), "text/html"));
    assert_eq!(get("/style.css"), expected("plain", "text/css"));
    assert_eq!(get("/style.css?v=3"), expected("third", "text/css"));
    assert_eq!(get("/feed/"), expected("<rss/>", "text/xml"));
    for target in listed {
        let text = format!("[\"{target}\"]");
        assert_eq!(get(target), expected(&text, "application/json"), "{target}");
    }
    for (target, kind) in TYPED {
        let kind = kind.replace("application/rss+xml", "text/xml");
        assert_eq!(get(target), expected(target, &kind), "{target}");
    }
    let outside = "/?/../../../../etc/hostname";
    assert_eq!(
        get(outside).1,
        site.text("index.html"),
        "no file has such a name"
    );
    assert_eq!(get("/style.css?v=none").1, "plain");
    for hidden in ["/.larder-publish.json", "/.larder-publish/lock", "/none"] {
        assert_eq!(get(hidden).0, 404, "{hidden}");
    }
}
