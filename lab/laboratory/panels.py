"""What is drawn: panels as plain values, made from cases."""

import math
import statistics

from .result import median

# More points than this make a line of users unreadable: neighbours become one.
MOST_POINTS = 30
# What becomes of neighbours: of failures the sum, of CPU the mean; of anything else the median.
TOGETHER = {"errors": sum, "process_cores": statistics.mean}


def bars(case, figure, title, unit):
    """One bar a contender: the median of a figure."""
    return {"kind": "bars", "title": title, "unit": unit,
            "values": {row.contender: median(getattr(row, figure)) for row in case.rows}}


def three(case, title):
    """The three figures that Larder is held against."""
    return [
        bars(case, "rate", f"{title}: answers", "good answers a second; more is better"),
        bars(case, "p99_ms", f"{title}: 99th percentile", "milliseconds; less is better"),
        bars(case, "cpu_us", f"{title}: CPU", "microseconds of the server for each request; less is better"),
    ]


def over_users(case, figure, title, unit, log=False):
    """A line a contender, against the number of users of a ramp."""
    lines = {row.contender: _thinned([(point["users"], point[figure]) for point in row.points], figure) for row in case.rows}
    return _lines(lines, title, unit, "users", log)


def over_time(case, figure, title, unit, log=False):
    """A line a contender, against time."""
    lines = {row.contender: [(point["at"], point[figure]) for point in row.points] for row in case.rows}
    return _lines(lines, title, unit, "seconds", log)


def _thinned(line, figure):
    """As many points as can be told apart, each at the last of those that it stands for."""
    each = max(1, math.ceil(len(line) / MOST_POINTS))
    found = []
    for first in range(0, len(line), each):
        part = line[first:first + each]
        values = [value for _, value in part if value is not None]
        found.append((part[-1][0], TOGETHER.get(figure, statistics.median)(values) if values else None))
    return found


def _lines(lines, title, unit, name, log):
    return {"kind": "lines", "title": title, "unit": unit, "across": name, "log": log, "lines": lines}
