"""A thousand purges a second, for a minute."""

import time
from dataclasses import dataclass

from .. import servers, targets
from ..admin import Admin
from ..load import Purges, sequence, wrk
from ..origin import Origin
from ..process import Process
from ..result import Figure, Result
from ..sample import in_turn
from ..settings import Settings
from ..stage import Stage

PER_SECOND = 1000
CONNECTIONS = 64
# Pages that are hit, at random: each of them seldom enough that many purges lie between two of its hits.
PAGES = 100_000
# As long as purges are remembered for fetches that began before them, and some more.
SWEPT_SECONDS = 75
MIB = 1024 * 1024


@dataclass
class _Workers:
    """A server's threads that answer clients, without those that purge and sweep."""

    process: Process

    def cpu_seconds(self):
        return self.process.threads_cpu_seconds(r"larder-\d+")

    @property
    def command(self):
        return self.process.command


def run(settings):
    """Larder alone: one that is purged and one that is left alone, in turn."""
    result = Result("purges", f"{PER_SECOND:,} purges a second, tags and URLs, for {settings.below.purge_seconds} s")
    if "larder" in settings.servers:
        with Stage(settings.disk) as stage:
            _measure(settings, result, stage)
    return result


def _measure(settings, result, stage):
    origin, log = Origin(stage), stage.new_disk_directory("log")
    quiet, purged = (servers.start_larder_with(stage, origin, {
        "memory": {"size": "512MiB"}, "purge": {"log": str(directory)},
    }) for directory in (stage.new_disk_directory("quiet"), log))
    for server in (quiet, purged):
        sequence(server.url("/"), 1, PAGES, 1, 120, "/t/")
    loads = {
        name: (servers.Server(name, _Workers(server.process), server.port),
               lambda seconds, server=server: wrk(server.url("/"), CONNECTIONS, seconds, "random.lua", (PAGES, "/t/")))
        for name, server in (("quiet", quiet), ("purged", purged))
    }
    turns = settings.below.purge_seconds // (2 * settings.seconds + 1)
    turned = Settings(**{**vars(settings), "rounds": max(1, turns)})
    case = f"{PAGES:,} pages drawn at random, {CONNECTIONS} connections"
    with Admin(purged) as admin:
        sizes = [_sizes(admin, purged, log)]
        alone = in_turn(settings, loads, origin, "hits")
        beside = _beside(purged)
        settings.say(f"{PER_SECOND} purges a second")
        with Purges(purged.admin_port, f"127.0.0.1:{purged.port}", PER_SECOND, settings.below.purge_seconds) as purges:
            samples = in_turn(turned, loads, origin, "hits")
            said = purges.ended()
        beside = _beside(purged) - beside
        sizes.append(_sizes(admin, purged, log))
        settings.say("until the log has forgotten")
        time.sleep(SWEPT_SECONDS if settings.below.purge_seconds >= 60 else settings.below.purge_seconds)
        sizes.append(_sizes(admin, purged, log))
    result.add_rows(f"{case}; worker threads only", {
        "larder, left alone": samples["quiet"], "larder, purged": samples["purged"], "larder, before": alone["purged"]})
    ratios = [mine.cpu_us / its.cpu_us for mine, its in zip(samples["purged"], samples["quiet"]) if its.cpu_us]
    result.figures += [
        Figure(case, "CPU per hit, purged / left alone", ratios, targets.PURGES_HIT),
        Figure(case, "p99, purged / left alone",
               [mine.p99_ms / its.p99_ms for mine, its in zip(samples["purged"], samples["quiet"])]),
        Figure("purges", "a second", [said["sent"] / said["seconds"]]),
        Figure("purges", "failed", [said["failed"]]),
        Figure("purges", "acknowledged after, median, ms", [said["p50_ms"]]),
        Figure("purges", "acknowledged after, 99th percentile, ms", [said["p99_ms"]]),
        Figure("purges", "CPU of all other threads than the workers, share of a core", [beside / said["seconds"]]),
    ]
    for when, size in zip(("before", "after", "after the sweep"), sizes):
        result.notes.append(f"log {when}: " + ", ".join(f"{name} {value:,.0f}" for name, value in size.items()))


def _beside(server):
    return server.process.cpu_seconds() - _Workers(server.process).cpu_seconds()


def _sizes(admin, server, log):
    """The log's size: bytes of its files, and what metrics and the system say of memory."""
    files = sum(path.stat().st_size for path in log.rglob("*") if path.is_file())
    told = {f"{what} in memory": admin.metric(f"larder_purge_{what}") for what in ("names", "patterns")}
    return {"bytes on disk": files, "resident MiB": server.process.resident_bytes() / MIB} | told
