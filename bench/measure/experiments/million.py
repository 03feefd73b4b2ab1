"""A full store: cost per hit, memory, and what a scan drives out."""

import urllib.request

from .. import servers, targets
from ..load import sequence, wrk
from ..origin import Origin
from ..result import Figure, Result
from ..sample import in_turn, take
from ..stage import Stage

FEW = 100
# The length of a body.
BYTES = 1024
CONNECTIONS = 64
# How often the often-asked are asked before the scan.
TIMES = 10
# A fill slower than this many responses a second is given up.
SLOWEST_FILL = 2000
MIB = 1024 * 1024
# Bodies that lie in other sizes of the allocator, each with its name below `/d/`.
LENGTHS = {"1k": 1024, "4k": 3900, "8k": 8000, "30k": 30_000}


def run(settings):
    """Larder alone, and the floor beside its hits: nginx and Varnish have no part in these demands."""
    result = Result("million", f"{settings.million.responses:,} stored responses of 1 KB")
    if "larder" in settings.servers:
        with Stage() as stage:
            _cost_and_overhead(settings, result, stage)
        with Stage() as stage:
            _scan(settings, result, stage)
        for name, length in LENGTHS.items():
            with Stage() as stage:
                _overflow(settings, result, stage, name, length)
    return result


def _cost_and_overhead(settings, result, stage):
    """Two instances with the same budget, one holding a hundred responses, one a million."""
    size, origin = settings.million, Origin(stage)
    memory = f"{size.roomy_mib}MiB"
    few = servers.start_larder(stage, origin, memory)
    many = servers.start_larder(stage, origin, memory)
    settings.say(f"filling with {size.responses:,} responses, budget {memory}")
    _fill(few, 1, FEW, 1)
    before = many.process.resident_bytes()
    filling = take(many, origin, lambda: _fill(many, 1, size.responses, 1))
    after = many.process.resident_bytes()
    result.add_rows(f"filling, {CONNECTIONS} connections", {"larder": [filling]})

    case = f"drawn at random, {CONNECTIONS} connections"
    settings.say(case)
    cast = {"larder": (few, many)}
    if "floor" in settings.servers:
        cast["floor"] = tuple(servers.start_floor(stage, BYTES, count) for count in (FEW, size.responses))
    samples = in_turn(settings, {
        (name, count): (server, lambda seconds, url=server.url("/"), count=count:
                        wrk(url, CONNECTIONS, seconds, "random.lua", (count,)))
        for name, pair in cast.items() for server, count in zip(pair, (FEW, size.responses))
    }, origin, "hits")
    result.add_rows(case, {f"{name}, {count:,} stored": taken for (name, count), taken in samples.items()})
    for name, target in (("larder", targets.MILLION), ("floor", None)):
        if name in cast:
            ratios = [full.cpu_us / empty.cpu_us for full, empty
                      in zip(samples[name, size.responses], samples[name, FEW]) if empty.cpu_us]
            result.figures.append(Figure(case, f"CPU, full / nearly empty, {name}", ratios, target))

    own = _bytes_of(origin, "/k/1")
    overhead = (after - before) / size.responses - own
    case = f"{size.responses:,} stored, budget {memory}"
    result.figures += [
        Figure(case, f"memory a response beyond its {own} bytes, bytes", [overhead],
               targets.OVERHEAD_BYTES),
        _beyond(case, after, size.roomy_mib),
    ]


def _scan(settings, result, stage):
    """Some pages asked often, then many asked once: which of the first are still there?"""
    size, origin = settings.million, Origin(stage)
    larder = servers.start_larder(stage, origin, f"{size.tight_mib}MiB")
    settings.say(f"a scan of {size.scanned:,} URLs, budget {size.tight_mib}MiB")
    _fill(larder, 1, size.often, TIMES)
    _fill(larder, size.often + 1, size.scanned, 1)
    resident = larder.process.resident_bytes()
    asked = origin.requests()
    probe = _fill(larder, 1, size.often, 1)
    gone = origin.requests() - asked
    case = f"{size.scanned:,} scanned, budget {size.tight_mib}MiB"
    result.figures += [
        Figure(case, f"share of {size.often:,} often-asked responses that survive",
               [1 - gone / size.often], targets.SURVIVORS),
        _beyond(case, resident, size.tight_mib),
    ]
    if probe.complaints:
        result.notes.append(f"{case}: {'; '.join(probe.complaints)}")


def _overflow(settings, result, stage, name, length):
    """More URLs of one length than there is room for."""
    size, origin = settings.million, Origin(stage)
    origin.add(name, length)
    larder = servers.start_larder(stage, origin, f"{size.tight_mib}MiB")
    settings.say(f"bodies of {length} bytes, budget {size.tight_mib}MiB")
    count = size.tight_mib * MIB // length
    sequence(larder.url("/"), 1, count, 1, 30 + count // SLOWEST_FILL, f"/d/{name}/")
    result.figures.append(_beyond(f"bodies of {length} bytes, budget {size.tight_mib}MiB",
                                  larder.process.resident_bytes(), size.tight_mib))


def _beyond(case, resident, budget_mib):
    return Figure(case, "resident memory beyond the budget, MiB",
                  [resident / MIB - budget_mib], targets.BEYOND_BUDGET_MIB)


def _fill(server, first, count, times):
    limit = 30 + count * times // SLOWEST_FILL
    return sequence(server.url("/"), first, count, times, limit)


def _bytes_of(origin, path):
    """What one response is by itself: its status line, fields and body as the origin sent them."""
    with urllib.request.urlopen(origin.url + path, timeout=10) as answer:
        head = sum(len(f"{name}: {value}\r\n") for name, value in answer.headers.items())
        return len("HTTP/1.1 200 OK\r\n\r\n") + head + len(answer.read())
