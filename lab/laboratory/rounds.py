"""Rounds that are taken one by one, each as a run of the load tool's own, where something has to be done before or during each."""

import urllib.request
from dataclasses import replace

from . import load

ANSWER_SECONDS = 30


def in_turn(stage, settings, case, flags, contenders, seconds):
    """Takes the contenders in turn, round by round, each asked once right before its round, and fills the case with a row for each.

    So a page that nobody has asked for while the others had their turns is there again when a round begins. The rows of the single
    rounds by contender's name.
    """
    found = {contender.name: [] for contender in contenders}
    for _ in range(settings.rounds):
        for contender in contenders:
            ask(contender.url)
            found[contender.name].append(alone(stage, settings, case, flags, contender, seconds))
    case.rows += map(joined, found.values())
    return found


def alone(stage, settings, case, flags, contender, seconds):
    """One round of one contender; its row, which the case does not have yet."""
    load.compare(stage, settings, case, flags, [contender], seconds, 1)
    return case.rows.pop()


def ask(url):
    """Asks for a page, on a connection of its own, and waits for all of it."""
    with urllib.request.urlopen(url, timeout=ANSWER_SECONDS) as answer:
        answer.read()


def joined(rows):
    """One row of the rows of single rounds, as of rounds that were taken in one run."""
    whole = {name: [value for row in rows for value in getattr(row, name)] for name in ("rate", "p50_ms", "p99_ms", "cpu_us", "warnings")}
    longest = [row.max_ms for row in rows if row.max_ms is not None]
    faults = {}
    for kind, count in ((kind, count) for row in rows for kind, count in row.faults.items()):
        faults[kind] = faults.get(kind, 0) + count
    means = {name: _mean([(getattr(row, name), row.requests) for row in rows]) for name in ("application_us", "cached")}
    sums = {name: sum(getattr(row, name) for row in rows) for name in ("requests", "errors", "unsaid")}
    # A curve is that of one round.
    curve = rows[0].curve if len(rows) == 1 else []
    return replace(rows[0], **whole, **means, **sums, max_ms=max(longest, default=None), faults=faults, points=_after_another(rows), curve=curve)


def _after_another(rows):
    """The time lines of the rounds as one."""
    points, begin = [], 0.0
    for row in rows:
        points += [point | {"at": point["at"] + begin} for point in row.points]
        begin = points[-1]["at"] + points[-1]["seconds"] if points else begin
    return points


def _mean(values):
    """The mean of what is known, each value counted so many times."""
    known = [(value, times) for value, times in values if value is not None and times]
    return sum(value * times for value, times in known) / sum(times for _, times in known) if known else None
