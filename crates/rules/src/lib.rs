//! Pure HTTP caching rules: no I/O, no clock (`now` is an argument), no async, no logging, no configuration.
//!
//! The table maps each section to the functions that implement it:
//!
//! | section | subject | function |
//! |---|---|---|
//! | RFC 9111 2 | the cache key: method and target | [`key::normalize`], [`key::normalize_host`], [`key::choose_query`] |
//! | RFC 9111 3 | storing responses | [`storable::judge`] |
//! | RFC 9111 3.1 | fields not stored | [`fields::remove_hop_by_hop`], [`fields::is_unstorable`] |
//! | RFC 9111 3.2 | updating stored fields | [`validate::freshen`] |
//! | RFC 9111 3.3 | incomplete responses | [`partial::Spans`], [`range::range_value`] |
//! | RFC 9111 3.4 | combining parts | [`partial::combinable`] |
//! | RFC 9111 3.5 | requests with `Authorization` | [`storable::judge`] |
//! | RFC 9111 4 | whether a stored response answers | [`reuse::judge`] |
//! | RFC 9111 4.1 | `Vary` | [`vary::nominated`], [`vary::variant_key`] |
//! | RFC 9111 4.2.1, 4.2.2 | lifetime | [`freshness::facts`] |
//! | RFC 9111 4.2.3 | age | [`freshness::facts`], [`freshness::Facts::age`] |
//! | RFC 9111 4.2.4 | sending stale responses | [`reuse::judge`], [`reuse::on_failure`] |
//! | RFC 9111 4.3.1 | the conditional request | [`validate::remove_conditions`], [`validate::condition`] |
//! | RFC 9111 4.3.2 | the client's conditions | [`precondition::judge`], [`precondition::if_range_holds`] |
//! | RFC 9111 4.3.3, 4.3.4 | what a 304 freshens | [`validate::selected`], [`validate::freshen`] |
//! | RFC 9111 4.3.5 | what a HEAD says | [`validate::head_says`] |
//! | RFC 9111 4.4 | invalidation | [`invalidate::invalidates`], [`invalidate::others`] |
//! | RFC 9111 5.1 | `Age` | [`freshness::facts`] |
//! | RFC 9111 5.2.1, 5.4 | directives of requests, `Pragma` | [`directives::request`] |
//! | RFC 9111 5.2.2 | directives of responses | [`directives::response`] |
//! | RFC 9111 5.3 | `Expires` | [`freshness::facts`] |
//! | RFC 9110 4.2.3 | one spelling of a URI | [`key::normalize`], [`key::normalize_host`] |
//! | RFC 9110 5.6.7 | dates | [`time::Time::parse`], [`time::Time::to_http`] |
//! | RFC 9110 7.6.1 | `Connection` and hop-by-hop fields | [`fields::remove_hop_by_hop`] |
//! | RFC 9110 7.6.3 | `Via` | [`fields::Via`] |
//! | RFC 9110 8.4.1 | content codings, what may be coded | [`coding::Coding`], [`coding::judge`] |
//! | RFC 9110 8.8 | comparing validators | [`precondition::judge`], [`validate::selected`], [`partial::combinable`] |
//! | RFC 9110 8.8.3.3 | entity tags of codings | [`coding::describe`], [`coding::understood`], [`coding::for_origin`] |
//! | RFC 9110 9.2.1 | safe methods | [`method::is_safe`] |
//! | RFC 9110 9.2.3 | methods answered from the store | [`method::is_retrieval`] |
//! | RFC 9110 12.5 | what the fields of negotiation mean | [`vary::variant_key`] |
//! | RFC 9110 12.5.3 | `Accept-Encoding` | [`coding::Accepted::read`], [`coding::choose`] |
//! | RFC 9110 13.1, 13.2 | preconditions and their order | [`precondition::judge`], [`precondition::if_range_holds`] |
//! | RFC 9110 14.1, 14.2 | `Range` | [`range::parse`], [`range::resolve`], [`range::span_of`] |
//! | RFC 9110 14.4 | `Content-Range` | [`range::parse_content_range`], [`range::content_range`], [`range::unsatisfied`] |
//! | RFC 9110 14.6, 15.3.7.2 | `multipart/byteranges` | [`range::part_head`], [`range::part_end`] |
//! | RFC 9110 15.4.5 | fields of a 304 | [`precondition::trim_not_modified`] |
//! | RFC 5861 3 | `stale-while-revalidate` | [`reuse::judge`] |
//! | RFC 5861 4 | `stale-if-error` | [`reuse::on_failure`] |
//! | RFC 8246 | `immutable` | [`directives::response`], [`freshness::Facts`] |
//! | RFC 9211 | `Cache-Status` | [`status::Member::to_value`] |
//! | RFC 9213 | targeted fields | [`directives::response`] |
//! | RFC 9875 | cache groups | [`surrogate::groups`], [`surrogate::invalidated_groups`] |
//! | RFC 9112 2.1 | where a head ends | [`head::may_be_whole`] |
//! | RFC 7239 4, 6 | `Forwarded`, and the addresses of nodes | [`forwarded::elements`], [`forwarded::address`] |
//! | RFC 3986 5 | references, as fields and pages have them | [`uri::join`] |
//! | none | tags (surrogate keys) | [`surrogate::tags`] |
//! | none | `Surrogate-Control: content` | [`surrogate::wants_esi`] |

#![forbid(unsafe_code)]

pub mod coding;
pub mod directives;
mod etag;
pub mod fields;
pub mod forwarded;
pub mod freshness;
pub mod head;
pub mod invalidate;
pub mod key;
pub mod method;
pub mod partial;
pub mod precondition;
pub mod range;
pub mod reuse;
pub mod status;
pub mod storable;
pub mod surrogate;
pub mod time;
pub mod uri;
pub mod validate;
pub mod vary;
