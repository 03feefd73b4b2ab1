"""`larder simulate` over a gigabyte of log: seconds and memory."""

import json
import os
import subprocess
import sys
import time

from .. import targets
from ..load import SCRIPTS, LoadFailed
from ..result import Figure, Result
from ..servers import LARDER
from ..stage import Stage

MOST_ROUNDS = 3
MIB = 1024 * 1024
# The format, and for how many URLs: fewer than are followed, more, and nearly one for each request.
CASES = (("combined", 100_000), ("combined", 1_000_000), ("combined", 10_000_000), ("json", 1_000_000))


def run(settings):
    """Larder alone, on all cores, as a person would call it."""
    gigabytes = settings.log_bytes / 1e9
    result = Result("simulate", f"A simulation of {gigabytes:g} GB of access log")
    if "larder" in settings.servers:
        for style, urls in CASES:
            settings.say(f"{style}, {urls:,} URLs")
            # One log after the other: they are large.
            with Stage(settings.disk) as stage:
                _measure(settings, result, stage, style, urls)
        result.notes.append("Larder uses all cores; the log lies in the page cache. CPU and memory are those of the process "
                            "(`wait4`).")
    return result


def _measure(settings, result, stage, style, urls):
    log = stage.new_disk_directory("log") / "access.log"
    script = [sys.executable, str(SCRIPTS / "log.py"), f"{settings.log_bytes}", f"{urls}", style]
    with log.open("wb") as out:
        subprocess.run(script, stdout=out, check=True)
    # Counting them also brings the log into the page cache.
    lines = _lines(log)
    taken = [_once(log, lines) for _ in range(min(settings.rounds, MOST_ROUNDS))]
    seconds, cpu, memory = (list(values) for values in zip(*taken))
    case = f"{style}, {urls:,} URLs"
    result.figures += [
        Figure(case, "seconds", seconds, targets.SIMULATE_SECONDS),
        Figure(case, "seconds of CPU", cpu),
        Figure(case, "memory at its peak, MiB", memory, targets.SIMULATE_MIB),
    ]


def _lines(log):
    with log.open("rb") as file:
        return sum(block.count(b"\n") for block in iter(lambda: file.read(MIB), b""))


def _once(log, lines):
    """Seconds, seconds of CPU, and the most memory in MiB that one simulation of so many lines took."""
    report = log.with_name("report.json")
    begin = time.perf_counter()
    with report.open("wb") as out:
        child = subprocess.Popen([str(LARDER), "simulate", "--quiet", "--json", str(log)],
                                 stdin=subprocess.DEVNULL, stdout=out)
        try:
            _, status, used = os.wait4(child.pid, 0)
        except BaseException:
            child.kill()
            raise
    seconds = time.perf_counter() - begin
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise LoadFailed(f"larder simulate ended with {child.returncode}")
    seen = json.loads(report.read_bytes())["log"]
    if (seen["lines"], seen["bad"]) != (lines, 0):
        raise LoadFailed(f"of {lines:,} lines {seen['lines']:,} were understood, and {seen['bad']:,} not")
    return seconds, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024 / MIB
