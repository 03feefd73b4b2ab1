"""What is to be reached: the figures Larder set itself, each in one place."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Target:
    """A bound on a figure, from above (`most`) or from below."""

    bound: float
    most: bool = True

    def met(self, value):
        """Whether `value` keeps to it."""
        return value <= self.bound if self.most else value >= self.bound

    def __str__(self):
        return f"{'≤' if self.most else '≥'} {self.bound:g}"


# CPU per hit, Larder's over the other's.
HIT = {"nginx": Target(0.65), "varnish": Target(0.45), "bare": Target(1.25), "floor": None}
# CPU per hit on a page with five stored fragments, over Varnish's.
ESI = Target(0.6)
# CPU per request or connection over TLS, over nginx's.
TLS_HTTP1, TLS_HTTP2, HANDSHAKE = Target(0.70), Target(0.85), Target(0.75)
# CPU per forwarded miss, over nginx's.
MISS = Target(1.1)
# CPU per compressed hit: over an identity hit of as many bytes, and over nginx's, which compresses on every hit.
CODED, CODED_NGINX = Target(1.1), Target(0.2)
# CPU per miss that PHP answers over FastCGI, over nginx's. The demand names no figure; this one is that of HTTP.
FASTCGI_MISS = Target(1.1)
# A thousand connections: throughput over each peer's, and the 99th percentile over each peer's.
THROUGHPUT, P99 = Target(1.0, most=False), Target(1.0)
# CPU per hit with a million stored responses, over that with one hundred.
MILLION = Target(1.15)
# Resident memory beyond the budget, MiB; memory beyond its own bytes of a stored response, bytes.
BEYOND_BUDGET_MIB, OVERHEAD_BYTES = Target(64), Target(512)
# Often-asked responses still there after a scan. The demand names no figure; this one is ours.
SURVIVORS = Target(0.9, most=False)

# Hits from the disk tier, CPU over that of nginx's from files in the page cache, by size.
DISK = {"10k": Target(1.0), "100k": Target(1.0), "10m": Target(1.5)}
# Hits from a shared tier, CPU over that of nginx's with its memcached module.
REDIS, MEMCACHED = Target(2.0), Target(1.0)
# A purge: milliseconds to its acknowledgement beyond those of a bare fsync; p99 of hits over that without.
PURGE_MS, PURGE_P99 = Target(5), Target(1.5)
# CPU per hit during a thousand purges a second, over that without.
PURGES_HIT = Target(1.15)
# Requests a second that `larder bench` reaches, over wrk's on the same server.
LOAD = Target(0.9, most=False)
# A restart with a million stored: the index whole, seconds; memory of the index, bytes a stored response.
INDEX_SECONDS, INDEX_BYTES = Target(2), Target(64)
# From the acknowledgement on one node to the last old answer on another, 99th percentile, milliseconds.
NODES_MS = Target(20)
# A simulation of a gigabyte of log: seconds, and memory at its peak, MiB. The demand names no figure for memory; this one is ours.
SIMULATE_SECONDS, SIMULATE_MIB = Target(60), Target(512)
