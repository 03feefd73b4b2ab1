"""The folder of results: raw data, a table and a picture for each article, and the page that is made from them."""

import json
import os

from . import place, report


def write(folder, run, results):
    """Writes what was measured now, keeps what was measured before on that day, and makes the page from all of it."""
    folder.mkdir(parents=True, exist_ok=True)
    _json(folder / "run.json", run)
    for result in results:
        base = folder / _name(result)
        _json(base.with_suffix(".json"), result)
        base.with_suffix(".md").write_text(report.table_of(result) + "\n")
        base.with_suffix(".svg").write_text(report.picture_of(result))
    page = folder / "lab.md" if run["quick"] else place.PAGE
    make_page(folder, page)
    return page


def make_page(folder, page):
    """Makes the page from the raw data in a folder; without a folder, one that says so."""
    run, results = read(folder) if folder else (None, [])
    pictures = os.path.relpath(folder, page.parent) if folder else ""
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(report.page(run, results, pictures))


def read(folder):
    """What was measured: the run, and the articles in their order."""
    run = json.loads((folder / "run.json").read_text())
    return run, [json.loads(path.read_text()) for path in sorted(folder.glob("[0-9]-*.json"))]


def newest():
    """The folder of the newest results, or None."""
    folders = [path.parent for path in place.RESULTS.glob("*/run.json")]
    return max(folders, default=None)


def _name(result):
    return f"{result['number']}-{result['name'].replace('_', '-')}"


def _json(path, values):
    path.write_text(json.dumps(values, indent=1, ensure_ascii=False) + "\n")
