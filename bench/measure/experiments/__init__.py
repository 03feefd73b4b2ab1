"""The experiments by name, in the order in which they run."""

from . import connections, hits, million, misses, tls

ALL = {
    "hits": hits.run,
    "tls": tls.run,
    "misses": misses.run,
    "connections": connections.run,
    "million": million.run,
}
