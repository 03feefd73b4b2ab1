"""The origin behind every cache: generated pages, and a count of what was asked of it."""

import random
import string
import urllib.request

from .process import free_port
from .stage import LOAD_CORE, find
from .limits import connection_limits

KILOBYTE = 1024
PAGE_SIZES = (1, 10, 100)
# `/composed`: kilobytes, and how many fragments of one kilobyte it includes.
PAGE_OF_FRAGMENTS, FRAGMENTS = 10, 5
PROSE_SIZES = (10, 100)


class Origin:
    """nginx on the load's core, serving `/page/10k`, `/private/10k`, `/d/10k/<anything>`, `/k/<anything>`, `/composed`, and what
    `conf/origin.conf` has beside."""

    def __init__(self, stage):
        directory = stage.new_directory("origin")
        pages = directory / "pages"
        pages.mkdir(mode=0o755)
        letters = random.Random(1)
        for size in PAGE_SIZES:
            (pages / f"{size}k").write_text(_text(letters, size * KILOBYTE))
        for size in PROSE_SIZES:
            (pages / f"prose-{size}k").write_text(_prose(letters, size * KILOBYTE))
        self._pages = pages
        (pages / "10m").write_text(_text(letters, KILOBYTE) * 10 * KILOBYTE)
        # Varnish composes nothing that does not begin with `<`.
        page = f"<p>{_text(letters, PAGE_OF_FRAGMENTS * KILOBYTE)}</p>"
        step = len(page) // (FRAGMENTS + 1)
        cuts = [at * step for at in range(FRAGMENTS + 1)] + [len(page)]
        slices = [page[start:end] for start, end in zip(cuts, cuts[1:])]
        fragment = _text(letters, KILOBYTE)
        includes = [f'<esi:include src="/k/{number + 1}"/>' for number in range(FRAGMENTS)] + [""]
        (pages / "composed").write_text("".join(map("".join, zip(slices, includes))))
        self.composed = fragment.join(slices).encode()
        self.port = free_port()
        configuration = stage.write_configuration(
            "origin.conf", directory, dir=directory, port=self.port, pages=pages,
            small=fragment, **connection_limits(),
        )
        self.process = stage.start(
            "origin", [find("nginx"), "-p", directory, "-c", configuration], LOAD_CORE)
        self.process.wait_for_port(self.port)
        self.url = f"http://127.0.0.1:{self.port}"

    def add(self, name, length):
        """A page of so many bytes more; its path."""
        (self._pages / name).write_text(_text(random.Random(name), length))
        return f"/page/{name}"

    def requests(self):
        """How many requests came here so far, this question not counted."""
        with urllib.request.urlopen(f"{self.url}/status", timeout=10) as answer:
            lines = answer.read().decode().splitlines()
        # stub_status, third line: accepts, handled, requests; it counts itself.
        self._own = getattr(self, "_own", 0) + 1
        return int(lines[2].split()[2]) - self._own


def _text(letters, length):
    return "".join(letters.choices(string.ascii_letters, k=length))


def _prose(letters, length):
    """HTML as applications write it: words that come again, names and numbers that do not."""
    words = ["".join(letters.choices(string.ascii_lowercase, k=letters.randint(2, 9))) for _ in range(400)]
    often = [1 / (rank + 2) for rank in range(len(words))]
    parts, size = [], 0
    while size < length:
        text = " ".join(letters.choices(words, often, k=letters.randint(8, 30)))
        part = f'<article id="a{letters.randint(1, 10**6)}" class="card"><h2>{text[:30]}</h2><p>{text}</p></article>\n'
        parts.append(part)
        size += len(part)
    return "".join(parts)[:length]
