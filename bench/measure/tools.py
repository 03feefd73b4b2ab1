"""What has to be installed or built beforehand. Nothing is installed unless asked for."""

import os
import subprocess

from . import php
from .servers import BARE, BUILD, FLOOR, LARDER
from .stage import find

PACKAGES = {
    "nginx": "nginx-light",
    "varnishd": "varnish",
    "redis-server": "redis-server",
    "memcached": "memcached",
    "wrk": "wrk",
    "h2load": "nghttp2-client",
    "openssl": "openssl",
    "taskset": "util-linux",
}


def missing_packages():
    """Debian's packages of the programs that are not there."""
    missing = [package for program, package in PACKAGES.items() if not find(program)]
    return missing + ([] if php.program() else ["php-fpm"])


def install(packages):
    """Installs them with apt-get, by sudo where that is needed."""
    become_root = [] if os.geteuid() == 0 else ["sudo"]
    subprocess.run([*become_root, "apt-get", "install", "-y", "--no-install-recommends",
                    *packages], check=True)


def not_built():
    """Of our own programs, those that are not built: their names and the command that does it."""
    names = {LARDER: "larder", BARE: "bare", FLOOR: "floor"}
    return {names[path]: command for path, command in BUILD.items() if not path.exists()}
