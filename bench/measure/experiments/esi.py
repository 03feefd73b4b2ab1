"""Hits on a page that includes five stored fragments."""

import urllib.request

from .. import servers, targets
from ..load import LoadFailed, wrk
from ..origin import FRAGMENTS, PAGE_OF_FRAGMENTS, Origin
from ..result import Result
from ..sample import in_turn
from ..stage import Stage
from . import cast

CONNECTIONS = (10, 64, 200)
CAST = {"larder": servers.start_larder, "varnish": servers.start_varnish}


def run(settings):
    """CPU per composed page against Varnish, which composes the same."""
    result = Result("esi", f"Hits on a page of {PAGE_OF_FRAGMENTS} KB with {FRAGMENTS} stored fragments of 1 KB")
    with Stage() as stage:
        origin = Origin(stage)
        peers = cast.start(stage, origin, settings, CAST)
        for name, server in peers.items():
            _check(name, server, origin)
        for connections in CONNECTIONS:
            case = f"{connections} connections"
            settings.say(case)
            loads = cast.wrk_loads(peers, wrk, "/composed", connections)
            samples = in_turn(settings, loads, origin, "hits")
            result.add_rows(case, samples)
            result.compare(case, samples, "varnish", targets.ESI)
    return result


def _check(name, server, origin):
    """Both send the page with its fragments in their places, also when all of it is stored."""
    for _ in range(3):
        with urllib.request.urlopen(server.url("/composed"), timeout=10) as answer:
            if answer.read() != origin.composed:
                raise LoadFailed(f"{name} does not compose the page")
