"""What the experiments need: programs from Debian, the rest from PyPI, Go's proxy and Maven's repository into `target/lab`."""

import importlib.util
import os
import re
import subprocess
import venv
from contextlib import contextmanager
from pathlib import Path

from measure import php
from measure.stage import find

from . import place

PACKAGES = {
    "nginx": "nginx-light",
    "varnishd": "varnish",
    "redis-server": "redis-server",
    "memcached": "memcached",
    "wrk": "wrk",
    "openssl": "openssl",
    "taskset": "util-linux",
    "go": "golang-go",
    "java": "default-jre-headless",
    "javac": "default-jdk-headless",
    "mvn": "maven",
}
# Exact versions of everything from PyPI.
PINNED = place.LAB / "requirements.txt"
# While this file says no, Debian's packages start no service (policy-rc.d, Debian Policy 9.3.3.1).
SERVICES = Path("/usr/sbin/policy-rc.d")
OURS = "# Of Larder's laboratory: what it installs is not started."


class Missing(Exception):
    """Something could not be installed or built; the message carries the end of what was said."""


def everything(experiments, say):
    """Installs and builds what these experiments need and is not there.

    Returns what could not be built, by the name that is in an experiment's NEEDS, and why: the other experiments can do without.
    """
    if not place.LARDER.exists():
        raise Missing(f"{place.LARDER} is not built: cargo build --release --locked -p larder")
    _debian(say)
    found = {}
    needs = {need for experiment in experiments for need in experiment.NEEDS}
    for need, install in (("python", _python), ("go", _go), ("java", _java)):
        if need in needs:
            try:
                install(say)
            except Missing as fault:
                say(str(fault))
                found[need] = str(fault)
    return found


def versions():
    """Versions of what the experiments use beside the servers that `measure.machine` names, by name."""
    told = {"rustc": ["rustc", "--version"], "go": ["go", "version"], "java": ["java", "-version"], "maven": ["mvn", "--version"]}
    found = {name: _first_line(argv) for name, argv in told.items()}
    found["from PyPI"] = _from_pypi()
    program = php.program()
    found["php-fpm"] = _first_line([program, "-v"]) if program else "not installed"
    for name, text in {"fiber": "go.mod", "tomcat, h2": "pom.xml"}.items():
        found[name] = ", ".join(_pinned(text))
    return found


def _from_pypi():
    """What is installed, not what should be."""
    pip = place.PYTHON / "pip"
    if not pip.exists():
        return "not installed"
    return ", ".join(_run([pip, "freeze", "--disable-pip-version-check"]).split())


def _pinned(name):
    """Versions that the files of Go and Maven fix."""
    if name == "go.mod":
        lines = (place.LAB / "cdn_api" / "app" / name).read_text().splitlines()
        return [line.split()[-1] for line in lines if "gofiber/fiber" in line]
    text = (place.LAB / "java_microcache" / "app" / name).read_text()
    return [piece.split("<")[0] for piece in text.split("<version>")[2:4]]


def _debian(say):
    missing = [package for program, package in PACKAGES.items() if not find(program)]
    missing += [] if php.program() else ["php-fpm"]
    # Debian's Python comes without what a virtual environment needs.
    missing += [] if importlib.util.find_spec("ensurepip") else ["python3-venv"]
    if not missing:
        return
    say(f"installing {' '.join(missing)} with apt-get")
    with _no_services():
        _run([*_root(), "apt-get", "update", "-qq"])
        _run([*_root(), "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "-y", "-qq",
              "--no-install-recommends", *missing])


@contextmanager
def _no_services():
    """Meanwhile nothing that is installed is started: it would run beside what is measured, and after it."""
    if SERVICES.exists() and OURS not in SERVICES.read_text(errors="replace"):
        # Somebody else has said what may start.
        yield
        return
    _run([*_root(), "sh", "-c", 'printf "#!/bin/sh\\n%s\\nexit 101\\n" "$2" > "$1" && chmod 755 "$1"', "sh", SERVICES, OURS])
    try:
        yield
    finally:
        _run([*_root(), "rm", "-f", SERVICES])


def _root():
    return [] if os.geteuid() == 0 else ["sudo"]


def _python(say):
    folder = place.PYTHON.parent
    wanted = PINNED.read_text()
    if _stamp_holds(folder, wanted):
        return
    say(f"installing what {PINNED.name} names into {folder}")
    try:
        venv.create(folder, clear=True, with_pip=True)
    except (OSError, subprocess.CalledProcessError) as fault:
        raise Missing(f"no virtual environment in {folder}: {fault}") from None
    # Nothing but what is named, so that no version is left to the day.
    _run([place.PYTHON / "pip", "install", "-q", "--disable-pip-version-check", "--no-deps", "-r", PINNED])
    _run([place.PYTHON / "pip", "check", "--disable-pip-version-check"])
    _stamp(folder, wanted)


def _go(say):
    source = place.LAB / "cdn_api" / "app"
    written = _sources(source)
    if _stamp_holds(place.GO_API.parent, written):
        return
    say("building the API with Fiber")
    place.GO_API.parent.mkdir(parents=True, exist_ok=True)
    own = {"GOMODCACHE": place.INSTALLED / "go-modules", "GOCACHE": place.INSTALLED / "go-build",
           "GOFLAGS": "-mod=readonly -modcacherw"}
    _run(["go", "build", "-o", place.GO_API, "."], source, own)
    _stamp(place.GO_API.parent, written)


def _java(say):
    source = place.LAB / "java_microcache" / "app"
    written = _sources(source)
    if _stamp_holds(place.JAVA, written):
        return
    say("building the Java application with Maven")
    place.JAVA.mkdir(parents=True, exist_ok=True)
    _run(["mvn", "-q", "-B", f"-Dmaven.repo.local={place.INSTALLED / 'maven'}", f"-Dlab.build={place.JAVA}", "package"],
         source)
    _stamp(place.JAVA, written)


def _run(argv, folder=None, own=None):
    argv = [str(part) for part in argv]
    environment = os.environ | {name: str(value) for name, value in (own or {}).items()}
    try:
        done = subprocess.run([find(argv[0]) or argv[0], *argv[1:]], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    except OSError as fault:
        raise Missing(f"{' '.join(argv)}: {fault}") from None
    if done.returncode:
        raise Missing(f"{' '.join(argv)}\n{done.stdout[-1500:]}")
    return done.stdout


def _sources(folder):
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return "".join(f"{path.relative_to(folder)}\n{path.read_text()}" for path in files)


def _stamp_holds(folder, text):
    stamp = folder / "installed"
    return stamp.exists() and stamp.read_text() == text


def _stamp(folder, text):
    (folder / "installed").write_text(text)


def _first_line(argv):
    program = find(str(argv[0]))
    if not program:
        return "not installed"
    done = subprocess.run([program, *argv[1:]], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    # Maven writes in bold even where nobody sees it.
    lines = [line for line in re.sub(r"\x1b\[[\d;]*m", "", done.stdout).splitlines() if line.strip()]
    return lines[0].strip() if lines else "unknown"
