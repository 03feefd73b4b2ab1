"""Varnish against FastCGI cache: a page that PHP makes, and who keeps it."""

import os
from pathlib import Path

from laboratory import load, panels, rounds, servers
from laboratory.result import Claim, Result
from laboratory.servers import Contender, LabStage, application, peer
from measure import php

TITLE = "Varnish against FastCGI cache"
NEEDS = ()
USERS = 1000
CONNECTIONS = 64
# Of php-fpm; php-fpm.conf says the same.
CHILDREN = 8
# Visitors who wait longer than this wait for PHP: the page takes 150 ms.
WAITED_MS = 100
RATE = 200
PATH = "/"
SAID = """The article puts a WordPress page behind nginx with `fastcgi_cache` on disk, behind the same in memory, and behind Varnish. blitz.io sends
1 to 1,000 users within 60 seconds. It finds 82 ms for nginx on disk and in memory, and 100 ms with a CPU spike for Varnish. HTTPS slows everything
from 250 users on. The author misses one feature in nginx: to send a stale page while a new one is fetched, as Varnish does."""
WRONG = [
    "82 and 100 ms are mostly the way from Virginia to Toronto, as the author says of the doubled time; a reader with a near server has 5 ms. "
    "The time of nginx and Varnish themselves does not show.",
    "It compares only averages of one run each: a few slow answers can make 18 ms between two averages.",
    "HTTPS was measured with nginx alone, so nothing is known of Varnish behind it.",
    "It does not say whether Varnish answered from its cache, nor whether both sent the same encoding. Readers ask for both.",
    "A folder in memory is no faster than one on disk because of the page cache of Linux, not the SSD, as readers tell the surprised author.",
    "\"Out-of-the-box it will just cache everything, even logged in users\" (the author, in the comments): Varnish's built-in rules pass "
    "requests with `Cookie` or `Authorization`, and do not store answers with `Set-Cookie`.",
]
DIFFERS = [
    "PHP sleeps 150 ms in place of the database and sends 30 KB of HTML. There is no WordPress.",
    "Users open a new connection for each request, as blitz.io's do, and rest up to two seconds in between. The ramp takes 30 seconds, not 60.",
    "The ramps run once each. Ramps, HTTPS and the moment of expiry have no cross-check: neither wrk nor siege makes a ramp or sends requests at fixed times.",
    "Each cache has a php-fpm of its own, because a kept connection occupies one of its processes.",
    "Expect disk and tmpfs to be alike: files on disk are in the page cache, as a comment says.",
    "Varnish starts with enough threads, and all users get the same encoding. Comments doubt both in the article.",
    "nginx terminates HTTPS in front of Varnish, as on the article's own site. The CPU of both counts.",
    "The original nginx has the configuration of the article's series. Every other nginx, "
    "also in memory, behind Varnish and in front of it, is tuned: an open file cache, kept connections to php-fpm, a lock.",
    "The moment of expiry is measured without and with `background_update` (in nginx since 2017). Only with it, `tcp_nopush` is off: on, the tuned "
    "setting for speed, it holds back the end of the stale answer until the new page is there, and the visitor waits after all.",
    "At the moment of expiry each visitor has a connection of its own: nginx answers nothing else on a connection while it renews a page in its "
    "background, so a second request on it waits.",
    "No TLS session is resumed; each handshake is full.",
]

ARTICLE, DISK, MEMORY, VARNISH = "nginx, disk, original", "nginx, disk", "nginx, tmpfs", "Varnish before nginx"
MOMENT = "nginx, original"
PLAIN, TLS, EXPIRY = 1, 2, 3
CLAIMS = [
    Claim("Varnish is slower than nginx's cache (100 ms against 82 on average).", "p50_ms", (PLAIN, VARNISH), (PLAIN, ARTICLE), "more"),
    Claim("Varnish causes a CPU spike.", "cpu_us", (PLAIN, VARNISH), (PLAIN, ARTICLE), "more"),
    Claim("A cache on disk and one in memory are alike.", "cpu_us", (PLAIN, DISK), (PLAIN, MEMORY), "alike"),
    Claim("HTTPS slows things down.", "p99_ms", (TLS, ARTICLE), (PLAIN, ARTICLE), "more"),
    Claim("When a page goes stale, a visitor waits for a new one with nginx, and none with Varnish.", "max_ms", (EXPIRY, MOMENT),
          (EXPIRY, VARNISH), "more"),
    Claim("nginx has no remedy for that (it has `background_update` since 2017).", "max_ms", (EXPIRY, MOMENT),
          (EXPIRY, "nginx, background update"), "alike"),
]


def run(settings):
    """Measures and returns the result."""
    result = Result("php_varnish", 4, TITLE, "varnish-vs-fastcgi-cache", SAID, WRONG, DIFFERS, CLAIMS)
    with LabStage(Path(__file__).parent, settings.raw) as stage:
        direct, contenders, moments = _servers(stage)
        settings.say("as much as they can")
        result.cases.append(_most(stage, settings, direct, contenders))
        for tls in (False, True):
            settings.say(f"ramp, {'HTTPS' if tls else 'HTTP'}")
            result.cases.append(_ramp(stage, settings, contenders, tls))
        settings.say("the moment of expiry")
        result.cases.append(_expiry(stage, settings, moments))
        result.started = stage.started()
    most, plain, tls, expiry = result.cases
    cores, longest = "cores of the server", "the longest answer of a quarter of a second, milliseconds"
    result.panels = [
        panels.bars(most, "rate", "Full load: answers", "good answers a second; more is better"),
        panels.over_time(expiry, "max_ms", "The longest wait when a page goes stale", longest, log=True),
        panels.over_users(plain, "p99_ms", "HTTP: 99th percentile by users", "milliseconds", log=True),
        panels.over_users(tls, "p99_ms", "HTTPS: 99th percentile by users", "milliseconds", log=True),
        panels.over_users(plain, "process_cores", "HTTP: CPU by users", cores),
        panels.over_users(tls, "process_cores", "HTTPS: CPU by users", cores),
    ]
    return result


def _servers(stage):
    root, params = stage.folder / "site", stage.folder / "fastcgi_params"

    def before_php(name, *how):
        """nginx before a php-fpm of its own: what one keeps of connections, and with them of processes, the others do without."""
        process, socket = _php(stage)
        return process, servers.nginx(stage, name, *how, socket=socket, root=root, params=params)

    _, (article, article_tls, by_article) = before_php("nginx-article.conf", True)
    _, (disk, disk_tls, on_disk) = before_php("nginx-fastcgi.conf", True)
    _, (memory, memory_tls, in_memory) = before_php("nginx-fastcgi.conf")
    php_process, (behind, _, nginx) = before_php("nginx-behind.conf")
    varnish_port, varnish = servers.varnish(stage, "varnish.vcl", nginx=behind)
    _, front_tls, front = servers.nginx(stage, "nginx-tls.conf", varnish=varnish_port)
    _, socket = _php(stage)
    larder = servers.larder(stage, "Larder before php-fpm", "larder.toml", socket=socket, root=root)
    base, larder.url, larder.tls_url = larder.url, larder.url + PATH, larder.tls_url + PATH
    contenders = [
        peer(ARTICLE, article, [by_article], PATH, tls_port=article_tls),
        peer(DISK, disk, [on_disk], PATH, tls_port=disk_tls),
        peer(MEMORY, memory, [in_memory], PATH, tls_port=memory_tls),
        peer(VARNISH, varnish_port, [varnish, front, nginx], PATH, tls_port=front_tls),
        larder,
    ]
    moments = [
        peer(MOMENT, article, [by_article], "/moment"),
        peer("nginx, background update", memory, [in_memory], "/background"),
        peer(VARNISH, varnish_port, [varnish, nginx], "/moment"),
        Contender(larder.name, larder.role, base + "/moment", larder.serving),
    ]
    # nginx without a cache; what PHP uses is counted apart.
    direct = application("php-fpm behind nginx, no cache", behind, [nginx], PATH)
    direct.application.append(php_process)
    return direct, contenders, moments


def _php(stage):
    directory = stage.new_directory("php")
    root = os.geteuid() == 0
    configuration = stage.fill("php-fpm.conf", directory, dir=directory, user="user = root\ngroup = root" if root else "")
    process = stage.start("php", [php.program(), "-F", "-n", "-y", configuration] + (["-R"] if root else []))
    process.wait_for_file(directory / "php-fpm.sock")
    return process, directory / "php-fpm.sock"


def _most(stage, settings, direct, contenders):
    flags = ["--connections", CONNECTIONS, "--duration", f"{settings.seconds}s"]
    case = load.new_case("Full load, HTTP", "64 kept connections, each sends its next request at once.", flags)
    each = ["--connections", CHILDREN, *flags[2:]]
    load.compare(stage, settings, case, each, [direct], settings.seconds, 1)
    case.notes.append(f"php-fpm behind nginx: one run over {CHILDREN} connections, one for each of its processes.")
    load.compare(stage, settings, case, flags, contenders, settings.seconds)
    load.wrk(stage, settings, case, contenders, CONNECTIONS)
    return case


def _ramp(stage, settings, contenders, tls):
    flags = ["--users", USERS, "--ramp", f"{settings.ramp}s", "--pause", "2s", "--no-keep-alive"]
    case = load.new_case(f"1 to {USERS:,} users within {settings.ramp} seconds, {'HTTPS' if tls else 'HTTP'}",
                         "A new connection for each request. The users set the rate.", flags, offered=True)
    return load.compare(stage, settings, case, flags, contenders, settings.ramp, 1, tls)


def _expiry(stage, settings, moments):
    # On a connection that is kept nginx does nothing else until a page is renewed in the background: that would be another visitor's.
    flags = ["--rate", RATE, "--duration", f"{settings.expiry}s", "--no-keep-alive"]
    asks = (f"{RATE} requests a second at fixed times, whatever the answers do. The page is fresh for five seconds and takes 150 ms to make. It is "
            "asked once right before each round, because nothing asks for it during the turns of the others and it would be too old to be sent even "
            "stale. An expiry affects fewer requests of a round than the 1 % that the 99th percentile leaves out: the longest answer and "
            "the number of requests that waited show its cost.")
    case = load.new_case("The moment of expiry", asks, flags, offered=True)
    taken = rounds.in_turn(stage, settings, case, flags, moments, settings.expiry)
    for row in case.rows:
        waited = sum(load.slower_than(one, WAITED_MS) for one in taken[row.contender])
        case.extra[row.contender] = {f"waited longer than {WAITED_MS} ms": f"{waited} of {row.requests:,}"}
    return case
