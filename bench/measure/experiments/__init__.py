"""The experiments by name, in the order in which they run."""

from . import connections, disk, fastcgi, hits, load, million, misses, nodes, purge, purges, restart, shared, tls

ALL = {
    "hits": hits.run,
    "tls": tls.run,
    "misses": misses.run,
    "connections": connections.run,
    "load": load.run,
    "million": million.run,
    "disk": disk.run,
    "fastcgi": fastcgi.run,
    "redis": shared.redis,
    "memcached": shared.memcached,
    "purge": purge.run,
    "purges": purges.run,
    "restart": restart.run,
    "nodes": nodes.run,
}
