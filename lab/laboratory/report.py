"""Tables and the page, made from the raw data alone."""

from measure.network import FAIR, PACES

from .findings import findings, judged
from .picture import number, picture
from .result import LARDER, PEER, median
from .summary import anchor, listed, shortfalls, standing_of, summary, table, title
from .verdict import FIGURES, Standing, checked, corrected, verdicts

# Where fewer of its connections than this wait for an answer, the other tool was the slower side.
BUSY = 0.8
# Where every cache answers at least this percentage, it has no column.
CACHED = 99.5
# Two load tools that differ by more than this share disagree.
AGREE = 0.1
# Where users rest at random, the rates of fewer requests than this differ by as much by chance.
ENOUGH = 1000
# How much of a failure stands on the page; all of it is in run.json.
SHORT = 200


def table_of(result):
    """One article's parts of a page, and how its servers were started, from its raw data."""
    return "\n\n".join([section_of(result), details_of(result), _started(result)])


def section_of(result):
    """What an article says, whether that holds, and what was measured, in short."""
    parts = [f"## {title(result)}", result["said"]]
    if result["claims"]:
        parts.append(table(["the article says", "measured here", "holds"], judged(result)))
    parts += [listed(lines)] if (lines := findings(result) + standing_of(result)) else []
    return "\n\n".join([*parts, f"[Details](#{anchor(_details(result))})"])


def details_of(result):
    """The tables of an article, and what is to be known of them."""
    parts = [f"## {_details(result)}", f"### Article {result['number']}: its errors", listed(result["wrong"]),
             f"### Article {result['number']}: what is different here", listed(result["differs"])]
    said = set()
    for case in result["cases"]:
        # What is asked is said once.
        asks = "" if case["asks"] in said else case["asks"]
        said.add(case["asks"])
        notes = case["notes"] + _more_than_waited(case) + _slower_side(case) + _doubts(case)
        parts += filter(None, (f"### {case['name']}", asks, f"`larder bench … {case['load']}`{_rounds(case)}", _rows(case), _extra(case),
                               _verdicts(case), listed(notes)))
    if result["notes"]:
        parts.append(listed(result["notes"]))
    return "\n\n".join(parts)


def _details(result):
    return f"Details of article {result['number']}: {result['title']}"


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
    head.append(summary(results))
    if any(result["run"]["quick"] for result in results):
        head.append("**Tried, not measured:** with `--quick` the counts are too small to quote.")
    warnings = [f"{entry.result['number']}, {entry.run['date']}: {text}" for entry in entries for text in entry.run["warnings"]]
    if warnings:
        head.append("The figures are doubtful, because:\n\n" + listed(warnings))
    head += [part for part in (AGAIN, shortfalls(results)) if part]
    for entry in entries:
        head += [section_of(entry.result), f"![{entry.result['title']}]({entry.folder}/{_name(entry.result)}.svg)", _measured(entry)]
    details = [details_of(result) for result in results]
    return "\n\n".join([*head, *details, HOW, *_pacing(entries), *_machines(entries)]) + "\n"


# Server and load fill a core each.
BY_DESIGN = "machine-at-limit"
# What a warning of `larder bench` ends with, and what the page says in its place, once.
MEANT = {
    "tool-at-limit": ("; the server may do more than this, and latencies include waiting for the tool",
                      "The tool was the slower side: the server may do more than this, and latencies include waiting for the tool."),
    "too-short": (": measure longer for it to mean something", "p99 rests on few answers: it means something only in a longer run."),
    "unanswered": (": the percentiles do not have them, and would be higher with them",
                   "Requests had no answer at the end: the percentiles do not include them, and would be higher with them."),
}
INTRODUCTION = """<!-- Made by `make lab` from lab/results; change lab/laboratory/report.py or an experiment instead. -->

Five articles compare caches and tell what they gain. Here their experiments are run again on one machine, with one load tool: the
article's own set-up ("original"), the same set-up as experts configure it today ("tuned"), and Larder in its place. The table has requests/s
of a load of each article: without a cache, and how many times as many with the best peer and with Larder."""
AGAIN = """To run it again, on Debian with two cores ([lab/README.md](../lab/README.md) has the rest):

```
make lab                   # all: some forty minutes on an idle machine
make lab ARGS=--quick      # a few minutes, to try it
lab/run php_varnish        # one article
```"""
HOW = f"""## How it was measured

- [`larder bench`](../lab/README.md#the-load) makes every load.
- A server has one core to itself, with everything that belongs to it: its application, Redis, memcached. The load has the other core.
- Each figure is the median of the rounds, with the smallest and the largest in brackets (not for p50). A figure without them is of one round,
  or all rounds agree. *Longest* is the longest of all rounds.
- *CPU* is what the server used for each request, without the application behind it, as the kernel counts it.
- A rate is not compared where users rest between requests, because they set it, nor where all requests wait for an application that sleeps.
- Where the load tool is slower than the server, requests/s and p99 are the tool's as much as the server's. CPU depends on the tool too: a server
  that is kept waiting sleeps, and wakes for fewer requests at a time.
- wrk is the cross-check, in runs after the others. Where it has the other server first, the comparison is not decided. `≠` marks where
  it and `larder bench` differ by more than {AGREE:.0%}.
- wrk adds the latencies of requests that it would have sent while an answer was late, which it did not see. Where by its rate and its mean latency
  more connections waited than there were, its p99 is marked `†` and does not count. The notes have these numbers in the order of the rows.
- wrk is the slower side where few of its connections wait for an answer on average: the others wait for wrk, whose latencies do not include that.
- Where a table has no errors column, no request failed.
- Both cores are busy by design. A server that had the machine to itself would do more.
- Warnings are those of `larder bench`:
""" + "\n".join(f"  - {meaning}" for _, meaning in MEANT.values())


def _pacing(entries):
    """Whether the kernel treated all servers alike, of each article."""
    found = {}
    for entry in entries:
        found.setdefault(entry.run["machine"].get("tcp", ""), []).append(str(entry.result["number"]))
    return [f"{_articles(numbers)}: {_paced(control)}" for control, numbers in found.items()]


def _articles(numbers):
    return f"Article{'s' * (len(numbers) > 1)} {', '.join(numbers)}"


def _paced(control):
    if not control:
        return "the congestion control is not known."
    if not control.startswith(PACES):
        return f"congestion control is {control}, for all servers. The kernel paces none of them."
    return (f"congestion control is {control}. The kernel paces what nginx and Varnish send, over loopback too. Larder's listeners there do without; "
            f"the others can do without only in a network of the run's own (`lab/run --tcp {FAIR[-1]}`). The servers are not on a par, least with "
            "large pages.")


def _failure(failure, entries):
    before = next((entry.run["date"] for entry in entries if entry.result["title"] == failure.title), None)
    older = f" Its figures below are of {before}." if before else ""
    lines = failure.text.strip().splitlines() or ["no reason given"]
    return f"{failure.title} failed on {failure.date}: {lines[0][:SHORT]}.{older}"


def _measured(entry):
    run = entry.run
    return (f"Measured on {run['date']} in {run['seconds']} s with `{run['call']}`. Raw data: "
            f"[figures]({entry.folder}/{_name(entry.result)}.json), "
            f"[how the servers were started]({entry.folder}/{_name(entry.result)}.md#how-the-servers-were-started), "
            f"[output of the tools]({entry.folder}/raw/{entry.result['name']}).")


def _name(result):
    return f"{result['number']}-{result['name'].replace('_', '-')}"


def _rounds(case):
    """How many rounds the medians are taken of."""
    counts = {}
    for row in case["rows"]:
        counts.setdefault(len(row["rate"]), []).append(row["contender"])
    most, *fewer = sorted(counts, reverse=True)
    said = f", {most} rounds" if most > 1 else ", one round"
    said += "".join(f"; {'one' if number == 1 else number} of {', '.join(counts[number])}" for number in fewer)
    return said + _nearly_all_cached(case)


def _nearly_all_cached(case):
    """How much came from the caches, where they all answered nearly everything: empty where that is a column."""
    told = [] if _cached_tells(case) else [row["cached"] for row in case["rows"] if row["cached"] is not None]
    if not told:
        return ""
    least, most = (f"{share:.4g}" for share in (min(told), max(told)))
    return f"; from cache {most} %" if least == most else f"; from cache {least} to {most} %"


def _cached_tells(case):
    """Whether it differs how much came from a cache."""
    return any(row["cached"] is not None and (row["cached"] < CACHED or row.get("unsaid")) for row in case["rows"])


def _failed(case):
    return any(row["errors"] for row in case["rows"])


def _rows(case):
    check = any(row["check"] for row in case["rows"])
    slowest = any((row["check"] or {}).get("p99_ms") is not None for row in case["rows"])
    behind = any(row["application_us"] is not None for row in case["rows"])
    headings = ["", "requests/s", "p50 ms", "p99 ms", "longest ms", "CPU µs"]
    told = _cached_tells(case)
    headings += ["application's CPU µs"] * behind + ["from cache, %"] * told + ["errors"] * _failed(case)
    tool = next((row["check"]["tool"] for row in case["rows"] if row["check"]), "")
    headings += [f"{tool}: requests/s" + "; p99" * slowest] * check
    lines = []
    for row in case["rows"]:
        name = f"**{row['contender']}**" if row["role"] == LARDER else row["contender"]
        cells = [name, _spread(row["rate"]), number(median(row["p50_ms"])), _spread(row["p99_ms"]), number(row["max_ms"]),
                 _spread(row["cpu_us"])]
        cells += [number(row["application_us"])] * behind
        cells += [_cached(row)] * told + [_errors(row)] * _failed(case)
        cells += ["; ".join(filter(None, (_check(case, row, figure) for figure in ("rate", "p99_ms"))))] * check
        lines.append(cells)
    return table(headings, lines)


def _cached(row):
    if row["cached"] is None:
        return ""
    others = f", of those that say; {row['unsaid']:,} do not" if row.get("unsaid") else ""
    return f"{row['cached']:.4g}{others}"


def _extra(case):
    if not case["extra"]:
        return ""
    columns = list(dict.fromkeys(name for values in case["extra"].values() for name in values))
    named = [(row["contender"], case["extra"].get(row["contender"], {})) for row in case["rows"]]
    lines = [[contender, *(_cell(values.get(name)) for name in columns)] for contender, values in named if values]
    if len(lines) == 1:
        return listed([f"{lines[0][0]}: {name}: {cell}" for name, cell in zip(columns, lines[0][1:])])
    return table(["", *columns], lines)


def _verdicts(case):
    """Larder's rows against the peers: the ratios, and where Larder stands."""
    found = verdicts(case)
    if not found:
        return ""
    larders = list(dict.fromkeys(verdict.larder for verdict in found))
    figures = ", ".join(name for figure, name in FIGURES if figure in found[0].ratios)
    lines = {}
    for verdict in found:
        ratios = ", ".join(_cell(ratio) or "none" for ratio in verdict.ratios.values())
        lines.setdefault(verdict.peer, [verdict.peer]).append(f"{ratios}: {_stands(verdict)}")
    return table([f"Larder ÷ peer: {figures}", *larders], list(lines.values()))


def _stands(verdict):
    standing = verdict.standing()
    if standing is Standing.AHEAD:
        return "ahead"
    names = ", ".join(verdict.decisive())
    said = {Standing.BEHIND: f"**behind** ({names})", Standing.ALIKE: f"alike ({names})"}
    return said.get(standing, f"not decided ({names}: {standing.value})")


def _doubts(case):
    """What `larder bench` warns of: each kind once, with those whom it concerns."""
    found = {}
    for row in case["rows"]:
        for warning in (one for one in row["warnings"] if one["kind"] != BY_DESIGN):
            found.setdefault(warning["kind"], {})[row["contender"]] = warning["text"]
    return [f"Warning ({_whom(case, texts)}{_of_whom(texts)}): {_in_short(kind, next(iter(texts.values())))}" for kind, texts in found.items()]


def _in_short(kind, text):
    """A warning without what it means, which the page says once."""
    return text.removesuffix(MEANT.get(kind, ("", ""))[0])


def _of_whom(texts):
    """Whose figures are in the text, where those of the others are not the same."""
    return "; figures of the first" if len(set(texts.values())) > 1 else ""


def _whom(case, names):
    """These contenders, in as few words as they need."""
    said, left = [], list(names)
    for role, everybody in ((None, "all"), (PEER, "all peers"), (LARDER, "each Larder")):
        group = [row["contender"] for row in case["rows"] if role in (None, row["role"])]
        if len(group) > 1 and set(group) <= set(left):
            said.append(everybody)
            left = [name for name in left if name not in group]
    return "; ".join(said + left)


def _slower_side(case):
    """Where the other tool had its connections lie idle: its rate is its own then."""
    found = [(row["contender"], row["check"]) for row in case["rows"] if row["check"]]
    said = [f"{name} {number(check['waiting'])} of {check['connections']}" for name, check in found
            if check.get("waiting") is not None and check["waiting"] < BUSY * check["connections"]]
    return [f"{found[0][1]['tool']} was the slower side; connections that waited, on average: {'; '.join(said)}"] if said else []


def _more_than_waited(case):
    """Where the other tool says more than it can have seen."""
    found = [row["check"] for row in case["rows"] if row["check"] and corrected(row["check"])]
    said = ", ".join(number(check["waiting"]) for check in found)
    return [f"†: connections that waited, by {found[0]['tool']}: {said} of {found[0]['connections']}"] if found else []


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
    mark = "†" if checked(row, figure) is None else "≠" if _disagrees(case, row, figure) else ""
    return f"{number(check[figure])}{failed}{mark}"


def _spread(values):
    present = [value for value in values if value is not None]
    if len(present) < 2:
        return number(median(values))
    least, most = number(min(present)), number(max(present))
    return least if least == most else f"{number(median(values))} ({least}–{most})"


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
        parts += [f"{_articles(numbers)}:", listed(own)] if own else []
    return parts


def _started(result):
    return "## How the servers were started\n\nDIR is a folder of the run's own, PORT a free port.\n\n```\n" + "\n".join(result["started"]) + "\n```"
