"""A thousand connections at once, all busy."""

from .. import targets
from ..load import wrk
from ..origin import Origin
from ..result import Result
from ..sample import in_turn
from ..stage import Stage
from . import cast

CONNECTIONS = 1000
SIZE = 10


def run(settings):
    """Throughput and the 99th percentile of latency against both peers."""
    result = Result("connections", "A thousand connections, hits, HTTP/1.1")
    with Stage() as stage:
        origin = Origin(stage)
        peers = cast.start(stage, origin, settings, cast.PLAIN)
        case = f"{SIZE} KB, {CONNECTIONS} connections"
        settings.say(case)
        loads = cast.wrk_loads(peers, wrk, f"/page/{SIZE}k", CONNECTIONS)
        samples = in_turn(settings, loads, origin, "hits")
        result.add_rows(case, samples)
        for other in ("nginx", "varnish"):
            result.compare(case, samples, other, targets.THROUGHPUT, of="per_second")
            result.compare(case, samples, other, targets.P99, of="p99_ms")
    return result
