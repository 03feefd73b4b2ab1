"""The stage: a directory for this run's files, and every server that was started on it."""

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from .process import Process

BENCH = Path(__file__).resolve().parent.parent
SERVER_CORE = 0
LOAD_CORE = 1
# Debian keeps servers where a user's PATH does not look.
SEARCH_PATH = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])


def find(program):
    """The full path of an installed program, or None."""
    return shutil.which(program, path=SEARCH_PATH)


class Stage:
    """Use as a context manager: leaving it ends every server and removes every file.

    `disk` is a directory of a real file system, for what has to lie on one.
    """

    def __init__(self, disk=None):
        self._disk_home, self._disk = disk, None

    def __enter__(self):
        # Memory-backed where there is one, so that nginx's files and Varnish's log cost no disk.
        home = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.directory = Path(tempfile.mkdtemp(prefix="larder-bench-", dir=home))
        # nginx's workers give up root and must still reach their files.
        self.directory.chmod(0o755)
        self.processes = []
        return self

    def __exit__(self, *_):
        for process in reversed(self.processes):
            process.stop()
        for directory in filter(None, (self.directory, self._disk)):
            shutil.rmtree(directory, ignore_errors=True)

    def start(self, name, argv, core=SERVER_CORE):
        """Starts a server pinned to `core`; its output goes to a file."""
        log = self.new_directory(name) / "output"
        process = Process(argv, core, log)
        self.processes.append(process)
        return process

    def end(self, process):
        """Ends one server before the others."""
        process.stop()
        self.processes.remove(process)

    def new_directory(self, name):
        """A new directory for one server."""
        directory = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=self.directory))
        directory.chmod(0o755)
        return directory

    def new_disk_directory(self, name):
        """A new directory on a real file system."""
        if not self._disk:
            self._disk = Path(tempfile.mkdtemp(prefix="larder-bench-", dir=self._disk_home))
            self._disk.chmod(0o755)
        directory = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=self._disk))
        # nginx's workers, who own what they cache, are nobody in particular.
        directory.chmod(0o777)
        return directory

    def write_configuration(self, template, directory, **values):
        """Fills `conf/TEMPLATE`, where names stand between `@`, and returns the file's path."""
        text = (BENCH / "conf" / template).read_text()
        target = directory / template
        target.write_text(re.sub(r"@([A-Z_]+)@", lambda m: str(values[m[1].lower()]), text))
        return target

    def certificate(self):
        """A self-signed ECDSA P-256 certificate and its key, the kind most sites use today."""
        certificate, key = self.directory / "certificate.pem", self.directory / "key.pem"
        if not certificate.exists():
            subprocess.run(
                ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                 "-nodes", "-days", "30", "-subj", "/CN=localhost",
                 "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
                 "-keyout", str(key), "-out", str(certificate)],
                check=True, capture_output=True,
            )
            key.chmod(0o644)
        return certificate, key
