"""Microcaching for Java: a page that reads 8,000 rows, and one second of cache, or a long lifetime and purges."""

import statistics
import urllib.request
from dataclasses import replace
from pathlib import Path

from laboratory import load, panels, place, servers
from laboratory.result import APPLICATION, FIRST_ERROR, Claim, Result, median
from laboratory.servers import LabStage, application, peer
from laboratory.settings import MOST_USERS
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
# How many times as long as elsewhere a load is made before it counts.
SETTLE = 3
SAID = """The article has a Grails application on Tomcat whose page reads a table of 8,000 rows twice (`order by rand()`), and nginx before it
with one second of `proxy_cache`. With siege, up to ten seconds of rest between a user's requests, Tomcat holds 30 users. With nginx
3,000 users ask for one URL, but only 250 for fifty: it concludes that microcaching does not help with many URLs, and that a long
lifetime with eviction on update would."""
WRONG = [
    "The \"transaction rate\" is no capacity: siege's users rest up to ten seconds, five on average, so 30 of them make 6 "
    "requests a second and 3,000 make "
    "600, whatever answers. The article's 5.26 and 562 are these, and \"around 5 requests per second\" is read from the first. "
    "Tomcat had less "
    "than one request at a time (concurrency 0.67).",
    "3,000 users with one URL is where the author stopped, 250 with fifty is where errors began: a number that was enough is held "
    "against a limit.",
    "The answers were not the same: 8.49 MB for 314 requests are 28 KB for each from Tomcat, 291.25 MB for 33,528 are 9 KB for each "
    "through nginx (28 and 9 KB with fifty URLs too). It looks as if nginx compressed and Tomcat did not; the article does not say.",
    "The fall with fifty URLs is put down to cache misses as such. Fifty pages that hold for one second are up to fifty pages to "
    "make each second, on "
    "an application that makes fewer than ten, and nothing keeps them from being made at once: a lock, an update in the "
    "background, or the longer lifetime that the "
    "article itself recommends.",
    "\"As expected, most database driven apps are IO bound\": that this one is was not measured.",
]
DIFFERS = [
    "Plain servlets and JDBC in embedded Tomcat with H2 in memory, in place of Grails, Hibernate and a database of its own; the "
    "queries and the page are the article's.",
    "The article tried numbers of users by hand, with siege, for 60 seconds each. Here its own numbers are asked for, for as long as "
    "the tables say, by `larder bench` and then by wrk, which can do the same; siege cannot: its users rest whole seconds, and ask "
    "for more than that load is. And the users rise within one run, where the table says how many there were when the first "
    "request was sent that failed, or that none failed up to the most that this machine can be.",
    "Rising users keep their connections; in the article's own numbers each request has a new one, as siege's have.",
    "Everybody is sent the same bytes, not compressed.",
    "A request without a whole answer after five seconds has failed.",
    "The application has the same core as the cache before it, as in the article: what it uses is missing there.",
    "nginx is here as the article's series has it, and as experts do today: `background_update`, a lock, kept connections.",
    "Larder lets the application make one page at a time (`most_concurrent`): it has one core and waits for nothing. nginx without a "
    "subscription has no such queue.",
    "Every cache has had every page once before it is measured.",
]

ARTICLE, TOMCAT = "nginx, 1 s, as in the article", "Tomcat"
PURGED = "Larder, a day and purge on update"
# The places of the cases.
ONE_MOST, FIFTY_MOST, ALONE, FIFTY_ALONE, ONE_POINT, FIFTY_POINT, ONE_RISING, FIFTY_RISING = range(8)
# The article's numbers of users.
HOLDS, BREAKS, WITH_ONE, WITH_FIFTY = 30, 35, 3000, 250
CLAIMS = [
    Claim(f"Tomcat holds {HOLDS} users.", "errors", (ALONE, f"Tomcat, {HOLDS} users"), None, "none"),
    Claim(f"{BREAKS} users cause a lot of errors.", "errors", (ALONE, f"Tomcat, {BREAKS} users"), None, "some"),
    Claim(f"with fifty URLs it holds {HOLDS} too.", "errors", (FIFTY_ALONE, f"Tomcat, {HOLDS} users"), None, "none"),
    Claim(f"nginx holds {WITH_ONE:,} users with one URL.", "errors", (ONE_POINT, ARTICLE), None, "none"),
    Claim(f"with fifty it holds {WITH_FIFTY}.", "errors", (FIFTY_POINT, ARTICLE), None, "none"),
    Claim("it answers much less with fifty URLs than with one.", "rate", (FIFTY_MOST, ARTICLE), (ONE_MOST, ARTICLE), "less"),
    Claim("a longer lifetime with eviction on update is more effective than microcaching.", "application_us", (FIFTY_MOST, PURGED),
          (FIFTY_MOST, ARTICLE), "less"),
]


def run(settings):
    """Measures and returns the result."""
    result = Result("java_microcache", 5, TITLE, "microcaching-java", SAID, WRONG, DIFFERS, CLAIMS, [ARTICLE],
                    [ONE_MOST, FIFTY_MOST], [ONE_RISING, FIFTY_RISING])
    # What the one before has asked for is still being made for a while: Tomcat does not know that nobody waits any more.
    settings = replace(settings, warm_up=settings.warm_up * SETTLE)
    with LabStage(Path(__file__).parent, settings.raw) as stage:
        everybody = _servers(stage, settings)
        for paths, name in ((None, "one URL"), (FIFTY, "fifty URLs")):
            settings.say(f"{name}: as much as they can")
            result.cases.append(_most(stage, settings, everybody, paths, name))
        settings.say("the article's numbers of users")
        for paths, name in ((None, "one URL"), (FIFTY, "fifty URLs")):
            result.cases.append(_alone(stage, settings, everybody, paths, name))
        for paths, name, users in ((None, "one URL", WITH_ONE), (FIFTY, "fifty URLs", WITH_FIFTY)):
            result.cases.append(_point(stage, settings, everybody, paths, name, users))
        for paths, name in ((None, "one URL"), (FIFTY, "fifty URLs")):
            settings.say(f"{name}: users")
            result.cases.append(_users(stage, settings, everybody, paths, name))
            result.cases[-1].notes += _end_of_the_machine(settings, result.cases[FIFTY_MOST if paths else ONE_MOST], result.cases[-1])
        result.started = stage.started()
    one, fifty, *_, users_one, users_fifty = result.cases
    result.panels = [
        panels.bars(one, "rate", "One URL: answers", "good answers a second; more is better"),
        panels.bars(fifty, "rate", "Fifty URLs: answers", "good answers a second; more is better"),
        panels.over_users(users_one, "p99_ms", "One URL: 99th percentile by users", "milliseconds", log=True),
        panels.over_users(users_fifty, "p99_ms", "Fifty URLs: 99th percentile by users", "milliseconds", log=True),
        panels.over_users(users_fifty, "errors", "Fifty URLs: failed requests by users", "since the point before"),
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
    purged = servers.larder(stage, PURGED, "larder-long.toml", app=port)
    purged.application.append(_java(stage, port, f"http://127.0.0.1:{purged.admin}")[1])
    for contender in (micro, purged):
        contender.url += ONE
    caches = [
        peer(ARTICLE, article, [by_article], ONE, [ports[0][1]]),
        peer("nginx, 1 s, as experts have it", expert, [by_experts], ONE, [ports[1][1]]),
        micro,
    ]
    for one in (direct_port, *(one for one, _ in ports), port):
        _prime(f"http://127.0.0.1:{one}", [ONE] * settings.priming)
    return _Everybody(application(TOMCAT, direct_port, [direct], ONE), caches, purged, f"http://127.0.0.1:{port}")


def _java(stage, port=None, admin=None):
    port = port or free_port()
    argv = ["java", "-Xmx384m", "-XX:+UseSerialGC", f"-Djava.io.tmpdir={stage.new_directory('java')}", "-cp",
            f"{place.JAVA}/blog-1.jar:{place.JAVA}/lib/*", "lab.Blog", port]
    return port, servers.start(stage, "java", argv + ([admin] if admin else []), port)


def _emptied(stage, settings, direct):
    """Another Tomcat in its place: this one would make pages for those who have left, with the core that the next ones need."""
    for process in direct.serving:
        stage.end(process)
    port, process = _java(stage)
    _prime(f"http://127.0.0.1:{port}", [ONE] * settings.priming)
    return application(direct.name, port, [process], ONE)


def _prime(base, paths):
    for path in paths:
        with urllib.request.urlopen(base + path, timeout=30) as answer:
            answer.read()


def _fill(caches, paths):
    """Every cache has had every page once: what is looked at is how it goes on, not how it begins."""
    for cache in caches:
        _prime(cache.url.removesuffix(ONE), paths or [ONE])


def _most(stage, settings, everybody, paths, name):
    flags = ["--connections", CONNECTIONS, "--duration", f"{settings.seconds}s", *_file(stage, paths)]
    case = load.new_case(f"As much as they can, {name}", f"{CONNECTIONS} connections that are kept, each asks again at once.",
                         _readable(flags))
    load.compare(stage, settings, case, flags, [everybody.direct], settings.seconds, 1)
    everybody.direct = _emptied(stage, settings, everybody.direct)
    _fill(everybody.caches, paths)
    load.compare(stage, settings, case, flags, everybody.caches, settings.seconds)
    _with_updates(stage, settings, case, flags, everybody, paths, settings.seconds, settings.rounds)
    load.wrk(stage, settings, case, [*everybody.caches, everybody.purged, everybody.direct], CONNECTIONS, paths)
    return case


def _alone(stage, settings, everybody, paths, name):
    """Tomcat alone, with the users that it holds in the article and those that it does not."""
    def flags(users):
        return _resting(settings, users) + _file(stage, paths)

    case = load.new_case(f"Tomcat alone, {HOLDS} and {BREAKS} users, {name}", _stays(settings), _readable(flags(HOLDS)), offered=True)
    for users in (HOLDS, BREAKS):
        named = replace(everybody.direct, name=f"{TOMCAT}, {users} users")
        load.compare(stage, settings, case, flags(users), [named], settings.stay, 1)
        load.wrk_users(stage, case, [named], users, _rest(settings), settings.stay, paths)
    return case


def _point(stage, settings, everybody, paths, name, users):
    """The article's number of users before the caches."""
    flags = _resting(settings, users) + _file(stage, paths)
    case = load.new_case(f"{users:,} users, {name}", _stays(settings), _readable(flags), offered=True)
    _fill(everybody.caches, paths)
    load.compare(stage, settings, case, flags, everybody.caches, settings.stay, 1)
    _with_updates(stage, settings, case, flags, everybody, paths, settings.stay, 1)
    load.wrk_users(stage, case, [*everybody.caches, everybody.purged], users, _rest(settings), settings.stay, paths)
    return case


def _resting(settings, users):
    # Who comes at a random moment of the longest rest, and asks at once, is one who rested so long before the first request.
    rest = _rest(settings)
    return ["--users", users, "--ramp", f"{rest}s", "--duration", f"{settings.stay}s", "--pause", f"{rest}s", "--timeout",
            f"{TIMEOUT_SECONDS}s", "--no-keep-alive"]


def _rest(settings):
    """The longest rest between two requests, in seconds: the article's, unless all ends before."""
    return min(PAUSE_SECONDS, settings.stay)


def _stays(settings):
    return (f"The article's own load: up to {_rest(settings)} s of rest between two requests of a user, a new connection for each. "
            f"{settings.stay} s in place of 60; wrk does the same afterwards.")


def _users(stage, settings, everybody, paths, name):
    def flags(users, climb):
        return ["--users", users, "--ramp", f"{climb}s", "--pause", f"{PAUSE_SECONDS}s", "--timeout", f"{TIMEOUT_SECONDS}s",
                *_file(stage, paths)]

    rising, short = flags(settings.users, settings.climb), settings.climb // 2
    case = load.new_case(f"1 to {settings.users:,} users within {settings.climb} seconds, {name}",
                         f"siege's users: up to {PAUSE_SECONDS} s of rest between two requests. Tomcat alone: 1 to "
                         f"{settings.users_uncached:,} users within {short} seconds.", _readable(rising), offered=True)
    load.compare(stage, settings, case, flags(settings.users_uncached, short), [everybody.direct], short, 1)
    everybody.direct = _emptied(stage, settings, everybody.direct)
    _fill(everybody.caches, paths)
    load.compare(stage, settings, case, rising, everybody.caches, settings.climb, 1)
    _with_updates(stage, settings, case, rising, everybody, paths, settings.climb, 1)
    for row in case.rows:
        case.extra.setdefault(row.contender, {}).update(_endures(row))
    return case


def _end_of_the_machine(settings, most, rising):
    """Where no cache failed: which end that is, and where theirs lies as far as it can be reckoned."""
    caches = [row for row in rising.rows if row.role != APPLICATION]
    rates = [median(row.rate) for row in most.rows if row.role != APPLICATION]
    if settings.quick or not caches or not all(rates) or any(row.errors for row in caches):
        return []
    rest, slowest = PAUSE_SECONDS / 2, min(rates)
    if settings.users < MOST_USERS:
        end = "each holds an open file of the tool and one of the server, and no process may have more of them here (`ulimit -Hn`)"
    else:
        end = "each holds a port, and the one address that they come from has some 28,000"
    return [f"No cache failed, so where their errors begin was not found: the {settings.users:,} users are all that this machine can be; "
            f"{end}. With {rest:g} s of rest on average they ask for "
            f"{settings.users / rest:,.0f} requests a second, where the slowest cache answers {slowest:,.0f} (\"{most.name}\"). "
            f"A request fails after {TIMEOUT_SECONDS} s, so its errors would begin at about {slowest * (rest + TIMEOUT_SECONDS):,.0f} "
            "users: reckoned, not measured."]


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
    return {FIRST_ERROR: _users_at(row, failed), "users when p99 passes 1 s": "none did" if slow is None else f"{slow:,}"}


def _users_at(row, at):
    if at is None:
        return f"no error up to {max((point['users'] for point in row.points), default=0):,}"
    # A request that timed out was sent so long before.
    sent = at - TIMEOUT_SECONDS if row.faults.get("timeout") or row.faults.get("endless") else at
    return f"{max((point['users'] for point in row.points if point['at'] <= sent), default=1):,}"


def _file(stage, paths):
    if not paths:
        return []
    listed = stage.directory / "paths"
    listed.write_text("".join(f"{path}\n" for path in paths))
    return ["--file", listed]


def _readable(flags):
    return ["urls.txt" if str(flag).endswith("/paths") else flag for flag in flags]
