"""Writes an access log to standard output, combined or JSON: BYTES of it, for so many URLs, popular as Zipf has it.

    log.py 1e9 1000000 > access.log
    log.py 1e9 1000000 json > access.json
"""

import bisect
import itertools
import random
import sys
import time

RATE = 300
SKEW = 0.8
AGENTS = (
    "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36",
)

CACHE_CONTROL = ("max-age=300", "max-age=60, stale-while-revalidate=600", "private", "")


def requests(urls: int):
    """Moments, numbers of pages, methods, targets and sizes, without an end."""
    random.seed(7)
    weights = list(itertools.accumulate(1 / rank**SKEW for rank in range(1, urls + 1)))
    now = 1763692560.0
    while True:
        now += random.expovariate(RATE)
        page = bisect.bisect_left(weights, random.random() * weights[-1])
        method = "GET" if page % 50 else "POST"
        target = f"/articles/{page % 977}/page-{page}.html?ref=home"
        yield now, page, method, target, 500 + page * 2654435761 % 40000


def combined(now, page, method, target, size):
    """As nginx and Apache write it."""
    stamp = time.strftime("%d/%b/%Y:%H:%M:%S +0000", time.gmtime(now))
    return (
        f'192.0.2.{page % 250} - - [{stamp}] "{method} {target} HTTP/1.1" 200 {size} '
        f'"https://www.example.com/" "{AGENTS[page & 1]}"\n'
    )


def as_json(now, page, method, target, size):
    """As nginx writes it with a format that tells what the application says of caching."""
    return (
        f'{{"msec":"{now:.3f}","remote_addr":"192.0.2.{page % 250}","request_method":"{method}","scheme":"https",'
        f'"host":"www.example.com","request_uri":"{target}","status":"200","body_bytes_sent":"{size}",'
        f'"upstream_response_time":"0.{page % 900 + 20:03}","http_user_agent":"{AGENTS[page & 1]}",'
        f'"sent_http_cache_control":"{CACHE_CONTROL[page % 4]}","sent_http_vary":"Accept-Encoding"}}\n'
    )


def main(size: float, urls: int, line) -> None:
    """Writes lines until there are `size` bytes."""
    written = 0
    for request in requests(urls):
        text = line(*request)
        sys.stdout.write(text)
        written += len(text)
        if written >= size:
            return


if __name__ == "__main__":
    main(float(sys.argv[1]), int(float(sys.argv[2])), as_json if sys.argv[3:] == ["json"] else combined)
