"""The load: `larder bench` for every figure, wrk beside it as a cross-check."""

import json
import re
import statistics
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


def new_case(name, asks, flags, offered=False, rises=False):
    """A case without rows."""
    return Case(name, asks, " ".join(str(flag) for flag in flags), offered, rises=rises)


def wrk(stage, settings, case, contenders, connections, paths=None):
    """Asks again with wrk, for one page or for these in turn, and notes what it saw beside what `larder bench` saw: the medians of as many
    rounds, the contenders in turn."""
    script = ["-s", _script(stage, paths)] if paths else []
    seen = {contender.name: [] for contender in contenders}
    for turn in range(1, settings.rounds + 1):
        for contender in contenders:
            said = _wrk(stage, case, contender, connections, settings.check, script, turn)
            seen[contender.name] += _wrk_saw(said, _milliseconds("99%", said), connections)
    for contender in contenders:
        _check(case, contender, _joined(seen[contender.name]))


def _milliseconds(name, said):
    """The first time in a line of wrk's."""
    found = re.search(rf"^\s+{name}\s+([\d.]+)(us|ms|s|m)\b", said, re.MULTILINE)
    return float(found[1]) * MILLISECONDS[found[2]] if found else None


def _joined(rounds):
    """What several runs of wrk saw of one contender, as one."""
    if not rounds:
        return None
    each = {figure: [one[figure] for one in rounds if one.get(figure) is not None] for figure in ("rate", "p99_ms", "waiting")}
    failed = sum(one.get("failed", 0) for one in rounds)
    middle = {figure: statistics.median(values) if values else None for figure, values in each.items()}
    return rounds[0] | middle | {"rounds": {figure: each[figure] for figure in ("rate", "p99_ms")}} | ({"failed": failed} if failed else {})


def wrk_users(stage, case, contenders, users, pause, seconds, paths=None):
    """Asks again with wrk, as users who rest up to `pause` seconds before each request and have a new connection for each.

    Before the first request too: they begin as users do who come within the longest rest. A latency of wrk's has no connection in it,
    so only rates are compared.
    """
    for contender in contenders:
        script = ["-s", _script(stage, paths or [_path(contender.url)], pause)]
        for seen in _wrk_saw(_wrk(stage, case, contender, users, seconds, script), None):
            _check(case, contender, seen)


def _script(stage, paths, pause=None):
    """What wrk is told in Lua: which pages, and the rests."""
    listed = ", ".join(f'"{path}"' for path in paths)
    lines = [f"local paths, number = {{ {listed} }}, 0",
             'function request() number = number % #paths + 1; return wrk.format("GET", paths[number]) end']
    if pause:
        lines += [f"function delay() return math.random(0, {pause * 1000}) end", 'wrk.headers["Connection"] = "close"']
    script = stage.directory / "wrk.lua"
    script.write_text("".join(f"{line}\n" for line in lines))
    return script


def _wrk(stage, case, contender, connections, seconds, more, turn=1):
    argv = ["wrk", "-t", 1, "-c", connections, "-d", f"{seconds}s", "--latency", *more, contender.url]
    return _said(argv, seconds, stage, case, contender, turn)


def _wrk_saw(said, p99_ms, connections=None):
    """What a run of wrk saw; empty where it says nothing."""
    rate = re.search(r"Requests/sec:\s+([\d.]+)", said)
    if not rate:
        return []
    errors = re.search(r"Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)", said)
    refused = re.search(r"Non-2xx or 3xx responses: (\d+)", said)
    failed = sum(map(int, errors.groups() if errors else ())) + int(refused[1] if refused else 0)
    seen = {"tool": "wrk", "rate": float(rate[1]), "p99_ms": p99_ms} | ({"failed": failed} if failed else {})
    return [seen | _waiting(seen["rate"], said, connections)]


def _waiting(rate, said, connections):
    """How many of wrk's connections waited for an answer (Little's law). The others waited for wrk, whose latency begins when it
    sends: where they are many, wrk was the slower side. Where it is more than there are, wrk has made its latencies longer."""
    mean = _milliseconds("Latency", said)
    if connections is None or mean is None:
        return {}
    return {"connections": connections, "waiting": rate * mean / 1000}


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
        cached=target["cache"]["hits_percent"], unsaid=target["cache"]["unsaid"],
        # The application answered during the warm-up too.
        application_us=application_seconds / (answered + target["warm_up_requests"]) * 1e6 if contender.application and answered else None,
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


def _said(argv, seconds, stage, case, contender, turn):
    """What another tool says; a cross-check that fails is noted, and takes nothing else with it."""
    try:
        output = _run(argv, seconds, stage, CHECK_GRACE_SECONDS)
    except LoadFailed as fault:
        case.notes.append(f"No cross-check of {contender.name}: wrk: {place.plain(str(fault)).splitlines()[0]}")
        return ""
    again = f"-{turn}" if turn > 1 else ""
    stage.keep(f"{_slug(case.name)}-{_slug(contender.name)}-wrk{again}.txt", f"$ {' '.join(map(str, argv))}\n{output}")
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
