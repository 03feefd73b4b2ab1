"""The load tools: what they are called with, and what they say."""

import json
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field

from .servers import LARDER
from .stage import BENCH, LOAD_CORE, find

SCRIPTS = BENCH / "load"
# A tool that hangs is ended this long after its time.
GRACE_SECONDS = 30
MILLISECONDS = {"us": 0.001, "ms": 1.0, "s": 1000.0, "m": 60000.0}


class LoadFailed(Exception):
    """A load tool did not do its work."""


@dataclass
class Load:
    """What one run of a load tool reports."""

    command: str
    requests: int
    per_second: float
    p99_ms: float | None
    # What the tool complains of: socket errors, statuses other than 2xx and 3xx.
    complaints: list = field(default_factory=list)
    # Protocol and cipher, for loads over TLS.
    negotiated: str = ""


def wrk(url, connections, seconds, script=None, arguments=(), headers=()):
    """HTTP/1.1 without TLS, each connection asking again as soon as it is answered."""
    output, command = _run(_wrk(url, connections, seconds, script, arguments, headers), seconds)
    return _read_wrk(output, command)


def wrk_everywhere(url, connections, seconds):
    """As `wrk`, on two threads and on whatever cores there are."""
    argv = ["wrk", "-t", 2, "-c", connections, "-d", seconds, "--latency", url]
    output, command = _run(argv, seconds, pinned=False)
    return _read_wrk(output, command)


def bench(url, connections, seconds):
    """`larder bench` as `wrk_everywhere`."""
    argv = [LARDER, "bench", url, "-c", connections, "-d", f"{seconds}s", "--workers", 2, "--json",
            "--quiet"]
    output, command = _run(argv, seconds, pinned=False)
    said = json.loads(output)["targets"][0]
    complaints = [f"{said['errors']} errors"] if said["errors"] else []
    return Load(command, said["requests"], said["rate"], said["latency_ms"]["p99"], complaints)


def h2load(url, connections, seconds, streams=None):
    """HTTP over TLS: HTTP/2 with so many streams a connection, HTTP/1.1 where `streams` is None."""
    protocol = ["--h1"] if streams is None else ["-m", streams]
    argv = ["h2load", "-c", connections, "-D", seconds, *protocol, url]
    output, command = _run(argv, seconds)
    requests = re.search(r"(\d+) done, (\d+) succeeded, (\d+) failed, (\d+) errored", output)
    rate = re.search(r"finished in [^,]+, ([\d.]+) req/s", output)
    if not requests or not rate:
        raise LoadFailed(f"{command}\n{output[-800:]}")
    complaints = [requests[0]] if requests[1] != requests[2] else []
    negotiated = " ".join(re.findall(r"^(?:TLS Protocol|Cipher|Application protocol): (.*)$",
                                     output, re.MULTILINE))
    # h2load 1.52 prints no percentiles.
    return Load(command, int(requests[1]), float(rate[1]), None, complaints, negotiated)


def handshakes(port, path, seconds):
    """A new connection with a full TLS handshake for each request."""
    argv = [sys.executable, SCRIPTS / "handshakes.py", port, path, seconds]
    output, command = _run(argv, seconds)
    said = json.loads(output)
    complaints = [f"{said[what]} {what}" for what in ("failed", "resumed") if said[what]]
    return Load(command, said["requests"], said["requests"] / seconds, said["p99_ms"], complaints,
                said["negotiated"])


class Purges:
    """Purges at a rate over the admin API, beside another load: starts at once; `ended` waits for the end."""

    def __init__(self, port, host, per_second, seconds):
        self._seconds = seconds
        self.command = _pinned([sys.executable, SCRIPTS / "purges.py", port, host, per_second,
                                seconds])
        self._tool = subprocess.Popen(self.command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                      text=True)

    def running(self):
        """Whether it still purges."""
        return self._tool.poll() is None

    def ended(self):
        """What it did: `sent`, `failed`, `seconds`, `p50_ms`, `p99_ms`."""
        output, errors = self._tool.communicate(timeout=self._seconds + GRACE_SECONDS)
        if self._tool.returncode:
            raise LoadFailed(f"{' '.join(self.command)}\n{errors[-800:]}")
        return json.loads(output)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._tool.kill()
        self._tool.wait()


def sequence(url, first, count, times, limit_seconds, prefix="/k/", connections=64, block=None):
    """Asks for `count` numbered pages in order, so often; with a `block`, so many of them so often before the next."""
    arguments = (first, count, times, prefix, block or count)
    argv = _wrk(url, connections, limit_seconds, "sequence.lua", arguments)
    command = _pinned(argv)
    tool = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        before = []
        for line in tool.stdout:
            before.append(line)
            if line.strip() == "finished":
                break
        else:
            raise LoadFailed(f"not finished in {limit_seconds} s: {' '.join(command)}\n{before}")
        # wrk sleeps for its whole duration unless interrupted.
        tool.send_signal(signal.SIGINT)
        output, _ = tool.communicate(timeout=GRACE_SECONDS)
    finally:
        tool.kill()
        tool.wait()
    return _read_wrk(output, " ".join(command))


def _wrk(url, connections, seconds, script, arguments, headers=()):
    argv = ["wrk", "-t", 1, "-c", connections, "-d", f"{seconds}s", "--latency", "--timeout", "10s"]
    for header in headers:
        argv += ["-H", header]
    if script:
        argv += ["-s", SCRIPTS / script]
    return argv + [url] + (["--", *arguments] if arguments else [])


def _read_wrk(output, command):
    requests = re.search(r"(\d+) requests in", output)
    rate = re.search(r"Requests/sec:\s+([\d.]+)", output)
    slowest = re.search(r"^\s+99%\s+([\d.]+)(us|ms|s|m)\s*$", output, re.MULTILINE)
    if not requests or not rate or not slowest:
        raise LoadFailed(f"{command}\n{output[-800:]}")
    complaints = re.findall(r"(Socket errors: .*|Non-2xx or 3xx responses: .*)", output)
    p99 = float(slowest[1]) * MILLISECONDS[slowest[2]]
    return Load(command, int(requests[1]), float(rate[1]), p99, complaints)


def _pinned(argv):
    program = str(argv[0])
    return ["taskset", "-c", str(LOAD_CORE), find(program) or program, *map(str, argv[1:])]


def _run(argv, seconds, pinned=True):
    command = _pinned(argv) if pinned else [str(word) for word in argv]
    begin = time.monotonic()
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              timeout=seconds + GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        waited = time.monotonic() - begin
        raise LoadFailed(f"no end after {waited:.0f} s: {' '.join(command)}") from None
    if done.returncode:
        raise LoadFailed(f"{' '.join(command)}\n{done.stderr[-800:]}")
    return done.stdout, " ".join(command)
