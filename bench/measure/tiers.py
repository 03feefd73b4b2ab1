"""What stands beside the tiers below memory: nginx with files and memcached, Redis, memcached itself."""

import socket

from .limits import connection_limits
from .process import free_port
from .servers import Server
from .stage import LOAD_CORE, find

MEMORY_MIB = 4096


def start_nginx_tiers(stage, origin, memcached_port=9):
    """nginx with its cache's files on the stage's disk, and with its memcached module."""
    directory, cache = stage.new_directory("nginx"), stage.new_disk_directory("nginx")
    port = free_port()
    configuration = stage.write_configuration(
        "nginx-tiers.conf", directory, dir=directory, cache=cache, port=port, origin=origin.port,
        memcached=memcached_port, **connection_limits(),
    )
    process = stage.start("nginx", [find("nginx"), "-p", directory, "-c", configuration])
    process.wait_for_port(port)
    return Server("nginx", process, port)


def start_redis(stage):
    """Redis without a file, on the load's core: its port. What it costs is not counted."""
    port = free_port()
    process = stage.start("redis", [
        find("redis-server"), "--bind", "127.0.0.1", "--port", port, "--save", "", "--appendonly", "no",
        "--maxmemory", f"{MEMORY_MIB}mb", "--dir", stage.new_directory("redis"),
    ], LOAD_CORE)
    process.wait_for_port(port)
    return port


def start_memcached(stage):
    """memcached with one thread, on the load's core: its port. What it costs is not counted."""
    port = free_port()
    process = stage.start("memcached", [
        find("memcached"), "-l", "127.0.0.1", "-p", port, "-m", MEMORY_MIB, "-t", 1, "-c", 8192, "-u", "nobody",
    ], LOAD_CORE)
    process.wait_for_port(port)
    return port


def put(port, pages):
    """Puts pages, pairs of a key and bytes, into memcached, as an application does for nginx."""
    with socket.create_connection(("127.0.0.1", port), 10) as connection:
        for key, page in pages:
            connection.sendall(f"set {key} 0 0 {len(page)} noreply\r\n".encode() + page + b"\r\n")
        # Answered after everything before it.
        connection.sendall(b"mn\r\n")
        connection.recv(64)
