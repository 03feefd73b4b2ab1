//! Collects everything that sitemaps list, including the sitemaps that indexes name.

use super::sitemap::{self, Sitemap};
use bytes::Bytes;
use std::collections::HashSet;

/// The most sitemaps that are read.
const MOST_SITEMAPS: usize = 1000;

/// The result of reading sitemaps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listed {
    /// The pages, by their whole URLs, in order.
    pub pages: Vec<String>,
    /// What could not be read, and why.
    pub problems: Vec<String>,
}

/// Reads the sitemaps at `urls`. `get` fetches one, or returns why not; it also refuses URLs that must not be
/// requested.
pub async fn listed(urls: Vec<String>, get: impl AsyncFn(&str) -> Result<Bytes, String>) -> Listed {
    let mut listed = Listed::default();
    let mut seen = HashSet::new();
    let mut waiting: Vec<String> = urls.into_iter().rev().collect();
    while let Some(url) = waiting.pop() {
        if !seen.insert(url.clone()) {
            continue;
        }
        if seen.len() > MOST_SITEMAPS {
            let what = format!(
                "there are more than {MOST_SITEMAPS} sitemaps: {url} and others are left out"
            );
            listed.problems.push(what);
            break;
        }
        let read = match get(&url).await {
            Ok(text) => sitemap::read(&text).map_err(|bad| bad.to_string()),
            Err(why) => Err(why),
        };
        match read {
            Ok(Sitemap::Pages(pages)) => listed.pages.extend(pages),
            Ok(Sitemap::Index(sitemaps)) => waiting.extend(sitemaps.into_iter().rev()),
            Err(why) => listed.problems.push(format!("the sitemap {url}: {why}")),
        }
    }
    listed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn indexes_are_followed_and_loops_end() {
        let get = async |url: &str| {
            match url {
            "index" => Ok(Bytes::from_static(
                b"<sitemapindex><sitemap><loc>index</loc></sitemap><sitemap><loc>one</loc></sitemap>\
                  <sitemap><loc>gone</loc></sitemap><sitemap><loc>two</loc></sitemap></sitemapindex>",
            )),
            "one" => Ok(Bytes::from_static(b"<urlset><url><loc>a</loc></url></urlset>")),
            "two" => Ok(Bytes::from_static(b"<html></html>")),
            _ => Err("404".to_owned()),
        }
        };
        let listed = listed(vec!["index".to_owned()], get).await;
        assert_eq!(listed.pages, ["a"]);
        let problems = [
            "the sitemap gone: 404",
            "the sitemap two: neither a sitemap nor an index of sitemaps",
        ];
        assert_eq!(listed.problems, problems);
    }
}
