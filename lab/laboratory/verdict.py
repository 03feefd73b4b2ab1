"""Whether Larder is ahead: against each peer, in requests a second, in the 99th percentile, and in CPU for each request; where users
rise until requests fail, in how many of them it bears."""

from dataclasses import dataclass

from .result import LARDER, PEER, median

# With more URLs Larder answers at least this share of what it did with one.
STEADY = 0.95
FIGURES = (("rate", "requests/s"), ("p99_ms", "p99"), ("cpu_us", "CPU"), ("bore", "users"))
# Of which more is better; of the others less is.
MORE = {"rate", "bore"}


@dataclass(frozen=True)
class Verdict:
    """One row of Larder's against one peer; a ratio is Larder's figure over the peer's, None where one is missing."""

    case: str
    larder: str
    peer: str
    ratios: dict
    # Whether a larger share of Larder's requests failed: then nothing else counts.
    failed_more: bool

    def behind(self):
        """The figures in which Larder is not ahead, or that are missing."""
        figures = [name for figure, name in FIGURES if figure in self.ratios and not _ahead(figure, self.ratios[figure])]
        return figures + ["errors"] * self.failed_more


def verdicts(case):
    """Every row of Larder's in a case (plain values) against every peer in it."""
    rows = case["rows"]
    return [
        Verdict(case["name"], mine["contender"], its["contender"], _ratios(case, mine, its), _failed(mine) > _failed(its))
        for its in rows if its["role"] == PEER
        for mine in rows if mine["role"] == LARDER and decided(case, mine, its)
    ]


def decided(case, mine, its):
    """Whether the two can be compared. Where users rise, one that bears more than was seen is ahead of who bore less, and no more is
    known."""
    if not case.get("rises") or not (mine["bears_more"] or its["bears_more"]):
        return True
    if mine["bears_more"] and its["bears_more"]:
        return False
    most, less = (mine, its) if mine["bears_more"] else (its, mine)
    return most["bore"] > less["bore"]


def compared(case):
    """The figures that count in a case."""
    if case.get("rises"):
        return ["bore"]
    return [figure for figure, _ in FIGURES if figure != "bore" and not (figure == "rate" and case["offered"])]


def value(row, figure):
    """A figure of a row; of several rounds the median."""
    found = row[figure]
    return median(found) if isinstance(found, list) else found


@dataclass(frozen=True)
class Fall:
    """What becomes of a contender from one case to another: its rate there over its rate here, None where one is missing."""

    contender: str
    role: str
    share: float | None

    def holds(self):
        """Whether it does not fall."""
        return self.share is not None and self.share >= STEADY


def falls(result):
    """Everybody's, of an article in which the number of URLs is raised."""
    if not result["steady"]:
        return []
    few, many = (result["cases"][place]["rows"] for place in result["steady"])
    after = {row["contender"]: median(row["rate"]) for row in many}
    return [Fall(row["contender"], row["role"], _share(median(row["rate"]), after.get(row["contender"]))) for row in few]


def _share(before, after):
    return after / before if before and after is not None else None


def _failed(row):
    return row["errors"] / row["requests"] if row["requests"] else 1.0


def _ratios(case, mine, its):
    found = {}
    for figure in compared(case):
        ours, theirs = value(mine, figure), value(its, figure)
        found[figure] = ours / theirs if ours is not None and theirs else None
    return found


def _ahead(figure, ratio):
    if ratio is None:
        return False
    return ratio > 1 if figure in MORE else ratio < 1
