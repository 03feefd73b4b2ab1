"""Three nodes and one Redis: how soon a purge on one of them holds on the others."""

import http.client
import statistics
import threading
import time

from .. import servers, targets, tiers
from ..admin import Admin
from ..origin import Origin
from ..result import Figure, Result
from ..stage import Stage

NODES = 3
LIMIT_SECONDS = 10


def run(settings):
    """Larder alone."""
    result = Result("nodes", f"{NODES} nodes, one Redis: purged on one, read on the others")
    if "larder" in settings.servers:
        with Stage(settings.disk) as stage:
            _measure(settings, result, stage)
    return result


def _measure(settings, result, stage):
    origin, port = Origin(stage), tiers.start_redis(stage)
    nodes = [servers.start_larder_with(stage, origin, {
        "shared": {"url": f"redis://127.0.0.1:{port}", "node": f"node-{number}"},
    }) for number in range(NODES)]
    delays, acknowledged = [], []
    with Admin(nodes[0]) as admin:
        for number in range(settings.rounds):
            settings.say(f"round {number + 1}")
            taken = [_trial(nodes, admin, f"/v/{number}-{trial}") for trial in range(settings.below.purges)]
            delays.append([delay * 1e3 for one in taken for delay in one[0]])
            acknowledged.append([one[1] * 1e3 for one in taken])
    case = f"{settings.below.purges} purges of a URL a round, read without a pause on {NODES - 1} other nodes"
    result.figures += [
        Figure(case, "from the acknowledgement to the last old answer, 99th percentile, ms",
               [_part(one, 0.99) for one in delays], targets.NODES_MS),
        Figure(case, "the same, median, ms", [statistics.median(one) for one in delays]),
        Figure(case, "the same, longest, ms", [max(one) for one in delays]),
        Figure(case, "acknowledged after, median, ms", [statistics.median(one) for one in acknowledged]),
    ]


def _trial(nodes, admin, path):
    """One purge: for each other node the seconds from its acknowledgement until a read that began no more gave what was there
    before, 0 where none did; and the seconds to the acknowledgement."""
    connections = [http.client.HTTPConnection("127.0.0.1", node.port, timeout=LIMIT_SECONDS) for node in nodes]
    host = f"127.0.0.1:{nodes[0].port}"
    old = {_read(connection, path, host) for connection in connections}
    watches = [_Watch(connection, path, host, old) for connection in connections[1:]]
    for watch in watches:
        watch.start()
    took, _ = admin.purge(url=f"http://{host}{path}")
    at = time.perf_counter()
    for watch in watches:
        watch.join()
    for connection in connections:
        connection.close()
    return [max(0.0, watch.last_old - at) for watch in watches], took


class _Watch(threading.Thread):
    """Reads until what comes is new."""

    def __init__(self, connection, path, host, old):
        super().__init__()
        self._connection, self._path, self._host, self._old = connection, path, host, old
        # The end of the last answer that was old.
        self.last_old = 0.0

    def run(self):
        limit = time.perf_counter() + LIMIT_SECONDS
        while time.perf_counter() < limit and _read(self._connection, self._path, self._host) in self._old:
            self.last_old = time.perf_counter()


def _read(connection, path, host):
    # One host on all nodes: they are one cache.
    connection.request("GET", path, headers={"Host": host})
    return connection.getresponse().read()


def _part(values, part):
    return sorted(values)[min(len(values) - 1, int(len(values) * part))]
