"""Hits over plain HTTP/1.1: three sizes at three numbers of connections."""

from .. import servers, targets
from ..load import wrk
from ..origin import KILOBYTE, PAGE_SIZES, Origin
from ..result import Result
from ..sample import in_turn
from ..stage import Stage
from . import cast

CONNECTIONS = (10, 64, 200)
# Servers that only write as many bytes.
FLOORS = {"bare": servers.start_bare, "floor": servers.start_floor}


def run(settings):
    """CPU per hit against nginx, Varnish, a bare hyper server and the kernel alone, writing the same bytes."""
    result = Result("hits", "Hits, HTTP/1.1")
    with Stage() as stage:
        origin = Origin(stage)
        peers = cast.start(stage, origin, settings, cast.PLAIN)
        for size in PAGE_SIZES:
            present = dict(peers)
            for name, start in FLOORS.items():
                if name in settings.servers:
                    present[name] = start(stage, size * KILOBYTE)
            for connections in CONNECTIONS:
                case = f"{size} KB, {connections} connections"
                settings.say(case)
                loads = cast.wrk_loads(present, wrk, f"/page/{size}k", connections)
                samples = in_turn(settings, loads, origin, "hits")
                result.add_rows(case, samples)
                for other, target in targets.HIT.items():
                    result.compare(case, samples, other, target)
                for other in ("nginx", "varnish"):
                    result.compare(case, samples, other, None, one="floor")
    return result
