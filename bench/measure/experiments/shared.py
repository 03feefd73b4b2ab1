"""Hits from Redis and memcached, against nginx's with its memcached module."""

from .. import servers, targets, tiers
from ..origin import KILOBYTE, Origin
from ..result import Result
from ..sample import in_turn
from ..stage import Stage
from . import kept

SIZES = ("1k", "10k", "100k")
# nginx as articles have it, which opens a connection for each page, and as experts have it, who keep them.
NGINX = {"nginx": "/article", "nginx, kept": "/expert"}


def redis(settings):
    """CPU per hit from Redis."""
    return _run(settings, "redis", targets.REDIS, lambda stage, _: f"redis://127.0.0.1:{tiers.start_redis(stage)}")


def memcached(settings):
    """CPU per hit from memcached, the same one for both."""
    return _run(settings, "memcached", targets.MEMCACHED, lambda _, port: f"memcached://127.0.0.1:{port}")


def _run(settings, name, target, address):
    result = Result(name, f"Hits from {name.capitalize()}, against nginx's from memcached")
    with Stage(settings.disk) as stage:
        origin = Origin(stage)
        port = tiers.start_memcached(stage)
        larder = servers.start_larder_with(stage, origin, {
            "memory": {"size": f"{settings.below.memory_mib}MiB"},
            # The store shares its core with the load tool and may be slow; here that is no reason to leave it alone for a while.
            "shared": {"url": address(stage, port), "timeout": "1s"},
        }) if "larder" in settings.servers else None
        nginx = tiers.start_nginx_tiers(stage, origin, port) if "nginx" in settings.servers else None
        for size in SIZES:
            case = f"{kept.pages(settings, size):,} pages of {size}, {kept.CONNECTIONS[size]} connections"
            settings.say(case)
            loads = {}
            if larder:
                result.notes += kept.fill_size(settings, larder, origin, size)
                loads["larder"] = kept.cycle(settings, larder, size)
            if nginx:
                page = b"x" * (kept.KIB[size] * KILOBYTE)
                for other, start in NGINX.items():
                    path = start + kept.prefix(size)
                    every = range(1, kept.pages(settings, size) + 1)
                    tiers.put(port, ((f"{path}{number}", page) for number in every))
                    loads[other] = kept.cycle(settings, nginx, size, path)
            samples = in_turn(settings, loads, origin, "hits")
            result.add_rows(case, samples)
            result.compare(case, samples, "nginx", target)
            result.compare(case, samples, "nginx, kept", None)
    return result
