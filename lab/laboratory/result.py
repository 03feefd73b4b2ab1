"""What was measured, as plain values: this is what the raw data are, and all that pages and pictures are made from."""

import statistics
from dataclasses import asdict, dataclass, field

# A further column: how many users there were when the first request was sent that failed.
FIRST_ERROR = "users at the first error"
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
    # How many answers say nothing of a cache.
    unsaid: int = 0
    # CPU of the application behind the cache, for each request that the contender answered, in warm-ups too.
    application_us: float | None = None
    # What the other load tool saw: `tool`, `rate`, and where it can be compared `p99_ms`; `failed`, if any did; of connections that are
    # never at rest `connections`, and how many of them were `waiting` for an answer on average, as its rate and its mean latency say.
    check: dict | None = None
    # Of a case in which users rise until requests fail: how many there were then, and whether it bears more than these, since it was
    # not this server that ended.
    bore: int | None = None
    bears_more: bool = False
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
    # Whether users rise until requests fail: then how many each bears is compared, and nothing else.
    rises: bool = False


@dataclass
class Claim:
    """What an article concludes, and which figures decide whether it holds here.

    A side is the place of a case among the article's and a contender in it. `expect` says what the first side's figure has to be
    against the other's: more, less or alike; without another side, whether requests fail: none or some.
    """

    says: str
    figure: str
    one: tuple
    other: tuple | None
    expect: str


@dataclass
class Result:
    """One article."""

    name: str
    number: int
    title: str
    article: str
    said: str
    # What is wrong in the article, as far as its own figures or its readers show it.
    wrong: list
    differs: list
    claims: list = field(default_factory=list)
    # What a peer does otherwise than Larder, or a Larder otherwise than the peers, so that who is ahead says something of that first; by
    # the contender's name.
    unlike: dict = field(default_factory=dict)
    # Two cases, by their places: in the second, Larder may not answer fewer requests than in the first.
    steady: list = field(default_factory=list)
    # The same of the cases in which users rise, whose further columns say how many there were at the first error.
    rising: list = field(default_factory=list)
    cases: list = field(default_factory=list)
    panels: list = field(default_factory=list)
    notes: list = field(default_factory=list)
    # How each server was started, as one would type it.
    started: list = field(default_factory=list)

    def as_json(self):
        """As plain values. Time lines and curves are in what the tools said, and drawn as panels: they are left out."""
        values = asdict(self)
        for row in (row for case in values["cases"] for row in case["rows"]):
            del row["points"], row["curve"]
        return values


def median(values):
    """The value that counts, or None where nothing was measured."""
    present = [value for value in values if value is not None]
    return statistics.median(present) if present else None
