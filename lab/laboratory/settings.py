"""How long and how much, chosen on the command line."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Settings:
    """Times are in seconds. `say` prints a line of progress; `raw` is where the load tools' own words are kept."""

    quick: bool
    # Rounds that a median is taken of, the length of one, and of the load before it that does not count.
    rounds: int
    seconds: int
    warm_up: int
    # Length of a ramp, of a ramp to the most users, of a number of users who rest, of a look at pages that expire, and
    # of one run of the other load tool.
    ramp: int
    climb: int
    stay: int
    expiry: int
    check: int
    # Requests to a server that is asked for a fixed number: stored, and where each takes 200 ms.
    calls: int
    stored_requests: int
    slow_requests: int
    # Users at the end of a ramp towards an application behind a cache, and towards the application itself.
    users: int
    users_uncached: int
    # Pages made before anything is measured, so that Java has compiled what it runs.
    priming: int
    say: callable
    raw: Path


def full(say, raw):
    """What is worth quoting: some forty minutes in all."""
    return Settings(False, 3, 5, 1, 30, 24, 13, 16, 2, 10_000, 100_000, 5_000, 40_000, 2_000, 60, say, raw)


def quick(say, raw):
    """To see that everything works."""
    return Settings(True, 1, 1, 1, 4, 4, 3, 7, 1, 1_000, 5_000, 1_000, 5_000, 200, 10, say, raw)
