//! Collects everything that sitemaps list, including the sitemaps that indexes name.

use super::sitemap::{self, Sitemap};
use crate::config::value::Size;
use bytes::Bytes;
use std::collections::HashSet;

/// How much is kept of what sitemaps list. Whoever writes them could fill any memory.
#[derive(Clone, Copy, Debug)]
struct Most {
    /// The most sitemaps that are read.
    sitemaps: usize,
    /// The most pages.
    pages: usize,
    /// The most bytes that the addresses of pages and sitemaps take.
    bytes: usize,
}

const MOST: Most = Most {
    sitemaps: 1000,
    pages: 1_000_000,
    bytes: 256 << 20,
};

/// The result of reading sitemaps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listed {
    /// The pages, by their whole URLs, in order.
    pub pages: Vec<String>,
    /// What could not be read, and why.
    pub problems: Vec<String>,
}

/// Reads the sitemaps at `urls`. `get` fetches one, or returns why not; it also refuses URLs that must not be
/// requested. What is too much is left out, which is a problem too.
pub async fn listed(urls: Vec<String>, get: impl AsyncFn(&str) -> Result<Bytes, String>) -> Listed {
    within(MOST, urls, get).await
}

async fn within(
    most: Most,
    urls: Vec<String>,
    get: impl AsyncFn(&str) -> Result<Bytes, String>,
) -> Listed {
    let mut listed = Listed::default();
    let mut seen = HashSet::new();
    let mut bytes = 0;
    let mut waiting: Vec<String> = urls.into_iter().rev().collect();
    while let Some(url) = waiting.pop() {
        if !seen.insert(url.clone()) {
            continue;
        }
        if seen.len() > most.sitemaps {
            let most = most.sitemaps;
            listed.problems.push(format!(
                "there are more than {most} sitemaps: {url} and others are left out"
            ));
            break;
        }
        let read = match get(&url).await {
            Ok(text) => sitemap::read(&text).map_err(|bad| bad.to_string()),
            Err(why) => Err(why),
        };
        let found = match read {
            Ok(found) => found,
            Err(why) => {
                listed.problems.push(format!("the sitemap {url}: {why}"));
                continue;
            }
        };
        let (Sitemap::Pages(addresses) | Sitemap::Index(addresses)) = &found;
        let taken = addresses.iter().map(|one| one.len() + size_of::<String>());
        bytes += taken.sum::<usize>();
        if bytes > most.bytes {
            let most = Size(most.bytes as u64);
            listed.problems.push(format!(
                "the addresses in the sitemaps take more than {most}: {url} and others are left out"
            ));
            break;
        }
        match found {
            Sitemap::Pages(pages) => listed.pages.extend(pages),
            Sitemap::Index(sitemaps) => waiting.extend(sitemaps.into_iter().rev()),
        }
        if listed.pages.len() > most.pages {
            let most = most.pages;
            listed.pages.truncate(most);
            listed.problems.push(format!(
                "the sitemaps list more than {most} pages: some of {url} and others are left out"
            ));
            break;
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

    #[tokio::test]
    async fn what_is_too_much_is_left_out_and_told() {
        let get = async |_: &str| {
            let pages = "<url><loc>/a</loc></url><url><loc>/b</loc></url>";
            Ok(Bytes::from(format!("<urlset>{pages}</urlset>")))
        };
        let enough = Most {
            sitemaps: 3,
            pages: 6,
            bytes: 6 * (2 + size_of::<String>()),
        };
        let found =
            async |most| within(most, ["1", "2", "3"].map(str::to_owned).to_vec(), get).await;
        let all = found(enough).await;
        assert_eq!((all.pages.len(), all.problems.len()), (6, 0));
        for (most, pages, told) in [
            (
                Most {
                    sitemaps: 2,
                    ..enough
                },
                4,
                "there are more than 2 sitemaps: 3 and others are left out",
            ),
            (
                Most { pages: 3, ..enough },
                3,
                "the sitemaps list more than 3 pages: some of 2 and others are left out",
            ),
            (
                Most {
                    bytes: 128,
                    ..enough
                },
                4,
                "the addresses in the sitemaps take more than 128B: 3 and others are left out",
            ),
        ] {
            let listed = found(most).await;
            assert_eq!(
                (listed.pages.len(), listed.problems),
                (pages, vec![told.to_owned()])
            );
        }
    }
}
