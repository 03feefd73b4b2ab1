"""Writes an access log in the combined format to standard output: BYTES of it, for so many URLs, popular as Zipf has it.

    log.py 1e9 1000000 0.8 > access.log
"""

import bisect
import itertools
import random
import sys
import time

RATE = 300
AGENTS = (
    "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36",
)


def lines(urls: int, skew: float):
    random.seed(7)
    weights = list(itertools.accumulate(1 / rank**skew for rank in range(1, urls + 1)))
    now = 1763692560.0
    while True:
        now += random.expovariate(RATE)
        page = bisect.bisect_left(weights, random.random() * weights[-1])
        stamp = time.strftime("%d/%b/%Y:%H:%M:%S +0000", time.gmtime(now))
        method = "GET" if page % 50 else "POST"
        size = 500 + page * 2654435761 % 40000
        yield (
            f'192.0.2.{page % 250} - - [{stamp}] "{method} /articles/{page % 977}/page-{page}.html?ref=home HTTP/1.1" '
            f'200 {size} "https://www.example.com/" "{AGENTS[page & 1]}"\n'
        )


def main(size: float, urls: int, skew: float) -> None:
    written = 0
    for line in lines(urls, skew):
        sys.stdout.write(line)
        written += len(line)
        if written >= size:
            return


if __name__ == "__main__":
    main(float(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]) if len(sys.argv) > 3 else 0.8)
