"""php-fpm behind every cache: two scripts, and a count of how often they ran."""

import os
import re
import socket
import struct
import time

from .origin import KILOBYTE
from .process import START_LIMIT_SECONDS, StartFailed
from .stage import LOAD_CORE, find

# As many processes as idle connections, so that nobody waits for one.
CHILDREN = 16
PAGE = '<?php header("Cache-Control: {control}"); echo str_repeat("x", {length});'
# Types of FastCGI records (FastCGI Specification section 8).
BEGIN, END, PARAMS, STDIN, STDOUT = 1, 3, 4, 5, 6


def program():
    """Debian names it by its version."""
    folder = "/usr/sbin"
    names = sorted(name for name in os.listdir(folder) if name.startswith("php-fpm"))
    return find(names[-1]) if names else None


class Php:
    """php-fpm on the load's core, serving `/page.php` and `/private.php` of 10 KB."""

    def __init__(self, stage):
        directory = stage.new_directory("php")
        self.root = stage.new_directory("site")
        for name, control in {"page": "max-age=86400", "private": "no-store"}.items():
            (self.root / f"{name}.php").write_text(PAGE.format(control=control, length=10 * KILOBYTE))
        is_root = os.geteuid() == 0
        configuration = stage.write_configuration(
            "php-fpm.conf", directory, dir=directory, children=CHILDREN,
            user="user = root\ngroup = root" if is_root else "")
        self.socket = directory / "php-fpm.sock"
        argv = [program(), "-F", "-n", "-y", configuration] + (["-R"] if is_root else [])
        self.process = stage.start("php", argv, LOAD_CORE)
        self._asked = 0
        self._wait()

    def requests(self):
        """How many requests came here so far, these questions not counted."""
        text = self._ask("/status")
        self._asked += 1
        return int(re.search(r"accepted conn:\s+(\d+)", text)[1]) - self._asked

    def _wait(self):
        until = time.monotonic() + START_LIMIT_SECONDS
        while time.monotonic() < until:
            try:
                self._ask("/status")
            except OSError:
                time.sleep(0.05)
                continue
            self._asked += 1
            return
        raise StartFailed("php-fpm does not answer")

    def _ask(self, path):
        told = {"REQUEST_METHOD": "GET", "SCRIPT_NAME": path, "SCRIPT_FILENAME": path}
        params = b"".join(
            struct.pack("BB", len(name), len(value)) + name.encode() + value.encode()
            for name, value in told.items())
        with socket.socket(socket.AF_UNIX) as line:
            line.settimeout(10)
            line.connect(str(self.socket))
            line.sendall(
                _record(BEGIN, struct.pack(">HB5x", 1, 0)) + _record(PARAMS, params)
                + _record(PARAMS, b"") + _record(STDIN, b""))
            answer = b"".join(iter(lambda: line.recv(65536), b""))
        return answer.decode(errors="replace")


def _record(kind, content):
    return struct.pack(">BBHHBx", 1, kind, 1, len(content), 0) + content
