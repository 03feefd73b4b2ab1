"""The load: `larder bench` for every figure, wrk or siege beside it as a cross-check."""

import json
import re
import subprocess
import urllib.parse

from measure.load import LoadFailed
from measure.stage import LOAD_CORE, find

from . import place
from .result import Case, Row

# A tool that hangs is ended this long after its time; the other tools sooner, since only a cross-check is lost with them.
GRACE_SECONDS = 90
CHECK_GRACE_SECONDS = 15
MILLISECONDS = {"us": 0.001, "ms": 1.0, "s": 1000.0, "m": 60000.0}


def compare(stage, settings, case, flags, contenders, seconds, rounds=None, tls=False):
    """Takes the contenders in turn, round by round, and fills the case with a row for each.

    `seconds` is the time that one turn may take; `flags` say everything else of the load.
    """
    rounds = rounds or settings.rounds
    # Where the pages come from a list, a target is the server alone.
    address = _server if "--file" in flags else str
    targets = [f"{index}={address(contender.tls_url if tls else contender.url)}" for index, contender in enumerate(contenders)]
    watched = [part for contender in contenders
               for part in ("--process", ",".join(str(process.pids()[0]) for process in contender.serving))]
    against = ["--compare", "--rounds", rounds] if len(targets) > 1 else []
    # The certificate is this run's own, signed by nobody.
    trust = ["--insecure"] if tls else []
    argv = [place.LARDER, "bench", *targets, *against, *flags, *watched, *trust, "--workers", 1, "--warm-up",
            f"{settings.warm_up}s", "--quiet", "--json"]
    before = [_cpu(contender.application) for contender in contenders]
    limit = (seconds + settings.warm_up) * len(targets) * rounds
    said = _bench(argv, limit, stage, case)
    for index, contender in enumerate(contenders):
        target = said["targets"][index]
        used = _cpu(contender.application) - before[index]
        doubts = [{"kind": warning["kind"], "text": warning["text"]} for warning in said["warnings"]
                  if warning["target"] == str(index)]
        case.rows.append(_row(contender, target, used, doubts))
    return case


def new_case(name, asks, flags, offered=False):
    """A case without rows."""
    return Case(name, asks, " ".join(str(flag) for flag in flags), offered)


def wrk(stage, settings, case, contenders, connections):
    """Asks again with wrk, and notes what it saw beside what `larder bench` saw."""
    for contender in contenders:
        argv = ["wrk", "-t", 1, "-c", connections, "-d", f"{settings.check}s", "--latency", contender.url]
        output = _said(argv, settings.check, stage, case, contender)
        rate = re.search(r"Requests/sec:\s+([\d.]+)", output)
        slowest = re.search(r"^\s+99%\s+([\d.]+)(us|ms|s|m)\s*$", output, re.MULTILINE)
        if rate:
            p99 = float(slowest[1]) * MILLISECONDS[slowest[2]] if slowest else None
            _check(case, contender, {"tool": "wrk", "rate": float(rate[1]), "p99_ms": p99})


def siege(stage, case, contenders, users, pause, seconds, urls=None):
    """Asks again with siege: users over these paths or one, who rest up to `pause` seconds and open a connection for each request."""
    home = stage.new_directory("siege")
    (home / "siege.conf").write_text("verbose = false\nquiet = true\nlogging = false\nprotocol = HTTP/1.1\nconnection = close\n"
                                     "parser = false\ngmethod = GET\nlimit = 10000\njson_output = true\n"
                                     "show-logfile = false\nlogfile = siege.log\nunique = false\n")
    for contender in contenders:
        paths = urls or [urllib.parse.urlsplit(contender.url).path]
        (home / "urls").write_text("".join(f"{_server(contender.url)}{path}\n" for path in paths))
        argv = ["env", f"HOME={home}", "siege", "-R", home / "siege.conf", "-c", users, f"-d{pause}", f"-t{seconds}s", "-i", "-f",
                home / "urls"]
        output = _said(argv, seconds, stage, case, contender)
        found = dict(re.findall(r'"(\w+)":\s*([\d.]+)', output))
        if "transaction_rate" in found:
            _check(case, contender, {"tool": "siege", "rate": float(found["transaction_rate"]),
                                     "failed": int(float(found.get("failed_transactions", 0)))})


def slower_than(row, limit_ms):
    """How many answers took longer than this, told from the curve of percentiles (as fine as that is)."""
    if row.max_ms is None or row.max_ms <= limit_ms:
        return 0
    share = 100.0
    for percent, milliseconds in row.curve:
        if milliseconds > limit_ms:
            break
        share = 100.0 - percent
    return round(row.requests * share / 100)


def _check(case, contender, check):
    for row in case.rows:
        if row.contender == contender.name:
            row.check = check


def _row(contender, target, application_seconds, warnings):
    rounds = target["rounds"]
    latency, process = target["latency_ms"] or {}, target["process"] or {}
    each = rounds or [{"rate": target["rate"], "p50_ms": latency.get("p50"), "p99_ms": latency.get("p99"),
                       "cpu_us_per_request": process.get("cpu_us_per_request")}]
    answered = target["requests"]
    return Row(
        contender=contender.name, role=contender.role, url=_path(contender.url),
        rate=[one["rate"] for one in each],
        p50_ms=[one["p50_ms"] for one in each],
        p99_ms=[one["p99_ms"] for one in each],
        # What errors cost says nothing.
        cpu_us=[one["cpu_us_per_request"] if one["rate"] else None for one in each],
        max_ms=latency.get("max"), requests=answered, errors=target["errors"], faults=_faults(target),
        cached=target["cache"]["hits_percent"],
        application_us=application_seconds / answered * 1e6 if contender.application and answered else None,
        points=target["points"], curve=target["curve"], warnings=warnings,
    )


def _faults(target):
    statuses = {f"status {code}": count for code, count in target["statuses"]["codes"].items() if int(code) >= 400}
    return {**target["faults"], **statuses}


def _path(url):
    return urllib.parse.urlsplit(url).path or "/"


def _server(url):
    parts = urllib.parse.urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def _cpu(processes):
    return sum(process.cpu_seconds() for process in processes)


def _bench(argv, seconds, stage, case):
    """What `larder bench` says; that a server gave no good answer is a result, not a fault."""
    output = _run(argv, seconds, stage, GRACE_SECONDS, may_fail=True)
    stage.keep(f"{_slug(case.name)}.json", output)
    try:
        return json.loads(output)
    except ValueError:
        raise LoadFailed(f"{' '.join(map(str, argv))}\n{output[-800:]}") from None


def _said(argv, seconds, stage, case, contender):
    """What another tool says; a cross-check that fails is noted, and takes nothing else with it."""
    tool = next(name for name in ("wrk", "siege") if name in argv)
    try:
        # siege fails where any request does.
        output = _run(argv, seconds, stage, CHECK_GRACE_SECONDS, may_fail=tool == "siege")
    except LoadFailed as fault:
        case.notes.append(f"No cross-check of {contender.name}: {tool}: {place.plain(str(fault)).splitlines()[0]}")
        return ""
    stage.keep(f"{_slug(case.name)}-{_slug(contender.name)}-{tool}.txt", f"$ {' '.join(map(str, argv))}\n{output}")
    return output


def _slug(name):
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def _run(argv, seconds, stage, grace, may_fail=False):
    argv = ["taskset", "-c", str(LOAD_CORE), find(str(argv[0])) or argv[0], *argv[1:]]
    command = [str(part) for part in argv]
    log = stage.directory / "load-errors"
    with log.open("wb") as errors:
        tool = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors)
        try:
            output, _ = tool.communicate(timeout=seconds + grace)
        except subprocess.TimeoutExpired:
            raise LoadFailed(f"no end after {seconds + grace:.0f} s: {' '.join(command)}") from None
        finally:
            # On Ctrl-C too: no tool outlives the laboratory.
            tool.kill()
            tool.wait()
    text = output.decode(errors="replace")
    if tool.returncode and not may_fail or not text.strip():
        raise LoadFailed(f"{' '.join(command)}\n{text[-400:]}{log.read_text(errors='replace')[-800:]}")
    return text
