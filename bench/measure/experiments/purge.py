"""One purge of a tag that a million stored responses carry."""

import os
import statistics
import threading
import time

from .. import servers, targets
from ..admin import Admin
from ..load import sequence, wrk
from ..origin import Origin
from ..result import Figure, Result
from ..sample import take
from ..stage import Stage

# Each round stores a million responses twice.
MOST_ROUNDS = 3
HOT = 100
# A paced load: each of these connections rests for so long, on average, between two hits.
CONNECTIONS, PAUSE_MS = 64, 10
# The purge comes so long after the load began, and the sweep within a second after it: the load goes on until that is over, which
# takes a core without a rest 50 seconds for a million.
BEFORE_SECONDS, LEAST_SECONDS = 0.3, 5
SWEPT_A_SECOND = 1_000_000 / 60
SWEPT_LIMIT_SECONDS = 120
# A fill slower than this many responses a second is given up.
SLOWEST_FILL = 2000


def run(settings):
    """Larder alone: how long a purge takes, and what hits notice of it."""
    result = Result("purge", f"A tag that {settings.million.responses:,} stored responses carry is purged")
    rounds = []
    for number in range(min(settings.rounds, MOST_ROUNDS)) if "larder" in settings.servers else ():
        settings.say(f"round {number + 1}")
        with Stage(settings.disk) as stage:
            rounds.append(_round(settings, stage))
    if rounds:
        _report(result, rounds)
    return result


def _round(settings, stage):
    origin, log = Origin(stage), stage.new_disk_directory("log")
    larder = servers.start_larder_with(stage, origin, {
        # Room for the tags beside what the million takes.
        "memory": {"size": f"{settings.million.roomy_mib * 3 // 2}MiB"},
        "purge": {"log": str(log)},
    })
    found = {}
    with Admin(larder) as admin:
        sequence(larder.url("/"), 1, HOT, 2, 30)
        _fill(settings, larder)
        found["soft"], found["fsync"] = timed(settings, admin, log)
        seconds = max(settings.seconds, LEAST_SECONDS)
        swept = seconds + int(settings.million.responses / SWEPT_A_SECOND)
        for pace, load in {"paced": paced, "full": full}.items():
            if pace != "paced":
                _fill(settings, larder)
            warm = load(larder, 1)
            found[pace] = take(larder, origin, lambda: load(larder, seconds))
            purge = Purge(admin)
            found[f"{pace}, purged"] = take(
                larder, origin, lambda: purge.during(lambda: load(larder, swept)))
            found[f"{pace}, took"], found[f"{pace}, swept"] = purge.took * 1e3, purge.swept
            found[f"{pace}, touched"] = purge.touched
            found[f"{pace}, complaints"] = warm.complaints
    return found


def _fill(settings, larder):
    count = settings.million.responses
    sequence(larder.url("/"), 1, count, 1, 30 + count // SLOWEST_FILL, "/t/")


def paced(larder, seconds):
    """Hits at a rate that leaves the core time for others."""
    return wrk(larder.url("/"), CONNECTIONS, seconds, "paced.lua", (HOT, "/k/", PAUSE_MS))


def full(larder, seconds):
    """As many hits as one core has to give."""
    return wrk(larder.url("/"), CONNECTIONS, seconds, "random.lua", (HOT, "/k/"))


def timed(settings, admin, log):
    """Milliseconds of soft purges, which leave everything stored, and of a bare write with fsync beside each."""
    purges, syncs = [], []
    file = os.open(log / "beside", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    try:
        for _ in range(settings.below.purges):
            begin = time.perf_counter()
            os.write(file, b"x" * 64)
            os.fdatasync(file)
            syncs.append((time.perf_counter() - begin) * 1e3)
            purges.append(admin.purge(tag="everybody", soft=True)[0] * 1e3)
    finally:
        os.close(file)
    return purges, syncs


class Purge:
    """The hard purge, while a load runs: how long it took, and when the memory was given back."""

    def __init__(self, admin, told="touched", left="larder_cache_keys"):
        """`told` and `left`: what the answer calls how much it touched, and the metric of how much is there still."""
        self._admin, self._told, self._left = admin, told, left
        self.took, self.swept, self.touched, self._fault = 0.0, 0.0, 0, None
        self._loaded = threading.Event()

    def during(self, load):
        """Runs the load, and the purge shortly after its beginning."""
        beside = threading.Thread(target=self._run)
        beside.start()
        try:
            answer = load()
        finally:
            self._loaded.set()
            beside.join()
        if self._fault:
            raise self._fault
        return answer

    def _run(self):
        try:
            time.sleep(BEFORE_SECONDS)
            self.took, answer = self._admin.purge(tag="everybody")
            self.touched, begin = answer[self._told], time.perf_counter()
            # Nobody asks while hits are measured: reading the metrics would be measured too.
            self._loaded.wait()
            while self._admin.metric(self._left) > HOT:
                self.swept = time.perf_counter() - begin
                if self.swept > SWEPT_LIMIT_SECONDS:
                    break
                time.sleep(0.05)
        except Exception as fault:  # handed to the thread that waits
            self._fault = fault


def _report(result, rounds):
    beyond = [statistics.median(found["soft"]) - statistics.median(found["fsync"]) for found in rounds]
    result.figures += [
        Figure("acknowledged, soft", "beyond a bare fsync, ms", beyond, targets.PURGE_MS),
        Figure("acknowledged, soft", "99th percentile of all, fsync included, ms",
               [_p99(found["soft"]) for found in rounds]),
        Figure("a bare write and fdatasync", "ms", [statistics.median(found["fsync"]) for found in rounds]),
    ]
    for pace, text in {"paced": f"{CONNECTIONS} connections, {PAUSE_MS} ms apart",
                       "full": f"{CONNECTIONS} connections, without a pause"}.items():
        samples = {f"larder, {what}": [found[name] for found in rounds]
                   for what, name in (("without", pace), ("purged", f"{pace}, purged"))}
        result.add_rows(f"hits, {text}", samples)
        result.figures += [
            Figure(f"hits, {text}", "p99 during purge and sweep / without",
                   [found[f"{pace}, purged"].p99_ms / found[pace].p99_ms for found in rounds], targets.PURGE_P99),
            Figure(f"hits, {text}", "acknowledged, hard, while they run, beyond a bare fsync, ms",
                   [found[f"{pace}, took"] - statistics.median(found["fsync"]) for found in rounds], targets.PURGE_MS),
            Figure(f"hits, {text}", "swept after, s", [found[f"{pace}, swept"] for found in rounds]),
            Figure(f"hits, {text}", "responses touched", [found[f"{pace}, touched"] for found in rounds]),
        ]


def _p99(values):
    return sorted(values)[int(len(values) * 0.99)]
