"""What the figures were taken on."""

import os
import platform
import re
import subprocess
from datetime import date
from pathlib import Path

from . import network
from .servers import LARDER, WORKSPACE
from .stage import LOAD_CORE, SERVER_CORE, find

VERSIONS = {
    "nginx": ["nginx", "-v"],
    "varnish": ["varnishd", "-V"],
    "redis": ["redis-server", "--version"],
    "memcached": ["memcached", "--version"],
    "wrk": ["wrk", "-v"],
    "h2load": ["h2load", "--version"],
    "openssl": ["openssl", "version"],
}


def describe():
    """Date, processor, kernel and versions, by name."""
    facts = {
        "date": date.today().isoformat(),
        "processor": f"{_processor()}, {os.cpu_count()} cores",
        "memory": f"{os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') / 2**30:.0f} GiB",
        "kernel": f"{platform.system()} {platform.release()}",
        "tcp": _congestion_control(),
        "system": _system(),
        "larder": _larder(),
        "python": platform.python_version(),
    }
    return facts | {name: _version(argv) for name, argv in VERSIONS.items()}


def warnings():
    """What would make the figures doubtful, in words."""
    found = []
    if os.cpu_count() < 2:
        found.append("fewer than two cores: server and load share one")
    siblings = Path(f"/sys/devices/system/cpu/cpu{SERVER_CORE}/topology/thread_siblings_list")
    if siblings.exists() and _in_list(LOAD_CORE, siblings.read_text()):
        found.append(f"cores {SERVER_CORE} and {LOAD_CORE} are threads of one core")
    busy = os.getloadavg()[0]
    if busy > 0.5:
        found.append(f"something else runs here: the load average is {busy:.1f}")
    return found


def slug():
    """The processor's name, fit for a file name."""
    return re.sub(r"[^a-z0-9]+", "-", re.sub(r"\(.*?\)", "", _processor().lower())).strip("-")


def _congestion_control():
    """What paces the kernel's TCP: with `bbr` large answers over loopback cost several times what they cost with `cubic`."""
    control = network.CONTROL.read_text().strip()
    return f"{control}, in a network of the run's own" if network.entered() else control


def _processor():
    match = re.search(r"model name\s*:\s*(.*)", Path("/proc/cpuinfo").read_text())
    return match[1].strip() if match else platform.machine()


def _system():
    match = re.search(r'PRETTY_NAME="(.*)"', Path("/etc/os-release").read_text())
    return match[1] if match else "unknown"


def _larder():
    if not LARDER.exists():
        return "not built"
    revision = _first_line(["git", "-C", str(WORKSPACE), "describe", "--always", "--dirty"])
    built = "" if LARDER.parent.name == "release" else f", built as {os.path.relpath(LARDER, WORKSPACE)}"
    return f"{_first_line([str(LARDER), '--version'])}, revision {revision}{built}"


def _version(argv):
    said = _first_line(argv)
    match = re.search(r"\d+(\.\d+)+[^\s)]*", said)
    return match[0] if match else said


def _first_line(argv):
    program = find(argv[0])
    if not program:
        return "not installed"
    done = subprocess.run([program, *argv[1:]], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False)
    return (done.stdout.strip().splitlines() or ["unknown"])[0]


def _in_list(core, text):
    for part in text.strip().split(","):
        first, _, last = part.partition("-")
        if int(first) <= core <= int(last or first):
            return True
    return False
