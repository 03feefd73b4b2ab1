//! Goes through everything that is to be warm.

use super::{Address, Answered, Summary, Variants};
use crate::{
    config::value::ServerUrl,
    crawl::{
        collect,
        fetcher::{Fetcher, Manner},
        pace::Pace,
        show::Show,
        sitemap,
        stop::Stop,
    },
};
use bytes::Bytes;
use http::HeaderMap;
use http_body_util::BodyExt;
use origin::ResponseBody;
use std::{cell::RefCell, collections::HashMap, rc::Rc};
use tokio::task::JoinSet;

/// The most servers that are asked in one round.
const MOST_SERVERS: usize = 64;

/// The number of problems reported one by one in a round; the rest is only counted.
const TOLD: usize = 50;

/// The orders for a warmer.
#[derive(Debug)]
pub struct Orders {
    /// The cache to ask; `None` means the host of each URL.
    pub via: Option<ServerUrl>,
    /// The requests for each URL.
    pub variants: Variants,
    /// How to send requests.
    pub manner: Manner,
    /// Whether to report only problems.
    pub quiet: bool,
}

/// What is to be warm.
#[derive(Clone, Debug, Default)]
pub struct Source {
    /// URLs.
    pub urls: Vec<String>,
    /// Sitemaps, by their URLs.
    pub sitemaps: Vec<String>,
}

/// The result of a round.
#[derive(Debug, Default)]
pub struct Round {
    /// The number of requests by outcome.
    pub summary: Summary,
    /// Whether it was told to stop before it had finished.
    pub stopped: bool,
    /// Whether something could not be read or fetched.
    pub is_wrong: bool,
}

/// Fetches into caches. Must be used within a `LocalSet`.
#[derive(Debug)]
pub struct Warmer {
    orders: Orders,
    pace: Pace,
    show: Show,
    fetchers: RefCell<HashMap<String, Rc<Fetcher>>>,
}

impl Warmer {
    /// A warmer that has fetched nothing yet.
    pub fn new(orders: Orders) -> Rc<Self> {
        Rc::new(Self {
            pace: Pace::new(orders.manner.rate),
            show: Show::new(orders.quiet),
            fetchers: RefCell::default(),
            orders,
        })
    }

    /// Fetches everything once, in order.
    pub async fn round(self: &Rc<Self>, source: &Source, stop: &mut Stop) -> Round {
        let mut round = Round::default();
        let addresses = tokio::select! {
            addresses = self.addresses(source, &mut round.is_wrong) => addresses,
            () = stop.told() => {
                round.stopped = true;
                return round;
            }
        };
        let variants = self.orders.variants.len();
        let all = addresses.len() * variants;
        let mut waiting = addresses.into_iter().flat_map(|address| {
            let address = Rc::new(address);
            (0..variants).map(move |variant| (address.clone(), variant))
        });
        let mut tasks = JoinSet::new();
        let (mut done, mut told) = (0, 0);
        loop {
            while tasks.len() < self.orders.manner.concurrency
                && let Some((address, variant)) = waiting.next()
            {
                tasks.spawn_local(self.clone().fetch(address, variant));
            }
            let joined = tokio::select! {
                joined = tasks.join_next() => joined,
                () = stop.told() => {
                    round.stopped = true;
                    break;
                }
            };
            let Some(joined) = joined else { break };
            let Ok((address, answered)) = joined else {
                round.is_wrong = true;
                continue;
            };
            done += 1;
            if answered.is_wrong() {
                told += 1;
                if told <= TOLD {
                    self.show.problem(&format!("{address}: {answered}"));
                }
            }
            self.show.at(done, all, &address.target);
            round.summary.add(answered);
        }
        self.show.rest();
        round.is_wrong |= round.summary.is_wrong();
        round
    }

    /// Returns the addresses that are listed or named, each once.
    async fn addresses(&self, source: &Source, is_wrong: &mut bool) -> Vec<Address> {
        let sitemaps = source.sitemaps.clone();
        let listed = collect::listed(sitemaps, async |url| self.sitemap(url).await).await;
        for problem in &listed.problems {
            *is_wrong = true;
            self.show.problem(problem);
        }
        let mut seen = std::collections::HashSet::new();
        let mut addresses = Vec::new();
        for url in source.urls.iter().chain(&listed.pages) {
            match Address::parse(url) {
                Ok(address) if seen.insert(address.to_string()) => addresses.push(address),
                Ok(_) => {}
                Err(bad) => {
                    *is_wrong = true;
                    self.show.problem(&bad.to_string());
                }
            }
        }
        addresses
    }

    async fn sitemap(&self, url: &str) -> Result<Bytes, String> {
        let address = Address::parse(url).map_err(|bad| bad.to_string())?;
        let fetcher = self.fetcher(&address)?;
        self.pace.turn().await;
        let content = fetcher.content(&address.host, &address.target, sitemap::LARGEST);
        content.await.map_err(|error| error.to_string())
    }

    async fn fetch(
        self: Rc<Self>,
        address: Rc<Address>,
        variant: usize,
    ) -> (Rc<Address>, Answered) {
        let none = HeaderMap::new();
        let fields = self.orders.variants.get(variant).unwrap_or(&none);
        let fetcher = match self.fetcher(&address) {
            Ok(fetcher) => fetcher,
            Err(why) => return (address, Answered::Failed(why)),
        };
        self.pace.turn().await;
        let failed = |error: origin::Error| Answered::Failed(error.kind().token().to_owned());
        let answered = match fetcher.get(&address.host, &address.target, fields).await {
            Err(error) => failed(error),
            Ok(response) => {
                let (head, body) = response.into_parts();
                match through(body).await {
                    Ok(()) => Answered::of(head.status, &head.headers),
                    Err(error) => failed(error),
                }
            }
        };
        (address, answered)
    }

    /// Returns the fetcher for the server to ask for `address`.
    fn fetcher(&self, address: &Address) -> Result<Rc<Fetcher>, String> {
        let server = self.orders.via.as_ref().unwrap_or(&address.server);
        let is_tls = server.tls == Some(true);
        // With TLS, each name has its own connections, since the certificate is for the name.
        let name = if is_tls {
            address.name()
        } else {
            String::new()
        };
        let key = format!("{} {is_tls} {name}", server.address);
        let mut fetchers = self.fetchers.borrow_mut();
        if let Some(fetcher) = fetchers.get(&key) {
            return Ok(fetcher.clone());
        }
        if fetchers.len() >= MOST_SERVERS {
            return Err(format!(
                "more than {MOST_SERVERS} servers: name the cache with --via"
            ));
        }
        let manner = Manner {
            rate: 0,
            ..self.orders.manner.clone()
        };
        let name = is_tls.then_some(name);
        let fetcher = Fetcher::new(server, name, &manner).map_err(|error| error.to_string())?;
        let fetcher = Rc::new(fetcher);
        fetchers.insert(key, fetcher.clone());
        Ok(fetcher)
    }
}

/// Reads a body to its end and keeps nothing.
async fn through(mut body: ResponseBody) -> Result<(), origin::Error> {
    while let Some(frame) = body.frame().await {
        frame?;
    }
    Ok(())
}
