//! FastCGI origins.

use super::{Sink, kinds};
use crate::config::{
    Fault,
    value::{At, FileName, FilePattern, Many, Text, Word},
    written,
};
use origin::{
    OriginConfig,
    config::{FastCgi, Paths, Protocol, Server},
};
use std::{fs, ops::Range, path::PathBuf, sync::Arc, time::Duration};

/// What visitors write to in the most common applications, which may be in a folder of the site.
const UPLOADS: &[&str] = &[
    "*/wp-content/blogs.dir/**",
    "*/files/**",
    "*/media/**",
    "*/storage/**",
    "*/upload/**",
    "*/uploads/**",
];

/// What these applications guard with `.htaccess`, and what tells strangers how a site is made.
const GUARDED: &[&str] = &[
    // Sources, configuration, dumps and logs, compressed or not (mainly Drupal's own list).
    r"~ (?i).*\.(engine|inc|install|log|make|module|po|profile|sh|sql|sqlite3?|theme|tpl|twig|xtmpl|ya?ml)(\.([0-9]+|bz2|gz|tar|xz|zip|zst))*",
    // Files that editors and administrators leave behind.
    r"~ (?i).*(~|\.(bak|old|orig|save|sw[op]))",
    r"~ (?i).*/(auth\.json|composer\.(json|lock)|package(-lock)?\.json|yarn\.lock|web\.config)",
    // WordPress: files that are sold or uploaded, backups and logs.
    r"~ (?i).*/(woocommerce_uploads|wc-logs|dlm_uploads|wpcf7_uploads|updraft|wflogs|backupbuddy_backups|backwpup-[^/]*)/.*",
    r"~ (?i).*/uploads/edd/.*\.(7z|docx?|epub|exe|mobi|mp4|pdf|rar|xlsx?|zip)",
    // Drupal.
    r"~ (?i).*/sites/[^/]+/(files/)?(private|backup_migrate|config_[^/]*)/.*",
    // Magento: the list of its own configuration for nginx, and its folder for various data.
    r"~ (?i).*/media/(customer|customer_address|custom_options|downloadable|import)/.*",
    r"~ (?i).*/media/theme_customization/.*\.xml",
    r"~ (?i).*/var/(backups|cache|export|import|log|report|session|tmp)/.*",
];

/// Reads the servers and scripts of the file. `None` if no origin can be built from them.
pub(super) fn from_file(
    table: &At<written::Origin>,
    config: &mut OriginConfig,
    sink: &mut Sink<'_>,
) -> Option<()> {
    let written = &table.value;
    let servers = written.fastcgi.as_ref()?;
    contradictions(written, sink);
    let scripts = scripts(table, sink);
    if servers.list.is_empty() {
        sink.missing(
            &["fastcgi"],
            Fault::at(&servers.span, "an origin without servers")
                .instead("write `fastcgi = \"unix:/run/php/php-fpm.sock\"`"),
        );
        return None;
    }
    let addresses = servers.list.iter().map(|server| server.value.0.clone());
    config.servers = addresses.map(Server::new).collect();
    // An idle connection would hold a process of the server, even if others need it.
    config.idle_connections = 0;
    config.idle_time = Duration::from_secs(10);
    config.protocol = Protocol::FastCgi(Arc::new(scripts?));
    Some(())
}

/// Reads what answers below the folder of the site.
pub(super) fn scripts(table: &At<written::Origin>, sink: &mut Sink<'_>) -> Option<FastCgi> {
    let written = &table.value;
    let Some(root) = &written.root else {
        sink.missing(
            &["root"],
            Fault::at(
                &table.span,
                "`root` is missing: in which folder is the site?",
            )
            .instead("add `root = \"/srv/site\"`"),
        );
        return None;
    };
    if !is_folder(root, sink) {
        return None;
    }
    let names = |list: &Many<Text<FileName>>| {
        let names = list.list.iter().map(|name| name.value.0.clone());
        names.collect()
    };
    let usual_index = || ["index.php", "index.html"].map(str::to_owned).to_vec();
    let usual_front = || Some("index.php".to_owned());
    let params = written.params.iter().flat_map(|params| &params.list);
    Some(FastCgi {
        root: root.value.clone(),
        index: written.index.as_ref().map_or_else(usual_index, names),
        front: written
            .front
            .as_ref()
            .map_or_else(usual_front, |front| front.value.0.clone()),
        scripts: paths(written.script.as_ref(), &["*.php"]),
        no_scripts: paths(written.no_script.as_ref(), UPLOADS),
        no_files: paths(written.no_file.as_ref(), GUARDED),
        params: params
            .map(|param| (param.value.name.clone(), param.value.value.clone()))
            .collect(),
    })
}

fn is_folder(root: &At<PathBuf>, sink: &mut Sink<'_>) -> bool {
    let At { value, span } = root;
    let what = match fs::metadata(value) {
        _ if !value.is_absolute() => "the path of the folder must be absolute".to_owned(),
        Ok(there) if there.is_dir() => return true,
        Ok(_) => format!("{} is not a folder", value.display()),
        Err(error) => format!("{}: {error}", value.display()),
    };
    sink.push(
        Fault::at(span, what)
            .instead("write the folder of the site as php-fpm sees it: `root = \"/srv/site\"`"),
    );
    false
}

fn paths(written: Option<&Many<Text<FilePattern>>>, usual: &[&str]) -> Paths {
    let patterns: Vec<FilePattern> = match written {
        Some(list) => list.list.iter().map(|one| one.value.clone()).collect(),
        None => usual
            .iter()
            .flat_map(|one| FilePattern::parse(one))
            .collect(),
    };
    Paths::new(format!("{patterns:?}"), move |path| {
        patterns
            .iter()
            .any(|FilePattern(pattern)| pattern.matches(path))
    })
}

/// Reports keys that only apply to servers that speak HTTP.
fn contradictions(written: &written::Origin, sink: &mut Sink<'_>) {
    if let Some(protocol) = &written.protocol {
        sink.push(
            Fault::at(
                &protocol.span,
                "`protocol` is for servers that speak HTTP; these speak FastCGI",
            )
            .instead("leave `protocol` out"),
        );
    }
    if let Some(tls) = &written.tls {
        sink.push(
            Fault::at(&tls.span, "FastCGI has no TLS: `tls` has no effect").instead(
                "leave `tls` out, and keep the servers on this machine or on a private network",
            ),
        );
    }
}

/// Returns the keys of `written` that only apply to FastCGI.
pub(super) fn of_scripts(
    written: &written::Origin,
) -> impl Iterator<Item = (&'static str, &Range<usize>)> {
    kinds::written_ones([
        ("root", written.root.as_ref().map(|key| &key.span)),
        ("index", written.index.as_ref().map(|key| &key.span)),
        ("front", written.front.as_ref().map(|key| &key.span)),
        ("script", written.script.as_ref().map(|key| &key.span)),
        ("no_script", written.no_script.as_ref().map(|key| &key.span)),
        ("no_file", written.no_file.as_ref().map(|key| &key.span)),
        ("params", written.params.as_ref().map(|key| &key.span)),
    ])
}

/// Reports keys that only apply to FastCGI, in an origin that is `what`.
pub(super) fn has_no_effect(written: &written::Origin, what: &str, sink: &mut Sink<'_>) {
    for (key, span) in of_scripts(written) {
        // Who wrote this counts on it.
        let instead = if key == "no_file" {
            ", and refuse its paths in a route: `refuse = \"403\"`"
        } else {
            ""
        };
        sink.missing(
            &["fastcgi"],
            Fault::at(
                span,
                format!("`{key}` is for `fastcgi`: it has no effect on {what}"),
            )
            .instead(format!("leave `{key}` out{instead}")),
        );
    }
}
