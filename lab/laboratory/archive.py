"""The folders of results: raw data, a table and a picture for each article, and the page that is made from the newest of each."""

import json
import os
from dataclasses import dataclass

from . import place, report


@dataclass(frozen=True)
class Entry:
    """An article as it was measured last: its result, the run that measured it with its machine and versions, and its folder as seen
    from the page."""

    result: dict
    run: dict
    folder: str


@dataclass(frozen=True)
class Failure:
    """An experiment that failed after it was last measured, if ever it was."""

    title: str
    date: str
    text: str


class Archive:
    """A run's results, each written as soon as it is there: what fails later takes nothing with it."""

    def __init__(self, folder, run, page, folders):
        """`page` is made from the `folders` and from this one."""
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self._page = folder, page
        self._folders = sorted({*folders, folder})
        # What failed before on this day has failed still, until it is measured.
        before = _read(folder / "run.json") if (folder / "run.json").exists() else {}
        self._run = run | {"failed": before.get("failed", {})}
        self._written()

    def measured(self, result, seconds):
        """An experiment has ended well."""
        self._run["failed"].pop(result["title"], None)
        # A later run of this day may measure other articles with something else.
        result["run"] = {name: self._run[name] for name in ("date", "call", "quick", "machine", "warnings")} | {"seconds": seconds}
        base = self.folder / _name(result)
        _write(base.with_suffix(".json"), result)
        base.with_suffix(".md").write_text(report.table_of(result) + "\n")
        base.with_suffix(".svg").write_text(report.picture_of(result))
        self._written()

    def failed(self, title, text):
        """An experiment has not."""
        self._run["failed"][title] = place.plain(text)
        self._written()

    def _written(self):
        _write(self.folder / "run.json", self._run)
        make_page(self._folders, self._page)


def make_page(folders, page):
    """Makes the page from the raw data in these folders; from none, one that says so."""
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(report.page(*read(folders, page)))


def read(folders, page):
    """The newest result of each article, in their order, and what has failed since."""
    entries, failures = {}, {}
    for folder in sorted(folders):
        run = _read(folder / "run.json")
        seen = os.path.relpath(folder, page.parent)
        for path in sorted(folder.glob("[0-9]-*.json")):
            result = _read(path)
            entries[result["number"]] = Entry(result, run | result["run"], seen)
            failures.pop(result["title"], None)
        failures.update({title: Failure(title, run["date"], text) for title, text in run["failed"].items()})
    return [entries[number] for number in sorted(entries)], list(failures.values())


def folders():
    """The folders of results that are kept."""
    return [path.parent for path in place.RESULTS.glob("*/run.json")]


def _name(result):
    return f"{result['number']}-{result['name'].replace('_', '-')}"


def _read(path):
    return json.loads(path.read_text())


def _write(path, values):
    # Whole or not at all: a run may be ended at any moment.
    beside = path.with_suffix(".new")
    beside.write_text(json.dumps(values, indent=1, ensure_ascii=False) + "\n")
    beside.replace(path)
