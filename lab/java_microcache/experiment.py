"""Microcaching for Java: a page that reads 8,000 rows, and one second of cache, or a long lifetime and purges."""

import statistics
from dataclasses import replace
from pathlib import Path

from laboratory import load, panels, place, rounds, servers
from laboratory.result import Claim, Result
from laboratory.servers import LabStage, application, peer
from measure.process import free_port

from . import rising, updates

TITLE = "Microcaching for Java"
NEEDS = ("java",)
ONE = "/read"
FIFTY = [f"/read/index/{number}" for number in range(1, 51)]
CONNECTIONS = 50
# The article's numbers of users.
HOLDS, BREAKS, WITH_ONE, WITH_FIFTY = 30, 35, 3000, 250
PAUSE_SECONDS = 10
TIMEOUT_SECONDS = 5
# How many times as long as elsewhere a load is made before it counts.
SETTLE = 3
SAID = """The article has a Grails application on Tomcat whose page reads a table of 8,000 rows twice (`order by rand()`), behind nginx with one
second of `proxy_cache`. siege's users rest up to ten seconds between requests. Tomcat alone holds 30 users. nginx holds 3,000 users on one
URL, but only 250 on fifty URLs. The article concludes that microcaching does not help with many URLs, and that a long lifetime with eviction
on update would."""
WRONG = [
    "The \"transaction rate\" is no capacity. siege's users rest up to ten seconds, five on average, so 30 of them make 6 requests a second and "
    "3,000 make 600, whatever answers: the article's 5.26 (\"around 5 requests per second\") and 562. "
    "Tomcat had less than one request at a time (concurrency 0.67).",
    "3,000 users on one URL is where the author stopped; 250 on fifty is where errors began. The article compares a number that was enough with a limit.",
    "The answers were not the same: 28 KB each from Tomcat (8.49 MB for 314 requests), 9 KB each through nginx (291.25 MB for 33,528), with fifty URLs too. nginx seems to have compressed and Tomcat not; the article does not say.",
    "It explains the fall with fifty URLs by cache misses as such. Fifty pages with a lifetime of one second are up to fifty pages to make each "
    "second, by an application that makes fewer than ten. Nothing keeps them from being made at once: no lock, no update in the background, no longer lifetime as the article itself recommends.",
    "\"As expected, most database driven apps are IO bound\": whether this one is was not measured.",
]
DIFFERS = [
    "Plain servlets and JDBC in embedded Tomcat with H2 in memory replace Grails, Hibernate and a separate database. The queries and the page are "
    "the article's.",
    "The article tried numbers of users by hand, with siege, for 60 seconds each. Here `larder bench` and then wrk run its numbers for the time in the tables. siege cannot: its users rest whole seconds and send more requests than that load.",
    "In a further load users rise within one run. The table has their number when the first request that failed was sent, or says that none failed up to "
    "the most that were tried.",
    f"Rising users rest up to {rising.PAUSE_SECONDS} s, not {PAUSE_SECONDS}: each asks as often as {PAUSE_SECONDS // rising.PAUSE_SECONDS} of the "
    "article's. Each request has a new connection, as with siege.",
    f"Where users rise, each server has at most {rising.FILES:,} open files. A fast server lets no request wait long: with more users than "
    "it can answer, it ends at this limit, below the load tool's own. nginx closes connections beyond its `worker_connections` (500 fewer, because it "
    "opens cached files too), Larder leaves those for which it has no file in the kernel's queue.",
    "Where the load tool reaches its own limit first (its core is full), the notes say so. Later errors, or their absence, then say nothing about the server: connections that wait for a late tool fill a server too, and a late tool's users ask less.",
    "All servers send the same bytes, not compressed.",
    f"A request fails without a whole answer after {TIMEOUT_SECONDS} seconds, where users rise after {rising.TIMEOUT_SECONDS}. siege waits 30.",
    "The application takes its CPU from the core of the cache in front of it, as in the article.",
    f"nginx, tuned, has `background_update`, a lock and kept connections. With {WITH_ONE:,} and {WITH_FIFTY} users it has `tcp_nopush` off, which "
    "otherwise holds back the end of a stale answer until the new page is there. Elsewhere it is on, because nginx then answers more.",
    "Larder lets the application, which has one core and waits for nothing, make one page at a time (`most_concurrent`). nginx without a "
    "subscription has no such queue.",
    "One second differs. nginx counts whole seconds and uses a page with a lifetime of one second until the clock has moved on by "
    "two: under constant load the page is made every two seconds. Larder makes it every second, and has less of the core left.",
    "Every cache holds every page before it is measured.",
]

ARTICLE, EXPERT, TOMCAT = "nginx, 1 s, original", "nginx, 1 s, tuned", "Tomcat"
PURGED = "Larder, 1 day, purge on update"
MICRO = "Larder, 1 s, stale-while-revalidate"
UNLIKE = {
    PURGED: "With one day and purge on update, Larder asks Java when the author updates a page. nginx asks every second or two for each page",
    MICRO: "With 1 s, Larder asks Java for a page as soon as it is one second old. nginx counts whole seconds, and asks when it is one to two seconds old",
}
# The places of the cases.
ONE_MOST, FIFTY_MOST, ALONE, FIFTY_ALONE, ONE_POINT, FIFTY_POINT, ONE_RISING, FIFTY_RISING = range(8)
CLAIMS = [
    Claim(f"Tomcat holds {HOLDS} users.", "errors", (ALONE, f"Tomcat, {HOLDS} users"), None, "none"),
    Claim(f"{BREAKS} users cause a lot of errors.", "errors", (ALONE, f"Tomcat, {BREAKS} users"), None, "some"),
    Claim(f"With fifty URLs it holds {HOLDS} too.", "errors", (FIFTY_ALONE, f"Tomcat, {HOLDS} users"), None, "none"),
    Claim(f"nginx holds {WITH_ONE:,} users with one URL.", "errors", (ONE_POINT, ARTICLE), None, "none"),
    Claim(f"With fifty URLs it holds {WITH_FIFTY}.", "errors", (FIFTY_POINT, ARTICLE), None, "none"),
    Claim("It answers much less with fifty URLs than with one.", "rate", (FIFTY_MOST, ARTICLE), (ONE_MOST, ARTICLE), "less"),
    Claim("A longer lifetime with eviction on update is more effective than microcaching.", "application_us", (FIFTY_MOST, PURGED),
          (FIFTY_MOST, ARTICLE), "less"),
]


def run(settings):
    """Measures and returns the result."""
    result = Result("java_microcache", 5, TITLE, "microcaching-java", SAID, WRONG, DIFFERS, CLAIMS, UNLIKE,
                    [ONE_MOST, FIFTY_MOST], [ONE_RISING, FIFTY_RISING])
    # What the one before has asked for is still being made for a while: Tomcat does not know that nobody waits any more.
    settings = replace(settings, warm_up=settings.warm_up * SETTLE)
    with LabStage(Path(__file__).parent, settings.raw) as stage:
        everybody, bearing = _servers(stage, settings), []
        for paths, name in ((None, "one URL"), (FIFTY, "fifty URLs")):
            settings.say(f"{name}: as much as they can")
            result.cases.append(_most(stage, settings, everybody, paths, name))
        settings.say("the article's numbers of users")
        for paths, name in ((None, "one URL"), (FIFTY, "fifty URLs")):
            result.cases.append(_alone(stage, settings, everybody, paths, name))
        for paths, name, users in ((None, "one URL", WITH_ONE), (FIFTY, "fifty URLs", WITH_FIFTY)):
            result.cases.append(_point(stage, settings, everybody, paths, name, users))
        started = stage.started()
        stage.end_all()
        stage.files = rising.FILES
        everybody = _servers(stage, settings)
        for paths, name in ((None, "one URL"), (FIFTY, "fifty URLs")):
            settings.say(f"{name}: users")
            case, found = _users(stage, settings, everybody, paths, name)
            result.cases.append(case)
            bearing.append(found)
        result.started = sorted({*started, *stage.started()})
    one, fifty, *_, users_one, users_fifty = result.cases
    result.panels = [
        panels.bars(one, "rate", "One URL: answers", "good answers a second; more is better"),
        panels.bars(fifty, "rate", "Fifty URLs: answers", "good answers a second; more is better"),
        panels.over_users(users_one, "p99_ms", "One URL: 99th percentile by users", "milliseconds", log=True),
        panels.over_users(users_fifty, "p99_ms", "Fifty URLs: 99th percentile by users", "milliseconds", log=True),
        panels.over_users(users_one, "errors", "One URL: failed requests by users", "since the point before"),
        panels.over_users(users_fifty, "errors", "Fifty URLs: failed requests by users", "since the point before"),
        *(rising.panel(found, name) for found, name in zip(bearing, ("One URL", "Fifty URLs"))),
    ]
    return result


class _Everybody:
    """The application alone, the caches before an application each, these as users who rest ask them, and the one whose application
    purges."""

    def __init__(self, direct, caches, resting, purged, purging):
        self.direct, self.caches, self.resting, self.purged, self.purging = direct, caches, resting, purged, purging


def _servers(stage, settings):
    direct_port, direct = _java(stage)
    ports = [_java(stage) for _ in range(3)]
    article, _, by_article = servers.nginx(stage, "nginx-article.conf", True, app=ports[0][0])
    expert, expert_resting, by_experts = servers.nginx(stage, "nginx-expert.conf", app=ports[1][0])
    micro = servers.larder(stage, MICRO, "larder-micro.toml", app=ports[2][0])
    micro.application.append(ports[2][1])
    # The application must know where Larder is, and Larder where the application is.
    port = free_port()
    purged = servers.larder(stage, PURGED, "larder-long.toml", app=port)
    purged.application.append(_java(stage, port, f"http://127.0.0.1:{purged.admin}")[1])
    for contender in (micro, purged):
        contender.url += ONE
    caches = [
        peer(ARTICLE, article, [by_article], ONE, [ports[0][1]]),
        peer(EXPERT, expert, [by_experts], ONE, [ports[1][1]]),
        micro,
    ]
    resting = [caches[0], peer(EXPERT, expert_resting, [by_experts], ONE, [ports[1][1]]), micro]
    for one in (direct_port, *(one for one, _ in ports), port):
        _prime(f"http://127.0.0.1:{one}", [ONE] * settings.priming)
    return _Everybody(application(TOMCAT, direct_port, [direct], ONE), caches, resting, purged, f"http://127.0.0.1:{port}")


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
        rounds.ask(base + path)


def _fill(caches, paths):
    """Every cache has had every page once: what is looked at is how it goes on, not how it begins."""
    for cache in caches:
        _prime(cache.url.removesuffix(ONE), paths or [ONE])


def _most(stage, settings, everybody, paths, name):
    flags = ["--connections", CONNECTIONS, "--duration", f"{settings.seconds}s", *_file(stage, paths)]
    case = load.new_case(f"Full load, {name}", f"{CONNECTIONS} kept connections, each sends its next request at once.",
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
    load.compare(stage, settings, case, flags, everybody.resting, settings.stay)
    _with_updates(stage, settings, case, flags, everybody, paths, settings.stay, settings.rounds)
    load.wrk_users(stage, case, [*everybody.resting, everybody.purged], users, _rest(settings), settings.stay, paths)
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
    return (f"The article's own load: up to {_rest(settings)} s of rest between two requests of a user, a new connection for each request, for "
            f"{settings.stay} s instead of 60. wrk repeats it afterwards.")


def _users(stage, settings, everybody, paths, name):
    def flags(users, climb):
        return rising.flags(users, climb) + _file(stage, paths)

    load_of, short = flags(settings.users, settings.climb), settings.climb // 2
    case = load.new_case(f"1 to {settings.users:,} users within {settings.climb} seconds, {name}",
                         f"Up to {rising.PAUSE_SECONDS} s of rest between two requests of a user, a new connection for each request. Tomcat alone: "
                         f"1 to {settings.users_uncached:,} users within {short} seconds.", _readable(load_of), offered=True, rises=True)
    load.compare(stage, settings, case, flags(settings.users_uncached, short), [everybody.direct], short, 1)
    everybody.direct = _emptied(stage, settings, everybody.direct)
    _fill(everybody.caches, paths)
    load.compare(stage, settings, case, load_of, everybody.caches, settings.climb, 1)
    _with_updates(stage, settings, case, load_of, everybody, paths, settings.climb, 1)
    found = {row.contender: rising.endured(row) for row in case.rows}
    for row in case.rows:
        one = found[row.contender]
        row.bore, row.bears_more = one.bore()
        case.extra.setdefault(row.contender, {}).update(one.columns())
    case.notes += rising.notes(found)
    return case, found


def _with_updates(stage, settings, case, flags, everybody, paths, seconds, times):
    """The load on the long lifetime, while an author updates a page a second."""
    asked = paths or [ONE]
    base = everybody.purged.url.removesuffix(ONE)
    _prime(base, asked)
    values, taken, seen, lost = case.extra.setdefault(everybody.purged.name, {}), [], [], 0
    for _ in range(times):
        with updates.Updates(everybody.purging, base, asked) as author:
            taken.append(rounds.alone(stage, settings, case, flags, everybody.purged, seconds))
        seen += [after for after in author.seen_after if after is not None]
        lost += author.failed + author.seen_after.count(None)
    case.rows.append(rounds.joined(taken))
    if seen:
        values["update seen after, ms (median, longest)"] = f"{statistics.median(seen) * 1000:.0f}, {max(seen) * 1000:.0f}"
    if lost:
        values["updates not seen within 10 s"] = str(lost)


def _file(stage, paths):
    if not paths:
        return []
    listed = stage.directory / "paths"
    listed.write_text("".join(f"{path}\n" for path in paths))
    return ["--file", listed]


def _readable(flags):
    return ["urls.txt" if str(flag).endswith("/paths") else flag for flag in flags]
