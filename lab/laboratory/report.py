"""Tables and the page, made from the raw data alone."""

from measure.network import FAIR, PACES

from .findings import conclusions, findings, gain
from .picture import number, picture
from .result import LARDER, median
from .summary import listed, standing_of, summary
from .verdict import FIGURES, Standing, checked, corrected, verdicts

NAMES = dict(FIGURES)
# Where fewer of its connections than this wait for an answer, the other tool was the slower side.
BUSY = 0.8
# Two load tools that differ by more than this share disagree.
AGREE = 0.1
# Where users rest at random, the rates of fewer requests than this differ by as much by chance.
ENOUGH = 1000
# How much of a failure stands on the page; all of it is in run.json.
SHORT = 200


def table_of(result):
    """One article's part of a page, from its raw data."""
    parts = [f"## {result['number']}. {result['title']}", result["said"], "### What was found", listed(findings(result) + standing_of(result)),
             "### What is wrong in the article", listed(result["wrong"]),
             "### What is otherwise here", listed(result["differs"])]
    for case in result["cases"]:
        parts += [f"### {case['name']}", case["asks"], f"`larder bench … {case['load']}`{_rounds(case)}", _rows(case)]
        parts += [text for text in (_extra(case), _verdicts(case), listed(case["notes"] + _disagreements(case) + _more_than_waited(case) + _slower_side(case) + _doubts(case)))
                  if text]
    if result["notes"]:
        parts.append(listed(result["notes"]))
    return "\n\n".join(parts)


def picture_of(result):
    """One article's picture."""
    larders = {row["contender"] for case in result["cases"] for row in case["rows"] if row["role"] == LARDER}
    return picture(f"{result['number']}. {result['title']}", result["panels"], larders)


def page(entries, failures):
    """`docs/lab.md`, from the newest result of each article and what has failed since."""
    head = ["# Five articles done again", INTRODUCTION]
    if failures:
        head.append("**Not everything could be measured:**\n\n" + listed([_failure(failure, entries) for failure in failures]))
    if not entries:
        return "\n\n".join([*head, "There are no results yet: nobody has run it on a quiet machine."]) + "\n"
    results = [entry.result for entry in entries]
    head += _pacing(entries)
    head += [summary(results), _in_short(results)]
    if any(result["run"]["quick"] for result in results):
        head.append("**Tried, not measured:** with `--quick` the counts are too small to quote.")
    warnings = [f"{entry.result['number']}, {entry.run['date']}: {text}" for entry in entries for text in entry.run["warnings"]]
    if warnings:
        head.append("Doubtful, because:\n\n" + listed(warnings))
    parts = []
    for entry in entries:
        parts += [table_of(entry.result), f"![{entry.result['title']}]({entry.folder}/{_name(entry.result)}.svg)", _measured(entry)]
    return "\n\n".join([*head, *parts, *_machines(entries), _started(results)]) + "\n"


INTRODUCTION = """<!-- Made by `make lab` from lab/results; change lab/laboratory/report.py or an experiment instead. -->

Five articles ask which cache to use and what it gains. Here their experiments are run again, each with the article's own
set-up, the same set-up as its experts would have it today, and Larder in its place. One tool makes every load:
[`larder bench`](../lab/README.md#the-load). Everybody who has Debian can repeat it: `make lab`.

A server has one core to itself, with everything that belongs to it: its application, Redis, memcached. The load has the other
core. *CPU* is what the server, without the application behind it, used for each request, as the kernel counts it. Where the load tool is
slower than the server, requests a second and the 99th percentile are the tool's as much as the server's; and CPU depends on the tool too, since
a server that is kept waiting sleeps and wakes for fewer requests at a time. wrk beside it shows how much hangs on the tool: where it
has another one first, nothing is decided. To what it saw wrk adds the latencies of requests that it would have sent while an answer was late;
where they make its mean so long that more connections would have waited than there were, its 99th percentile is marked † and counts for
nothing. Each figure is the median of the rounds, which each table names; where no span stands beside it, there was one round. *Longest* is
that of all rounds. Where users rest between requests, they set the rate, and it is not compared; nor is it where all requests wait for an
application that sleeps."""


def _pacing(entries):
    """Whether the kernel treated all servers alike, of each article."""
    found = {}
    for entry in entries:
        found.setdefault(entry.run["machine"].get("tcp", ""), []).append(str(entry.result["number"]))
    return [f"Of {', '.join(numbers)}: {_paced(control)}" for control, numbers in found.items()]


def _paced(control):
    if not control:
        return "it is not known which congestion control there was."
    if not control.startswith(PACES):
        return f"congestion control is {control}, for all servers alike: the kernel paces none of them."
    return (f"congestion control is {control}. The kernel paces what nginx and Varnish send, over loopback too; Larder's listeners there do "
            f"without, which the others can be told only in a network of the run's own (`lab/run --tcp {FAIR[-1]}`). They are not on a par, least with "
            "large pages.")


def _in_short(results):
    lines = []
    for result in results:
        count, holding, unknown = conclusions(result)
        said = f"{result['number']}. {result['title']}: of the article's {count} conclusions {holding} hold here"
        said += f", {unknown} could not be judged" if unknown else ""
        lines.append(f"{said}. {gain(result)}".strip())
    return "What becomes of the articles' conclusions, and what a cache gains:\n\n" + listed(lines)


def _failure(failure, entries):
    before = next((entry.run["date"] for entry in entries if entry.result["title"] == failure.title), None)
    older = f" What stands below is of {before}." if before else ""
    lines = failure.text.strip().splitlines() or ["no reason given"]
    return f"{failure.title} failed on {failure.date}: {lines[0][:SHORT]}.{older}"


def _measured(entry):
    run = entry.run
    larder = run["machine"].get("larder", "Larder's revision is not known")
    return (f"Measured on {run['date']} in {run['seconds']} s with `{run['call']}`; {larder}. Raw data: "
            f"[figures]({entry.folder}/{_name(entry.result)}.json), [what the tools said]({entry.folder}/raw/{entry.result['name']}).")


def _name(result):
    return f"{result['number']}-{result['name'].replace('_', '-')}"


def _rounds(case):
    """How many rounds the medians are taken of."""
    counts = {}
    for row in case["rows"]:
        counts.setdefault(len(row["rate"]), []).append(row["contender"])
    most, *fewer = sorted(counts, reverse=True)
    said = f", {most} rounds" if most > 1 else ", one round"
    return said + "".join(f"; {'one' if number == 1 else number} of {', '.join(counts[number])}" for number in fewer)


def _rows(case):
    check = any(row["check"] for row in case["rows"])
    slowest = any((row["check"] or {}).get("p99_ms") is not None for row in case["rows"])
    behind = any(row["application_us"] is not None for row in case["rows"])
    headings = ["", "requests/s", "p50 ms", "p99 ms", "longest ms", "CPU µs a request"]
    headings += ["application's CPU µs"] * behind + ["from cache", "errors"]
    headings += ["cross-check, requests/s"] * check + ["cross-check, p99 ms"] * slowest
    lines = []
    for row in case["rows"]:
        name = f"**{row['contender']}**" if row["role"] == LARDER else row["contender"]
        cells = [name, _spread(row["rate"]), _spread(row["p50_ms"]), _spread(row["p99_ms"]), number(row["max_ms"]),
                 _spread(row["cpu_us"])]
        cells += [number(row["application_us"])] * behind
        cells += [_cached(row), _errors(row)]
        cells += [_check(case, row, "rate")] * check + [_check(case, row, "p99_ms")] * slowest
        lines.append(cells)
    return _table(headings, lines)


def _cached(row):
    if row["cached"] is None:
        return ""
    others = f", of those that say; {row['unsaid']:,} do not" if row.get("unsaid") else ""
    return f"{row['cached']:.4g} %{others}"


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
              _stands(verdict)] for verdict in found]
    return _table(headings, lines)


def _stands(verdict):
    standing = verdict.standing()
    if standing is Standing.AHEAD:
        return "yes"
    names = ", ".join(verdict.decisive())
    said = {Standing.BEHIND: f"**no: {names}**", Standing.ALIKE: f"alike: {names}"}
    return said.get(standing, f"not decided: {names}, {standing.value}")


def _doubts(case):
    """What `larder bench` warns of: each kind once, with those whom it concerns."""
    found = {}
    for row in case["rows"]:
        for warning in row["warnings"]:
            names, _ = found.setdefault(warning["kind"], ({}, warning["text"]))
            names[row["contender"]] = None
    return [f"Warning for {'all' if len(names) == len(case['rows']) > 1 else '; '.join(names)}: {text}"
            for names, text in found.values()]


def _disagreements(case):
    """Where the other tool saw something else."""
    found = [NAMES[figure] for figure in ("rate", "p99_ms") for row in case["rows"] if _disagrees(case, row, figure)]
    if not found:
        return []
    tools = [row["check"]["tool"] for row in case["rows"] if row["check"]]
    said = " and ".join(f"{name} of {found.count(name)}" for name in dict.fromkeys(found))
    return [f"≠: {tools[0]}, in runs after the others, and `larder bench` differ by more than {AGREE:.0%}: {said} of {len(tools)}"]


def _slower_side(case):
    """Where the other tool had its connections lie idle: its rate is its own then."""
    checks = [(row["contender"], row["check"]) for row in case["rows"] if row["check"]]
    return [f"With {name}, {check['tool']} was the slower side: on average {number(check['waiting'])} of its {check['connections']} "
            f"connections waited for an answer, the others for {check['tool']}, whose latencies do not have that"
            for name, check in checks if check.get("waiting") is not None and check["waiting"] < BUSY * check["connections"]]


def _more_than_waited(case):
    """Where the other tool says more than it can have seen."""
    found = [(row["contender"], row["check"]) for row in case["rows"] if row["check"] and corrected(row["check"])]
    said = "; ".join(f"{name} {number(check['waiting'])} of {check['connections']}" for name, check in found)
    return [f"†: not comparable, since {found[0][1]['tool']} adds latencies that it did not see: by its rate and its mean latency more "
            f"connections waited than there were ({said})"] if found else []


def _disagrees(case, row, figure):
    if case["offered"] and row["requests"] / len(row["rate"]) < ENOUGH:
        return False
    theirs, ours = checked(row, figure), median(row[figure])
    return theirs is not None and ours is not None and abs(theirs - ours) > AGREE * ours


def _errors(row):
    if not row["errors"]:
        return "0"
    kinds = ", ".join(f"{kind} {count:,}" for kind, count in row["faults"].items() if count)
    return f"{row['errors']:,} ({kinds})"


def _check(case, row, figure):
    check = row["check"] or {}
    if check.get(figure) is None:
        return ""
    failed = f", {check['failed']:,} failed" if figure == "rate" and check.get("failed") else ""
    mark = " †" if checked(row, figure) is None else " ≠" if _disagrees(case, row, figure) else ""
    return f"{check['tool']} {number(check[figure])}{failed}{mark}"


def _spread(values):
    present = [value for value in values if value is not None]
    if len(present) < 2:
        return number(median(values))
    return f"{number(median(values))} ({number(min(present))} to {number(max(present))})"


def _cell(value):
    return value if isinstance(value, str) else number(value)


def _machines(entries):
    """The machine and the versions: what all articles have in common, and of some what only they have."""
    found = {}
    for entry in entries:
        lines = tuple(f"{name}: {value}" for name, value in entry.run["machine"].items())
        found.setdefault(lines, []).append(str(entry.result["number"]))
    common = [line for line in next(iter(found)) if all(line in lines for lines in found)]
    parts = ["## The machine", listed(common)]
    for lines, numbers in found.items():
        own = [line for line in lines if line not in common]
        parts += [f"Of {', '.join(numbers)}:", listed(own)] if own else []
    return parts


def _started(results):
    lines = dict.fromkeys(line for result in results for line in result["started"])
    return "## How the servers were started\n\n```\n" + "\n".join(lines) + "\n```"


def _table(headings, rows):
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)
