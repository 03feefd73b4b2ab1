"""The stage of an experiment, and how each kind of server is started on it."""

import re
import shutil
import urllib.parse
from dataclasses import dataclass, field

from measure.limits import connection_limits
from measure.process import free_port
from measure.stage import SERVER_CORE, Stage, find

from . import place
from .result import APPLICATION, LARDER, PEER


@dataclass
class Contender:
    """A way to answer requests: what is asked, and the processes that answer.

    `application` are those that stand behind a cache; what they use is counted apart.
    """

    name: str
    role: str
    url: str
    serving: list
    application: list = field(default_factory=list)
    # Where it is asked over TLS, when it is.
    tls_url: str = ""
    # Larder's admin API.
    admin: int = 0


class LabStage(Stage):
    """A stage whose configurations lie in the experiment's folder. Everything of a contender, its application too, is on
    the server's core: what is compared is what one machine with one core can do."""

    def __init__(self, folder, raw):
        """What the load tools say is kept below `raw`, in place of what they said before."""
        super().__init__("/var/tmp")
        self.folder, self._raw, self._kept = folder, raw / folder.name, 0
        # The most open files of a process that is started from now on; as many as this machine allows where nothing is said.
        self.files = None
        shutil.rmtree(self._raw, ignore_errors=True)
        self._raw.mkdir(parents=True)

    def start(self, name, argv, core=SERVER_CORE):
        """Starts a server pinned to `core`, with as many open files as it may have; its output goes to a file."""
        limited = [find("prlimit"), f"--nofile={self.files}"] if self.files else []
        return super().start(name, [*limited, *argv], core)

    def end_all(self):
        """Ends every server before others are started."""
        for process in reversed(list(self.processes)):
            self.end(process)

    def fill(self, template, directory, **values):
        """Fills a template, where names stand between `@`, and returns the file's path."""
        text = (self.folder / template).read_text()
        target = directory / template
        target.write_text(re.sub(r"@([A-Z0-9_]+)@", lambda found: str(values[found[1].lower()]), text))
        return target

    def keep(self, name, text):
        """Keeps what a load tool said, word for word but for the machine's own paths; `name` has the ending."""
        self._kept += 1
        (self._raw / f"{self._kept:02}-{name}").write_text(place.plain(text))

    def started(self):
        """How each process was started, without this run's ports and directories."""
        lines = {_plain(" ".join(process.command)) for process in self.processes}
        return sorted(lines)


def start(stage, name, argv, port, environment=None):
    """A server of any kind, which is there when something accepts on `port`."""
    prefix = ["env", *(f"{key}={value}" for key, value in environment.items())] if environment else []
    process = stage.start(name, [*prefix, *argv], SERVER_CORE)
    process.wait_for_port(port)
    return process


def python(stage, name, module, **environment):
    """A Python application under gunicorn: one worker with threads, as one core wants it; its port and process."""
    port = free_port()
    home = stage.new_directory(name)
    argv = [place.PYTHON / "gunicorn", "--chdir", stage.folder / "app", "--bind", f"127.0.0.1:{port}", "--workers", 1,
            "--threads", 8, "--keep-alive", 3600, "--worker-tmp-dir", home, module]
    return port, start(stage, name, argv, port, {"PYTHONDONTWRITEBYTECODE": 1, **environment})


def nginx(stage, template, cache_on_disk=False, **values):
    """nginx with this configuration: its port, the port for TLS (or for a second server), and its process."""
    directory = stage.new_directory("nginx")
    cache = stage.new_disk_directory("nginx") if cache_on_disk else directory / "cache"
    port, tls_port = free_port(), free_port()
    configuration = nginx_configuration(stage, template, directory, cache=cache, port=port, tls_port=tls_port, **values)
    process = start(stage, "nginx", [find("nginx"), "-p", directory, "-c", configuration], port)
    return port, tls_port, process


def nginx_configuration(stage, template, directory, **values):
    """The file that this nginx is started with."""
    certificate, key = stage.certificate()
    return stage.fill(template, directory, dir=directory, certificate=certificate, key=key, expert=EXPERT,
                      common=COMMON.format(dir=directory, **_limits(stage.files)), folders=FOLDERS.format(dir=directory), **values)


def _limits(files):
    """As many connections as nginx has descriptors for: it is not to end before them. The caches keep few files open."""
    files = files or connection_limits()["files"]
    return {"files": files, "connections": max(files - OPEN_FILES, files // 2)}


# What nginx needs descriptors for beside connections, by far enough here.
OPEN_FILES = 500
# What every nginx here has in common: the machine, not the experiment.
COMMON = """daemon off;
worker_processes 1;
pid {dir}/nginx.pid;
error_log {dir}/error.log crit;
worker_rlimit_nofile {files};
events {{ worker_connections {connections}; multi_accept on; }}"""
# What every `http` here needs, the articles' own configurations too.
FOLDERS = """access_log off;
    client_body_temp_path {dir}/t1; proxy_temp_path {dir}/t2; fastcgi_temp_path {dir}/t3;
    uwsgi_temp_path {dir}/t4; scgi_temp_path {dir}/t5;"""
# What experts add to it.
EXPERT = """sendfile on;
    tcp_nopush on;
    tcp_nodelay on;
    open_file_cache max=400 inactive=1h;
    open_file_cache_valid 1h;
    open_file_cache_min_uses 1;
    keepalive_timeout 1h;
    keepalive_requests 1000000000;"""


def varnish(stage, template, **values):
    """Varnish with its memory store; enough threads that none is made under load."""
    directory = stage.new_directory("varnish")
    vcl = stage.fill(template, directory, **values)
    port = free_port()
    process = start(stage, "varnish", [
        find("varnishd"), "-F", "-j", "none", "-n", directory / "work", "-f", vcl, "-a", f"127.0.0.1:{port}", "-T", "none",
        "-s", "malloc,256m", "-p", "thread_pool_min=200", "-p", "thread_pool_max=2000", "-p", "listen_depth=4096"], port)
    return port, process


def redis(stage):
    """Redis without a file; here it serves, so what it costs is counted."""
    port = free_port()
    argv = [find("redis-server"), "--bind", "127.0.0.1", "--port", port, "--save", "", "--appendonly", "no", "--dir",
            stage.new_directory("redis")]
    return port, start(stage, "redis", argv, port)


def memcached(stage):
    """memcached with one thread."""
    port = free_port()
    argv = [find("memcached"), "-l", "127.0.0.1", "-p", port, "-m", 256, "-t", 1, "-c", 8192, "-u", "nobody"]
    return port, start(stage, "memcached", argv, port)


def larder(stage, name, template, **values):
    """Larder with this configuration, one worker: as a contender, without its application."""
    directory = stage.new_directory("larder")
    certificate, key = stage.certificate()
    configuration = stage.fill(template, directory, certificate=certificate, key=key, **values)
    argv = [place.LARDER, "serve", "--config", configuration, "--admin", "127.0.0.1:0", "--workers", 1]
    process = stage.start("larder", argv, SERVER_CORE)
    admin = urllib.parse.urlsplit(process.wait_for_line("admin on ")).port
    process.wait_for_line("ready")
    said = [line.split()[-1] for line in process.log.read_text().splitlines() if line.startswith("listening on ")]
    plain = [address for address in said if address.startswith("http://")]
    secure = [address.replace("127.0.0.1", "localhost") for address in said if address.startswith("https://")]
    return Contender(name, LARDER, plain[0], [process], tls_url=secure[0] if secure else "", admin=admin)


def peer(name, port, serving, path="/", application=(), tls_port=0):
    """Another server as a contender."""
    tls_url = f"https://localhost:{tls_port}{path}" if tls_port else ""
    return Contender(name, PEER, f"http://127.0.0.1:{port}{path}", list(serving), list(application), tls_url)


def application(name, port, serving, path="/"):
    """The application itself as a contender."""
    return Contender(name, APPLICATION, f"http://127.0.0.1:{port}{path}", list(serving))


def _plain(command):
    command = place.plain(command)
    command = re.sub(r"(lab\.Blog )\d+", r"\1PORT", command)
    command = re.sub(r"(127\.0\.0\.1:)[1-9]\d*", r"\1PORT", command)
    command = re.sub(r"((?:--port|-p) )[1-9]\d{3,}", r"\1PORT", command)
    return re.sub(r"/usr/s?bin/", "", command)
