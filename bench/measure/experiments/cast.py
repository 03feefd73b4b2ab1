"""Which servers an experiment starts."""

from .. import servers

PLAIN = {
    "larder": servers.start_larder,
    "nginx": servers.start_nginx,
    "varnish": servers.start_varnish,
}
TLS = {"larder": servers.start_larder_tls, "nginx": servers.start_nginx}


def start(stage, origin, settings, starters):
    """Starts those of `starters` that take part; returns them by name."""
    return {
        name: starter(stage, origin)
        for name, starter in starters.items()
        if name in settings.servers
    }


def wrk_loads(cast, wrk, path, connections):
    """The same wrk load for each server."""
    return {
        name: (server, lambda seconds, url=server.url(path): wrk(url, connections, seconds))
        for name, server in cast.items()
    }
