"""The servers under measurement, each set up as its own experts would. README.md says why."""

import json
import os
import urllib.parse
from dataclasses import dataclass
from pathlib import Path

from .limits import connection_limits
from .php import CHILDREN
from .process import Process, free_port
from .stage import BENCH, find

WORKSPACE = BENCH.parent
# An absolute path of cargo's variable replaces the workspace.
BUILT = WORKSPACE / os.environ.get("CARGO_TARGET_DIR", "target") / "release"
# Another build of it can be measured, such as one that counts what it runs.
LARDER = Path(os.environ.get("LARDER") or BUILT / "larder").absolute()
BARE, FLOOR = BUILT / "examples" / "bare", BUILT / "examples" / "floor"
BUILD = {
    LARDER: "cargo build --release -p larder",
    BARE: "cargo build --release -p proxy --examples",
    FLOOR: "cargo build --release -p proxy --examples",
}
VARNISH_MEMORY = "1G"


@dataclass
class Server:
    """One running server; `tls_port` is 0 where it speaks no TLS, `admin_port` where it has no admin API."""

    name: str
    process: Process
    port: int
    tls_port: int = 0
    admin_port: int = 0

    def url(self, path):
        """The plain address of `path`."""
        return f"http://127.0.0.1:{self.port}{path}"

    def tls_url(self, path):
        """The TLS address of `path`."""
        return f"https://127.0.0.1:{self.tls_port}{path}"


def start_nginx(stage, origin):
    """nginx's `proxy_cache`, one worker, plain and TLS."""
    directory = stage.new_directory("nginx")
    certificate, key = stage.certificate()
    port, tls_port = free_port(), free_port()
    configuration = stage.write_configuration(
        "nginx.conf", directory, dir=directory, port=port, tls_port=tls_port, origin=origin.port,
        certificate=certificate, key=key, **connection_limits(),
    )
    process = stage.start("nginx", [find("nginx"), "-p", directory, "-c", configuration])
    process.wait_for_port(tls_port)
    return Server("nginx", process, port, tls_port)


def start_varnish(stage, origin, memory=VARNISH_MEMORY):
    """Varnish with its memory store and its built-in VCL."""
    directory = stage.new_directory("varnish")
    vcl = stage.write_configuration("varnish.vcl", directory, origin=origin.port)
    port = free_port()
    process = stage.start("varnish", [
        find("varnishd"), "-F", "-j", "none", "-n", directory / "work", "-f", vcl,
        "-a", f"127.0.0.1:{port}", "-T", "none", "-s", f"malloc,{memory}",
        "-p", "thread_pool_min=200", "-p", "thread_pool_max=2000", "-p", "listen_depth=4096",
    ])
    process.wait_for_port(port)
    return Server("varnish", process, port)


def start_larder(stage, origin, memory=None):
    """Larder as it comes: default settings, metrics on, one worker."""
    argv = [LARDER, "serve", origin.url, "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0",
            "--workers", "1"]
    process = stage.start("larder", argv + (["--memory", memory] if memory else []))
    return Server("larder", process, _port_said(process))


def start_larder_tls(stage, origin):
    """Larder with one TLS listener: the only setting here that is not a default."""
    directory = stage.new_directory("larder")
    certificate, key = stage.certificate()
    configuration = stage.write_configuration(
        "larder.toml", directory, origin=origin.url, certificate=certificate, key=key)
    process = stage.start("larder", [LARDER, "serve", "--config", configuration,
                                     "--admin", "127.0.0.1:0", "--workers", "1"])
    return Server("larder", process, 0, _port_said(process))


def start_larder_with(stage, origin, tables, listen="127.0.0.1:0"):
    """Larder with tables of its configuration, as Python values: the tiers, the log of purges."""
    text = "".join(
        f"[{name}]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in table.items())
        for name, table in tables.items()
    )
    configuration = stage.new_directory("larder") / "larder.toml"
    configuration.write_text(f'{text}[[origin]]\nservers = "{origin.url}"\n')
    process = stage.start("larder", [
        LARDER, "serve", "--config", configuration, "--listen", listen, "--admin", "127.0.0.1:0", "--workers", "1"])
    admin = urllib.parse.urlsplit(process.wait_for_line("admin on ")).port
    return Server("larder", process, _port_said(process), admin_port=admin)


def start_larder_fastcgi(stage, php):
    """Larder before php-fpm."""
    directory = stage.new_directory("larder")
    configuration = stage.write_configuration(
        "larder-fastcgi.toml", directory, socket=php.socket, root=php.root, kept=CHILDREN)
    process = stage.start("larder", [LARDER, "serve", "--config", configuration, "--workers", "1"])
    return Server("larder", process, _port_said(process))


def start_nginx_fastcgi(stage, php):
    """nginx's `fastcgi_cache` before php-fpm."""
    directory = stage.new_directory("nginx")
    port = free_port()
    configuration = stage.write_configuration(
        "nginx-fastcgi.conf", directory, dir=directory, port=port, socket=php.socket, root=php.root,
        kept=CHILDREN, **connection_limits())
    process = stage.start("nginx", [find("nginx"), "-p", directory, "-c", configuration])
    process.wait_for_port(port)
    return Server("nginx", process, port)


def start_bare(stage, size):
    """hyper writing `size` bytes, without a cache."""
    return _start_example(stage, "bare", [BARE], size)


def start_floor(stage, size, answers=1):
    """The kernel alone: `size` bytes for whatever is read, drawn from so many answers; they lie on huge pages, as Larder's."""
    huge = ["env", "GLIBC_TUNABLES=glibc.malloc.hugetlb=1"]
    return _start_example(stage, "floor", [*huge, FLOOR, "--answers", str(answers)], size)


def _start_example(stage, name, program, size):
    port = free_port()
    process = stage.start(name, [*program, "--listen", f"127.0.0.1:{port}", "--size", str(size)])
    process.wait_for_port(port)
    return Server(name, process, port)


def _port_said(process):
    process.wait_for_line("ready")
    return urllib.parse.urlsplit(process.wait_for_line("listening on ")).port
