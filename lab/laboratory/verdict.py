"""Where Larder stands against each peer: in requests a second, in the 99th percentile, and in CPU for each request; where users
rise until requests fail, in how many of them it bears."""

from dataclasses import dataclass
from enum import Enum

from .result import LARDER, PEER, median

# Figures that are closer than this are alike.
ALIKE = 1.1
# With more URLs Larder answers at least this share of what it did with one.
STEADY = 0.95
# How many times as many connections as there are may have waited by the other tool's own figures, for its latencies to count.
CORRECTED = 1.05
FIGURES = (("rate", "requests/s"), ("p99_ms", "p99"), ("cpu_us", "CPU"), ("bore", "users"))
# Of which more is better; of the others less is.
MORE = {"rate", "bore"}


class Standing(Enum):
    """Where Larder stands, in a figure or in all of them; the value is said of it."""

    AHEAD = "ahead"
    ALIKE = "alike"
    BEHIND = "behind"
    # Both tools measured it, and each has another one first.
    DISPUTED = "the cross-check disagrees"
    # There is no figure of one of the two.
    UNKNOWN = "not measured"
    # The load tool ended before the servers did.
    OPEN = "the load tool reached its limit first"


# What leaves a comparison undecided.
UNDECIDED = (Standing.DISPUTED, Standing.UNKNOWN, Standing.OPEN)


@dataclass(frozen=True)
class Verdict:
    """One row of Larder's against one peer; a ratio is Larder's figure over the peer's, None where one is missing."""

    case: str
    larder: str
    peer: str
    ratios: dict
    # By figure.
    standings: dict
    # Whether a larger share of Larder's requests failed: then nothing else counts.
    failed_more: bool

    def standing(self):
        """In all: behind in one figure is behind, and ahead is only who is ahead in each."""
        found = self.standings.values()
        if self.failed_more or Standing.BEHIND in found:
            return Standing.BEHIND
        return next((one for one in (*UNDECIDED, Standing.ALIKE) if one in found), Standing.AHEAD)

    def decisive(self):
        """The figures that make it so, where that is not being ahead in all."""
        standing = self.standing()
        names = [name for figure, name in FIGURES if self.standings.get(figure) is standing]
        return names + ["errors"] * self.failed_more

    def worse(self):
        """The figures that are alike only because rounds came out alike, with Larder's median worse by more than is alike."""
        return [name for figure, name in FIGURES if self.standings.get(figure) is Standing.ALIKE and self._worse(figure)]

    def _worse(self, figure):
        return self.ratios[figure] < 1 / ALIKE if figure in MORE else self.ratios[figure] > ALIKE


def verdicts(case):
    """Every row of Larder's in a case (plain values) against every peer in it."""
    rows = case["rows"]
    return [
        Verdict(case["name"], mine["contender"], its["contender"], _ratios(case, mine, its), _standings(case, mine, its),
                _failed(mine) > _failed(its))
        for its in rows if its["role"] == PEER
        for mine in rows if mine["role"] == LARDER
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
    # Cores that the application behind it used, here and there; None where it has none.
    application: tuple

    def holds(self):
        """Whether it does not fall."""
        return self.share is not None and self.share >= STEADY


def falls(result):
    """Everybody's, of an article in which the number of URLs is raised."""
    if not result["steady"]:
        return []
    few, many = (result["cases"][place]["rows"] for place in result["steady"])
    after = {row["contender"]: row for row in many}
    return [_fall(row, after.get(row["contender"])) for row in few]


def _fall(here, there):
    rates = [median(row["rate"]) if row else None for row in (here, there)]
    cores = tuple(_application_cores(row) for row in (here, there))
    return Fall(here["contender"], here["role"], _share(*rates), cores)


def _application_cores(row):
    used, rate = (row["application_us"], median(row["rate"])) if row else (None, None)
    return used * rate / 1e6 if used is not None and rate is not None else None


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


def _standings(case, mine, its):
    return {figure: _standing(case, figure, mine, its) for figure in compared(case)}


def _standing(case, figure, mine, its):
    if not decided(case, mine, its):
        return Standing.OPEN
    # Who gives no good answer has no figures, and is behind whoever does.
    if not median(mine["rate"]) or not median(its["rate"]):
        return Standing.BEHIND if not median(mine["rate"]) else Standing.AHEAD
    ours, theirs = value(mine, figure), value(its, figure)
    if ours is None or not theirs:
        return Standing.UNKNOWN
    if disputed(mine, its, figure):
        return Standing.DISPUTED
    if alike(ours, theirs) or _overlap(mine[figure], its[figure]):
        return Standing.ALIKE
    return Standing.AHEAD if (ours > theirs) == (figure in MORE) else Standing.BEHIND


def alike(one, other):
    """Whether two figures are too close to be told apart."""
    return other / ALIKE <= one <= other * ALIKE


def disputed(mine, its, figure):
    """Whether the other tool saw the two in the other order, and they were not alike to both tools."""
    ours, theirs, *seen = [value(row, figure) for row in (mine, its)] + [checked(row, figure) for row in (mine, its)]
    if None in (ours, theirs, *seen) or (seen[0] - seen[1]) * (ours - theirs) >= 0:
        return False
    same = alike(*seen) or _overlap(*(_checks(row, figure) for row in (mine, its)))
    return not (same and (alike(ours, theirs) or _overlap(mine[figure], its[figure])))


def checked(row, figure):
    """What the other tool saw, None where it did not, or where it says more than it saw."""
    check = row["check"] or {}
    return None if figure == "p99_ms" and corrected(check) else check.get(figure)


def corrected(check):
    """Whether the latencies are more than its connections can have waited (Little's law). After an answer that was late wrk adds those of
    requests that it would have sent meanwhile; of a server that lets a few wait for long, most of what it says is such."""
    return check.get("waiting") is not None and check["waiting"] > check["connections"] * CORRECTED


def _checks(row, figure):
    """What the other tool saw, round by round."""
    return row["check"].get("rounds", {}).get(figure, [])


def _overlap(one, other):
    """Whether rounds of the one came out as rounds of the other did: then the machine's noise is as large as what lies between them."""
    if not isinstance(one, list) or min(len(one), len(other)) < 2:
        return False
    one, other = ([value for value in values if value is not None] for values in (one, other))
    return max(one) >= min(other) and max(other) >= min(one)
