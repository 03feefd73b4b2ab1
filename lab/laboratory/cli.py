"""The command line: what is asked for, what has to be installed, and where the results go."""

import argparse
import importlib
import os
import shlex
import signal
import sys
import time

from measure import machine
from measure.admin import AdminFailed
from measure.limits import raise_open_files
from measure.load import LoadFailed
from measure.process import StartFailed
from measure.stage import LOAD_CORE

from . import archive, install, place, report, settings

EXPERIMENTS = ("redis_nginx", "static_memcached", "cdn_api", "php_varnish", "java_microcache")


def main(arguments):
    """Runs what was asked for; 0 done, 1 something failed or is missing, 130 interrupted."""
    asked = _parse(arguments)
    if asked.page:
        archive.make_page(archive.newest(), place.PAGE)
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
    chosen = settings.quick(_say) if asked.quick else settings.full(_say)
    install.everything(experiments, _say)
    facts, warnings = machine.describe() | install.versions(), machine.warnings()
    for warning in warnings:
        _say(f"warning: {warning}")
    # This program belongs to the load. What is installed and built above may use every core.
    os.sched_setaffinity(0, {LOAD_CORE})
    results, status, begin = [], 0, time.monotonic()
    for experiment in experiments:
        _say(f"{experiment.TITLE} …")
        try:
            results.append(experiment.run(chosen).as_json())
        except (StartFailed, LoadFailed, AdminFailed, OSError) as fault:
            _say(f"{experiment.TITLE} failed: {fault}")
            status = 1
            continue
        print(f"\n{report.table_of(results[-1])}\n", flush=True)
    if not results:
        return 1
    folder = asked.out or (place.TRIED if asked.quick else place.RESULTS) / facts["date"]
    run = {"date": facts.pop("date"), "call": call, "quick": asked.quick, "machine": facts, "warnings": warnings,
           "seconds": round(time.monotonic() - begin)}
    page = archive.write(folder, run, results)
    print(report.summary(results))
    _say(f"written: {folder} and {page}, in {run['seconds']} s")
    return status


def _parse(arguments):
    parser = argparse.ArgumentParser(prog="lab/run", description="The five articles' experiments, done again.")
    parser.add_argument("experiment", nargs="*", metavar="EXPERIMENT",
                        help=f"of {', '.join(EXPERIMENTS)}; all of them when none is named")
    parser.add_argument("--quick", action="store_true",
                        help="small counts, results in target/lab; to try it, not to quote")
    parser.add_argument("--out", type=place.Path, help="folder of the results (lab/results/DATE)")
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
