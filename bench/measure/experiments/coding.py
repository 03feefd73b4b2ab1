"""Compressed hits: against an identity hit of as many bytes, and against nginx, which compresses on every hit."""

import gzip
import http.client
import time

from .. import servers, targets
from ..load import wrk
from ..origin import KILOBYTE, PROSE_SIZES, Origin
from ..result import Result
from ..sample import in_turn
from ..stage import Stage
from . import cast

CONNECTIONS = 64
CODINGS = ("br", "zstd", "gzip")
STARTERS = {"larder": servers.start_larder, "nginx": servers.start_nginx}
# Larder makes the high level in the background, of what was asked for often.
OFTEN, SETTLED_SECONDS, MOST_SECONDS = 64, 1.0, 60.0


def run(settings):
    """CPU per hit."""
    result = Result("coding", "Compressed hits, HTTP/1.1")
    with Stage() as stage:
        origin = Origin(stage)
        peers = cast.start(stage, origin, settings, STARTERS)
        for size in PROSE_SIZES:
            path = f"/prose/{size}k"
            for coding in CODINGS:
                case = f"{size} KB of text, {coding}"
                settings.say(case)
                loads = _loads(result, origin, peers, (path, coding, case))
                samples = in_turn(settings, loads, origin, "hits")
                result.add_rows(case, samples)
                result.compare(case, samples, "larder, identity", targets.CODED)
                result.compare(case, samples, "nginx", targets.CODED_NGINX)
    return result


def _loads(result, origin, peers, asked):
    path, coding, case = asked
    header = f"Accept-Encoding: {coding}"
    loads = {}
    if "larder" in peers:
        larder = peers["larder"]
        head, length = _settled(larder, path, coding)
        # The coded answer's fields are longer: the other one's body is, by as much.
        plain = origin.add(f"same-{coding}{path.rsplit('/', 1)[1]}", length)
        more = head - _fetch(larder, plain, None)[0]
        plain = origin.add(f"as-{coding}{path.rsplit('/', 1)[1]}", length + more)
        result.notes.append(f"{case}: {head + length:,} bytes on the wire, {sum(_fetch(larder, plain, None)):,} without coding")
        loads["larder"] = _load(larder, path, header)
        loads["larder, identity"] = _load(larder, plain, None)
    # nginx of Debian has gzip alone.
    if "nginx" in peers and coding == "gzip":
        nginx = peers["nginx"]
        head, length = _fetch(nginx, f"/gzip{path}", coding)
        result.notes.append(f"{case}: nginx sends {head + length:,} bytes")
        loads["nginx"] = _load(nginx, f"/gzip{path}", header)
    return loads


def _load(server, path, header):
    headers = (header,) if header else ()
    url = server.url(path)
    return server, lambda seconds: wrk(url, CONNECTIONS, seconds, headers=headers)


def _settled(server, path, coding):
    """Asks until the answer gets no smaller; bytes of head and body."""
    begin = changed = time.monotonic()
    best = _fetch(server, path, coding)
    while time.monotonic() - changed < SETTLED_SECONDS and time.monotonic() - begin < MOST_SECONDS:
        for _ in range(OFTEN):
            now = _fetch(server, path, coding)
        if now[1] < best[1]:
            best, changed = now, time.monotonic()
    return best


def _fetch(server, path, coding):
    """Asks once; bytes of head and body."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    fields = {"Accept-Encoding": coding} if coding else {}
    connection.putrequest("GET", path, skip_accept_encoding=True)
    for name, value in fields.items():
        connection.putheader(name, value)
    connection.endheaders()
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    got = answer.headers["Content-Encoding"]
    if answer.status != 200 or got != coding:
        raise ValueError(f"{path}: {answer.status}, coding {got}, not {coding}")
    if coding == "gzip":
        gzip.decompress(body)
    head = sum(len(name) + len(value) + 4 for name, value in answer.headers.items())
    return head, len(body)
