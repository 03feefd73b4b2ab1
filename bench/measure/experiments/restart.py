"""A restart with a million responses stored on disk."""

import http.client
import itertools
import os
import statistics
import time

from .. import servers, targets
from ..admin import Admin
from ..origin import Origin
from ..process import free_port
from ..result import Figure, Result
from ..stage import Stage
from ..load import sequence
from ..sample import take
from . import kept
from .purge import HOT, LEAST_SECONDS, Purge, paced, timed

MOST_ROUNDS = 3
MEMORY = "64MiB"
# Responses, spread over all, that are asked for while the index is read.
PROBES = 200
LIMIT_SECONDS = 60
# The sweep of the disk begins ten seconds after a purge at the latest, and is over soon then.
SWEPT_SECONDS = 30
MIB = 1024 * 1024


def run(settings):
    """Larder alone: when it answers, when its index is whole, and what the index takes."""
    result = Result("restart", f"A restart with {settings.million.responses:,} responses on disk")
    if "larder" in settings.servers:
        with Stage(settings.disk) as stage:
            _measure(settings, result, stage)
    return result


def _measure(settings, result, stage):
    origin, count, port = Origin(stage), settings.million.responses, free_port()
    pages = stage.new_disk_directory("larder") / "pages"

    def start(directory):
        return servers.start_larder_with(stage, origin, {
            "memory": {"size": MEMORY}, "disk": {"path": str(directory), "size": "32GiB"},
        }, f"127.0.0.1:{port}")

    larder = start(stage.new_disk_directory("empty") / "pages")
    empty = larder.process.resident_bytes()
    stage.end(larder.process)

    settings.say(f"filling with {count:,} responses")
    larder = start(pages)
    left = kept.fill(larder, origin, "/t/", count)
    if left:
        result.notes.append(f"{left:,} of {count:,} are forwarded still")
    bytes_on_disk = sum(path.stat().st_size for path in pages.rglob("*") if path.is_file())
    result.figures.append(Figure("filled", "bytes on disk a response", [bytes_on_disk / count]))
    ends = {
        "after SIGTERM": lambda: stage.end(larder.process),
        "after SIGKILL": lambda: (larder.process.kill(), stage.end(larder.process)),
        "after SIGTERM, nothing in the page cache": lambda: (stage.end(larder.process), _drop(pages)),
    }
    for case, end in ends.items():
        settings.say(case)
        taken = []
        for _ in range(min(settings.rounds, MOST_ROUNDS)):
            end()
            begin = time.perf_counter()
            larder = start(pages)
            taken.append(_restarted(larder, begin, count))
        first, hit, whole, found = zip(*taken)
        result.figures += [
            Figure(case, "first answer after, s", list(first)),
            Figure(case, "first hit after, s", list(hit)),
            Figure(case, "index whole after, s", list(whole), targets.INDEX_SECONDS),
            Figure(case, "then found", list(found)),
        ]
    with Admin(larder) as admin:
        _wait_until_counted(admin, count)
        index = admin.metric("larder_disk_index_bytes") / admin.metric("larder_disk_records")
    grown = (larder.process.resident_bytes() - empty) / count
    result.figures += [
        Figure("index", "bytes a response, as the metrics say", [index], targets.INDEX_BYTES),
        Figure("index", "resident memory beyond an empty one's, the counts of two tags each included, bytes a response", [grown]),
    ]
    settings.say("a tag of all of them is purged")
    _purged(settings, result, larder, origin, pages)


def _wait_until_counted(admin, count):
    """Waits until the tags of what was found are counted, which goes on in the background."""
    end = time.perf_counter() + LIMIT_SECONDS
    while time.perf_counter() < end:
        if admin.purge(tag="everybody", soft=True)[1]["on_disk"] > count * 0.99:
            return
        time.sleep(0.1)


def _purged(settings, result, larder, origin, log):
    """What hits in memory notice of a purge of a million on disk, and of the sweep that gives them up."""
    case = "a tag of all on disk is purged"
    with Admin(larder) as admin:
        sequence(larder.url("/"), 1, HOT, 2, 30)
        purges, syncs = timed(settings, admin, log)
        fsync = statistics.median(syncs)
        warm, purge = paced(larder, 1), Purge(admin, "on_disk", "larder_disk_records")
        without = take(larder, origin, lambda: paced(larder, LEAST_SECONDS))
        during = take(larder, origin, lambda: purge.during(lambda: paced(larder, SWEPT_SECONDS)))
    result.notes.extend(warm.complaints)
    result.add_rows("hits in memory, paced", {"larder, without": [without], "larder, purged": [during]})
    result.figures += [
        Figure(case, "acknowledged, soft, beyond a bare fsync, ms", [statistics.median(purges) - fsync], targets.PURGE_MS),
        Figure(case, "acknowledged, hard, beyond a bare fsync, ms", [purge.took * 1e3 - fsync], targets.PURGE_MS),
        Figure(case, "p99 of hits during purge and sweep / without", [during.p99_ms / without.p99_ms], targets.PURGE_P99),
        Figure(case, "responses touched", [purge.touched]),
        Figure(case, "given up after, s", [purge.swept]),
    ]


def _restarted(larder, begin, count):
    """Seconds from `begin` to the first answer, to the first hit, and until the index is whole; the share found then."""
    connection = http.client.HTTPConnection("127.0.0.1", larder.port, timeout=LIMIT_SECONDS)
    # One in a thousand may never have been written.
    probes = [1 + number * (count - 1) // PROBES for number in range(PROBES)]
    first = hit = None
    with Admin(larder) as admin:
        for number in itertools.cycle(probes):
            found, since = _is_stored(connection, number), time.perf_counter() - begin
            first = since if first is None else first
            hit = since if hit is None and found else hit
            whole = admin.metric("larder_disk_index_whole") == 1
            since = time.perf_counter() - begin
            if (whole and hit) or since > LIMIT_SECONDS:
                break
    share = sum(_is_stored(connection, number) for number in probes) / PROBES
    connection.close()
    return first, hit or since, since, share


def _is_stored(connection, number):
    # Answered 504 where it is not stored: nothing is fetched, and nothing stored that was not there.
    connection.request("GET", f"/t/{number}", headers={"Cache-Control": "only-if-cached"})
    answer = connection.getresponse()
    answer.read()
    return answer.status == 200


def _drop(directory):
    """Takes what lies under `directory` out of the page cache."""
    os.sync()
    for path in directory.rglob("*"):
        if path.is_file():
            file = os.open(path, os.O_RDONLY)
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(file)
