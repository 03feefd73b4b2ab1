"""The limits on open files that the nginx configurations are written for."""

import resource

MOST_CONNECTIONS = 8192
MOST_OPEN_FILES = 65536


def raise_open_files():
    """Raises this process's limit, which all servers inherit, as far as it may go."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = MOST_OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_OPEN_FILES)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))


def connection_limits():
    """Values for `@FILES@`, `@CONNECTIONS@` and `@OPEN_FILES@`."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    connections = min(MOST_CONNECTIONS, files // 3)
    return {
        "files": files,
        "connections": connections,
        "open_files": max(64, files - 2 * connections),
    }
