"""Server processes: start on a core, what CPU and memory they used, and a sure end."""

import ctypes
import os
import re
import signal
import socket
import subprocess
import time
from pathlib import Path

# linux/posix-timers.h: of the number of a clock, its last three bits: all CPU time of a process, as its scheduler counts it.
CPU_CLOCK = 2
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
START_LIMIT_SECONDS = 20
STOP_LIMIT_SECONDS = 5
PR_SET_PDEATHSIG = 1


class StartFailed(Exception):
    """A server did not come up; the message carries the end of what it wrote."""


def free_port():
    """A port of the loopback interface that nothing listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Process:
    """One server with all its children, pinned to one core."""

    def __init__(self, argv, core, log):
        self.command = ["taskset", "-c", str(core), *map(str, argv)]
        self.log = Path(log)
        with self.log.open("wb") as out:
            self._child = subprocess.Popen(
                self.command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=_die_with_parent,
            )

    def pids(self):
        """The server's process and all its living descendants."""
        children = {}
        for pid, fields in _all_stats():
            children.setdefault(int(fields[1]), []).append(pid)
        found, pending = [], [self._child.pid]
        while pending:
            pid = pending.pop()
            found.append(pid)
            pending.extend(children.get(pid, []))
        return found

    def cpu_seconds(self):
        """User and system time so far: of the living, with threads that ended, to the nanosecond; of children already reaped, in ticks."""
        seconds = 0.0
        for pid in self.pids():
            fields = _stat(pid)
            if fields:
                # utime, stime, cutime, cstime: proc(5), counted from the state field.
                own, reaped = (sum(map(int, fields[first:first + 2])) / TICKS_PER_SECOND for first in (11, 13))
                seconds += _cpu_clock(pid, own) + reaped
        return seconds

    def threads_cpu_seconds(self, name):
        """User and system time of those threads of the server whose whole name matches the expression `name`."""
        ticks = 0
        for pid in self.pids():
            for stat in Path(f"/proc/{pid}/task").glob("*/stat"):
                try:
                    text = stat.read_text()
                except OSError:
                    continue
                # The name stands in brackets, and may hold any.
                if re.fullmatch(name, text[text.index("(") + 1:text.rindex(")")]):
                    ticks += sum(int(part) for part in text[text.rindex(")") + 2:].split()[11:13])
        return ticks / TICKS_PER_SECOND

    def resident_bytes(self):
        """Memory now resident, over all its processes (pages that several share are counted for each)."""
        pages = 0
        for pid in self.pids():
            try:
                pages += int(Path(f"/proc/{pid}/statm").read_text().split()[1])
            except OSError:
                continue
        return pages * os.sysconf("SC_PAGE_SIZE")

    def wait_for_port(self, port):
        """Returns when something accepts on `port`."""
        self._wait(lambda: _accepts(port), f"port {port}")

    def wait_for_file(self, path):
        """Returns when there is such a file, a socket say."""
        self._wait(Path(path).exists, str(path))

    def wait_for_line(self, start):
        """Returns the rest of the first line of output that begins with `start`."""
        self._wait(lambda: self._line(start) is not None, f"the line '{start}…'")
        return self._line(start)

    def kill(self):
        """Ends the process at once, as a crash would."""
        self._child.kill()
        self._child.wait()

    def stop(self):
        """Ends the whole tree: asks first, then insists."""
        # A process is known by its number and its start: numbers alone are used again.
        before = [(pid, _start_time(pid)) for pid in self.pids()]
        self._child.terminate()
        try:
            self._child.wait(STOP_LIMIT_SECONDS)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()
        for pid, start in before:
            if start is not None and _start_time(pid) == start:
                _kill(pid)

    def _line(self, start):
        for line in self.log.read_text(errors="replace").splitlines():
            if line.startswith(start):
                return line[len(start):].strip()
        return None

    def _wait(self, ready, what):
        deadline = time.monotonic() + START_LIMIT_SECONDS
        while not ready():
            if self._child.poll() is not None:
                raise StartFailed(f"ended before {what} was there: {self._last_words()}")
            if time.monotonic() > deadline:
                raise StartFailed(f"no {what} in {START_LIMIT_SECONDS} s: {self._last_words()}")
            time.sleep(0.02)

    def _last_words(self):
        text = self.log.read_text(errors="replace").strip()
        return f"{' '.join(self.command)}\n{text[-800:] or '(it wrote nothing)'}"


def _die_with_parent():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def _accepts(port):
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True


def _stat(pid):
    """The fields of /proc/PID/stat from the state on, or None when it is gone."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    # The name in brackets may hold blanks and brackets: all else stands after the last one.
    return text[text.rindex(")") + 2:].split()


def _all_stats():
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            fields = _stat(entry)
            if fields:
                yield int(entry), fields


def _cpu_clock(pid, ticks):
    """What the kernel's clock of this process says; where it has none, what was counted in ticks."""
    try:
        return time.clock_gettime(~pid << 3 | CPU_CLOCK)
    except OSError:
        return ticks


def _start_time(pid):
    fields = _stat(pid)
    return fields[19] if fields else None


def _kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass  # It ended by itself in between.
