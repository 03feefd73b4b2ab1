"""Users who become more until requests fail: how many there are then, and whether it is the server that ends first or the tool that
plays them."""

from dataclasses import dataclass

from laboratory.result import FIRST_ERROR

# A fifth of the article's rest, so that each user asks five times as often: ports and time are not enough for five times as many.
PAUSE_SECONDS = 2
# A request fails sooner here too: the users who come meanwhile wait as well, and each of them takes a file and a port of the tool's.
TIMEOUT_SECONDS = 2
# Open files of each process that serves. Whoever is overrun by users with a connection each meets this limit in the end. It lies far
# below the tool's own, and below half of the ports of an address (beyond that a connection takes the kernel a long search), so that
# no error is due to these. A lower limit does not make the server end before a tool whose core is full: connections become many where
# one of the two is late, and while the tool is, nginx closes what comes beyond its limit, and would at fewer users, whereas Larder leaves it
# in the kernel's queue, where it waits. The limit would decide, not the servers.
FILES = 2048
SLOW_MS = 100
# The share of its core from which the tool has none left, over so many seconds.
FULL, OVER_SECONDS = 0.95, 1.0
# What takes as long as the timeout to be known, and what is the tool's own fault: it has no file or port left.
LATE, OWN = {"timeout", "connect-timeout", "endless"}, {"local"}


def flags(users, climb):
    """The load: each user comes in its turn, rests, and has a new connection for each request, as siege's users have."""
    return ["--users", users, "--ramp", f"{climb}s", "--pause", f"{PAUSE_SECONDS}s", "--timeout", f"{TIMEOUT_SECONDS}s",
            "--no-keep-alive", "--unbounded"]


@dataclass(frozen=True)
class Endured:
    """How many users there were; None where it did not come to that up to `most`."""

    most: int
    # When the first request was sent that failed.
    failed: int | None
    # When the median first passed SLOW_MS: from there on requests queue.
    slow: int | None
    # When the tool first had nothing left: of its core, or of its files and ports where only these failed.
    full: int | None

    def columns(self):
        """For the table of the case."""
        return {FIRST_ERROR: f"no error up to {self.most:,}" if self.failed is None else f"{self.failed:,}",
                f"users when the median passes {SLOW_MS} ms": _said(self.slow), "users when the tool had nothing left": _said(self.full)}

    def bore(self):
        """How many users it bore, and whether it bears more: as many were tried, or the tool ended first."""
        if self.is_the_tools():
            return self.full, True
        return (self.most, True) if self.failed is None else (self.failed, False)

    def is_the_tools(self):
        """Whether the tool ended first, so that the server may bear more.

        Errors that come later do not tell, though the server closes or resets these connections itself: a tool that is late sends its
        requests and reads its answers late, and the connections that wait for it are what fills the server. Nor does it tell that
        there are none: so many users ask less than they would.
        """
        return self.full is not None and (self.failed is None or self.full <= self.failed)


def endured(row):
    """What a contender endured, from its time line."""
    failed = next((point["at"] for point in row.points if point["errors"]), None)
    kinds, full = {kind for kind, count in row.faults.items() if count}, _full_at(row)
    if failed is None or not kinds:
        pass
    elif kinds <= OWN:
        failed, full = None, min(failed, full or failed)
    elif kinds <= LATE | OWN:
        failed -= TIMEOUT_SECONDS
    slow = next((point["at"] for point in row.points if (point["p50_ms"] or 0) > SLOW_MS), None)
    users = [_users_at(row, at) for at in (failed, slow, full)]
    return Endured(max((point["users"] for point in row.points), default=0), *users)


def panel(found, name):
    """The numbers as bars."""
    return {"kind": "bars", "title": f"{name}: users when requests begin to fail",
            "unit": "or the most that there were before the tool had ended; more is better",
            "values": {contender: one.bore()[0] for contender, one in found.items()}}


def notes(found):
    """What there is to say of these, by contender."""
    tools = [name for name, one in found.items() if one.is_the_tools()]
    if not tools:
        return []
    return [f"The load tool reached its limit first with {'; '.join(tools)}. How many more users the server bears is not known."]


def _full_at(row):
    """When the tool's core was full; the first second, in which everything begins, does not count."""
    points = [point for point in row.points if point["at"] > OVER_SECONDS]
    for last in points:
        window = [point for point in points if last["at"] - OVER_SECONDS < point["at"] <= last["at"]]
        seconds = sum(point["seconds"] for point in window)
        if seconds >= OVER_SECONDS * 0.9 and sum(point["tool_cores"] * point["seconds"] for point in window) >= FULL * seconds:
            return last["at"]
    return None


def _users_at(row, at):
    return None if at is None else max((point["users"] for point in row.points if point["at"] <= at), default=1)


def _said(users):
    return "never" if users is None else f"{users:,}"
