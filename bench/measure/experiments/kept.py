"""Pages that are asked for in a cycle which memory does not hold."""

import os
import time

from ..load import sequence, wrk
from ..sample import FEW

# Pages of each size that are asked for: no more bytes than the cycle has.
KIB = {"1k": 1, "10k": 10, "100k": 100, "10m": 10 * 1024}
CONNECTIONS = {"1k": 64, "10k": 64, "100k": 64, "10m": 8}
# At one rate for all: so many connections, each of which rests for so long, on average, before it asks again.
PACED_CONNECTIONS, PAUSE_MS = 16, 140
# A tier may refuse what it is given while it has much to write: so often it is offered again.
MOST_PASSES = 8
# What is asked for again soon is worth keeping: pages are asked for twice, in blocks of so many, which any memory holds.
TIMES, BLOCK = 2, 8
FILLERS = 4
# A fill slower than this is given up.
SLOWEST_MIB, SLOWEST_RESPONSES = 10, 2000


def pages(settings, size):
    """How many pages of `size` the cycle has."""
    return settings.below.cycle_mib * 1024 // KIB[size]


def prefix(size):
    """What the path of such a page begins with."""
    return f"/d/{size}/"


def fill(server, origin, start, count, kib=1):
    """Asks for every page until hardly any is forwarded any more; how many are still, in the end."""
    limit = 30 + TIMES * (count * kib // 1024 // SLOWEST_MIB + count // SLOWEST_RESPONSES)
    for _ in range(MOST_PASSES):
        asked = origin.requests()
        sequence(server.url("/"), 1, count, TIMES, limit, start, FILLERS, BLOCK)
        forwarded = origin.requests() - asked
        if forwarded <= count * FEW:
            forwarded = 0
            break
        # What was taken is written in the background.
        time.sleep(0.5)
    os.sync()
    return forwarded


def fill_size(settings, server, origin, size):
    """As `fill`, for one size; complaints where some are never kept."""
    count = pages(settings, size)
    left = fill(server, origin, prefix(size), count, KIB[size])
    return [f"{left} of {count} pages of {size} are forwarded still"] if left else []


def cycle(settings, server, size, start=None):
    """The load: the pages in order, over and over."""
    path, count = start or prefix(size), pages(settings, size)
    return server, lambda seconds: wrk(server.url("/"), CONNECTIONS[size], seconds, "cycle.lua", (count, path))


def pace(settings, server, size):
    """The load: any of the pages, as often from one server as from the other."""
    path, count = prefix(size), pages(settings, size)
    return server, lambda seconds: wrk(server.url("/"), PACED_CONNECTIONS, seconds, "paced.lua", (count, path, PAUSE_MS))
