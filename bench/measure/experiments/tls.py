"""Hits over TLS, and what a full handshake costs."""

from .. import targets
from ..load import h2load, handshakes
from ..origin import Origin
from ..result import Result
from ..sample import in_turn
from ..stage import Stage
from . import cast

PATH = "/page/10k"
# Name, connections, streams on each (None: HTTP/1.1), target.
HITS = (
    ("HTTP/1.1, 10 KB, 64 connections", 64, None, targets.TLS_HTTP1),
    ("HTTP/2, 10 KB, 64 connections, 1 stream each", 64, 1, targets.TLS_HTTP2),
    ("HTTP/2, 10 KB, 10 connections, 10 streams each", 10, 10, targets.TLS_HTTP2),
)


def run(settings):
    """CPU per hit by protocol and CPU per new connection, against nginx."""
    result = Result("tls", "TLS")
    with Stage() as stage:
        origin = Origin(stage)
        peers = cast.start(stage, origin, settings, cast.TLS)
        for case, connections, streams, target in HITS:
            settings.say(case)
            loads = {
                name: (server, lambda seconds, url=server.tls_url(PATH):
                       h2load(url, connections, seconds, streams))
                for name, server in peers.items()
            }
            _measure(settings, result, case, loads, origin, target)
        case = "full handshakes: a connection for each 1 KB hit"
        settings.say(case)
        loads = {
            name: (server, lambda seconds, port=server.tls_port:
                   handshakes(port, "/page/1k", seconds))
            for name, server in peers.items()
        }
        _measure(settings, result, case, loads, origin, targets.HANDSHAKE)
    return result


def _measure(settings, result, case, loads, origin, target):
    samples = in_turn(settings, loads, origin, "hits")
    result.add_rows(case, samples)
    result.compare(case, samples, "nginx", target)
    for name, taken in samples.items():
        result.notes.append(f"{case}: {name} negotiated {taken[-1].negotiated}")
