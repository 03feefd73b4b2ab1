"""Where things are: this repository, what is built, and what is installed for the laboratory alone."""

import os
from pathlib import Path

LAB = Path(__file__).resolve().parent.parent
WORKSPACE = LAB.parent
# An absolute path of cargo's variable replaces the workspace.
TARGET = WORKSPACE / os.environ.get("CARGO_TARGET_DIR", "target")
LARDER = TARGET / "release" / "larder"
# Everything from PyPI, Go's proxy and Maven's repository, and all that is compiled from it.
INSTALLED = TARGET / "lab"
PYTHON = INSTALLED / "python" / "bin"
GO_API = INSTALLED / "go" / "api"
JAVA = INSTALLED / "java"
RESULTS = LAB / "results"
TRIED = INSTALLED / "results"
PAGE = WORKSPACE / "docs" / "lab.md"
