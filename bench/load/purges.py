#!/usr/bin/env python3
"""Purges at a rate, tags and URLs in turn: purges.py ADMIN_PORT HOST PER_SECOND SECONDS.

A purge is due at a fixed time, whether or not those before it are answered; times are counted from then on. Connections are
kept. What is purged is stored nowhere. Prints one line of JSON.
"""

import asyncio
import json
import sys
import time

# More than the answers that are waited for at one time.
CONNECTIONS = 64
STORED_NOWHERE = 10_000_000


def body(number, host):
    """The purge of that number."""
    if number % 2:
        return json.dumps({"tag": f"gone-{number}"})
    return json.dumps({"url": f"http://{host}/t/{STORED_NOWHERE + number}"})


async def ask(streams, port, text):
    """One purge; its status."""
    reader, writer = streams
    writer.write(
        f"POST /purge HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(text)}\r\n\r\n{text}".encode())
    head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
    length = next(line for line in head.split("\r\n") if line.startswith("content-length:"))
    await reader.readexactly(int(length.split(":")[1]))
    return int(head.split()[1])


async def work(port, host, due, times, failures):
    """Purges what is due until nothing more comes."""
    streams = await asyncio.open_connection("127.0.0.1", port)
    while (next_one := await due.get()) is not None:
        number, at = next_one
        status = await ask(streams, port, body(number, host))
        times.append(time.monotonic() - at)
        if status != 200:
            failures.append(status)
    streams[1].close()


async def run(port, host, per_second, seconds):
    """Everything."""
    due, times, failures = asyncio.Queue(), [], []
    workers = [asyncio.create_task(work(port, host, due, times, failures))
               for _ in range(CONNECTIONS)]
    begin = time.monotonic()
    for number in range(int(per_second * seconds)):
        at = begin + number / per_second
        if (early := at - time.monotonic()) > 0:
            await asyncio.sleep(early)
        due.put_nowait((number, at))
    for _ in workers:
        due.put_nowait(None)
    await asyncio.gather(*workers)
    return times, failures, time.monotonic() - begin


def main():
    """Runs, and says what came of it."""
    port, host = int(sys.argv[1]), sys.argv[2]
    times, failures, seconds = asyncio.run(run(port, host, float(sys.argv[3]), float(sys.argv[4])))
    times.sort()
    print(json.dumps({
        "sent": len(times),
        "failed": len(failures),
        "seconds": seconds,
        "p50_ms": times[len(times) // 2] * 1000,
        "p99_ms": times[int(len(times) * 0.99)] * 1000,
    }))


if __name__ == "__main__":
    main()
