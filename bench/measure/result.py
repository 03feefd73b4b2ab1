"""What an experiment hands to the report."""

import statistics
from dataclasses import dataclass, field

from .targets import Target


@dataclass
class Row:
    """All samples of one server in one case."""

    case: str
    server: str
    samples: list


@dataclass
class Figure:
    """A ratio or a quantity, one value a round, held against a target where there is one."""

    case: str
    what: str
    values: list
    target: Target | None = None

    @property
    def median(self):
        """The figure that counts."""
        return statistics.median(self.values)

    @property
    def verdict(self):
        """`ok`, `not reached`, or nothing where there is no target."""
        if self.target is None:
            return ""
        return "ok" if self.target.met(self.median) else "not reached"


@dataclass
class Result:
    """One experiment's rows and figures."""

    name: str
    title: str
    rows: list = field(default_factory=list)
    figures: list = field(default_factory=list)
    notes: list = field(default_factory=list)

    def add_rows(self, case, samples):
        """Takes over what `in_turn` returned."""
        self.rows += [Row(case, name, taken) for name, taken in samples.items()]

    def compare(self, case, samples, other, target, of="cpu_us", one="larder"):
        """Adds one's figure over `other`'s, round by round, where both were measured."""
        if one not in samples or other not in samples:
            return
        pairs = [(getattr(mine, of), getattr(its, of))
                 for mine, its in zip(samples[one], samples[other])]
        values = [mine / its for mine, its in pairs if mine and its]
        if values:
            self.figures.append(Figure(case, f"{NAMES[of]}, {one} / {other}", values, target))


NAMES = {"cpu_us": "CPU", "per_second": "throughput", "p99_ms": "p99"}
