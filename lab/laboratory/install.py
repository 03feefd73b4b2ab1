"""What the experiments need: programs from Debian, the rest from PyPI, Go's proxy and Maven's repository into `target/lab`."""

import os
import subprocess
import venv

from measure import php
from measure.stage import find

from . import place

PACKAGES = {
    "nginx": "nginx-light",
    "varnishd": "varnish",
    "redis-server": "redis-server",
    "memcached": "memcached",
    "wrk": "wrk",
    "siege": "siege",
    "openssl": "openssl",
    "taskset": "util-linux",
    "go": "golang-go",
    "java": "default-jre-headless",
    "javac": "default-jdk-headless",
    "mvn": "maven",
}
# Exact versions, so that two runs measure the same.
PYTHON_PACKAGES = ("flask==3.1.3", "flask-caching==2.3.1", "redis==6.4.0", "requests==2.32.5", "gunicorn==23.0.0",
                   "django==5.2.8")


class Missing(Exception):
    """Something could not be installed or built; the message carries the end of what was said."""


def everything(experiments, say):
    """Installs and builds what these experiments need and is not there."""
    if not place.LARDER.exists():
        raise Missing(f"{place.LARDER} is not built: cargo build --release --locked -p larder")
    _debian(say)
    needs = {need for experiment in experiments for need in experiment.NEEDS}
    for need, install in (("python", _python), ("go", _go), ("java", _java)):
        if need in needs:
            install(say)


def versions():
    """What was installed beside Debian's packages, by name."""
    found = dict(package.split("==") for package in PYTHON_PACKAGES)
    for name, argv in {"go": ["go", "version"], "java": ["java", "-version"], "siege": ["siege", "--version"]}.items():
        found[name] = _first_line(argv)
    program = php.program()
    found["php-fpm"] = _first_line([program, "-v"]) if program else "not installed"
    for name, text in {"fiber": "go.mod", "tomcat, h2": "pom.xml"}.items():
        found[name] = ", ".join(_pinned(text))
    return found


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
    if not missing:
        return
    say(f"installing {' '.join(missing)} with apt-get")
    become_root = [] if os.geteuid() == 0 else ["sudo"]
    _run([*become_root, "apt-get", "update", "-qq"])
    _run([*become_root, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "-y", "-qq",
          "--no-install-recommends", *missing])


def _python(say):
    folder = place.PYTHON.parent
    if _stamp_holds(folder, "\n".join(PYTHON_PACKAGES)):
        return
    say(f"installing {' '.join(PYTHON_PACKAGES)} into {folder}")
    venv.create(folder, clear=True, with_pip=True)
    _run([place.PYTHON / "pip", "install", "-q", "--disable-pip-version-check", *PYTHON_PACKAGES])
    _stamp(folder, "\n".join(PYTHON_PACKAGES))


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
    lines = [line for line in done.stdout.splitlines() if line.strip()]
    return lines[0].strip() if lines else "unknown"
