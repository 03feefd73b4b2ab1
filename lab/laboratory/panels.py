"""What is drawn: panels as plain values, made from cases."""

from .result import median


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
    return _lines(case, lambda point: point["users"], figure, title, unit, "users", log)


def over_time(case, figure, title, unit, log=False):
    """A line a contender, against time."""
    return _lines(case, lambda point: point["at"], figure, title, unit, "seconds", log)


def _lines(case, across, figure, title, unit, name, log):
    lines = {row.contender: [(across(point), point[figure]) for point in row.points] for row in case.rows}
    return {"kind": "lines", "title": title, "unit": unit, "across": name, "log": log, "lines": lines}
