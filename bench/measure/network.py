"""A network of this run's own, in which the kernel's TCP is as the command line says."""

import fcntl
import os
import socket
import struct
import sys
from pathlib import Path

CONTROL = Path("/proc/sys/net/ipv4/tcp_congestion_control")
KNOWN = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
_INSIDE = "LARDER_BENCH_NETWORK"
# linux/sockios.h and linux/if.h: sets an interface's flags; it is up.
_SET_FLAGS, _UP = 0x8914, 1


def known():
    """The names that may be asked for."""
    return KNOWN.read_text().split()


def enter(control):
    """Begins this program again in a network that has nothing but a loopback interface, or makes that fit where it has begun."""
    if os.environ.get(_INSIDE) != control:
        os.environ[_INSIDE] = control
        os.execvp("unshare", ["unshare", "--net", "--", sys.executable, *sys.argv])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, _SET_FLAGS, struct.pack("16sh", b"lo", _UP))
    CONTROL.write_text(control)
