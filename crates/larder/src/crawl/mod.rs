//! Going through a site as an anonymous visitor: what `larder publish` and `larder warm` have in common.
//!
//! `site` says what belongs to the site, `links`, `style` and `sitemap` find it, `frontier` bounds it, `fetcher` asks for it
//! at the pace of `pace`, and `show` tells how far it has come.
//!
//! `robots.txt` is not heeded: it speaks to strangers, and this is the application's own operator at work.

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
