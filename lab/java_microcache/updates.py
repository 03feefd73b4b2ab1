"""An author who updates a page a second, and how soon readers see it."""

import re
import threading
import time
import urllib.request

EVERY_SECONDS = 1.0
PATIENCE_SECONDS = 10.0
LOOK_SECONDS = 0.02


class Updates:
    """Use as a context manager around a load: within it, one page a second is updated, in turn."""

    def __init__(self, application, cache, paths):
        self._application, self._cache, self._paths = application, cache, paths
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        # Seconds from the acknowledged update to the first answer that shows it; None where none came in time.
        self.seen_after = []
        self.failed = 0

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._ended.set()
        self._thread.join()

    def _run(self):
        number = 0
        while not self._ended.wait(EVERY_SECONDS):
            path = self._paths[number % len(self._paths)]
            number += 1
            try:
                version = int(_text(urllib.request.Request(self._application + path, method="POST")))
                self.seen_after.append(self._seen(path, version))
            except (OSError, ValueError):
                self.failed += 1

    def _seen(self, path, version):
        begin = time.monotonic()
        while time.monotonic() - begin < PATIENCE_SECONDS:
            shown = re.search(r"Version (\d+)", _text(self._cache + path))
            if shown and int(shown[1]) >= version:
                return time.monotonic() - begin
            time.sleep(LOOK_SECONDS)
        return None


def _text(request):
    with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as answer:
        return answer.read().decode()
