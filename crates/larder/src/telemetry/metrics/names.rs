//! Every metric: its name, meaning, kind and labels. The reference page is generated from this table.

/// The kind of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Only grows, until the program restarts. Its samples end in `_total`.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Counts by upper bound. Its samples end in `_bucket`, `_sum` and `_count`.
    Histogram,
}

/// One metric.
#[derive(Debug)]
pub struct Metric {
    /// The name, without `_total`.
    pub name: &'static str,
    /// What is counted, without a full stop at the end.
    pub help: &'static str,
    /// The kind.
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
        "Requests of clients, and includes of pages, answered from the store: fresh, stale (with a refresh in the background) or stale-on-failure";
    FORWARDED = Counter "larder_forwarded" ["reason"]
        "Requests of clients, and includes of pages, forwarded to an origin, by the reason that Cache-Status gives as fwd (RFC 9211)";
    OWN = Counter "larder_own_answers"
        [] "Requests that Larder answered itself: errors, redirects and refusals, including those of listeners (not HTTP, too late, too large, too many). Over HTTP/2, a header that is too large is answered before Larder learns of it, and is not counted anywhere";
    CLIENTS_LEFT = Counter "larder_clients_left"
        [] "Requests that got no answer, because the client left or its connection was closed before the answer began; the access log has them with 499";
    RESPONSES = Counter "larder_responses" ["class"]
        "Answers to clients and includes, by class of their status; answers to Larder's own requests (for the group of a user, for what a soft purge has made stale) are not counted";
    STORED = Counter "larder_stored"
        [] "Answers of origins that were stored, for clients and in the background, including those whose content did not arrive completely; not the 304s that confirm what is stored";
    COLLAPSED = Counter "larder_collapsed"
        [] "Requests that shared the fetch of another request instead of making their own, even if that fetch failed";
    VALIDATED = Counter "larder_validated"
        [] "Stored responses that the origin confirmed with 304, for clients and in the background";
    REFRESHES = Counter "larder_refreshes"
        [] "Background fetches for stored responses that were sent stale, or that a soft purge has made stale (purge.refresh)";
    PAGES_READ = Counter "larder_pages_read"
        [] "ESI pages that were parsed for their includes: a stored page once, a page that is not stored each time";
    FRAGMENTS = Counter "larder_fragments"
        [] "Includes of composed pages (ESI). Each is also counted as a request";
    FRAGMENTS_FAILED = Counter "larder_fragments_failed"
        [] "Includes that failed: neither src nor alt gave a good answer";
    FILLS = Counter "larder_fills"
        [] "Bodies that Larder began to store";
    FILLS_FAILED = Counter "larder_fills_failed"
        [] "Bodies that were given up before they were complete";
    INVALIDATIONS = Counter "larder_invalidations"
        [] "Invalidations by unsafe requests (RFC 9111 section 4.4) and cache groups (RFC 9875)";
    PURGES = Counter "larder_client_purges"
        [] "Purges that clients requested on a listener, with PURGE, BAN and similar";
    PURGES_DENIED = Counter "larder_client_purges_denied"
        [] "Purges by clients that may not purge";
    ORIGIN_ERRORS = Counter "larder_origin_errors"
        [] "Fetches that gave no usable answer: refused, timed out, broken off, or rejected by the queue";
    ORIGIN_LATENCY = Histogram "larder_origin_latency_seconds"
        ["origin"] "Time from a request to the final head of the origin's answer, or to its failure, including time in the queue. Requests for which no server was asked, because their turn did not come, no server is healthy, or their content was malformed or too large, are not counted";
    EVICTIONS = Counter "larder_evictions"
        [] "Cache keys evicted from memory to make room";
    CACHE_KEYS = Gauge "larder_cache_keys"
        [] "Cache keys held in memory";
    STORED_BYTES = Gauge "larder_stored_bytes"
        [] "Bytes of memory that stored responses use, with everything that belongs to them";
    IN_FLIGHT_BYTES = Gauge "larder_in_flight_bytes"
        [] "Bytes of memory used by bodies on their way into the store, past it to a client, or from a client to an origin";
    BUDGET_BYTES = Gauge "larder_budget_bytes"
        [] "Bytes of memory that stored and in-flight bytes may use together";
    CODINGS_MADE = Counter "larder_codings_made" ["coding", "level"]
        "Codings made of stored responses: fast for the first client, high in the background for what is requested often";
    CODINGS_PASSED = Counter "larder_codings_passed" ["coding"]
        "Bodies coded for one client while they were sent, because they are not stored or could not be kept";
    CODINGS_IN_BYTES = Counter "larder_codings_in_bytes" ["coding"]
        "Bytes that went into encoders";
    CODINGS_OUT_BYTES = Counter "larder_codings_out_bytes" ["coding"]
        "Bytes that came out of encoders";
    CODINGS_SECONDS = Counter "larder_codings_seconds" ["coding"]
        "Time spent on codings of stored responses";
    CODINGS_DECODED = Counter "larder_codings_decoded"
        [] "Bodies that were decoded because the client does not accept the coding of the origin";
    CODINGS_REFUSED = Counter "larder_codings_refused"
        [] "Bodies that were sent without a coding because too many were waiting to be coded, or memory had no room";
    PURGES_APPLIED = Counter "larder_purges" ["kind"]
        "Purges that took effect on this node, by what they name, including invalidations by applications and purges of other nodes";
    PURGES_SOFT = Counter "larder_purges_soft"
        [] "Soft purges among the purges that took effect on this node";
    PURGE_TOUCHED = Counter "larder_purge_touched"
        [] "Stored responses in memory that purges touched, as far as this was reported to a caller";
    PURGE_SWEPT = Counter "larder_purge_swept"
        [] "Purged responses that the sweep has removed from memory or from disk";
    PURGE_SEQUENCE = Gauge "larder_purge_sequence"
        [] "The number of the last purge in this node's log";
    PURGE_NAMES = Gauge "larder_purge_names"
        [] "Names (URLs, prefixes, tags, hosts) that the log of purges remembers";
    PURGE_PATTERNS = Gauge "larder_purge_patterns"
        [] "Regular expressions that the log of purges remembers: each is compared with everything that is looked up";
    PURGES_UNSURE = Gauge "larder_purges_unsure"
        [] "1 while purges of other nodes may have been missed, so that stored responses are validated before they are used";
    PURGE_LOG_FAILING = Gauge "larder_purge_log_failing"
        [] "1 while the log of purges on disk cannot be written, so that a restart would bring back what was purged or invalidated";
    DISK_RECORDS = Gauge "larder_disk_records"
        [] "Stored responses on disk that can be found";
    DISK_BYTES = Gauge "larder_disk_bytes"
        [] "Size of all files of the disk tier, with those that were removed and are still read";
    DISK_LIMIT_BYTES = Gauge "larder_disk_limit_bytes"
        [] "Largest size that the files of the disk tier may have";
    DISK_INDEX_BYTES = Gauge "larder_disk_index_bytes"
        [] "Bytes of memory that the index of the disk tier uses";
    DISK_SEGMENTS = Gauge "larder_disk_segments"
        [] "Segments of the disk tier";
    DISK_LARGE_FILES = Gauge "larder_disk_large_files"
        [] "Files of the disk tier that hold one large body each";
    DISK_WHOLE = Gauge "larder_disk_index_whole"
        [] "1 once everything that an earlier run left on disk has been found";
    DISK_HITS = Counter "larder_disk_hits"
        [] "Cache keys that were found on disk";
    DISK_MISSES = Counter "larder_disk_misses"
        [] "Cache keys that were not found on disk";
    DISK_WRITES = Counter "larder_disk_writes"
        [] "Stored responses written to disk";
    DISK_WRITTEN_BYTES = Counter "larder_disk_written_bytes"
        [] "Bytes written to disk";
    DISK_REFUSED = Counter "larder_disk_refused_writes"
        [] "Stored responses that were not written to disk: the queue was full, the write rate was used up, there was no room, or the device failed";
    DISK_EVICTED = Counter "larder_disk_evicted"
        [] "Stored responses on disk that were removed to make room for others";
    DISK_FORWARDED = Counter "larder_disk_rewritten"
        [] "Stored responses on disk that were written again, instead of being removed to make room, because they had been requested";
    DISK_ERRORS = Counter "larder_disk_errors"
        [] "Operations on disk for which the operating system reported an error";
    DISK_DAMAGED = Counter "larder_disk_damaged"
        [] "Times that bytes on disk were not what had been written; such bytes are never sent";
    DISK_FAILING = Gauge "larder_disk_failing"
        [] "1 while the disk tier is not used because its device fails, and after that until something was read or written again";
    SHARED_HITS = Counter "larder_shared_hits"
        [] "Lookups in the shared tier that found something";
    SHARED_MISSES = Counter "larder_shared_misses"
        [] "Lookups in the shared tier that found nothing";
    SHARED_STORED = Counter "larder_shared_stored"
        [] "Stored responses written to the shared tier";
    SHARED_PASSED_OVER = Counter "larder_shared_passed_over"
        [] "Stored responses that were not written to the shared tier: too large, useful for too short a time, older than what is there, or too many at once";
    SHARED_LEASES = Counter "larder_shared_leases"
        [] "Leases taken, each for a fetch on behalf of all nodes";
    SHARED_WAITS = Counter "larder_shared_waits"
        [] "Waits for a fetch of another node";
    SHARED_WAITS_IN_VAIN = Counter "larder_shared_waits_in_vain"
        [] "Waits for a fetch of another node that gave nothing";
    SHARED_NOT_ASKED = Counter "larder_shared_not_asked"
        [] "Operations on the shared tier that were skipped because its breaker was open";
    SHARED_MALFORMED = Counter "larder_shared_malformed"
        [] "Values in the shared tier that were not what had been written; they are dropped";
    SHARED_NO_ROOM = Counter "larder_shared_no_room"
        [] "Bodies in the shared tier that were not read, because memory had no room for them";
    SHARED_ERRORS = Counter "larder_shared_errors" ["kind"]
        "Operations on the shared tier that failed";
    SHARED_OPENINGS = Counter "larder_shared_breaker_openings"
        [] "Times that the shared tier's breaker has opened";
    SHARED_OPEN = Gauge "larder_shared_breaker_open"
        [] "1 while the shared tier is not used, except for an occasional probe";
    CONNECTIONS_ACCEPTED = Counter "larder_connections_accepted"
        [] "Connections accepted from clients";
    CONNECTIONS_ACTIVE = Gauge "larder_connections_active"
        [] "Connections from clients that are open";
    CONNECTIONS_REFUSED = Counter "larder_connections_refused"
        [] "Connections refused because of a limit";
    CONNECTION_TIMEOUTS = Counter "larder_connection_timeouts"
        [] "Connections ended by a time limit, except idle ones";
    HANDSHAKES = Counter "larder_handshakes"
        [] "TLS handshakes completed with clients";
    HANDSHAKES_FAILED = Counter "larder_handshakes_failed"
        [] "TLS handshakes and PROXY protocol headers that failed or took too long";
    PROTOCOL_ERRORS = Counter "larder_protocol_errors"
        [] "Requests whose head was refused: those that were not HTTP, and those beyond a limit (414, 431). Over HTTP/2, of those that were not HTTP and those beyond `limits.header_size` only those that end their connection, not those for which only the stream ends";
    RECEIVED_BYTES = Counter "larder_received_bytes"
        [] "Bytes of HTTP read from clients";
    SENT_BYTES = Counter "larder_sent_bytes"
        [] "Bytes of HTTP written to clients";
    PANICS = Counter "larder_panics"
        [] "Faults in Larder itself, each of which ended a request, a fetch or a background task: please report them";
    ORIGIN_ACTIVE = Gauge "larder_origin_active" ["origin"]
        "Fetches under way, except event streams and tunnels that have begun";
    ORIGIN_QUEUED = Gauge "larder_origin_queued" ["origin"]
        "Fetches waiting for their turn";
    PAGES = Counter "larder_page_store_answers" ["origin", "outcome"]
        "Lookups in page stores, by outcome: found, absent, bad (it is no page) or failed (no answer)";
    SERVER_HEALTHY = Gauge "larder_server_healthy" ["origin", "server"]
        "1 while a server is used; 0 from the beginning of its rest after failures until it has answered, and while its health check fails. For a name, 0 only if this is so for all of its addresses";
    SERVER_ACTIVE = Gauge "larder_server_active" ["origin", "server"]
        "Fetches under way to a server, over all of its addresses";
    SERVER_FAILURES = Counter "larder_server_failures" ["origin", "server"]
        "Failures of a server since the configuration was loaded. Content that outlasts timeouts.whole is none: its reader may have been slow";
    LOG_LOST = Counter "larder_log_lost"
        [] "Access log records lost because the writer did not keep up, or the file could not take more";
    BUILD = Gauge "larder_build_info" ["version"]
        "Always 1; the label gives the version";
    STARTED = Gauge "larder_start_time_seconds"
        [] "When the program started, in seconds since 1970";
}
