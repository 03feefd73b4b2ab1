"""Microcaching for Java: a page that reads 8,000 rows, and one second of cache, or a long lifetime and purges."""

import statistics
import urllib.request
from pathlib import Path

from laboratory import load, panels, place, servers
from laboratory.result import LARDER, Result, median
from laboratory.servers import LabStage, application, peer
from measure.process import free_port

from . import updates

TITLE = "Microcaching for Java"
NEEDS = ("java",)
ONE = "/read"
FIFTY = [f"/read/index/{number}" for number in range(1, 51)]
CONNECTIONS = 50
PAUSE_SECONDS = 10
TIMEOUT_SECONDS = 5
SLOW_MS = 1000
SAID = """The article has a Grails application on Tomcat whose page reads a table of 8,000 rows twice (`order by rand()`), and nginx before it
with one second of `proxy_cache`. With siege, up to ten seconds of rest between a user's requests, Tomcat holds 30 users. With nginx
3,000 users ask for one URL, but only 250 for fifty: it concludes that microcaching does not help with many URLs, and that a long
lifetime with eviction on update would."""
DIFFERS = [
    "Plain servlets and JDBC in embedded Tomcat with H2 in memory, in place of Grails, Hibernate and a database of its own; the "
    "queries and the page are the article's.",
    "The article tried numbers of users by hand. Here they rise within one run, and the table says how many there were when the first "
    "request was sent that failed.",
    "A request without a whole answer after five seconds has failed.",
    "The application has the same core as the cache before it, as in the article: what it uses is missing there.",
    "nginx is here as the article's series has it, and as experts do today: `background_update`, a lock, kept connections.",
    "Larder lets the application make two pages at a time (`most_concurrent`), which nginx without a subscription has no queue for.",
]


def run(settings):
    """Measures and returns the result."""
    result = Result("java_microcache", 5, TITLE, "microcaching-java", SAID, DIFFERS)
    with LabStage(Path(__file__).parent) as stage:
        everybody = _servers(stage, settings)
        for paths, name in ((None, "one URL"), (FIFTY, "fifty URLs")):
            settings.say(f"{name}: as much as they can")
            result.cases.append(_most(stage, settings, everybody, paths, name))
        for paths, name in ((None, "one URL"), (FIFTY, "fifty URLs")):
            settings.say(f"{name}: users")
            result.cases.append(_users(stage, settings, everybody, paths, name))
        result.started = stage.started()
    one, fifty, users_one, users_fifty = result.cases
    result.notes.append(_fall(one, fifty))
    result.panels = [
        panels.bars(one, "rate", "One URL: answers", "good answers a second; more is better"),
        panels.bars(fifty, "rate", "Fifty URLs: answers", "good answers a second; more is better"),
        panels.over_users(users_one, "p99_ms", "One URL: 99th percentile by users", "milliseconds", log=True),
        panels.over_users(users_fifty, "p99_ms", "Fifty URLs: 99th percentile by users", "milliseconds", log=True),
        panels.over_users(users_fifty, "errors", "Fifty URLs: failed requests by users", "in a quarter of a second"),
        panels.bars(users_fifty, "cpu_us", "Fifty URLs: CPU", "microseconds of the server for each request; less is better"),
    ]
    return result


class _Everybody:
    """The application alone, the caches before an application each, and the one whose application purges."""

    def __init__(self, direct, caches, purged, purging):
        self.direct, self.caches, self.purged, self.purging = direct, caches, purged, purging


def _servers(stage, settings):
    direct_port, direct = _java(stage)
    ports = [_java(stage) for _ in range(3)]
    article, _, by_article = servers.nginx(stage, "nginx-article.conf", True, app=ports[0][0])
    expert, _, by_experts = servers.nginx(stage, "nginx-expert.conf", app=ports[1][0])
    micro = servers.larder(stage, "Larder, 1 s and stale while revalidating", "larder-micro.toml", app=ports[2][0])
    micro.application.append(ports[2][1])
    # The application must know where Larder is, and Larder where the application is.
    port = free_port()
    purged = servers.larder(stage, "Larder, a day and purge on update", "larder-long.toml", app=port)
    purged.application.append(_java(stage, port, f"http://127.0.0.1:{purged.admin}")[1])
    for contender in (micro, purged):
        contender.url += ONE
    caches = [
        peer("nginx, 1 s, as in the article", article, [by_article], ONE, [ports[0][1]]),
        peer("nginx, 1 s, as experts have it", expert, [by_experts], ONE, [ports[1][1]]),
        micro,
    ]
    for one in (direct_port, *(one for one, _ in ports), port):
        _prime(f"http://127.0.0.1:{one}", [ONE] * settings.priming)
    return _Everybody(application("Tomcat", direct_port, [direct], ONE), caches, purged, f"http://127.0.0.1:{port}")


def _java(stage, port=None, admin=None):
    port = port or free_port()
    argv = ["java", "-Xmx384m", "-XX:+UseSerialGC", f"-Djava.io.tmpdir={stage.new_directory('java')}", "-cp",
            f"{place.JAVA}/blog-1.jar:{place.JAVA}/lib/*", "lab.Blog", port]
    return port, servers.start(stage, "java", argv + ([admin] if admin else []), port)


def _prime(base, paths):
    for path in paths:
        with urllib.request.urlopen(base + path, timeout=30) as answer:
            answer.read()


def _most(stage, settings, everybody, paths, name):
    flags = ["--connections", CONNECTIONS, "--duration", f"{settings.seconds}s", *_file(stage, paths)]
    case = load.new_case(f"As much as they can, {name}", f"{CONNECTIONS} connections, each asks again at once.",
                         _readable(flags))
    load.compare(stage, settings, case, flags, [everybody.direct], settings.seconds, 1)
    load.compare(stage, settings, case, flags, everybody.caches, settings.seconds)
    _with_updates(stage, settings, case, flags, everybody, paths, settings.seconds, settings.rounds)
    load.siege(stage, settings, case, [everybody.direct, *everybody.caches, everybody.purged], CONNECTIONS, 0, paths)
    return case


def _users(stage, settings, everybody, paths, name):
    def flags(users):
        return ["--users", users, "--ramp", f"{settings.ramp}s", "--pause", f"{PAUSE_SECONDS}s", "--timeout", f"{TIMEOUT_SECONDS}s",
                *_file(stage, paths)]

    case = load.new_case(f"1 to {settings.users:,} users within {settings.ramp} seconds, {name}",
                         f"siege's users: up to {PAUSE_SECONDS} s of rest between two requests. Tomcat alone: 1 to "
                         f"{settings.users_uncached} users.", _readable(flags(settings.users)), offered=True)
    load.compare(stage, settings, case, flags(settings.users_uncached), [everybody.direct], settings.ramp, 1)
    load.compare(stage, settings, case, flags(settings.users), everybody.caches, settings.ramp, 1)
    _with_updates(stage, settings, case, flags(settings.users), everybody, paths, settings.ramp, 1)
    for row in case.rows:
        case.extra.setdefault(row.contender, {}).update(_endures(row))
    return case


def _with_updates(stage, settings, case, flags, everybody, paths, seconds, rounds):
    """The load on the long lifetime, while an author updates a page a second."""
    asked = paths or [ONE]
    base = everybody.purged.url.removesuffix(ONE)
    _prime(base, asked)
    for _ in range(rounds):
        with updates.Updates(everybody.purging, base, asked) as author:
            load.compare(stage, settings, case, flags, [everybody.purged], seconds, 1)
        _merge_last(case)
        values = case.extra.setdefault(everybody.purged.name, {})
        seen = [after for after in author.seen_after if after is not None]
        if seen:
            values["update seen after, ms (median, longest)"] = f"{statistics.median(seen) * 1000:.0f}, {max(seen) * 1000:.0f}"
        lost = author.failed + len(author.seen_after) - len(seen)
        if lost:
            values["updates not seen within 10 s"] = str(lost)


def _merge_last(case):
    """Rounds that were taken one by one become one row, as those of the others are."""
    *_, last = case.rows
    before = next((row for row in case.rows[:-1] if row.contender == last.contender), None)
    if before is None:
        return
    for values in ("rate", "p50_ms", "p99_ms", "cpu_us", "warnings"):
        getattr(before, values).extend(getattr(last, values))
    before.max_ms = max(before.max_ms or 0, last.max_ms or 0)
    before.requests += last.requests
    before.errors += last.errors
    before.faults = {kind: before.faults.get(kind, 0) + last.faults.get(kind, 0) for kind in {**before.faults, **last.faults}}
    case.rows.pop()


def _endures(row):
    """How many users there were when the first request was sent that failed, and when the 99th percentile first passed a second."""
    failed = next((point["at"] for point in row.points if point["errors"]), None)
    slow = next((point["users"] for point in row.points if (point["p99_ms"] or 0) > SLOW_MS), None)
    return {"users at the first error": _users_at(row, failed), "users when p99 passes 1 s": "none did" if slow is None else f"{slow:,}"}


def _users_at(row, at):
    if at is None:
        return f"no error up to {max((point['users'] for point in row.points), default=0):,}"
    # A request that timed out was sent so long before.
    sent = at - TIMEOUT_SECONDS if row.faults.get("timeout") or row.faults.get("endless") else at
    return f"{max((point['users'] for point in row.points if point['at'] <= sent), default=1):,}"


def _fall(one, fifty):
    """What becomes of Larder with fifty URLs in place of one."""
    said = []
    for before in one.rows:
        after = next((row for row in fifty.rows if row.contender == before.contender), None)
        ours, theirs = median(before.rate), median(after.rate) if after else None
        if ours and theirs is not None:
            said.append(f"{'**' if before.role == LARDER else ''}{before.contender}{'**' if before.role == LARDER else ''} "
                        f"{theirs / ours:.0%}")
    return "Requests a second with fifty URLs, of those with one: " + "; ".join(said) + "."


def _file(stage, paths):
    if not paths:
        return []
    listed = stage.directory / "paths"
    listed.write_text("".join(f"{path}\n" for path in paths))
    return ["--file", listed]


def _readable(flags):
    return ["urls.txt" if str(flag).endswith("/paths") else flag for flag in flags]
