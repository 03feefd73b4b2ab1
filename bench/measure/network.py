"""A network of this run's own, in which the kernel's TCP is as the command line says."""

import fcntl
import os
import socket
import struct
import subprocess
import sys
from pathlib import Path

CONTROL = Path("/proc/sys/net/ipv4/tcp_congestion_control")
KNOWN = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
# What all are told where the system's paces some of them, over loopback too: the first that can be had.
PACES, FAIR = "bbr", ("cubic", "reno")
_INSIDE = "LARDER_BENCH_NETWORK"
# linux/sockios.h and linux/if.h: sets an interface's flags; it is up.
_SET_FLAGS, _UP = 0x8914, 1


def known():
    """The names that may be asked for."""
    return KNOWN.read_text().split()


def entered():
    """The name that this program was begun again with, in a network of its own; None where it was not."""
    return os.environ.get(_INSIDE)


def fair():
    """The name under which all servers are treated alike, where under the system's they are not and a network can be had; None otherwise."""
    if not CONTROL.read_text().startswith(PACES):
        return None
    return next((name for name in FAIR if name in known() and _can_be_had(name)), None)


def _can_be_had(name):
    """Whether a network of one's own may have it: some systems keep names back there that they know."""
    try:
        done = subprocess.run(["unshare", "--net", "--", "sh", "-c", f"echo {name} > {CONTROL}"], check=False, capture_output=True)
    except OSError:
        return False
    return done.returncode == 0


def enter(control):
    """Begins this program again in a network that has nothing but a loopback interface, or makes that fit where it has begun."""
    if os.environ.get(_INSIDE) != control:
        os.environ[_INSIDE] = control
        os.execvp("unshare", ["unshare", "--net", "--", sys.executable, *sys.orig_argv[1:]])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, _SET_FLAGS, struct.pack("16sh", b"lo", _UP))
    CONTROL.write_text(control)
