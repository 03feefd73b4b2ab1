"""`larder bench` beside wrk on the same server, both sharing all cores with it: what the tool can ask for."""

from .. import targets
from ..load import bench, wrk_everywhere
from ..origin import Origin
from ..result import Result
from ..sample import in_turn
from ..stage import Stage
from . import cast

CONNECTIONS = (10, 50, 200)
SIZE = 10


def run(settings):
    """Requests a second that `larder bench` reaches, over wrk's; nginx answers from its cache."""
    result = Result("load", "The load tool beside wrk: hits of nginx, HTTP/1.1, all cores for everybody")
    with Stage() as stage:
        origin = Origin(stage)
        server = cast.PLAIN["nginx"](stage, origin)
        url = server.url(f"/page/{SIZE}k")
        for connections in CONNECTIONS:
            case = f"{SIZE} KB, {connections} connections"
            settings.say(case)
            loads = {
                "larder": (server, lambda seconds, many=connections: bench(url, many, seconds)),
                "wrk": (server, lambda seconds, many=connections: wrk_everywhere(url, many, seconds)),
            }
            samples = in_turn(settings, loads, origin, "hits")
            result.add_rows(case, samples)
            result.compare(case, samples, "wrk", targets.LOAD, of="per_second")
    result.notes.append("`larder` and `wrk` are the tools here; both load the same nginx, on two threads.")
    return result
