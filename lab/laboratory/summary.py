"""Where Larder stands, in plain words: of all articles, and of one."""

from .findings import conclusions, gained, taken
from .picture import number
from .result import LARDER, PEER
from .verdict import FIGURES, STEADY, UNDECIDED, Standing, falls, verdicts

NAMES = dict(FIGURES)


def summary(results):
    """What was measured of all articles, in one table, and how the comparisons with peers end."""
    found = [verdict for result in results for verdict in _verdicts(result)]
    lines = [f"**Of {_counted(found)}.**", WHAT_COUNTS, _table(results), _goal(results)]
    apart = [result for result in results if _unlike(result)]
    if apart:
        articles = ", ".join(f"[{result['number']}](#{anchor(title(result))})" for result in apart)
        other = sum(len(_ahead_and_unlike(result)) for result in apart)
        ahead = sum(verdict.standing() is Standing.AHEAD for verdict in found)
        lines.append(f"In {other} of the {ahead} comparisons in which Larder is ahead, Larder and the peer do different work: see {articles}.")
    return "\n\n".join(lines)


WHAT_COUNTS = """- What counts: requests/s (where the load does not set them), the 99th percentile (p99) and CPU for each request. Where users rise until
  requests fail, only the number of users that a server bears counts.
- Ahead: better in all that counts. Behind: worse in at least one. Alike: alike in at least one, and worse in none.
- Two figures are alike when they are within 10 % of one another, or when the ranges of their rounds overlap.
- Not decided: the cross-check has the other one first, a figure is missing, or the load tool reached its limit before the servers."""
WORSE = "Alike, because the ranges of the rounds overlap, but Larder's median is worse by more than 10 %:"


def shortfalls(results):
    """Where Larder is neither ahead nor alike, or alike only by its rounds."""
    found = [(result, verdict) for result in results for verdict in _verdicts(result)]
    lines = []
    behind = _standing_so(found, (Standing.BEHIND,), lambda verdict: " and ".join(verdict.decisive()))
    if behind:
        lines += ["Behind:", listed(behind)]
    fallen = [f"{result['number']}: {_fallen(fall)}" for result in results for fall in _falling(result)]
    if fallen:
        lines += ["Falling with many URLs instead of one (not a comparison with a peer, and not counted above):", listed(fallen)]
    worse = [(result, verdict) for result, verdict in found if verdict.worse()]
    if any(verdict.standing() is Standing.ALIKE for _, verdict in worse):
        lines += [WORSE, listed(_standing_so(worse, (Standing.ALIKE,), lambda verdict: " and ".join(verdict.worse())))]
    open_still = _standing_so(found, UNDECIDED, _undecided)
    if open_still:
        lines += ["Not decided:", listed(open_still)]
    return "\n\n".join(["## Where Larder is not ahead", *lines] if lines else [])


def title(result):
    """The heading of an article's section."""
    return f"{result['number']}. {result['title']}"


def anchor(heading):
    """The fragment by which a heading is linked to."""
    return "".join(letter for letter in heading.lower().replace(" ", "-") if letter.isalnum() or letter == "-")


def table(headings, rows):
    """As a table."""
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join("| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |" for line in lines)


COUNTED = (("ahead", (Standing.AHEAD,)), ("alike", (Standing.ALIKE,)), ("behind", (Standing.BEHIND,)), ("not decided", UNDECIDED))


def _table(results):
    """A line for each article: its conclusions, what a cache gains, and where Larder stands."""
    headings = ["article", "conclusions that hold", "requests/s without a cache", "best peer", "best of Larder", *(name for name, _ in COUNTED)]
    lines = [[f"[{title(result)}](#{anchor(title(result))})", _holding([result]), *_gains(result), *_counts(_verdicts(result))] for result in results]
    everything = [verdict for result in results for verdict in _verdicts(result)]
    return table(headings, [*lines, ["all", _holding(results), "", "", "", *_counts(everything)]])


def _holding(results):
    count, holding, unknown = (sum(each) for each in zip(*map(conclusions, results))) if results else (0, 0, 0)
    return f"{holding} of {count}" + (f", {unknown} not judged" if unknown else "")


def _gains(result):
    found = gained(result)
    if not found:
        return ["", "", ""]
    name, rate, shares = found
    best = [f"{shares[role][0]}: × {number(shares[role][1])}" if role in shares else "" for role in (PEER, LARDER)]
    return [f"{name}: {number(rate)}", *best]


def _counts(found):
    return [sum(verdict.standing() in standings for verdict in found) for _, standings in COUNTED]


def _goal(results):
    """Of how many articles Larder is ahead of every peer."""
    reached = [result for result in results if _verdicts(result) and not _falling(result)
               and all(verdict.standing() is Standing.AHEAD for verdict in _verdicts(result))]
    return f"Larder's goal is to be ahead of every peer in all that counts. It is reached in {len(reached)} of {len(results)} articles."


def _verdicts(result):
    return [verdict for case in result["cases"] for verdict in verdicts(case)]


def _falling(result):
    return [fall for fall in falls(result) if fall.role == LARDER and not fall.holds()]


def _fallen(fall):
    kept = "nothing that was measured" if fall.share is None else f"{fall.share:.0%}"
    return f"{fall.contender} keeps {kept} of its requests/s, less than {STEADY:.0%}{taken(fall)}"


def _counted(found):
    """How many of these comparisons end how: all of them, each once."""
    ahead, same, behind, undecided = _counts(found)
    return (f"{len(found)} comparisons with a peer, Larder is ahead in {ahead}, alike in {same} and behind in {behind}; "
            f"{undecided} are not decided")


def _standing_so(found, standings, why):
    """The comparisons that end so; those of one load that end so for one reason together."""
    together = {}
    for result, verdict in found:
        if verdict.standing() in standings:
            together.setdefault((result["number"], verdict.case, why(verdict)), []).append(verdict)
    return [_said(number_of, case, reason, some) for (number_of, case, reason), some in together.items()]


def _said(number_of, case, reason, some):
    first = some[0]
    if len(some) == 1:
        return f"{number_of}, {case}: {first.larder} against {first.peer}, in {reason} ({_ratios(first)})"
    ratios = "; ".join(map(_ratios, some))
    return f"{number_of}, {case}: {len(some)} comparisons, in {reason} ({ratios})"


def _undecided(verdict):
    return f"{' and '.join(verdict.decisive())}: {verdict.standing().value}"


def _unlike(result):
    """Where a contender does something else than those whom it is compared with, and how many times Larder is ahead there."""
    said = {}
    for contender, what in result.get("unlike", {}).items():
        said.setdefault(what, set()).add(contender)
    return [f"{what} ({len(_ahead_of(result, names))} of those in which Larder is ahead)." for what, names in said.items()]


def _ahead_and_unlike(result):
    return _ahead_of(result, set(result.get("unlike", {})))


def _ahead_of(result, names):
    return [one for one in _verdicts(result) if one.standing() is Standing.AHEAD and not names.isdisjoint((one.larder, one.peer))]


def standing_of(result):
    """Where Larder stands in this article."""
    found = _verdicts(result)
    if not found:
        return []
    said = ", ".join(f"{name} {count}" for (name, _), count in zip(COUNTED, _counts(found)))
    return [f"**Larder against its peers:** {said}.", *_unlike(result)]


def _ratios(verdict):
    return ", ".join(f"{NAMES[figure]} × {number(ratio) or 'not measured'}" for figure, ratio in verdict.ratios.items())


def listed(lines):
    """As a list."""
    return "\n".join(f"- {line}" for line in lines)
