//! The product as its users meet it: the binary is started on port 0 between a scripted origin and raw clients.
//!
//! One module a topic. Expectations come from the RFCs and from what the product promises, never from what the code
//! happens to do. One test binary holds them all, so that they are linked once and run side by side.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a panic is how a test fails, in its helpers too"
)]
#![allow(clippy::too_many_lines, reason = "a table is as long as it has rows")]

mod access_log;
mod admin;
mod admin_schema;
mod bad_input;
mod bad_origin;
mod bad_origin_http2;
mod believed;
mod cache_status;
mod cache_suite;
mod checked;
mod coding;
mod coding_forms;
mod coding_leaks;
mod coding_origin;
mod coding_parts;
mod coding_passed;
mod coding_room;
mod collapse;
mod common;
mod conditions;
mod deceived;
mod demo;
mod details;
mod disk;
mod disk_damage;
mod disk_demoted;
mod disk_device;
mod disk_failing;
mod disk_full;
mod disk_large;
mod disk_leaks;
mod disk_purge;
mod disk_reuse;
mod disk_spliced;
mod disk_trouble;
mod empty_content;
mod esi;
mod esi_answers;
mod esi_bad_input;
mod esi_coding;
mod esi_includes;
mod esi_kept;
mod esi_leaks;
mod esi_requests;
mod examples;
mod expectation;
mod explain;
mod fastcgi;
mod fastcgi_answers;
mod fastcgi_bad;
mod fastcgi_connections;
mod fastcgi_guarded;
mod fastcgi_late;
mod fastcgi_php_fpm;
mod fastcgi_site;
mod fastcgi_uploads;
mod frames;
mod graphql;
mod hit_heads;
mod hop_by_hop;
mod invalidation;
mod keys;
mod leaks;
mod leaks_to_followers;
mod lifecycle;
mod lifecycle_edges;
mod lifecycle_sockets;
mod lifetime;
mod limits;
mod mapped;
mod memcached_full;
mod memory;
mod methods;
mod metrics;
mod nodes;
mod nodes_apart;
mod nodes_defaults;
mod nodes_disk;
mod nodes_failover;
mod nodes_memcached;
mod nodes_purge;
mod one_client;
mod origins;
mod origins_names;
mod origins_trouble;
mod overtaken;
mod page_store;
mod page_store_bad;
mod page_store_clients;
mod parts;
mod parts_streamed;
mod peers;
mod poisoning;
mod presets;
mod presets_assets;
mod presets_meaning;
mod presets_walk;
mod proxy_protocol;
mod purge;
mod purge_clients;
mod purge_clients_refused;
mod purge_clients_rows;
mod purge_crash;
mod purge_cut_short;
mod purge_log_full;
mod purge_many;
mod purge_many_tags;
mod purge_races;
mod purge_readers;
mod purge_refused;
mod purge_soft;
mod purge_tls;
mod purge_waiting;
mod query_method;
mod ranges;
mod refetch;
mod refused;
mod request_directives;
mod routes;
mod said_to_us;
mod sections;
mod set_cookie;
mod shared_refused;
mod shared_trouble;
mod stale;
mod stale_variants;
mod static_published;
mod static_root;
mod static_validators;
mod storable;
mod stored_post;
mod streams;
mod tls;
mod try_chain;
mod two_rules;
mod unanswered;
mod unkeyed;
mod upgrade;
mod user_context;
mod user_context_purge;
mod validation;
mod validation_variants;
mod vary;
