"""Pages made by PHP: hits, and misses on kept connections, beside nginx's `fastcgi_cache`."""

from .. import servers, targets
from ..load import wrk
from ..php import Php
from ..result import Result
from ..sample import in_turn
from ..stage import Stage
from . import cast

# No more than php-fpm has processes: what is measured is the server before it.
CONNECTIONS = 16
STARTERS = {"larder": servers.start_larder_fastcgi, "nginx": servers.start_nginx_fastcgi}


def run(settings):
    """CPU per request against nginx."""
    result = Result("fastcgi", "Pages of 10 KB made by PHP, over FastCGI")
    with Stage() as stage:
        php = Php(stage)
        peers = cast.start(stage, php, settings, STARTERS)
        for case, path, expect, target in (
            ("hits", "/page.php", "hits", targets.HIT["nginx"]),
            ("misses", "/private.php", "misses", targets.FASTCGI_MISS),
        ):
            settings.say(case)
            loads = cast.wrk_loads(peers, wrk, path, CONNECTIONS)
            samples = in_turn(settings, loads, php, expect)
            result.add_rows(case, samples)
            result.compare(case, samples, "nginx", target)
    return result
