"""Tables and the page, made from the raw data alone."""

from .picture import number, picture
from .result import LARDER, median
from .verdict import FIGURES, verdicts

NAMES = dict(FIGURES)


def table_of(result):
    """One article's part of a page, from its raw data."""
    parts = [f"## {result['number']}. {result['title']}", result["said"], _differs(result)]
    for case in result["cases"]:
        parts += [f"### {case['name']}", case["asks"], f"`larder bench … {case['load']}`", _rows(case)]
        parts += [text for text in (_extra(case), _verdicts(case), _list(case["notes"] + _doubts(case))) if text]
    if result["notes"]:
        parts.append(_list(result["notes"]))
    return "\n\n".join(parts)


def picture_of(result):
    """One article's picture."""
    larders = {row["contender"] for case in result["cases"] for row in case["rows"] if row["role"] == LARDER}
    return picture(f"{result['number']}. {result['title']}", result["panels"], larders)


def page(run, results, pictures):
    """`docs/lab.md`; `pictures` is the path from there to the folder of the results."""
    head = ["# Five articles done again", INTRODUCTION]
    if not results:
        return "\n\n".join([*head, "There are no results yet: nobody has run it on a quiet machine."]) + "\n"
    head += [f"`{run['call']}`, on {run['date']}. Raw data: [{run['date']}]({pictures}).", summary(results)]
    if run["quick"]:
        head.append("**Tried, not measured:** with `--quick` the counts are too small to quote.")
    if run["warnings"]:
        head.append("Doubtful, because:\n" + _list(run["warnings"]))
    parts = []
    for result in results:
        parts += [table_of(result), f"![{result['title']}]({pictures}/{result['number']}-{result['name'].replace('_', '-')}.svg)"]
    return "\n\n".join([*head, *parts, _machine(run), _started(results)]) + "\n"


INTRODUCTION = """<!-- Made by `make lab` from lab/results; change lab/laboratory/report.py or an experiment instead. -->

Five articles ask which cache to use and what it gains. Here their experiments are run again, each with the article's own
set-up, the same set-up as its experts would have it today, and Larder in its place. One tool makes every load:
[`larder bench`](../lab/README.md#the-load). Everybody who has Debian can repeat it: `make lab`.

A server has one core to itself, with everything that belongs to it: its application, Redis, memcached. The load has the other
core. *CPU* is what the server, without the application behind it, used for each request. Where the load tool is slower than
the server, requests a second and the 99th percentile are the tool's as much as the server's; CPU is not. Each figure
is the median of the rounds."""


def summary(results):
    """How often Larder is ahead, and where it is not, in plain words."""
    found = [(result, verdict) for result in results for case in result["cases"] for verdict in verdicts(case)]
    behind = [(result, verdict) for result, verdict in found if verdict.behind()]
    lines = [f"**Larder is ahead of the peer in {len(found) - len(behind)} of {len(found)} comparisons** "
             "(requests a second, 99th percentile and CPU for each request; all three)."]
    if behind:
        lines.append("It is not ahead here:")
        lines.append(_list([f"{result['number']}, {verdict.case}: {verdict.larder} against {verdict.peer}, in "
                            f"{' and '.join(verdict.behind())} ({_ratios(verdict)})" for result, verdict in behind]))
    return "\n\n".join(lines)


def _differs(result):
    return "What is otherwise than in the article:\n\n" + _list(result["differs"])


def _rows(case):
    check = any(row["check"] for row in case["rows"])
    behind = any(row["application_us"] is not None for row in case["rows"])
    headings = ["", "requests/s", "p50 ms", "p99 ms", "longest ms", "CPU µs a request"]
    headings += ["application's CPU µs"] * behind + ["from cache", "errors"] + ["cross-check, requests/s"] * check
    lines = []
    for row in case["rows"]:
        name = f"**{row['contender']}**" if row["role"] == LARDER else row["contender"]
        cells = [name, _spread(row["rate"]), _spread(row["p50_ms"]), _spread(row["p99_ms"]), number(row["max_ms"]),
                 _spread(row["cpu_us"])]
        cells += [number(row["application_us"])] * behind
        cells += ["" if row["cached"] is None else f"{row['cached']:.4g} %", _errors(row)]
        lines.append(cells + [_check(row["check"])] * check)
    return _table(headings, lines)


def _extra(case):
    if not case["extra"]:
        return ""
    columns = list(dict.fromkeys(name for values in case["extra"].values() for name in values))
    named = [(row["contender"], case["extra"].get(row["contender"], {})) for row in case["rows"]]
    lines = [[contender, *(_cell(values.get(name)) for name in columns)] for contender, values in named if values]
    return _table(["", *columns], lines)


def _verdicts(case):
    found = verdicts(case)
    if not found:
        return ""
    headings = ["Larder", "against", *(f"{name}, ratio" for figure, name in FIGURES if figure in found[0].ratios), "ahead"]
    lines = [[verdict.larder, verdict.peer, *(_cell(ratio) or "none" for ratio in verdict.ratios.values()),
              f"**no: {', '.join(verdict.behind())}**" if verdict.behind() else "yes"] for verdict in found]
    return _table(headings, lines)


def _ratios(verdict):
    return ", ".join(f"{NAMES[figure]} × {_cell(ratio) or 'not measured'}" for figure, ratio in verdict.ratios.items())


def _doubts(case):
    """What `larder bench` warns of: each kind once, with those whom it concerns."""
    found = {}
    for row in case["rows"]:
        for warning in row["warnings"]:
            names, _ = found.setdefault(warning["kind"], ({}, warning["text"]))
            names[row["contender"]] = None
    return [f"{'; '.join(names)}: {text}" for names, text in found.values()]


def _errors(row):
    if not row["errors"]:
        return "0"
    kinds = ", ".join(f"{kind} {count:,}" for kind, count in row["faults"].items() if count)
    return f"{row['errors']:,} ({kinds})"


def _check(check):
    if not check:
        return ""
    failed = f", {check['failed']} failed" if check.get("failed") else ""
    return f"{check['tool']} {number(check['rate'])}{failed}"


def _spread(values):
    present = [value for value in values if value is not None]
    if len(present) < 2:
        return number(median(values))
    return f"{number(median(values))} ({number(min(present))} to {number(max(present))})"


def _cell(value):
    return value if isinstance(value, str) else number(value)


def _machine(run):
    return "## The machine\n\n" + _list([f"{name}: {value}" for name, value in run["machine"].items()])


def _started(results):
    lines = dict.fromkeys(line for result in results for line in result["started"])
    return "## How the servers were started\n\n```\n" + "\n".join(lines) + "\n```"


def _list(lines):
    return "\n".join(f"- {line}" for line in lines)


def _table(headings, rows):
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)
