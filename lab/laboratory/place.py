"""Where things are: this repository, what is built, and what is installed for the laboratory alone."""

import os
import re
from pathlib import Path

LAB = Path(__file__).resolve().parent.parent
WORKSPACE = LAB.parent
# An absolute path of cargo's variable replaces the workspace.
TARGET = WORKSPACE / os.environ.get("CARGO_TARGET_DIR", "target")
# Another binary than the released one is measured where somebody says so: a test has its own.
LARDER = Path(os.environ.get("LARDER") or TARGET / "release" / "larder")
# Everything from PyPI, Go's proxy and Maven's repository, and all that is compiled from it.
INSTALLED = TARGET / "lab"
PYTHON = INSTALLED / "python" / "bin"
GO_API = INSTALLED / "go" / "api"
JAVA = INSTALLED / "java"
RESULTS = LAB / "results"
TRIED = INSTALLED / "results"
PAGE = WORKSPACE / "docs" / "lab.md"


def plain(text):
    """What was said, without where this machine keeps things."""
    text = text.replace(str(LARDER), "larder").replace(f"{INSTALLED}/", "target/lab/").replace(f"{TARGET}/release/", "")
    text = text.replace(f"{WORKSPACE}/", "")
    text = re.sub(r"/[\w./-]*/larder-bench-\w+/([a-z]+)-\w+", r"DIR/\1", text)
    return re.sub(r"/[\w./-]*/larder-bench-\w+", "DIR", text)
