"""Redis against nginx: a Flask API that keeps its answers in Redis, and caches before it."""

from pathlib import Path

from laboratory import load, panels, place, servers
from laboratory.result import APPLICATION, LARDER, PEER, Claim, Result
from laboratory.servers import Contender, LabStage, application, peer
from measure.process import free_port

TITLE = "Redis against nginx"
NEEDS = ("python",)
CONNECTIONS = 10
SAID = """The article (2020) measures a Flask API with Flask-Caching on Redis, and the same API behind nginx with `proxy_cache`. Both run in
containers on a laptop. With wrk and 10 connections it finds 170 requests a second with Redis and 429 with nginx."""
WRONG = [
    "It does not compare Redis with nginx. 259.61 KB for 1,704 requests are 156 bytes each: exactly the HTTP/1.0 answer of Flask's development "
    "server in the article's cache file. That server closes the connection after each answer, and all of its work is Python's. nginx kept its connections.",
    "It has no figure without a cache, so no gain is known.",
    "wrk's command asks for `/api1`, which the printed configuration redirects. But 779.60 KB for 4,293 requests are 186 bytes each, exactly a stored "
    "answer with `X-Cache-Status: HIT`. The figure is valid; the printed command or configuration is not the one that ran.",
    "\"Our API could be completely down and Nginx will still respond\": with this configuration for at most 60 seconds. For longer it "
    "needs `proxy_cache_use_stale`.",
    "Each figure is one run of ten seconds, with tool and servers on one laptop.",
]
DIFFERS = [
    "Flask runs in its development server (Werkzeug), as in the article, and also in gunicorn, as in production.",
    "wrk asked for `/api1` once for ten seconds. Here the URL is `/api1/`, which the printed configuration stores, in rounds of five seconds.",
    "nginx, tuned, keeps its cache in memory, and keeps files and connections open.",
    "Larder with Redis as page store or shared tier also keeps in memory what it got, and asks Redis again when that is stale.",
    "No containers, no virtual network between the parts, no access logs.",
]

ARTICLE, WERKZEUG, GUNICORN = "nginx, original", "Flask-Caching on Redis, Werkzeug", "Flask-Caching on Redis, gunicorn"
IN_PYTHON = "Flask-Caching is part of the application: Python runs for each request. Behind a cache it runs for almost none"
UNLIKE = {WERKZEUG: IN_PYTHON, GUNICORN: IN_PYTHON}
CLAIMS = [
    Claim("nginx's cache is much faster than Redis behind the API (429 requests/s against 170; Flask's development server).", "rate", (0, ARTICLE), (0, WERKZEUG), "more"),
    Claim("The same (here with gunicorn, as in production).", "rate", (0, ARTICLE), (0, GUNICORN), "more"),
    Claim("Python slows the API down even with its answers in Redis.", "p50_ms", (0, GUNICORN), (0, ARTICLE), "more"),
]


def run(settings):
    """Measures and returns the result."""
    result = Result("redis_nginx", 1, TITLE, "redis-vs-nginx", SAID, WRONG, DIFFERS, CLAIMS, UNLIKE)
    with LabStage(Path(__file__).parent, settings.raw) as stage:
        settings.say("the page")
        result.cases.append(_page(stage, settings))
        settings.say("one API asks the other")
        result.cases.append(_between(stage, settings))
        result.started = stage.started()
    result.panels = panels.three(result.cases[0], "One page") + [
        panels.bars(result.cases[1], "rate", "One API through a cache to the other", "good answers a second; more is better")]
    return result


def _page(stage, settings):
    redis_port, redis = servers.redis(stage)
    plain, flask = servers.python(stage, "api", "api:APP")
    kept, cached = servers.python(stage, "api", "api:APP", REDIS_PORT=redis_port)
    article, _, by_article = servers.nginx(stage, "nginx-article.conf", True, api1=plain, api2=plain)
    expert, _, by_experts = servers.nginx(stage, "nginx-expert.conf", api1=plain, api2=plain)
    shared = servers.larder(stage, "Larder, Redis as its shared tier", "larder-shared.toml", app=plain, redis=redis_port)
    pages = servers.larder(stage, "Larder, Flask-Caching's Redis as its page store", "larder-pages.toml", app=kept,
                           redis=redis_port)
    for contender in (shared, pages):
        contender.serving.append(redis)
    contenders = [
        application("Flask", plain, [flask]),
        peer(WERKZEUG, *_werkzeug(stage, redis_port, redis)),
        peer(GUNICORN, kept, [cached, redis]),
        peer(ARTICLE, article, [by_article], "/api1/"),
        peer("nginx, tuned", expert, [by_experts], "/api1/"),
        servers.larder(stage, "Larder, memory", "larder.toml", app=plain),
        shared,
        pages,
    ]
    flags = ["--connections", CONNECTIONS, "--duration", f"{settings.seconds}s"]
    case = load.new_case("One page, kept for 60 seconds", "wrk's usual load: 10 connections, each sends its next request at once.", flags)
    load.compare(stage, settings, case, flags, contenders, settings.seconds)
    load.wrk(stage, settings, case, contenders, CONNECTIONS)
    return case


def _werkzeug(stage, redis_port, redis):
    port = free_port()
    argv = [place.PYTHON / "flask", "--app", stage.folder / "app" / "api.py", "run", "--port", port]
    process = servers.start(stage, "werkzeug", argv, port, {"PYTHONDONTWRITEBYTECODE": 1, "REDIS_PORT": redis_port})
    return port, [process, redis]


def _between(stage, settings):
    # One for each, so that what it does for each is known.
    (direct, _), (first, _), (second, _), (third, _) = asked = [servers.python(stage, "api", "api:APP", NAME="api2") for _ in range(4)]
    article, _, by_article = servers.nginx(stage, "nginx-article.conf", True, api1=first, api2=first)
    expert, _, by_experts = servers.nginx(stage, "nginx-expert.conf", api1=second, api2=second)
    larder = servers.larder(stage, "through Larder", "larder.toml", app=third)
    routes = [
        ("directly", APPLICATION, f"http://127.0.0.1:{direct}/", []),
        ("through nginx, original", PEER, f"http://127.0.0.1:{article}/api2/", [by_article]),
        ("through nginx, tuned", PEER, f"http://127.0.0.1:{expert}/api2/", [by_experts]),
        ("through Larder", LARDER, larder.url, larder.serving),
    ]
    contenders = []
    for (name, role, url, cache), (_, api2) in zip(routes, asked):
        port, api1 = servers.python(stage, "api", "api:APP", API2_URL=url)
        contenders.append(Contender(name, role, f"http://127.0.0.1:{port}/getapi2", [api1, *cache], [api2]))
    flags = ["--connections", CONNECTIONS, "--duration", f"{settings.seconds}s"]
    case = load.new_case("One API asks the other, through the cache",
                         "`/getapi2` of the first API asks the second with Python's `requests`, on a new connection each time. Almost all of "
                         "the time and of the CPU is the first API's own. Its answer does not say whether it came from a cache. The "
                         "application's CPU is the second API's: it shows how many requests reached it.", flags)
    load.compare(stage, settings, case, flags, contenders, settings.seconds)
    load.wrk(stage, settings, case, contenders, CONNECTIONS)
    return case
