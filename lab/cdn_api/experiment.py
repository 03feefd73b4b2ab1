"""A CDN for an API: a Go API that takes 200 ms, and what answers in its place for five seconds."""

from pathlib import Path

from laboratory import load, panels, place, servers
from laboratory.result import Claim, Result
from laboratory.servers import Contender, LabStage, application, peer
from measure.process import free_port

TITLE = "A CDN for an API"
NEEDS = ("go",)
CONNECTIONS = 200
API = "the API itself"
SAID = """The article has an API in Go with Fiber that takes 200 ms for each answer. `/` says `no-store`, `/cache` says `max-age=5`. With
bombardier, 200 connections and 100,000 requests over the Internet, it finds 900 requests a second without a CDN and 12,274 with
Google's Cloud CDN, whose `Cache-Status` was `hit`."""
WRONG = [
    "\"About 14X improvement in latency and RPS\" states one figure twice. 200 connections that ask again at once make 200 / latency requests a "
    "second: 200 / 225.16 ms are 888, 200 / 16.27 ms are 12,293.",
    "The figure without the CDN is that of the sleep: 200 connections that wait 200 ms make at most 1,000 requests a second with any server.",
    "\"The factor of internet speed is ignored\", but the load went to a public address: rate and latency include the network path.",
    "The longest answer with the CDN, 115.79 ms, is shorter than the API's 200 ms. So no request waited for the API in those eight seconds, neither at the "
    "start nor when the five seconds of `max-age` were over. The cache was warm, and the cost of an expiry was not seen.",
    "The text has `Cache-Status: unreachable` with `Bypass-Cache`; the output below it has `uncacheable`.",
]
DIFFERS = [
    "nginx, Varnish and Larder take the place of the CDN, which one machine cannot have. There is no Internet between.",
    "The uncached `/` gets fewer requests, because the API sets the rate, whatever the server.",
    "The API shares a core with the cache (the article's had a quarter of one). It sleeps most of the time.",
    "nginx and Varnish answer with a stale page while they fetch a new one, as Larder does.",
    "The cost of an expiry is not seen here either. Each cache answers all requests in less than the five seconds of `max-age`, Larder "
    "in less than one, so a round has one expiry at its start or none. \"The moment of expiry\" of article 4 measures it.",
]

CLAIMS = [
    Claim("With a CDN the API answers 14 times as many requests.", "rate", (1, "nginx"), (1, API), "more"),
    Claim("It answers 14 times as fast.", "p50_ms", (1, "nginx"), (1, API), "less"),
    Claim("An answer that may not be stored is no faster.", "p50_ms", (0, "nginx"), (0, API), "alike"),
]


def run(settings):
    """Measures and returns the result."""
    result = Result("cdn_api", 3, TITLE, "cdn-for-apis", SAID, WRONG, DIFFERS, CLAIMS)
    with LabStage(Path(__file__).parent, settings.raw) as stage:
        api, caches = _servers(stage)
        settings.say("never stored")
        result.cases.append(_slow(stage, settings, [api, *caches]))
        settings.say("stored for five seconds")
        result.cases.append(_stored(stage, settings, api, caches))
        result.started = stage.started()
    result.panels = panels.three(result.cases[1], "/cache") + [
        panels.bars(result.cases[0], "cpu_us", "/ with no-store: CPU", "microseconds of the server for each request; less is better")]
    return result


def _servers(stage):
    api, own = _api(stage)
    nginx_api, behind_nginx = _api(stage)
    varnish_api, behind_varnish = _api(stage)
    larder_api, behind_larder = _api(stage)
    nginx_port, _, nginx = servers.nginx(stage, "nginx.conf", app=nginx_api)
    varnish_port, varnish = servers.varnish(stage, "varnish.vcl", app=varnish_api)
    larder = servers.larder(stage, "Larder", "larder.toml", app=larder_api)
    larder.url += "/"
    larder.application.append(behind_larder)
    return application(API, api, [own]), [
        peer("nginx", nginx_port, [nginx], application=[behind_nginx]),
        peer("Varnish", varnish_port, [varnish], application=[behind_varnish]),
        larder,
    ]


def _api(stage):
    port = free_port()
    # Go takes a thread for each core it may use.
    return port, servers.start(stage, "api", [place.GO_API, f"127.0.0.1:{port}"], port)


def _slow(stage, settings, contenders):
    flags = ["--connections", CONNECTIONS, "--requests", settings.slow_requests]
    case = load.new_case(f"`/` with `no-store`, {settings.slow_requests:,} requests",
                         "Every request is forwarded. The API sets the rate, and a cache can only add cost.", flags, offered=True)
    load.compare(stage, settings, case, flags, contenders, 60)
    load.wrk(stage, settings, case, contenders, CONNECTIONS)
    return case


def _stored(stage, settings, api, caches):
    flags = ["--connections", CONNECTIONS, "--requests", settings.stored_requests]
    case = load.new_case(f"`/cache` with `max-age=5`, {settings.stored_requests:,} requests",
                         "bombardier's load in the article: 200 connections, 100,000 requests.", flags)
    fewer = ["--connections", CONNECTIONS, "--requests", settings.slow_requests]
    load.compare(stage, settings, case, fewer, [_cached(api)], 60, 1)
    case.notes.append(f"The API itself: one run of {settings.slow_requests:,} requests.")
    caches = [_cached(cache) for cache in caches]
    load.compare(stage, settings, case, flags, caches, 60)
    load.wrk(stage, settings, case, caches, CONNECTIONS)
    return case


def _cached(contender):
    return Contender(contender.name, contender.role, f"{contender.url}cache", contender.serving, contender.application)
