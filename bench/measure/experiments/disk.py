"""Hits from the disk tier, its pages in the page cache, against nginx's from its files."""

from .. import servers, targets, tiers
from ..origin import Origin
from ..result import Result
from ..sample import in_turn
from ..stage import Stage
from . import kept

# Whose cost is compared at one rate for both as well.
AT_ONE_RATE = ("10m",)


def run(settings):
    """CPU per hit by size."""
    result = Result("disk", "Hits from disk, in the page cache")
    starters = {"larder": start_larder, "nginx": lambda stage, origin, _: tiers.start_nginx_tiers(stage, origin)}
    with Stage(settings.disk) as stage:
        origin = Origin(stage)
        for size, target in targets.DISK.items():
            settings.say(f"{kept.pages(settings, size):,} pages of {size}")
            running = {}
            for name, starter in starters.items():
                if name in settings.servers:
                    running[name] = starter(stage, origin, settings)
                    result.notes += kept.fill_size(settings, running[name], origin, size)
            for case, loads in _cases(settings, running, size):
                samples = in_turn(settings, loads, origin, "hits")
                result.add_rows(case, samples)
                result.compare(case, samples, "nginx", target)
            for server in running.values():
                stage.end(server.process)
    return result


def _cases(settings, running, size):
    """The loads."""
    pages = f"{kept.pages(settings, size):,} pages of {size}"
    full = {name: kept.cycle(settings, server, size) for name, server in running.items()}
    yield f"{pages}, {kept.CONNECTIONS[size]} connections", full
    if size in AT_ONE_RATE:
        paced = {name: kept.pace(settings, server, size) for name, server in running.items()}
        yield f"{pages}, {kept.PACED_CONNECTIONS} connections, {kept.PAUSE_MS} ms apart", paced


def start_larder(stage, origin, settings):
    """Larder with a disk tier and too little memory."""
    return servers.start_larder_with(stage, origin, {
        "memory": {"size": f"{settings.below.memory_mib}MiB"},
        "disk": {"path": str(stage.new_disk_directory("larder") / "pages"), "size": "8GiB"},
    })
