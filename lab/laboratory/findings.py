"""What was found, made of the figures: whether the article's conclusions hold, which cache is best, what it gains."""

from .picture import number
from .result import APPLICATION, FIRST_ERROR, LARDER, PEER, median
from .verdict import ALIKE, MORE, STEADY, compared, decided, disputed, falls, value

NAMES = {"rate": "requests/s", "p50_ms": "median", "p99_ms": "p99", "max_ms": "longest answer", "cpu_us": "CPU",
         "application_us": "the application's CPU for each answer", "bore": "users"}
UNITS = {"rate": "", "cpu_us": " µs", "application_us": " µs", "bore": ""}


def findings(result):
    """An article's sentences, from its raw data: one for each load."""
    said = {}
    for case in result["cases"]:
        said.setdefault(" ".join(filter(None, (_best(case), _gain(case)))), []).append(case["name"])
    return [f"**{'; '.join(names)}:** {text}" for text, names in said.items() if text] + _steady(result)


def conclusions(result):
    """Of an article's conclusions: how many there are, how many hold, and how many cannot be judged."""
    found = [_holds(result, claim) for claim in result["claims"]]
    return len(found), found.count(True), found.count(None)


def gained(result):
    """How many times as many requests a second the best peer and Larder's best answer as the application itself: the application and its
    rate, and by role the name and the ratio; of the article's first case that tells, None where none does."""
    return next((found for found in map(_over_application, result["cases"]) if found), None)


def judged(result):
    """The article's conclusions: what it says, what was measured here, and whether it holds."""
    return [[claim["says"], _shown(result, claim), _judged(result, claim)] for claim in result["claims"]]


def _judged(result, claim):
    unknown = "the cross-check disagrees" if _disputed(result, claim) else "not measured"
    return {True: "yes", False: "**no**", None: unknown}[_holds(result, claim)]


def _shown(result, claim):
    one = _row(result, claim["one"])
    if claim["figure"] == "errors":
        return "nothing" if one is None else f"{claim['one'][1]}: {one['errors']:,} of {one['requests']:,} requests failed"
    apart = claim["one"][0] != claim["other"][0]
    shown = [_value(result, claim["figure"], side, apart) for side in (claim["one"], claim["other"])]
    ratio = _claimed(result, claim)
    over = f", × {number(ratio)}" if ratio is not None else ""
    return f"{NAMES[claim['figure']]} {' against '.join(shown)}{over}"


def _holds(result, claim):
    """Whether it does; None where it was not measured, or where the two load tools contradict one another."""
    if claim["figure"] == "errors":
        row = _row(result, claim["one"])
        return None if row is None or not row["requests"] else (row["errors"] > 0) == (claim["expect"] == "some")
    ratio = _claimed(result, claim)
    if ratio is None or _disputed(result, claim):
        return None
    return claim["expect"] == ("more" if ratio > ALIKE else "less" if ratio < 1 / ALIKE else "alike")


def _disputed(result, claim):
    rows = [_row(result, side) for side in (claim["one"], claim["other"]) if side]
    return claim["figure"] != "errors" and None not in rows and disputed(*rows, claim["figure"])


def _claimed(result, claim):
    one, other = (_figure(_row(result, side), claim["figure"]) for side in (claim["one"], claim["other"]))
    return one / other if one is not None and other else None


def _value(result, figure, side, with_case):
    place, contender = side
    shown = number(_figure(_row(result, side), figure))
    shown = f"{shown}{UNITS.get(figure, ' ms')}" if shown else "nothing"
    return f"{shown} ({contender}{'; ' + result['cases'][place]['name'] if with_case else ''})"


def _row(result, side):
    place, contender = side
    return next((row for row in result["cases"][place]["rows"] if row["contender"] == contender), None)


def _best(case):
    """Which to use, by each figure: of those who do not fail, where there are such."""
    cached = [row for row in case["rows"] if row["role"] != APPLICATION]
    if case.get("rises") and len(cached) > 1 and not _most_borne(case, cached):
        return "not decided which bears the most users, because the load tool reached its limit first."
    # Where users rise until requests fail, somebody who has no error was only not asked for enough.
    whole = [row for row in cached if not row["errors"] and not case.get("rises")] or cached
    said = {}
    for figure in compared(case):
        known = [row for row in whole if _figure(row, figure) is not None]
        if known:
            first = (max if figure in MORE else min)(known, key=lambda row: _figure(row, figure))
            least = "at least " if figure == "bore" and first["bears_more"] else ""
            doubt = " though the cross-check disagrees" if any(disputed(first, row, figure) for row in known) else ""
            said.setdefault(first["contender"], []).append(
                f"{NAMES[figure]} {least}{number(_figure(first, figure))}{UNITS.get(figure, ' ms')}{doubt}")
    without = " of those without an error" if len(whole) < len(cached) else ""
    best = "; ".join(f"{name} ({', '.join(figures)})" for name, figures in said.items())
    return f"best{without}: {best}." if len(cached) > 1 and said else ""


def _most_borne(case, rows):
    """Who bears more users than each of the others; None where that is not known, or where several bear as many."""
    return next((one for one in rows if all(decided(case, one, other) and one["bore"] > other["bore"] for other in rows if other is not one)), None)


def _gain(case):
    """What a cache gains over the application itself: the best of the peers, and of Larder's."""
    direct = _application(case)
    said = [f"{row['contender']}: {_times(row, direct, ('rate', 'p50_ms'))}"
            for row in (_first(case, role) for role in (PEER, LARDER)) if row and direct]
    return f"Gain over no cache ({direct['contender']}, {number(median(direct['rate']))} requests/s): {'; '.join(said)}." if said else ""


def _over_application(case):
    direct = _application(case)
    best = {role: _first(case, role) for role in (PEER, LARDER)} if direct else {}
    shares = {role: (row["contender"], median(row["rate"]) / median(direct["rate"])) for role, row in best.items() if row}
    return (direct["contender"], median(direct["rate"]), shares) if shares else None


def _application(case):
    """The application itself, where its rate says what it can do."""
    direct = next((row for row in case["rows"] if row["role"] == APPLICATION), None)
    return None if case["offered"] or direct is None or not median(direct["rate"]) else direct


def _steady(result):
    """Whether Larder falls with the number of URLs, and what becomes of the others."""
    found = falls(result)
    if not found:
        return []
    said = "; ".join(f"{fall.contender} {'not measured' if fall.share is None else f'{fall.share:.0%}'}" for fall in found)
    fallen = [fall.contender for fall in found if fall.role == LARDER and not fall.holds()]
    verdict = f"Larder falls ({'; '.join(fallen)})" if fallen else "Larder does not fall"
    lines = [f"**Many URLs instead of one:** {verdict}; less than {STEADY:.0%} of the requests/s is a fall. Share that is left: {said}."]
    if result["rising"]:
        few, many = (result["cases"][place]["extra"] for place in result["rising"])
        said = "; ".join(f"{name}: {values.get(FIRST_ERROR)}, then {many.get(name, {}).get(FIRST_ERROR)}" for name, values in few.items())
        lines.append(f"**Users at the first error, with one URL and with many:** {said}.")
    return lines


def taken(fall):
    """What the application behind it took of the core that both have, where that is more than it was."""
    before, after = fall.application
    if None in fall.application or after <= before:
        return ""
    return f": to renew its pages, the application uses {after:.0%} of the core that both share, with one URL {before:.0%}"


def _first(case, role):
    """The best row of a role: by rate where the servers set it, by p99 where the users do, by their number where they rise."""
    rows = [row for row in case["rows"] if row["role"] == role and not _silent(row)]
    if case.get("rises"):
        return max(rows, key=lambda row: row["bore"], default=None)
    if case["offered"]:
        return min(rows, key=lambda row: (row["errors"], median(row["p99_ms"])), default=None)
    return max(rows, key=lambda row: median(row["rate"]), default=None)


def _silent(row):
    return not median(row["rate"]) or median(row["p99_ms"]) is None


def _times(row, other, figures):
    pairs = [(figure, _figure(row, figure), _figure(other, figure)) for figure in figures]
    return ", ".join(f"{NAMES[figure]} × {number(mine / its)}{' (the cross-check disagrees)' * disputed(row, other, figure)}"
                     for figure, mine, its in pairs if mine is not None and its)


def _figure(row, figure):
    return None if row is None else value(row, figure)
