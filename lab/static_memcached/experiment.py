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
SAID = """The article (2009) has a page of a Django site as a file, which nginx sends, and in memcached, from which nginx's module takes
it. With httperf, one connection and 10,000 calls, it finds 6,244 requests a second from the file and 2,286 from memcached, and
suspects the new connection to memcached for each request. It advises a ramdisk."""
WRONG = [
    "\"~270 % faster\" is 2.73 times as fast: 6,243.8 against 2,285.5 requests a second are 173 % more. The author says himself that it is "
    "no proper benchmark.",
    "One connection that waits for each answer, over a network, measures how long one answer takes (0.16 and 0.44 ms), not how many "
    "a server can give.",
    "The ramdisk that it advises was not measured. The file was in the page cache, as the article itself says, so it came from "
    "memory already; a reader says "
    "so too.",
    "The page as Django makes it was not measured: what either gains is not seen.",
]
DIFFERS = [
    "One machine, not two laptops with a network between them. What lies in the page cache needs no disk there either, as the "
    "article says.",
    "nginx is here as in the article, and as experts have it: open files and connections to memcached kept "
    "(`keepalive` came to nginx in 2011).",
    "The page is Django's own, written to a folder and into memcached, as StaticGenerator and StaticGeneratorMem do.",
    "Larder keeps a page that it got from a folder or from memcached in memory for a second, before Django for as long as Django says. nginx "
    "asks memcached each time, and the file system for the content of a file that it keeps open; its `open_file_cache` "
    "looks after an hour whether it is the same.",
    "The ramdisk is `/dev/shm`.",
    "nginx today closes a connection after 1,000 requests; in early 2009 it had no such limit, so `keepalive_requests` is raised.",
    "The load is `larder bench` with one connection and so many requests; httperf is no longer maintained.",
]

FILE, KEPT_OPEN, MEMCACHED, KEEPALIVE = "nginx, file", "nginx, file, kept open", "nginx, memcached", "nginx, memcached, keepalive"
EACH_TIME = "nginx asks memcached for each request; Larder has the page in memory, and looks for it at most once a second in its page store or folder"
UNLIKE = {MEMCACHED: EACH_TIME, KEEPALIVE: EACH_TIME}
CLAIMS = [
    Claim("files are served faster than pages in memcached (6,244 requests a second against 2,286).", "rate", (0, FILE), (0, MEMCACHED), "more"),
    Claim("the new connection to memcached for each request costs much of it.", "rate", (0, KEEPALIVE), (0, MEMCACHED), "more"),
    Claim("fact remains that files are faster, also when the connection is kept (the article could not keep it).", "rate", (0, KEPT_OPEN),
          (0, KEEPALIVE), "more"),
    Claim("the fastest is a ramdisk.", "rate", (0, "nginx, file on a ramdisk"), (0, FILE), "more"),
]


def run(settings):
    """Measures and returns the result."""
    result = Result("static_memcached", 2, TITLE, "static-files-vs-memcached", SAID, WRONG, DIFFERS, CLAIMS, [FILE, MEMCACHED], UNLIKE)
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
    case.notes.append(f"Django itself was asked {fewer:,} times, once.")
    load.compare(stage, settings, case, flags, contenders, 60)
    load.wrk(stage, settings, case, contenders, 1)
    return case


def _ten(stage, settings, contenders):
    seconds = max(1, settings.seconds - 2)
    flags = ["--connections", CONNECTIONS, "--duration", f"{seconds}s"]
    case = load.new_case("Ten connections", "Not in the article: with one connection much of the time is the client's own.", flags)
    load.compare(stage, settings, case, flags, contenders, seconds)
    load.wrk(stage, settings, case, contenders, CONNECTIONS)
    return case
