"""The command line: what is asked for, what is missing, and where the figures go."""

import argparse
import itertools
import shlex
import signal
import subprocess
import sys
from pathlib import Path

from . import counts, machine, network, report, tools
from .admin import AdminFailed
from .experiments import ALL
from .limits import raise_open_files
from .load import LoadFailed
from .process import StartFailed
from .settings import FULL, FULL_BELOW, FULL_LOG, QUICK, QUICK_BELOW, QUICK_LOG, Settings
from .stage import BENCH

SERVERS = ("larder", "nginx", "varnish", "bare", "floor")


def main(arguments):
    """Runs what was asked for; 0 done, 1 something failed or is missing, 130 interrupted."""
    asked = _parse(arguments)
    if not _tools_present(asked.install):
        return 1
    if asked.check:
        for warning in counts.warnings():
            _say(f"warning: {warning}")
        return 0
    if asked.tcp:
        network.enter(asked.tcp)
    # Ending by signal leaves the stage as Ctrl-C does: every server is ended.
    for sign in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(sign, _interrupt)
    raise_open_files()
    settings = _settings(asked)
    facts, warnings = machine.describe(), machine.warnings() + counts.warnings()
    for warning in warnings:
        _say(f"warning: {warning}")
    results, status = [], 0
    try:
        for name in asked.experiment or ALL:
            _say(f"{name} …")
            try:
                results.append(ALL[name](settings))
            except (StartFailed, LoadFailed, AdminFailed) as fault:
                _say(f"{name} failed: {fault}")
                status = 1
                continue
            print(f"\n{report.section(results[-1])}\n", flush=True)
    except KeyboardInterrupt:
        _say("interrupted")
        return 130
    print(report.summary(results))
    _save(asked, (facts, warnings, settings, shlex.join(["bench/run", *arguments]), results))
    return status


def _parse(arguments):
    parser = argparse.ArgumentParser(
        prog="bench/run", description="Larder beside nginx, Varnish and a bare hyper server.")
    parser.add_argument("experiment", nargs="*", metavar="EXPERIMENT",
                        help=f"of {', '.join(ALL)}; all of them when none is named")
    parser.add_argument("--rounds", type=int, help="rounds to take the median of (5; quick: 2)")
    parser.add_argument("--seconds", type=int, help="length of a sample (3; quick: 1)")
    parser.add_argument("--servers", default=",".join(SERVERS),
                        help="only these, separated by commas (%(default)s)")
    parser.add_argument("--quick", action="store_true",
                        help="short rounds and a small store; to try the script, not to quote")
    parser.add_argument("--out", type=Path,
                        help="directory for the report (bench/results; quick: none)")
    parser.add_argument("--disk", default="/var/tmp",
                        help="directory on a real file system, for tiers on disk (%(default)s)")
    parser.add_argument("--tcp", choices=network.known(),
                        help="congestion control of all sockets, in a network of the run's own; needs root (the system's)")
    parser.add_argument("--install", action="store_true",
                        help="install what is missing with apt-get")
    parser.add_argument("--check", action="store_true", help="only tell what is missing")
    asked = parser.parse_args(arguments)
    for name in asked.experiment:
        if name not in ALL:
            parser.error(f"no experiment '{name}': there are {', '.join(ALL)}")
    for name in asked.servers.split(","):
        if name not in SERVERS:
            parser.error(f"no server '{name}': there are {', '.join(SERVERS)}")
    for name in ("rounds", "seconds"):
        if getattr(asked, name) is not None and getattr(asked, name) < 1:
            parser.error(f"--{name} is at least 1")
    return asked


def _settings(asked):
    quick = (2, 1, QUICK, QUICK_BELOW, QUICK_LOG)
    full = (5, 3, FULL, FULL_BELOW, FULL_LOG)
    rounds, seconds, million, below, log_bytes = quick if asked.quick else full
    servers = asked.servers.split(",")
    for name, command in tools.not_built().items():
        if name in servers:
            servers.remove(name)
            _say(f"left out: {name} is not built ({command})")
    return Settings(tuple(servers), asked.rounds or rounds, asked.seconds or seconds, million,
                    below, asked.disk, log_bytes, _say)


def _tools_present(may_install):
    missing = tools.missing_packages()
    if not missing:
        return True
    if not may_install:
        _say(f"not installed: {' '.join(missing)} (bench/run --install does it with apt-get)")
        return False
    try:
        tools.install(missing)
    except (OSError, subprocess.CalledProcessError) as fault:
        _say(f"could not install {' '.join(missing)}: {fault}")
        return False
    return True


def _save(asked, contents):
    directory = asked.out or (None if asked.quick else BENCH / "results")
    facts, results = contents[0], contents[-1]
    if not directory or not results:
        return
    directory.mkdir(parents=True, exist_ok=True)
    base = _unused(directory, f"{facts['date']}-{machine.slug()}")
    base.with_suffix(".md").write_text(report.page(*contents))
    base.with_suffix(".json").write_text(report.raw(*contents))
    _say(f"written: {base}.md and .json")


def _unused(directory, name):
    """The first of name, name-2, name-3 … that no report has."""
    bases = (directory / (f"{name}-{number}" if number > 1 else name) for number in itertools.count(1))
    return next(base for base in bases if not base.with_suffix(".md").exists())


def _interrupt(*_):
    raise KeyboardInterrupt


def _say(text):
    print(text, file=sys.stderr, flush=True)
