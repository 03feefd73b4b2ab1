"""Redis against nginx: a Flask API that keeps its answers in Redis, and caches before it."""

from pathlib import Path

from laboratory import load, panels, place, servers
from laboratory.result import APPLICATION, LARDER, PEER, Result
from laboratory.servers import Contender, LabStage, application, peer
from measure.process import free_port

TITLE = "Redis against nginx"
NEEDS = ("python",)
CONNECTIONS = 10
SAID = """The article (2020) measures a Flask API with Flask-Caching on Redis, and nginx with `proxy_cache` before the same API. With
wrk and 10 connections it finds 170 requests a second with Redis and 429 with nginx, both in containers on a laptop."""
DIFFERS = [
    "The article's Flask runs in its development server (Werkzeug). That is here, and beside it gunicorn, as in production.",
    "wrk asked for `/api1`, where this configuration of nginx answers with a redirect; here it is `/api1/`, which is stored.",
    "nginx is here as in the article, and as experts have it: the cache in memory, open files and connections kept.",
    "No containers and no virtual network between the parts. No access logs.",
]


def run(settings):
    """Measures and returns the result."""
    result = Result("redis_nginx", 1, TITLE, "redis-vs-nginx", SAID, DIFFERS)
    with LabStage(Path(__file__).parent) as stage:
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
        peer("Flask-Caching on Redis, Werkzeug", *_werkzeug(stage, redis_port, redis)),
        peer("Flask-Caching on Redis, gunicorn", kept, [cached, redis]),
        peer("nginx, as in the article", article, [by_article], "/api1/"),
        peer("nginx, as experts have it", expert, [by_experts], "/api1/"),
        servers.larder(stage, "Larder, memory", "larder.toml", app=plain),
        shared,
        pages,
    ]
    flags = ["--connections", CONNECTIONS, "--duration", f"{settings.seconds}s"]
    case = load.new_case("One page, kept for 60 seconds", "wrk's usual load: 10 connections, each asks again at once.", flags)
    load.compare(stage, settings, case, flags, contenders, settings.seconds)
    load.wrk(stage, settings, case, contenders, CONNECTIONS)
    return case


def _werkzeug(stage, redis_port, redis):
    port = free_port()
    argv = [place.PYTHON / "flask", "--app", stage.folder / "app" / "api.py", "run", "--port", port]
    process = servers.start(stage, "werkzeug", argv, port, {"PYTHONDONTWRITEBYTECODE": 1, "REDIS_PORT": redis_port})
    return port, [process, redis]


def _between(stage, settings):
    api2, _ = servers.python(stage, "api", "api:APP", NAME="api2")
    article, _, by_article = servers.nginx(stage, "nginx-article.conf", True, api1=api2, api2=api2)
    expert, _, by_experts = servers.nginx(stage, "nginx-expert.conf", api1=api2, api2=api2)
    larder = servers.larder(stage, "through Larder", "larder.toml", app=api2)
    routes = [
        ("directly", APPLICATION, f"http://127.0.0.1:{api2}/", []),
        ("through nginx, as in the article", PEER, f"http://127.0.0.1:{article}/api2/", [by_article]),
        ("through nginx, as experts have it", PEER, f"http://127.0.0.1:{expert}/api2/", [by_experts]),
        ("through Larder", LARDER, larder.url, larder.serving),
    ]
    contenders = []
    for name, role, url, cache in routes:
        port, api1 = servers.python(stage, "api", "api:APP", API2_URL=url)
        contenders.append(Contender(name, role, f"http://127.0.0.1:{port}/getapi2", [api1, *cache]))
    flags = ["--connections", CONNECTIONS, "--duration", f"{settings.seconds}s"]
    case = load.new_case("One API asks the other, through the cache",
                         "`/getapi2` of the first API asks the second with `requests`, on a new connection each time. Almost all of "
                         "the time, and of the CPU, is the first API's own.", flags)
    return load.compare(stage, settings, case, flags, contenders, settings.seconds)
