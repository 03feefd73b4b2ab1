//! Crawls a site as an anonymous visitor: the common part of `larder publish` and `larder warm`.
//!
//! `site` decides what belongs to the site. `links`, `style` and `sitemap` find targets, and `frontier` bounds them.
//! `fetcher` requests them at the rate of `pace`, and `show` reports the progress.
//!
//! `robots.txt` is not heeded: it addresses strangers, and this is the application's own operator.

pub mod collect;
pub mod fetcher;
pub mod frontier;
pub mod links;
pub mod pace;
pub mod show;
pub mod site;
pub mod sitemap;
pub mod stop;
pub mod style;
