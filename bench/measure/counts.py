"""Whether the counts by which release builds are laid out (`.cargo/counts`) still fit: README.md, "What the compiler knows"."""

import re
import subprocess

from .servers import WORKSPACE

COUNTS = WORKSPACE / ".cargo/counts"

# What the path of a request runs through.
HOT = [f"crates/{name}/src" for name in ("proxy", "store", "rules", "origin")]

# From this share of changed lines on they are said to be old. A function with a changed line is compiled without its counts.
MUCH = 0.1


def warnings():
    """What makes a release build slower than it could be, in words."""
    here, theirs = _output("rustc", "-vV").strip(), (COUNTS / "rustc").read_text().strip()
    if here and here != theirs:
        compiler = theirs.partition("\n")[0]
        return [f"the counts are of {compiler}: release builds do without them; make counts"]
    since = _output("git", "log", "-1", "--format=%h", "--", str(COUNTS)).strip()
    if not since:
        return []
    if _output("git", "diff", "--name-only", since, "--", "Cargo.lock"):
        return [f"Cargo.lock has changed since the counts of {since}; make counts"]
    changed, lines = _changed(since), _lines()
    if lines and changed / lines > MUCH:
        share = f"{changed / lines:.0%} of the lines that requests run through"
        return [f"{share} are newer than the counts of {since}; make counts"]
    return []


def _changed(since):
    """How many lines are new there."""
    where = [*HOT, ":(exclude)*tests*"]
    told = re.search(r"(\d+) insertion", _output("git", "diff", "--shortstat", since, "--", *where))
    return int(told[1]) if told else 0


def _lines():
    files = (file for folder in HOT for file in (WORKSPACE / folder).rglob("*.rs"))
    kept = (file for file in files if "tests" not in str(file.relative_to(WORKSPACE)))
    return sum(len(file.read_bytes().splitlines()) for file in kept)


def _output(*command):
    """What a program writes; nothing if it is not there, or fails, as git does outside a repository."""
    try:
        done = subprocess.run(command, cwd=WORKSPACE, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return done.stdout
