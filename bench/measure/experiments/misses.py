"""Answers that are never storable: every request goes to the origin, connections kept alive."""

from .. import targets
from ..load import wrk
from ..origin import Origin
from ..result import Result
from ..sample import in_turn
from ..stage import Stage
from . import cast

SIZES = (1, 10)
CONNECTIONS = 64


def run(settings):
    """CPU per forwarded request against nginx; Varnish for comparison."""
    result = Result("misses", "Forwarded misses, HTTP/1.1, keep-alive on both sides")
    with Stage() as stage:
        origin = Origin(stage)
        peers = cast.start(stage, origin, settings, cast.PLAIN)
        for size in SIZES:
            case = f"{size} KB, {CONNECTIONS} connections"
            settings.say(case)
            loads = cast.wrk_loads(peers, wrk, f"/private/{size}k", CONNECTIONS)
            samples = in_turn(settings, loads, origin, "misses")
            result.add_rows(case, samples)
            result.compare(case, samples, "nginx", targets.MISS)
            result.compare(case, samples, "varnish", None)
    return result
