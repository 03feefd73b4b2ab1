"""The command line: what is asked for, what has to be installed, and where the results go."""

import argparse
import importlib
import os
import shlex
import signal
import sys
import time
import traceback

from measure import machine, network
from measure.admin import AdminFailed
from measure.limits import raise_open_files
from measure.load import LoadFailed
from measure.process import StartFailed
from measure.stage import LOAD_CORE

from . import archive, install, place, report, rest, settings, summary

EXPERIMENTS = ("redis_nginx", "static_memcached", "cdn_api", "php_varnish", "java_microcache")


def main(arguments):
    """Runs what was asked for; 0 done, 1 something failed or is missing, 130 interrupted."""
    asked = _parse(arguments)
    if asked.page:
        archive.make_page(archive.folders(), place.PAGE)
        return 0
    # Ending by signal leaves the stage as Ctrl-C does: every server is ended.
    for sign in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(sign, _interrupt)
    raise_open_files()
    experiments = [importlib.import_module(f"{name}.experiment") for name in asked.experiment or EXPERIMENTS]
    try:
        return _measure(asked, experiments, shlex.join(["lab/run", *arguments]))
    except install.Missing as fault:
        _say(str(fault))
        return 1
    except KeyboardInterrupt:
        _say("interrupted")
        return 130


def _measure(asked, experiments, call):
    missing = install.everything(experiments, _say)
    # What is installed comes from a network that those who are measured need not have.
    control = asked.tcp or network.entered() or network.fair()
    if control:
        network.enter(control)
    # To try it, a machine may be busy.
    if not asked.quick:
        rest.wait(_say)
    facts, warnings = machine.describe() | install.versions(), machine.warnings()
    for warning in warnings:
        _say(f"warning: {warning}")
    # This program belongs to the load. What is installed and built above may use every core.
    os.sched_setaffinity(0, {LOAD_CORE})
    date = facts.pop("date")
    kept = archive.folders() if not asked.quick and not asked.out else []
    folder = asked.out or (place.TRIED if asked.quick else place.RESULTS) / date
    page = folder / "lab.md" if asked.quick or asked.out else place.PAGE
    results = archive.Archive(folder, {"date": date, "call": call, "quick": asked.quick, "machine": facts, "warnings": warnings},
                              page, kept)
    chosen = (settings.quick if asked.quick else settings.full)(_say, folder / "raw")
    begin, measured = time.monotonic(), []
    for experiment in experiments:
        _say(f"{experiment.TITLE} …")
        result = _one(experiment, chosen, results, missing)
        if result:
            measured.append(result)
            print(f"\n{report.table_of(result)}\n", flush=True)
    print(f"{summary.summary(measured)}\n\n{summary.shortfalls(measured)}")
    _say(f"written: {folder} and {page}, in {time.monotonic() - begin:.0f} s")
    return 0 if len(measured) == len(experiments) else 1


def _one(experiment, chosen, results, missing):
    """One experiment, written down as soon as it has ended, however it does; its result if there is one."""
    begin = time.monotonic()
    try:
        for need in filter(missing.get, experiment.NEEDS):
            raise install.Missing(missing[need])
        result = experiment.run(chosen).as_json()
    except (install.Missing, StartFailed, LoadFailed, AdminFailed, OSError) as fault:
        _say(f"{experiment.TITLE} failed: {fault}")
        results.failed(experiment.TITLE, str(fault))
        return None
    except Exception as fault:  # pylint: disable=broad-except  (the other experiments are worth having)
        _say(traceback.format_exc())
        results.failed(experiment.TITLE, f"a fault of the laboratory: {type(fault).__name__}: {fault}")
        return None
    results.measured(result, round(time.monotonic() - begin))
    return result


def _parse(arguments):
    parser = argparse.ArgumentParser(prog="lab/run", description="The five articles' experiments, done again.")
    parser.add_argument("experiment", nargs="*", metavar="EXPERIMENT",
                        help=f"of {', '.join(EXPERIMENTS)}; all of them when none is named")
    parser.add_argument("--quick", action="store_true",
                        help="small counts, results in target/lab; to try it, not to quote")
    parser.add_argument("--out", type=place.Path, help="folder of the results, and of a page from them alone (lab/results/DATE)")
    parser.add_argument("--tcp", choices=network.known(),
                        help="congestion control of all sockets, in a network of the run's own; needs root (where the system's paces over "
                             f"loopback, and root may: {' or '.join(network.FAIR)})")
    parser.add_argument("--page", action="store_true",
                        help="only make docs/lab.md again from the newest results")
    asked = parser.parse_args(arguments)
    for name in asked.experiment:
        if name not in EXPERIMENTS:
            parser.error(f"no experiment '{name}': there are {', '.join(EXPERIMENTS)}")
    return asked


def _interrupt(*_):
    raise KeyboardInterrupt


def _say(text):
    print(text, file=sys.stderr, flush=True)
