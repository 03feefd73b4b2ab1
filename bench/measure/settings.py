"""How long and how much, chosen on the command line."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """`servers` names those that take part; the others are left out."""

    servers: tuple
    rounds: int
    seconds: int
    million: "Fullness"
    below: "Below"
    # Directory of a file system that has a device.
    disk: str
    # Bytes of access log that are simulated.
    log_bytes: int
    say: Callable


@dataclass(frozen=True)
class Fullness:
    """The sizes of the `million` experiment."""

    # How many responses of 1 KB are stored, under a budget that holds them all.
    responses: int
    roomy_mib: int
    # How many URLs are asked once, under a budget that does not hold them, and how many of
    # the same size were asked often before.
    scanned: int
    tight_mib: int
    often: int


@dataclass(frozen=True)
class Below:
    """The sizes of the experiments with the tiers below memory and with purges."""

    # What is asked in a cycle, and the memory that does not hold it.
    cycle_mib: int
    memory_mib: int
    # How long purges come at a rate.
    purge_seconds: int
    # Single purges that are timed in each round.
    purges: int


FULL = Fullness(1_000_000, 2048, 1_000_000, 512, 20_000)
QUICK = Fullness(50_000, 160, 100_000, 32, 1_000)
FULL_BELOW = Below(320, 16, 60, 100)
QUICK_BELOW = Below(80, 4, 10, 20)
FULL_LOG, QUICK_LOG = 1_000_000_000, 20_000_000
