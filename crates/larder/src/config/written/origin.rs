//! Origins, as written.

use crate::config::value::{
    At, Brief, Count, FastCgiUrl, FileName, FilePattern, Front, HeaderSize, HostValue, Many, Param,
    ServerUrl, SharedUrl, Short, Text, TimeLimit, Word, Wrong,
};
use http::HeaderValue;
use schemars::JsonSchema;
use serde::Deserialize;
use std::{ops::Range, path::PathBuf, time::Duration};

/// Where answers come from: an application on one or several servers, a folder, or a page store. A reload that does not
/// change the table of an origin keeps the state of its servers: turns, retries, addresses, and which servers are down.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Origin {
    /// The name by which routes refer to it. May be left out if there is only one origin.
    #[schemars(with = "Option<String>", extend("default" = "origin"))]
    pub name: Option<At<String>>,
    /// A folder whose files are the answers, instead of servers: `index.html` for folders, and compressed neighbours
    /// (`.br`, `.zst`, `.gz`) for clients that accept them. Nothing outside the folder is sent, no name that begins
    /// with a dot, and no PHP script.
    #[schemars(with = "Option<String>", extend("examples" = ["/srv/site"]))]
    pub r#static: Option<At<PathBuf>>,
    /// memcached instead of servers: the application puts whole pages there. Separate several memcached servers with
    /// commas.
    #[schemars(with = "Option<String>", extend("examples" = ["127.0.0.1:11211"]))]
    pub memcached: Option<At<String>>,
    /// Redis or Valkey, likewise: an address as in `shared.url`.
    #[schemars(extend("examples" = ["redis://127.0.0.1:6379"]))]
    pub redis: Option<Text<SharedUrl>>,
    /// The keys of the pages in memcached or Redis: text with `$scheme`, `$host` (`$http_host` with its port), `$uri`
    /// (the path, decoded), `$args`, `$is_args`, `$request_uri` (path and query) and `$request_method`. Scheme, host and
    /// query are as the `key` of the route has them; with `key.host = false`, the host is `origin_host`.
    #[schemars(with = "Option<String>", extend("examples" = ["$scheme:$host$uri"]))]
    pub key: Option<At<String>>,
    /// What a key holds. If not set, the body of the page (`plain`).
    #[schemars(extend("examples" = ["headers"]))]
    pub format: Option<At<Format>>,
    /// The media type of every page. If not set, it follows from the ending of the path, or is `text/html` if that says
    /// nothing.
    #[schemars(extend("examples" = ["application/json"]))]
    pub content_type: Option<Text<HeaderValue>>,
    /// The servers, as URLs or as tables: either all `http` or all `https`.
    pub servers: Option<Many<Brief<Server>>>,
    /// FastCGI servers, such as php-fpm, instead of `servers`: `unix:` or `tcp://`.
    pub fastcgi: Option<Many<Text<FastCgiUrl>>>,
    /// With `fastcgi`: the folder of the site. The FastCGI servers must see it under the same path.
    #[schemars(with = "Option<String>", extend("examples" = ["/srv/site"]))]
    pub root: Option<At<PathBuf>>,
    /// With `fastcgi`: names of the files that answer for a folder. The first that exists answers.
    #[schemars(extend("default" = ["index.php", "index.html"]))]
    pub index: Option<Many<Text<FileName>>>,
    /// With `fastcgi`: the script in `root` that answers paths that are neither file nor folder, as WordPress needs; or
    /// `off`.
    #[schemars(extend("default" = "index.php"))]
    pub front: Option<Text<Front>>,
    /// With `fastcgi`: paths of scripts. Only scripts that exist are run.
    #[schemars(extend("default" = ["*.php"]))]
    pub script: Option<Many<Text<FilePattern>>>,
    /// With `fastcgi`: paths of scripts that are never run, such as folders that visitors write to.
    #[schemars(extend("default" = ["*/wp-content/blogs.dir/**", "*/files/**", "*/media/**", "*/storage/**", "*/upload/**", "*/uploads/**"]))]
    pub no_script: Option<Many<Text<FilePattern>>>,
    /// With `fastcgi`: paths of files that are never sent. Larder does not read `.htaccess`; the default covers what
    /// `.htaccess` files guard in well-known applications.
    #[schemars(extend("default" = [r"~ (?i).*\.(engine|inc|install|log|make|module|po|profile|sh|sql|sqlite3?|theme|tpl|twig|xtmpl|ya?ml)(\.([0-9]+|bz2|gz|tar|xz|zip|zst))*", r"~ (?i).*(~|\.(bak|old|orig|save|sw[op]))", r"~ (?i).*/(auth\.json|composer\.(json|lock)|package(-lock)?\.json|yarn\.lock|web\.config)", r"~ (?i).*/(woocommerce_uploads|wc-logs|dlm_uploads|wpcf7_uploads|updraft|wflogs|backupbuddy_backups|backwpup-[^/]*)/.*", r"~ (?i).*/uploads/edd/.*\.(7z|docx?|epub|exe|mobi|mp4|pdf|rar|xlsx?|zip)", r"~ (?i).*/sites/[^/]+/(files/)?(private|backup_migrate|config_[^/]*)/.*", r"~ (?i).*/media/(customer|customer_address|custom_options|downloadable|import)/.*", r"~ (?i).*/media/theme_customization/.*\.xml", r"~ (?i).*/var/(backups|cache|export|import|log|report|session|tmp)/.*"]))]
    pub no_file: Option<Many<Text<FilePattern>>>,
    /// With `fastcgi`: more parameters for scripts. They replace Larder's own parameters of the same name.
    #[schemars(extend("default" = []))]
    pub params: Option<Many<Text<Param>>>,
    /// How one of several servers is chosen for a fetch.
    #[schemars(extend("default" = "round-robin"))]
    pub balance: Option<At<Balance>>,
    /// The protocol between Larder and the servers.
    #[schemars(extend("default" = "http1"))]
    pub protocol: Option<At<Protocol>>,
    /// TLS to servers with `https`.
    pub tls: Option<At<ServerTls>>,
    /// Time limits of a fetch.
    pub timeouts: Option<Timeouts>,
    /// Idle connections that each worker keeps to each server. One of HTTP/2 is idle while no fetch is under way on it; it
    /// is closed within a second if there are too many, the oldest first. One of HTTP/1.1 is not kept after a `HEAD`,
    /// nor after a wish for another protocol that was declined. With `fastcgi` the default is none, because each holds
    /// a process of the server.
    #[schemars(extend("default" = 256))]
    pub idle_connections: Option<At<Count>>,
    /// How long an idle connection is kept. Must be shorter than the servers allow. With `fastcgi` the default is ten
    /// seconds.
    #[schemars(extend("default" = "1m"))]
    pub idle_time: Option<Text<Duration>>,
    /// Fetches at the same time, in total. If this is four or more, at most three quarters of them may be uploads whose
    /// content is still on its way. Event streams and tunnels that have begun do not count.
    #[schemars(extend("default" = 1024))]
    pub most_concurrent: Option<At<Count<1>>>,
    /// What happens to fetches beyond `most_concurrent`.
    pub queue: Option<Queue>,
    /// When a failed fetch is repeated on another server. Only if that is safe.
    pub retry: Option<At<Retry>>,
    /// When a failing server is not used for a while.
    pub passive: Option<At<Passive>>,
    /// Requests that check the health of each server. Off if not set.
    pub health: Option<At<Health>>,
    /// Time over which a server that has recovered, or an address that joins others of its name, is brought up to its
    /// full share of the fetches.
    #[schemars(extend("default" = "0s"))]
    pub slow_start: Option<Text<Duration>>,
    /// Total size of a response's header fields, from 1 KiB to 1 MiB. A response may have 256 fields.
    #[schemars(extend("default" = "64KiB"))]
    pub header_size: Option<Text<HeaderSize>>,
    /// How often the names of servers are resolved again, at most every 100 ms. Each address of a name is a server, at
    /// most 64 of them. Addresses that a name has in both IPv6 and IPv4 count once.
    #[schemars(extend("default" = "30s"))]
    pub resolve_every: Option<Text<TimeLimit>>,
}

/// What the key of a page holds.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub enum Format {
    /// The body of the page.
    Plain,
    /// Header fields, an empty line, and the body.
    Headers,
    /// What Flask-Caching stores for a view that returns a text.
    Flask,
}

/// One server of an origin.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(extend("required" = ["url"]))]
pub struct Server {
    /// `http://`, `https://` or `unix:`.
    pub url: Option<Text<ServerUrl>>,
    /// Its share of the fetches, relative to the other servers.
    #[schemars(extend("default" = 1))]
    pub weight: Option<At<Count<1>>>,
    /// Used only while no other server is healthy.
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

/// How one of several servers is chosen for a fetch.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub enum Balance {
    /// In turn.
    RoundRobin,
    /// The server with the fewest fetches under way, including `WebSocket` connections.
    LeastConnections,
    /// The same server for the same URL.
    ConsistentHash,
}

/// The protocol between Larder and the servers.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub enum Protocol {
    /// HTTP/1.1.
    Http1,
    /// HTTP/2, without negotiation if there is no TLS. HTTP/2 has no upgrades, so a `WebSocket` goes over HTTP/1.1 on a
    /// connection of its own if a server with TLS offers that, and is answered with 501 elsewhere. A request for any
    /// other upgrade goes on without it then.
    Http2,
    /// What the server chooses in the TLS handshake. Without TLS, HTTP/1.1.
    Auto,
}

/// TLS to the servers.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ServerTls {
    /// The name that the certificate must have. If not set, the host of the URL.
    #[schemars(with = "Option<String>", extend("examples" = ["app.example"]))]
    pub server_name: Option<At<String>>,
    /// PEM file of the authorities to trust. If not set, those of the system. A server's own self-signed certificate
    /// can be used here if it is not marked as an authority (`CA:FALSE`); `openssl req -x509` marks it as one unless
    /// told otherwise.
    #[schemars(with = "Option<String>", extend("examples" = ["/etc/larder/authorities.pem"]))]
    pub authorities: Option<At<PathBuf>>,
    /// Accept any certificate. For tests only.
    #[schemars(extend("default" = false))]
    pub insecure: Option<bool>,
}

/// Time limits of a fetch.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Timeouts {
    /// Until the connection is established. If a name has several addresses, each gets an equal part of this time, but
    /// at least two seconds.
    #[schemars(extend("default" = "5s"))]
    pub connect: Option<Text<TimeLimit>>,
    /// Until the header of the response has arrived.
    #[schemars(extend("default" = "1m"))]
    pub first_byte: Option<Text<TimeLimit>>,
    /// Between two pieces of the response's body.
    #[schemars(extend("default" = "1m"))]
    pub between_bytes: Option<Text<TimeLimit>>,
    /// From the beginning of the fetch to the end of the body. If not set, no limit; for a page store, whose only limit
    /// this is, 200 ms.
    #[schemars(extend("examples" = ["5m"]))]
    pub whole: Option<Text<TimeLimit>>,
}

/// The queue of fetches beyond `most_concurrent`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Queue {
    /// How many fetches may wait. More fail at once; with `0`, all of them.
    #[schemars(extend("default" = 1024))]
    pub length: Option<At<Count>>,
    /// How long a fetch may wait.
    #[schemars(extend("default" = "10s"))]
    pub time: Option<Text<Duration>>,
}

/// When a failed fetch is repeated on another server.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Retry {
    /// Attempts after the first one. A server that cannot be connected to does not count: the next one is asked, and each
    /// once. Nor does a kept connection that the server closes as the request is sent, unless the request may have changed
    /// something (`PUT`, `DELETE`).
    #[schemars(extend("default" = 1))]
    pub attempts: Option<At<Count>>,
    /// Limit on retries within ten seconds: ten, plus this percentage of the fetches.
    #[schemars(extend("default" = 20))]
    pub percent: Option<At<Count<0, 100>>>,
}

/// When a failing server is not used for a while.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Passive {
    /// Failures in a row after which a server is not used; `0` turns this off.
    #[schemars(extend("default" = 3))]
    pub failures: Option<At<Count>>,
    /// How long the server is not used. Then one request tries it; if the server answers, it is used again.
    #[schemars(extend("default" = "10s"))]
    pub rest: Option<Text<Duration>>,
}

/// Requests that check the health of each server.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Health {
    /// Path and query of the request.
    #[schemars(with = "Option<String>", extend("default" = "/"))]
    pub path: Option<At<String>>,
    /// The `Host` of the request. If not set, the server's own address.
    #[schemars(extend("examples" = ["app.example"]))]
    pub host: Option<Text<HostValue>>,
    /// How often a server is checked, at most every 100 ms.
    #[schemars(extend("default" = "5s"))]
    pub every: Option<Text<TimeLimit>>,
    /// How long an answer may take.
    #[schemars(extend("default" = "2s"))]
    pub timeout: Option<Text<TimeLimit>>,
    /// Good answers in a row after which a server is used again.
    #[schemars(extend("default" = 2))]
    pub healthy_after: Option<At<Count<1>>>,
    /// Bad answers in a row after which a server is not used.
    #[schemars(extend("default" = 3))]
    pub unhealthy_after: Option<At<Count<1>>>,
    /// The status of a good answer: a number, or `2xx`.
    #[schemars(with = "Option<String>", extend("default" = "2xx"))]
    pub status: Option<Text<proxy::policy::StatusPattern>>,
}
