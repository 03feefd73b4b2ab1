"""Larder's admin API, over one connection that is kept."""

import http.client
import json
import time


class AdminFailed(Exception):
    """The admin API answered something else than 200."""


class Admin:
    """Use as a context manager."""

    def __init__(self, server):
        self._connection = http.client.HTTPConnection("127.0.0.1", server.admin_port, timeout=120)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._connection.close()

    def purge(self, **what):
        """Purges; returns the seconds until it was acknowledged, and the answer."""
        text, begin = json.dumps(what), time.perf_counter()
        answer = self._ask("POST", "/purge", text, {"Content-Type": "application/json"})
        return time.perf_counter() - begin, json.loads(answer)

    def metrics(self):
        """Every sample of `/metrics` by its name with its labels."""
        lines = self._ask("GET", "/metrics").decode().splitlines()
        pairs = [line.rsplit(" ", 1) for line in lines if line and not line.startswith("#")]
        return {name: float(value) for name, value in pairs}

    def metric(self, name):
        """The sum over all labels of `name`; 0 where there is no such metric."""
        samples = self.metrics().items()
        return sum(value for full, value in samples if full.split("{")[0] == name)

    def _ask(self, method, path, body=None, fields=None):
        self._connection.request(method, path, body, fields or {})
        answer = self._connection.getresponse()
        text = answer.read()
        if answer.status != 200:
            raise AdminFailed(f"{method} {path}: {answer.status} {text[:400]!r}")
        return text
