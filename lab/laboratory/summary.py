"""Where Larder stands, in plain words: of all articles, and of one."""

from .findings import taken
from .picture import number
from .result import LARDER
from .verdict import FIGURES, STEADY, UNDECIDED, Standing, falls, verdicts

NAMES = dict(FIGURES)


def summary(results):
    """Where Larder stands, and where it is not ahead nor alike, in plain words."""
    found = [(result, verdict) for result in results for case in result["cases"] for verdict in verdicts(case)]
    lines = [f"**Of {_counted([verdict for _, verdict in found])}.** {WHAT_COUNTS}"]
    goals = [f"{result['number']}. {result['title']}: {_goal(result)}" for result in results]
    lines += [f"{GOAL}:", listed(goals)]
    unlike = [f"{result['number']}: {said}" for result in results for said in _unlike(result)]
    if unlike:
        lines += ["Not everywhere do both do the same:", listed(unlike)]
    behind = _standing_so(found, (Standing.BEHIND,), lambda verdict: " and ".join(verdict.decisive()))
    if behind:
        lines += ["It is behind here:", listed(behind)]
    fallen = [f"{result['number']}: {_fallen(fall)}" for result in results for fall in _falling(result)]
    if fallen:
        lines += ["It falls here, with many URLs in place of one (no comparison with a peer, and not counted among them):", listed(fallen)]
    worse = [(result, verdict) for result, verdict in found if verdict.worse()]
    if any(verdict.standing() is Standing.ALIKE for _, verdict in worse):
        lines += [WORSE, listed(_standing_so(worse, (Standing.ALIKE,), lambda verdict: " and ".join(verdict.worse())))]
    open_still = _standing_so(found, UNDECIDED, _undecided)
    if open_still:
        lines += ["Not decided:", listed(open_still)]
    return "\n\n".join(lines)


WHAT_COUNTS = """What counts are requests a second where the load does not set them, the 99th percentile and CPU for each request; where
users rise until requests fail, how many it bears. Ahead is who is ahead in all of these, behind who is behind in one, alike who is alike in
one. Two figures are alike where they are within 10 % of one another, or rounds of the one came out as rounds of the other did. They are
not decided where the cross-check has the other one first, where one was not measured, and where the load tool came to its end before the
servers."""
GOAL = "Larder's goal is to be ahead of every peer in all that counts"
WORSE = "Alike, because rounds of the one came out as rounds of the other did, but with Larder's median worse by more than 10 %:"


def _goal(result):
    """Whether Larder is ahead of every peer of an article, or how many comparisons are short of it."""
    found = [verdict for case in result["cases"] for verdict in verdicts(case)]
    short = [verdict for verdict in found if verdict.standing() is not Standing.AHEAD]
    falling = f", and Larder falls with many URLs ({'; '.join(fall.contender for fall in _falling(result))})" if _falling(result) else ""
    if not short and not falling:
        return f"reached, in {len(found)} of {len(found)} comparisons" if found else "nothing is compared"
    return f"not reached, {len(short)} of {len(found)} comparisons short{falling}"


def _falling(result):
    return [fall for fall in falls(result) if fall.role == LARDER and not fall.holds()]


def _fallen(fall):
    kept = "nothing that was measured" if fall.share is None else f"{fall.share:.0%}"
    return f"{fall.contender} keeps {kept} of its requests/s, less than {STEADY:.0%}{taken(fall)}"


def _counted(found):
    """How many of these comparisons end how: all of them, each once."""
    ahead, same, behind, undecided = (
        sum(verdict.standing() in standings for verdict in found)
        for standings in ((Standing.AHEAD,), (Standing.ALIKE,), (Standing.BEHIND,), UNDECIDED))
    return (f"{len(found)} comparisons with a peer, Larder is ahead in {ahead}, alike in {same} and behind in {behind}; "
            f"{undecided} are not decided")


def _standing_so(found, standings, why):
    return [f"{result['number']}, {verdict.case}: {verdict.larder} against {verdict.peer}, in {why(verdict)} ({_ratios(verdict)})"
            for result, verdict in found if verdict.standing() in standings]


def _undecided(verdict):
    return f"{' and '.join(verdict.decisive())}: {verdict.standing().value}"


def _unlike(result):
    """Where a contender does something else than those whom it is compared with, and how many times Larder is ahead there."""
    found = [verdict for case in result["cases"] for verdict in verdicts(case)]
    said = {}
    for contender, what in result.get("unlike", {}).items():
        said.setdefault(what, set()).add(contender)
    ahead = [verdict for verdict in found if verdict.standing() is Standing.AHEAD]
    return [f"{what} ({sum(not names.isdisjoint((one.larder, one.peer)) for one in ahead)} of those in which Larder is ahead)"
            for what, names in said.items()]


def standing_of(result):
    """Where Larder stands in this article."""
    found = [verdict for case in result["cases"] for verdict in verdicts(case)]
    return [f"Of {_counted(found)}. {GOAL}: {_goal(result)}.", *_unlike(result)] if found else []


def _ratios(verdict):
    return ", ".join(f"{NAMES[figure]} × {number(ratio) or 'not measured'}" for figure, ratio in verdict.ratios.items())


def listed(lines):
    """As a list."""
    return "\n".join(f"- {line}" for line in lines)
