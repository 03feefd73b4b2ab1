"""Tests of the stage: everything ends with it, the servers' own programs accept the configurations, and what was measured before
an interruption stays."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
LAB = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(LAB), str(LAB.parent / "bench")]

# The paths above come first.
from laboratory import place, servers  # noqa: E402
from laboratory.servers import LabStage  # noqa: E402
from measure.limits import raise_open_files  # noqa: E402
from measure.process import TICKS_PER_SECOND, StartFailed, free_port  # noqa: E402
from measure.stage import find  # noqa: E402

# Two experiments: one that is done at once, and one whose server runs until it is ended.
INTERRUPTED = """
import signal, sys, types
sys.dont_write_bytecode = True
sys.path[:0] = [{lab!r}, {bench!r}]
from pathlib import Path
from laboratory import cli, install
from laboratory.result import Result
from laboratory.servers import LabStage

def done(settings):
    return Result("one", 1, "One", "one", "", [], [])

def waits(settings):
    with LabStage(Path({folder!r}), settings.raw) as stage:
        process = stage.start("waits", ["sleep", "1000"], 0)
        print("STAGE", stage.directory, process.pids()[0], flush=True)
        signal.pause()

for name, run in (("one", done), ("two", waits)):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name + ".experiment"] = types.SimpleNamespace(TITLE=name.title(), NEEDS=(), run=run)
cli.EXPERIMENTS = ("one", "two")
install.everything = lambda experiments, say: {{}}
install.versions = dict
cli.rest.wait = lambda say: None
sys.exit(cli.main(["--out", {out!r}]))
"""

# All of an experiment but the load: its servers are started and asked once.
ASKED = """
import json, ssl, sys, tempfile, urllib.request
sys.dont_write_bytecode = True
sys.path[:0] = [{lab!r}, {bench!r}]
from pathlib import Path
from measure import network
from measure.limits import raise_open_files
network.enter({control!r})
raise_open_files()
import importlib
from laboratory import load, settings

LATENCY = {{"p50": 1.0, "p99": 1.0, "max": 1.0}}
TARGET = {{"rounds": [], "rate": 1.0, "latency_ms": LATENCY, "process": None, "requests": 1, "warm_up_requests": 0, "errors": 0, "statuses": {{"codes": {{}}}},
           "faults": {{}}, "cache": {{"hits_percent": None, "unsaid": 1}}, "points": [], "curve": []}}

def asked(argv, *_):
    urls = [str(part).split("=", 1)[1] for part in argv if str(part)[:1].isdigit() and "=" in str(part)]
    anybody = ssl._create_unverified_context()
    for url in urls:
        with urllib.request.urlopen(url, timeout=20, context=anybody) as answer:
            print("ASKED", answer.status, url.split(":")[0], Path(network.CONTROL).read_text().strip(), flush=True)
    return {{"targets": [TARGET for _ in urls], "warnings": []}}

load._bench = asked
load._said = lambda argv, *_: ""
raw = Path(tempfile.mkdtemp(dir={home!r}))
for name in {names!r}:
    importlib.import_module(name + ".experiment").run(settings.quick(lambda text: None, raw))
    print("DONE", name, flush=True)
"""


class Stages(unittest.TestCase):
    """Whatever happens, nothing of the laboratory is left."""

    def setUp(self):
        home = tempfile.TemporaryDirectory()
        self.addCleanup(home.cleanup)
        self.home = Path(home.name)
        self.folder = self.home / "an_experiment"
        self.folder.mkdir()

    def test_everything_ends_when_one_does_not_start(self):
        with self.assertRaises(StartFailed) as failed, LabStage(self.folder, self.home / "raw") as stage:
            running = [stage.start("waits", ["sleep", "1000"]) for _ in range(2)]
            places = [stage.directory, stage.new_disk_directory("files")]
            servers.start(stage, "fails", ["sh", "-c", "echo no such port; exit 3"], free_port())
        self.assertIn("no such port", str(failed.exception))
        self.assertEqual([process for process in running if _lives(process.pids()[0])], [])
        self.assertEqual([folder for folder in places if folder.exists()], [])

    def test_servers_have_as_many_files_as_they_may(self):
        (self.folder / "nginx.conf").write_text("@COMMON@")
        waits = ["sh", "-c", 'echo "files $(ulimit -n) $(ulimit -Hn)"; exec sleep 1000']
        with LabStage(self.folder, self.home / "raw") as stage:
            before = stage.start("waits", waits)
            self.assertNotEqual(before.wait_for_line("files "), "64 64")
            stage.end_all()
            self.assertFalse(_lives(before.pids()[0]))
            stage.files = 64
            self.assertEqual(stage.start("waits", waits).wait_for_line("files "), "64 64")
            configuration = servers.nginx_configuration(stage, "nginx.conf", stage.new_directory("nginx"))
            self.assertIn("worker_rlimit_nofile 64;", configuration.read_text())

    def test_cpu_is_not_counted_in_ticks(self):
        with LabStage(self.folder, self.home / "raw") as stage:
            waits = stage.start("waits", ["sh", "-c", "echo here; exec sleep 1000"])
            waits.wait_for_line("here")
            self.assertNotEqual(waits.cpu_seconds() * TICKS_PER_SECOND % 1, 0)

    @unittest.skipIf(os.cpu_count() < 2, "the laboratory needs two cores")
    def test_everything_ends_on_a_signal_and_what_was_measured_stays(self):
        out = self.home / "out"
        code = INTERRUPTED.format(lab=str(LAB), bench=str(LAB.parent / "bench"), folder=str(self.folder), out=str(out))
        with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as child:
            said = next((line for line in child.stdout if line.startswith("STAGE ")), "STAGE none 0")
            child.send_signal(signal.SIGTERM)
            child.stdout.read()
        _, directory, pid = said.split()
        self.assertEqual(child.returncode, 130, said)
        self.assertFalse(_lives(int(pid)))
        self.assertFalse(Path(directory).exists())
        self.assertTrue((out / "1-one.json").exists())
        self.assertIn("## 1. One", (out / "lab.md").read_text())

    def test_what_a_tool_said_is_kept_without_this_machines_paths(self):
        with LabStage(self.folder, self.home / "raw") as stage:
            stage.keep("a-case.json", f'"{stage.directory}/paths"')
        with LabStage(self.folder, self.home / "raw") as stage:
            stage.keep("a-case-wrk.txt", "$ wrk")
        kept = {path.name: path.read_text() for path in (self.home / "raw" / "an_experiment").iterdir()}
        self.assertEqual(kept, {"01-a-case-wrk.txt": "$ wrk"}, "in place of what was said before")


class Networks(unittest.TestCase):
    """Everything of the laboratory can be in a network of the run's own, in which nothing is but what was started there."""

    @unittest.skipUnless(os.geteuid() == 0 and place.LARDER.exists(), "a network of one's own is root's, and Larder is to be built")
    def test_every_server_is_started_and_asked(self):
        # What is not installed here is left out.
        needs = {"php_varnish": place.LARDER, "cdn_api": place.GO_API, "redis_nginx": place.PYTHON, "static_memcached": place.PYTHON,
                 "java_microcache": place.JAVA}
        names = [name for name, need in needs.items() if need.exists()]
        control = "reno"
        with tempfile.TemporaryDirectory() as home:
            code = ASKED.format(lab=str(LAB), bench=str(LAB.parent / "bench"), control=control, home=home, names=names)
            done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr[-3000:])
        said = [line.split() for line in done.stdout.splitlines()]
        self.assertEqual([line[1] for line in said if line[0] == "DONE"], names)
        asked = [line[1:] for line in said if line[0] == "ASKED"]
        self.assertEqual({(status, told) for status, _, told in asked}, {("200", control)})
        self.assertEqual({scheme for _, scheme, _ in asked}, {"http", "https"})


class Configurations(unittest.TestCase):
    """The servers' own programs read them."""

    # What the experiments fill in.
    PORTS = dict.fromkeys(("app", "api1", "api2", "memcached", "varnish", "nginx"), 8000)

    def each(self, pattern):
        """The experiments' templates of such a name, each on a stage."""
        templates = sorted(LAB.glob(f"*/{pattern}"))
        self.assertTrue(templates)
        for template in templates:
            with tempfile.TemporaryDirectory() as raw, LabStage(template.parent, Path(raw)) as stage:
                yield stage, template.name, stage.new_directory("server")

    def accepted(self, argv):
        """The program ends well."""
        done = subprocess.run(list(map(str, argv)), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual(done.returncode, 0, f"{argv}: {done.stderr[-2000:]}")

    def test_nginx(self):
        raise_open_files()
        for stage, template, directory in self.each("nginx*.conf"):
            configuration = servers.nginx_configuration(
                stage, template, directory, cache=stage.new_disk_directory("nginx"), port=free_port(), tls_port=free_port(),
                socket="/run/php.sock", root=stage.folder, params=stage.folder / "fastcgi_params",
                files_on_disk=directory, files_in_memory=directory, **self.PORTS)
            self.assertFalse(re.search("@[A-Z0-9_]+@", configuration.read_text()))
            self.accepted([find("nginx"), "-t", "-q", "-p", directory, "-c", configuration])

    def test_varnish(self):
        for stage, template, directory in self.each("*.vcl"):
            self.accepted([find("varnishd"), "-C", "-n", directory / "work", "-f", stage.fill(template, directory, **self.PORTS)])


def _lives(pid):
    return Path(f"/proc/{pid}").exists()


if __name__ == "__main__":
    unittest.main()
