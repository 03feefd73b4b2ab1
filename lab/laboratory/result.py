"""What was measured, as plain values: this is what the raw data are, and all that pages and pictures are made from."""

import statistics
from dataclasses import asdict, dataclass, field

# What a contender is.
APPLICATION, PEER, LARDER = "application", "peer", "larder"


@dataclass
class Row:
    """One contender in one case: a value a round."""

    contender: str
    role: str
    url: str
    rate: list
    p50_ms: list
    p99_ms: list
    cpu_us: list
    max_ms: float
    requests: int
    errors: int
    faults: dict
    # Percent of the answers that came from a cache, of those that say; None where none says.
    cached: float | None
    # CPU of the application behind the cache, for each request that the contender answered.
    application_us: float | None = None
    # Requests a second that the other load tool saw.
    check: dict | None = None
    points: list = field(default_factory=list)
    curve: list = field(default_factory=list)
    warnings: list = field(default_factory=list)


@dataclass
class Case:
    """One load, with every contender in turn."""

    name: str
    asks: str
    # The load's flags of `larder bench`.
    load: str
    # Whether the load sets the rate, as users with pauses do: then rates say nothing about servers.
    offered: bool
    rows: list = field(default_factory=list)
    # Further columns by contender: what is special to this case.
    extra: dict = field(default_factory=dict)
    notes: list = field(default_factory=list)


@dataclass
class Result:
    """One article."""

    name: str
    number: int
    title: str
    article: str
    said: str
    differs: list
    cases: list = field(default_factory=list)
    panels: list = field(default_factory=list)
    notes: list = field(default_factory=list)
    # How each server was started, as one would type it.
    started: list = field(default_factory=list)

    def as_json(self):
        """As plain values."""
        return asdict(self)


def median(values):
    """The value that counts, or None where nothing was measured."""
    present = [value for value in values if value is not None]
    return statistics.median(present) if present else None
