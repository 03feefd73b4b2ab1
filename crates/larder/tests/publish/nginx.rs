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
             types {{ text/html html; text/css css; text/xml xml; }}\naccess_log off;\n\
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

#[test]
fn nginx_serves_the_same_bodies() {
    let targets = [
        "/",
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
    let site = Site::new(&[]);
    site.origin
        .otherwise(|request| html(&format!("page {}", request.target)));
    let links: Vec<_> = targets
        .iter()
        .map(|target| format!("<a href=\"{target}\">"))
        .collect();
    site.origin.reply("/", html(&links.concat()));
    site.origin.reply("/?page=2", html("page /?page=2"));
    let css = |text: &str| Reply::ok().header("Content-Type", "text/css").body(text);
    site.origin.reply("/style.css", css("plain"));
    site.origin.reply("/style.css?v=3", css("third"));
    site.origin.reply(
        "/feed/",
        Reply::ok()
            .header("Content-Type", "application/rss+xml")
            .body("<rss/>"),
    );
    site.published(&["/", "/style.css", "/style.css?v=3", "/feed/"]);
    let nginx = Nginx::start(&site.folder);
    for target in targets.iter().skip(1).chain(&["/"]) {
        let answer = nginx.get(target);
        let expected = if *target == "/" {
            links.concat()
        } else {
            format!("page {target}")
        };
        assert_eq!((answer.status, answer.text()), (200, expected), "{target}");
        assert_eq!(answer.header("content-type"), Some("text/html"), "{target}");
    }
    for (target, body, kind) in [
        ("/style.css", "plain", "text/css"),
        ("/style.css?v=3", "third", "text/css"),
        ("/feed/", "<rss/>", "text/xml"),
    ] {
        let answer = nginx.get(target);
        assert_eq!(
            (
                answer.status,
                answer.text().as_str(),
                answer.header("content-type")
            ),
            (200, body, Some(kind)),
            "{target}"
        );
    }
    for hidden in ["/.larder-publish.json", "/.larder-publish/lock", "/none"] {
        assert_eq!(nginx.get(hidden).status, 404, "{hidden}");
    }
}
