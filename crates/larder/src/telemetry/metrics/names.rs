//! Every metric: its name, what it means, its kind and its labels. The reference page is made from this table.

/// What a metric is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Only grows, until the program restarts; its samples end in `_total`.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Counts by upper bound; its samples end in `_bucket`, `_sum` and `_count`.
    Histogram,
}

/// One metric.
#[derive(Debug)]
pub struct Metric {
    /// Without `_total`.
    pub name: &'static str,
    /// What is counted, in one sentence without a full stop.
    pub help: &'static str,
    /// What it is.
    pub kind: Kind,
    /// The names of its labels, in order.
    pub labels: &'static [&'static str],
}

macro_rules! metrics {
    ($($id:ident = $kind:ident $name:literal [$($label:literal),*] $help:literal;)*) => {
        $(
            #[doc = $help]
            pub const $id: Metric = Metric {
                name: $name,
                help: $help,
                kind: Kind::$kind,
                labels: &[$($label),*],
            };
        )*
        /// Every metric, in the order in which they are written.
        pub const ALL: &[&Metric] = &[$(&$id),*];
    };
}

metrics! {
    HITS = Counter "larder_hits" ["kind"]
        "Requests of clients, and includes of pages, answered from the store: fresh, stale (with a refresh in the background), stale-on-failure";
    FORWARDED = Counter "larder_forwarded" ["reason"]
        "Requests of clients, and includes of pages, forwarded to an origin, by the reason that Cache-Status gives as fwd (RFC 9211)";
    OWN = Counter "larder_own_answers"
        [] "Requests that Larder answered itself: errors, redirects, refusals, those of listeners (no HTTP, too late, too large, too many) included. Over HTTP/2 too large a header is answered before Larder hears of it, and is counted nowhere";
    CLIENTS_LEFT = Counter "larder_clients_left"
        [] "Requests without an answer, since the client left or its connection was closed before one began; the access log has them with 499";
    RESPONSES = Counter "larder_responses" ["class"]
        "Answers to clients and includes by class of their status; not to what Larder asks by itself (the group of a user, what a soft purge has made stale)";
    STORED = Counter "larder_stored"
        [] "Forwarded answers that were stored, those among them whose content did not come whole";
    COLLAPSED = Counter "larder_collapsed"
        [] "Requests that followed the fetch of another one instead of making their own, be it one that failed";
    VALIDATED = Counter "larder_validated"
        [] "Stored responses that the origin confirmed with 304";
    REFRESHES = Counter "larder_refreshes"
        [] "Background fetches for stored responses that were sent stale, or that a soft purge has made stale (purge.refresh)";
    PAGES_READ = Counter "larder_pages_read"
        [] "Pages in ESI that were read for what they include: a stored page once, one that is not stored each time";
    FRAGMENTS = Counter "larder_fragments"
        [] "Includes of composed pages (ESI). Each is counted as a request beside";
    FRAGMENTS_FAILED = Counter "larder_fragments_failed"
        [] "Includes that came to nothing: neither src nor alt brought a good answer";
    FILLS = Counter "larder_fills"
        [] "Bodies that began to be stored";
    FILLS_FAILED = Counter "larder_fills_failed"
        [] "Bodies that were given up before they were whole";
    INVALIDATIONS = Counter "larder_invalidations"
        [] "Invalidations by unsafe requests (RFC 9111 section 4.4) and cache groups (RFC 9875)";
    PURGES = Counter "larder_client_purges"
        [] "Purges that clients asked for on a listener, with PURGE, BAN and the like";
    PURGES_DENIED = Counter "larder_client_purges_denied"
        [] "Such purges from clients that may not";
    ORIGIN_ERRORS = Counter "larder_origin_errors"
        [] "Fetches that brought no usable answer: refused, timed out, broken, or turned away by the queue";
    ORIGIN_LATENCY = Histogram "larder_origin_latency_seconds"
        ["origin"] "Time from a request to the final head of the origin's answer, or to its failure, time in the queue included; not of requests for which nobody was asked, since their turn did not come or no server is well";
    EVICTIONS = Counter "larder_evictions"
        [] "Cache keys evicted from memory for room";
    CACHE_KEYS = Gauge "larder_cache_keys"
        [] "Cache keys held in memory";
    STORED_BYTES = Gauge "larder_stored_bytes"
        [] "Bytes of memory that stored responses take, with everything that belongs to them";
    IN_FLIGHT_BYTES = Gauge "larder_in_flight_bytes"
        [] "Bytes of memory that bodies on their way into the store, past it to a client, or from a client to an origin, take";
    BUDGET_BYTES = Gauge "larder_budget_bytes"
        [] "Bytes of memory that stored and in flight may take together";
    CODINGS_MADE = Counter "larder_codings_made" ["coding", "level"]
        "Codings made of stored responses: fast for the first client, high in the background for what is asked for often";
    CODINGS_PASSED = Counter "larder_codings_passed" ["coding"]
        "Bodies coded for one client on their way, since they are not stored or could not be kept";
    CODINGS_IN_BYTES = Counter "larder_codings_in_bytes" ["coding"]
        "Bytes that went into encoders";
    CODINGS_OUT_BYTES = Counter "larder_codings_out_bytes" ["coding"]
        "Bytes that came out of them";
    CODINGS_SECONDS = Counter "larder_codings_seconds" ["coding"]
        "Time spent on codings of stored responses";
    CODINGS_DECODED = Counter "larder_codings_decoded"
        [] "Bodies that their origin had coded and that were decoded for clients that do not accept it";
    CODINGS_REFUSED = Counter "larder_codings_refused"
        [] "Bodies that went out as they are since too much waited to be coded, or memory had no room for it";
    PURGES_APPLIED = Counter "larder_purges" ["kind"]
        "Purges that took effect on this node, by what they name; invalidations by applications and purges of other nodes among them";
    PURGES_SOFT = Counter "larder_purges_soft"
        [] "How many of them were soft";
    PURGE_TOUCHED = Counter "larder_purge_touched"
        [] "Stored responses in memory that purges touched, as far as somebody was told";
    PURGE_SWEPT = Counter "larder_purge_swept"
        [] "Purged responses that the sweep has dropped, from memory or from disk";
    PURGE_SEQUENCE = Gauge "larder_purge_sequence"
        [] "The number of the last purge in this node's log";
    PURGE_NAMES = Gauge "larder_purge_names"
        [] "Names (URLs, prefixes, tags, hosts) that the log of purges remembers";
    PURGE_PATTERNS = Gauge "larder_purge_patterns"
        [] "Regular expressions that the log of purges remembers: each is held against what is looked up";
    PURGES_UNSURE = Gauge "larder_purges_unsure"
        [] "1 while purges of other nodes may have been missed, so that what is kept is validated before it is used";
    PURGE_LOG_FAILING = Gauge "larder_purge_log_failing"
        [] "1 while the log of purges on disk cannot be written, so that a restart would bring back what is purged or invalidated";
    DISK_RECORDS = Gauge "larder_disk_records"
        [] "Stored responses on disk that can be found";
    DISK_BYTES = Gauge "larder_disk_bytes"
        [] "Bytes of all files of the disk tier";
    DISK_LIMIT_BYTES = Gauge "larder_disk_limit_bytes"
        [] "The most that they may be";
    DISK_INDEX_BYTES = Gauge "larder_disk_index_bytes"
        [] "Bytes of memory that the index of the disk tier takes";
    DISK_SEGMENTS = Gauge "larder_disk_segments"
        [] "Segments of the disk tier";
    DISK_LARGE_FILES = Gauge "larder_disk_large_files"
        [] "Files with one large body each";
    DISK_WHOLE = Gauge "larder_disk_index_whole"
        [] "1 when everything that an earlier run left on disk has been found";
    DISK_HITS = Counter "larder_disk_hits"
        [] "Cache keys that were found on disk";
    DISK_MISSES = Counter "larder_disk_misses"
        [] "Cache keys that were not found on disk";
    DISK_WRITES = Counter "larder_disk_writes"
        [] "Stored responses written to disk";
    DISK_WRITTEN_BYTES = Counter "larder_disk_written_bytes"
        [] "Bytes written to disk";
    DISK_REFUSED = Counter "larder_disk_refused_writes"
        [] "Stored responses that were not written to disk: the queue full, the write rate used up, no room, or the device fails";
    DISK_EVICTED = Counter "larder_disk_evicted"
        [] "Stored responses on disk that went for others";
    DISK_FORWARDED = Counter "larder_disk_rewritten"
        [] "How many of those were written again since they were asked for";
    DISK_ERRORS = Counter "larder_disk_errors"
        [] "Operations on disk that the operating system failed";
    DISK_DAMAGED = Counter "larder_disk_damaged"
        [] "Times that bytes on disk were not what was written; they are never answered with";
    DISK_FAILING = Gauge "larder_disk_failing"
        [] "1 while the disk tier is left alone because its device fails";
    SHARED_HITS = Counter "larder_shared_hits"
        [] "Lookups in the shared tier that found something";
    SHARED_MISSES = Counter "larder_shared_misses"
        [] "Lookups in the shared tier that found nothing";
    SHARED_STORED = Counter "larder_shared_stored"
        [] "Stored responses written to the shared tier";
    SHARED_PASSED_OVER = Counter "larder_shared_passed_over"
        [] "Stored responses that were not written to the shared tier: too large, worth too little, older than what is there, too many at once";
    SHARED_LEASES = Counter "larder_shared_leases"
        [] "Leases taken: fetches for all nodes";
    SHARED_WAITS = Counter "larder_shared_waits"
        [] "Waits for what another node fetches";
    SHARED_WAITS_IN_VAIN = Counter "larder_shared_waits_in_vain"
        [] "Such waits that brought nothing";
    SHARED_NOT_ASKED = Counter "larder_shared_not_asked"
        [] "Questions that the shared tier was not asked since its breaker was open";
    SHARED_MALFORMED = Counter "larder_shared_malformed"
        [] "Values in the shared tier that are not what was written; they are dropped";
    SHARED_ERRORS = Counter "larder_shared_errors" ["kind"]
        "Questions to the shared tier that failed";
    SHARED_OPENINGS = Counter "larder_shared_breaker_openings"
        [] "Times that the shared tier's breaker has opened";
    SHARED_OPEN = Gauge "larder_shared_breaker_open"
        [] "1 while the shared tier is not asked, but for a probe now and then";
    CONNECTIONS_ACCEPTED = Counter "larder_connections_accepted"
        [] "Connections accepted from clients";
    CONNECTIONS_ACTIVE = Gauge "larder_connections_active"
        [] "Connections of clients open now";
    CONNECTIONS_REFUSED = Counter "larder_connections_refused"
        [] "Connections turned away by a limit";
    CONNECTION_TIMEOUTS = Counter "larder_connection_timeouts"
        [] "Connections ended by a time limit, idle ones aside";
    HANDSHAKES = Counter "larder_handshakes"
        [] "TLS handshakes completed with clients";
    HANDSHAKES_FAILED = Counter "larder_handshakes_failed"
        [] "TLS handshakes and PROXY protocol headers that failed or took too long";
    PROTOCOL_ERRORS = Counter "larder_protocol_errors"
        [] "Requests that were not HTTP; over HTTP/2 such as end their connection, not those whose stream alone is reset";
    RECEIVED_BYTES = Counter "larder_received_bytes"
        [] "Bytes of HTTP read from clients";
    SENT_BYTES = Counter "larder_sent_bytes"
        [] "Bytes of HTTP written to clients";
    PANICS = Counter "larder_panics"
        [] "Faults in Larder itself, each of which ended a request, a fetch or a task behind them: please report it";
    ORIGIN_ACTIVE = Gauge "larder_origin_active" ["origin"]
        "Fetches under way, but for event streams and tunnels that have begun";
    ORIGIN_QUEUED = Gauge "larder_origin_queued" ["origin"]
        "Fetches that wait for their turn";
    PAGES = Counter "larder_page_store_answers" ["origin", "outcome"]
        "What page stores were asked for, by what came of it: found, absent, bad (it is no page) or failed (no answer)";
    SERVER_HEALTHY = Gauge "larder_server_healthy" ["origin", "server"]
        "1 while a server is asked, 0 from when it rests after failures until it has answered, or while its health check fails; of a name, 0 when that holds for all of its addresses";
    SERVER_ACTIVE = Gauge "larder_server_active" ["origin", "server"]
        "Fetches under way with a server, at all of its addresses";
    SERVER_FAILURES = Counter "larder_server_failures" ["origin", "server"]
        "Failures of a server since the configuration was loaded";
    LOG_LOST = Counter "larder_log_lost"
        [] "Access log records lost because the writer did not keep up, or the file took no more";
    BUILD = Gauge "larder_build_info" ["version"]
        "Always 1; its label names the version";
    STARTED = Gauge "larder_start_time_seconds"
        [] "When the program started, in seconds since 1970";
}
