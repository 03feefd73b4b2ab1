"""One measurement of one server, and how measurements are taken in turn."""

import re
import sys
import time
from dataclasses import asdict, dataclass

from .stage import BENCH, SERVER_CORE

# Of all requests of a sample of hits, as many may reach the origin; of forwarded ones, must.
FEW, NEARLY_ALL = 0.001, 0.98


@dataclass
class Sample:
    """What one server did during one run of a load tool."""

    requests: int
    cpu_us: float
    per_second: float
    p99_ms: float | None
    # The share of the server's core that anything used: below about 0.95 the load was the limit.
    core_busy: float
    # The share of requests that the origin was asked for.
    forwarded: float
    # How the server and the load tool were called.
    started: str
    command: str
    complaints: list
    negotiated: str = ""

    def as_json(self):
        """As plain values."""
        return asdict(self)


def take(server, origin, run):
    """Runs a load and returns what it cost `server`: CPU between its start and its end."""
    asked, cpu, core = origin.requests(), server.process.cpu_seconds(), _core_ticks()
    load = run()
    core = [after - before for after, before in zip(_core_ticks(), core)]
    cpu = server.process.cpu_seconds() - cpu
    asked = origin.requests() - asked
    started, command = _plain(" ".join(server.process.command)), _plain(load.command)
    if not load.requests:
        return Sample(0, 0.0, 0.0, None, 0.0, 0.0, started, command, ["nothing was answered"])
    return Sample(
        requests=load.requests,
        cpu_us=cpu / load.requests * 1e6,
        per_second=load.per_second,
        p99_ms=load.p99_ms,
        core_busy=core[0] / max(1, sum(core)),
        forwarded=asked / load.requests,
        started=started,
        command=command,
        complaints=load.complaints,
        negotiated=load.negotiated,
    )


def in_turn(settings, loads, origin, expect):
    """Takes A B C D, A B C D, … and returns the samples by name, in the order of the rounds.

    `loads` maps a name to its server and its load, a function of seconds. A first turn of one
    second each, not counted, warms up. `expect` is "hits", "misses" or "any": samples that are something else say so in their complaints.
    """
    for server, load in loads.values():
        take(server, origin, lambda: load(1))
    samples = {name: [] for name in loads}
    for _ in range(settings.rounds):
        for name, (server, load) in loads.items():
            # What the last server left behind (closing connections) is done before the next.
            time.sleep(0.1)
            sample = take(server, origin, lambda: load(settings.seconds))
            sample.complaints += _unexpected(name, sample, expect)
            samples[name].append(sample)
    return samples


def _unexpected(name, sample, expect):
    # Some have no origin: they never forward.
    if expect == "hits" and sample.forwarded > FEW:
        return [f"{sample.forwarded:.1%} of what should be hits were forwarded"]
    if expect == "misses" and name not in ("bare", "floor") and sample.forwarded < NEARLY_ALL:
        return [f"only {sample.forwarded:.1%} of what should be misses were forwarded"]
    return []


def _plain(command):
    """A command as one would type it: without this run's ports, directories and paths."""
    command = command.replace(sys.executable, "python3").replace(f"{BENCH.parent}/", "")
    command = re.sub(r"/\S*/larder-bench-\w+/([a-z]+)-\w+", r"DIR/\1", command)
    command = re.sub(r"(127\.0\.0\.1:|handshakes\.py )[1-9]\d*", r"\1PORT", command)
    return re.sub(r"/usr/s?bin/", "", command)


def _core_ticks():
    """Busy and idle ticks of the servers' core since boot."""
    with open("/proc/stat", encoding="ascii") as lines:
        for line in lines:
            if line.startswith(f"cpu{SERVER_CORE} "):
                user, nice, system, idle, wait, irq, soft, *_ = map(int, line.split()[1:])
                return user + nice + system + irq + soft, idle + wait
    return 0, 0
