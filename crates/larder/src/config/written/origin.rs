//! Origins as written.

use crate::config::value::{
    At, Brief, Count, FastCgiUrl, FileName, FilePattern, Front, HostValue, Many, Param, ServerUrl,
    SharedUrl, Short, Size, Text, Word, Wrong,
};
use http::HeaderValue;
use schemars::JsonSchema;
use serde::Deserialize;
use std::{ops::Range, path::PathBuf, time::Duration};

/// Where answers come from: an application on one or several servers, a folder, or a store of pages. What is known of servers (turns,
/// retries, addresses, which are down) holds on over a reload that changes nothing of their table.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Origin {
    /// The name that routes use. May be left out where there is only one origin.
    #[schemars(with = "Option<String>", extend("default" = "origin"))]
    pub name: Option<At<String>>,
    /// A folder whose files are the answers, in place of servers: `index.html` for folders, compressed neighbours (`.br`,
    /// `.zst`, `.gz`) for whoever takes them. Nothing outside it, no names that begin with a dot, no PHP scripts.
    #[schemars(with = "Option<String>", extend("examples" = ["/srv/site"]))]
    pub r#static: Option<At<PathBuf>>,
    /// memcached in place of servers: the application puts whole pages there. Several servers with commas between them.
    #[schemars(with = "Option<String>", extend("examples" = ["127.0.0.1:11211"]))]
    pub memcached: Option<At<String>>,
    /// Redis or Valkey in the same place: an address as in `shared.url`.
    #[schemars(extend("examples" = ["redis://127.0.0.1:6379"]))]
    pub redis: Option<Text<SharedUrl>>,
    /// The keys of the pages in memcached or Redis: text with `$scheme`, `$host` (`$http_host` with its port), `$uri` (the path, decoded), `$args`, `$is_args`,
    /// `$request_uri` (path and query as they came) and `$request_method`.
    #[schemars(with = "Option<String>", extend("examples" = ["$scheme:$host$uri"]))]
    pub key: Option<At<String>>,
    /// What lies under a key. The body of the page (`plain`) where nothing is said.
    #[schemars(extend("examples" = ["headers"]))]
    pub format: Option<Format>,
    /// The type of every page. By the ending of the path where nothing is said, and `text/html` where that says nothing.
    #[schemars(extend("examples" = ["application/json"]))]
    pub content_type: Option<Text<HeaderValue>>,
    /// Its servers, as URLs or as tables. All `http` or all `https`.
    pub servers: Option<Many<Brief<Server>>>,
    /// FastCGI servers, php-fpm above all, in place of `servers`: `unix:` or `tcp://`.
    pub fastcgi: Option<Many<Text<FastCgiUrl>>>,
    /// With `fastcgi`: the folder of the site, which the FastCGI servers see under the same path.
    #[schemars(with = "Option<String>", extend("examples" = ["/srv/site"]))]
    pub root: Option<At<PathBuf>>,
    /// With `fastcgi`: names that answer for a folder, the first that is there.
    #[schemars(extend("default" = ["index.php", "index.html"]))]
    pub index: Option<Many<Text<FileName>>>,
    /// With `fastcgi`: the script in `root` that answers for what is neither file nor folder, as WordPress wants it; or `off`.
    #[schemars(extend("default" = "index.php"))]
    pub front: Option<Text<Front>>,
    /// With `fastcgi`: paths of scripts. Only those that are there are run.
    #[schemars(extend("default" = ["*.php"]))]
    pub script: Option<Many<Text<FilePattern>>>,
    /// With `fastcgi`: paths of scripts that are never run: folders that visitors write to.
    #[schemars(extend("default" = ["*/wp-content/blogs.dir/**", "*/files/**", "*/media/**", "*/storage/**", "*/upload/**", "*/uploads/**"]))]
    pub no_script: Option<Many<Text<FilePattern>>>,
    /// With `fastcgi`: paths of files that are never sent. `.htaccess` is not read: what it guards in well-known applications is
    /// here where nothing is said.
    #[schemars(extend("default" = [r"~ (?i).*\.(engine|inc|install|log|make|module|po|profile|sh|sql|sqlite3?|theme|tpl|twig|xtmpl|ya?ml)(\.([0-9]+|bz2|gz|tar|xz|zip|zst))*", r"~ (?i).*(~|\.(bak|old|orig|save|sw[op]))", r"~ (?i).*/(auth\.json|composer\.(json|lock)|package(-lock)?\.json|yarn\.lock|web\.config)", r"~ (?i).*/(woocommerce_uploads|wc-logs|dlm_uploads|wpcf7_uploads|updraft|wflogs|backupbuddy_backups|backwpup-[^/]*)/.*", r"~ (?i).*/uploads/edd/.*\.(7z|docx?|epub|exe|mobi|mp4|pdf|rar|xlsx?|zip)", r"~ (?i).*/sites/[^/]+/(files/)?(private|backup_migrate|config_[^/]*)/.*", r"~ (?i).*/media/(customer|customer_address|custom_options|downloadable|import)/.*", r"~ (?i).*/media/theme_customization/.*\.xml", r"~ (?i).*/var/(backups|cache|export|import|log|report|session|tmp)/.*"]))]
    pub no_file: Option<Many<Text<FilePattern>>>,
    /// With `fastcgi`: further parameters for scripts, in place of Larder's own of the same name.
    #[schemars(extend("default" = []))]
    pub params: Option<Many<Text<Param>>>,
    /// How one of several servers is chosen.
    #[schemars(extend("default" = "round-robin"))]
    pub balance: Option<Balance>,
    /// What is spoken to the servers.
    #[schemars(extend("default" = "http1"))]
    pub protocol: Option<Protocol>,
    /// TLS towards servers with `https`.
    pub tls: Option<At<ServerTls>>,
    /// Time limits of a fetch.
    pub timeouts: Option<Timeouts>,
    /// Idle connections that each worker keeps to each server. With `fastcgi` none, since each holds a process of the server.
    #[schemars(extend("default" = 256))]
    pub idle_connections: Option<At<Count>>,
    /// Time that an idle connection is kept. Less than what the servers allow. With `fastcgi` ten seconds.
    #[schemars(extend("default" = "1m"))]
    pub idle_time: Option<Text<Duration>>,
    /// Fetches at the same time in all. Three quarters of them, of four or more, may be uploads whose content is on its way; event streams and tunnels that have
    /// begun do not count.
    #[schemars(range(min = 1), extend("default" = 1024))]
    pub most_concurrent: Option<At<Count>>,
    /// What happens to fetches beyond `most_concurrent`.
    pub queue: Option<Queue>,
    /// When a failed fetch is tried on another server. Only where that is safe.
    pub retry: Option<Retry>,
    /// When a server that fails is left alone.
    pub passive: Option<Passive>,
    /// Requests that ask each server whether it is well. Off where nothing is said.
    pub health: Option<At<Health>>,
    /// Time in which a server that comes back, or an address that joins others of its name, works up to its full share.
    #[schemars(extend("default" = "0s"))]
    pub slow_start: Option<Text<Duration>>,
    /// Size of a response's header fields in all, at least 1 KiB; there may be 256 of them.
    #[schemars(extend("default" = "64KiB"))]
    pub header_size: Option<Text<Size>>,
    /// How often the names of servers are resolved again, every 100 ms at most. Each address of a name is a server, 64 of them at most; what it has in IPv6 and in IPv4 counts once.
    #[schemars(extend("default" = "30s"))]
    pub resolve_every: Option<Text<Duration>>,
}

/// What lies under a page's key.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub enum Format {
    /// The body of the page.
    Plain,
    /// A block of header fields, an empty line, and the body.
    Headers,
    /// What Flask-Caching keeps of a view that returns a text.
    Flask,
}

/// One server of an origin.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(extend("required" = ["url"]))]
pub struct Server {
    /// `http://`, `https://` or `unix:`.
    pub url: Option<Text<ServerUrl>>,
    /// Its share beside the others.
    #[schemars(range(min = 1), extend("default" = 1))]
    pub weight: Option<At<Count>>,
    /// Asked only when no other server is well.
    #[schemars(extend("default" = false))]
    pub backup: Option<bool>,
}

impl Short for Server {
    const WHAT: &'static str = "the URL of a server";
    const EXAMPLES: &'static [&'static str] = ServerUrl::EXAMPLES;

    fn short(text: &str, span: Range<usize>) -> Result<Self, Wrong> {
        let value = ServerUrl::read(text)?;
        Ok(Self {
            url: Some(Text { value, span }),
            ..Self::default()
        })
    }
}

/// How one of several servers is chosen.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub enum Balance {
    /// In turn.
    RoundRobin,
    /// The one with the fewest fetches under way, those with `WebSocket` among them.
    LeastConnections,
    /// The same server for the same URL.
    ConsistentHash,
}

/// What is spoken to the servers.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub enum Protocol {
    /// HTTP/1.1.
    Http1,
    /// HTTP/2, without asking first where there is no TLS.
    Http2,
    /// What the server chooses in the TLS handshake; HTTP/1.1 without TLS.
    Auto,
}

/// TLS towards the servers.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ServerTls {
    /// The name that the certificate must have. The host of the URL where nothing is said.
    #[schemars(with = "Option<String>", extend("examples" = ["app.example"]))]
    pub server_name: Option<At<String>>,
    /// PEM file of the authorities to believe. The system's where nothing is said. A server's own certificate that signs itself can stand here
    /// if it is none of an authority (`CA:FALSE`), which `openssl req -x509` makes it unless it is told otherwise.
    #[schemars(with = "Option<String>", extend("examples" = ["/etc/larder/authorities.pem"]))]
    pub authorities: Option<At<PathBuf>>,
    /// Believe any certificate. For tests only.
    #[schemars(extend("default" = false))]
    pub insecure: Option<bool>,
}

/// Time limits of a fetch.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Timeouts {
    /// Until the connection stands. One of several addresses of a name has an even part of it, two seconds at least.
    #[schemars(extend("default" = "5s"))]
    pub connect: Option<Text<Duration>>,
    /// Until the header of the response is there.
    #[schemars(extend("default" = "1m"))]
    pub first_byte: Option<Text<Duration>>,
    /// Between two pieces of the response's body.
    #[schemars(extend("default" = "1m"))]
    pub between_bytes: Option<Text<Duration>>,
    /// From the beginning to the end of the body. No limit where nothing is said.
    #[schemars(extend("examples" = ["5m"]))]
    pub whole: Option<Text<Duration>>,
}

/// Fetches beyond `most_concurrent` wait.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Queue {
    /// How many may wait; further ones fail at once, with `0` all of them.
    #[schemars(extend("default" = 1024))]
    pub length: Option<At<Count>>,
    /// How long one may wait.
    #[schemars(extend("default" = "10s"))]
    pub time: Option<Text<Duration>>,
}

/// When a failed fetch is tried on another server.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Retry {
    /// Further attempts after the first.
    #[schemars(extend("default" = 1))]
    pub attempts: Option<At<Count>>,
    /// Retries of the last ten seconds at most, in percent of the requests; ten in any case.
    #[schemars(range(max = 100), extend("default" = 20))]
    pub percent: Option<At<Count>>,
}

/// When a server that fails is left alone.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Passive {
    /// Failures in a row; 0 switches it off.
    #[schemars(extend("default" = 3))]
    pub failures: Option<At<Count>>,
    /// How long it is left alone. Then one request tries it, and with an answer it is back.
    #[schemars(extend("default" = "10s"))]
    pub rest: Option<Text<Duration>>,
}

/// Requests that ask each server whether it is well.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Health {
    /// Path and query of the request.
    #[schemars(with = "Option<String>", extend("default" = "/"))]
    pub path: Option<At<String>>,
    /// Its `Host`. The server's own address where nothing is said.
    #[schemars(extend("examples" = ["app.example"]))]
    pub host: Option<Text<HostValue>>,
    /// How often, every 100 ms at most.
    #[schemars(extend("default" = "5s"))]
    pub every: Option<Text<Duration>>,
    /// How long an answer may take.
    #[schemars(extend("default" = "2s"))]
    pub timeout: Option<Text<Duration>>,
    /// Good answers in a row that bring a server back.
    #[schemars(range(min = 1), extend("default" = 2))]
    pub healthy_after: Option<At<Count>>,
    /// Bad answers in a row that take a server out.
    #[schemars(range(min = 1), extend("default" = 3))]
    pub unhealthy_after: Option<At<Count>>,
    /// The status of a good answer: a number, or `2xx`.
    #[schemars(with = "Option<String>", extend("default" = "2xx"))]
    pub status: Option<Text<proxy::policy::StatusPattern>>,
}
