"""Static files against memcached: one page of a Django site, made once, and several places to keep it."""

import urllib.request
from pathlib import Path

from laboratory import load, panels, servers
from laboratory.result import Claim, Result
from laboratory.servers import LabStage, application, peer
from measure.tiers import put

TITLE = "Static files against memcached"
NEEDS = ("python",)
CONNECTIONS = 10
SAID = """The article (2009) stores a page of a Django site as a file, which nginx sends, and in memcached, from which nginx's module takes
it. With httperf, one connection and 10,000 calls, it finds 6,244 requests a second from the file and 2,286 from memcached. It suspects
that the new connection to memcached for each request is the reason, and recommends a ramdisk."""
WRONG = [
    "\"~270 % faster\" is 2.73 times as fast: 6,243.8 requests a second are 173 % more than 2,285.5. The author says himself that it is no "
    "proper benchmark.",
    "One connection that waits for each answer, over a network, measures how long one answer takes (0.16 and 0.44 ms), not how many answers "
    "a server can give.",
    "The recommended ramdisk was not measured. The file came from memory already, the page cache, as the article itself and a reader say.",
    "The page as Django makes it was not measured, so no gain is known.",
]
DIFFERS = [
    "One machine, not two laptops with a network between them. The page cache holds the file here too, so no disk is read.",
    "nginx, tuned, (\"kept open\", \"keepalive\") keeps files and connections to memcached open. `keepalive` came to nginx in 2011.",
    "The page is Django's own, written to a folder and into memcached, as StaticGenerator and StaticGeneratorMem do.",
    "Larder keeps a page from the folder or from memcached in memory for a second, and a page from Django for as long as Django says. nginx "
    "asks memcached each time, and the file system for the content of an open file; its `open_file_cache` checks after an hour whether the file is the same.",
    "The ramdisk is `/dev/shm`.",
    "nginx now closes a connection after 1,000 requests. In early 2009 it had no such limit, so `keepalive_requests` is raised.",
    "`larder bench` replaces httperf (no longer maintained) with the same connection and number of requests.",
]

FILE, KEPT_OPEN, MEMCACHED, KEEPALIVE = "nginx, file", "nginx, file, kept open", "nginx, memcached", "nginx, memcached, keepalive"
EACH_TIME = "nginx asks memcached for each request. Larder has the page in memory and looks into its page store or folder at most once a second"
UNLIKE = {MEMCACHED: EACH_TIME, KEEPALIVE: EACH_TIME}
CLAIMS = [
    Claim("A file is faster than a page in memcached (6,244 requests/s against 2,286).", "rate", (0, FILE), (0, MEMCACHED), "more"),
    Claim("The new connection to memcached for each request causes much of the difference.", "rate", (0, KEEPALIVE), (0, MEMCACHED), "more"),
    Claim("Files stay faster with a kept connection (the article could not keep it).", "rate", (0, KEPT_OPEN),
          (0, KEEPALIVE), "more"),
    Claim("A ramdisk is the fastest.", "rate", (0, "nginx, file on a ramdisk"), (0, FILE), "more"),
]


def run(settings):
    """Measures and returns the result."""
    result = Result("static_memcached", 2, TITLE, "static-files-vs-memcached", SAID, WRONG, DIFFERS, CLAIMS, UNLIKE)
    with LabStage(Path(__file__).parent, settings.raw) as stage:
        django, contenders = _contenders(stage)
        settings.say("one connection")
        result.cases.append(_calls(stage, settings, django, contenders))
        settings.say("ten connections")
        result.cases.append(_ten(stage, settings, contenders))
        result.started = stage.started()
    result.panels = panels.three(result.cases[0], "One connection") + [
        panels.bars(result.cases[1], "rate", "Ten connections: answers", "good answers a second; more is better")]
    return result


def _contenders(stage):
    app, django = servers.python(stage, "django", "site_pages:application")
    memcached_port, memcached = servers.memcached(stage)
    with urllib.request.urlopen(f"http://127.0.0.1:{app}/test/", timeout=10) as answer:
        page = answer.read()
    put(memcached_port, [("/test/", page)])
    on_disk, in_memory = stage.new_disk_directory("files"), stage.new_directory("files")
    for folder in (on_disk, in_memory):
        (folder / "test").mkdir(mode=0o755)
        (folder / "test" / "index.html").write_bytes(page)
    article, expert, nginx = servers.nginx(stage, "nginx.conf", memcached=memcached_port, files_on_disk=on_disk,
                                           files_in_memory=in_memory)
    static = servers.larder(stage, "Larder, the folder as its root", "larder-static.toml", files_on_disk=on_disk)
    pages = servers.larder(stage, "Larder, memcached as its page store", "larder-pages.toml", memcached=memcached_port, app=app)
    pages.serving.append(memcached)
    memory = servers.larder(stage, "Larder, memory before Django", "larder.toml", app=app)
    for contender in (static, pages, memory):
        contender.url += "/test/"
    return application("Django", app, [django], "/test/"), [
        peer(FILE, article, [nginx], "/test/"),
        peer("nginx, file on a ramdisk", article, [nginx], "/ramdisk/"),
        peer(KEPT_OPEN, expert, [nginx], "/test/"),
        peer("nginx, ramdisk, kept open", expert, [nginx], "/ramdisk/"),
        peer(MEMCACHED, article, [nginx, memcached], "/memcached/"),
        peer(KEEPALIVE, expert, [nginx, memcached], "/memcached/"),
        static, pages, memory,
    ]


def _calls(stage, settings, django, contenders):
    flags = ["--connections", 1, "--requests", settings.calls]
    case = load.new_case("One connection, a fixed number of calls", "httperf's load in the article.", flags)
    fewer = settings.calls // 10
    load.compare(stage, settings, case, ["--connections", 1, "--requests", fewer], [django], 60, 1)
    case.notes.append(f"Django alone: one run of {fewer:,} requests.")
    load.compare(stage, settings, case, flags, contenders, 60)
    load.wrk(stage, settings, case, contenders, 1)
    return case


def _ten(stage, settings, contenders):
    seconds = max(1, settings.seconds - 2)
    flags = ["--connections", CONNECTIONS, "--duration", f"{seconds}s"]
    case = load.new_case("Ten connections", "Not in the article. With one connection, much of the time is the client's own.", flags)
    load.compare(stage, settings, case, flags, contenders, seconds)
    load.wrk(stage, settings, case, contenders, CONNECTIONS)
    return case
