"""The experiments by name, in the order in which they run."""

from . import coding, connections, disk, esi, fastcgi, hits, load, million, misses, nodes, purge, purges, restart, shared, simulate, tls

ALL = {
    "hits": hits.run,
    "esi": esi.run,
    "tls": tls.run,
    "misses": misses.run,
    "connections": connections.run,
    "load": load.run,
    "coding": coding.run,
    "million": million.run,
    "disk": disk.run,
    "fastcgi": fastcgi.run,
    "redis": shared.redis,
    "memcached": shared.memcached,
    "purge": purge.run,
    "purges": purges.run,
    "restart": restart.run,
    "nodes": nodes.run,
    "simulate": simulate.run,
}
