"""The figures as Markdown (also what the terminal shows) and as JSON."""

import json
import statistics

HEADINGS = ("case", "server", "CPU µs a request", "requests a second", "p99 ms", "core busy")
FIGURE_HEADINGS = ("case", "figure", "median (min to max)", "target", "")


def section(result):
    """One experiment: its samples, then its figures against their targets."""
    parts = [f"## {result.title}"]
    if result.rows:
        parts.append(_table(HEADINGS, [_row(row) for row in result.rows]))
    if result.figures:
        parts.append(_table(FIGURE_HEADINGS, [_figure(figure) for figure in result.figures]))
    notes = result.notes + _doubts(result)
    if notes:
        parts.append("\n".join(f"- {note}" for note in notes))
    return "\n\n".join(parts)


def page(facts, warnings, settings, call, results):
    """The whole report."""
    head = [f"# Measured on {facts['date']}", "\n".join(f"- {k}: {v}" for k, v in facts.items())]
    if warnings:
        head.append("Doubtful, because:\n" + "\n".join(f"- {text}" for text in warnings))
    head.append(f"`{call}`: medians of {settings.rounds} rounds of {settings.seconds} s, the "
                "servers taken in turn. [README](../README.md) says what is measured and how.")
    head.append(summary(results))
    return "\n\n".join(head + [section(result) for result in results] + [_commands(results)]) + "\n"


def summary(results):
    """How many targets are reached, in one line."""
    verdicts = [figure.verdict for result in results for figure in result.figures if figure.verdict]
    return f"Targets reached: {verdicts.count('ok')} of {len(verdicts)}."


def raw(facts, warnings, settings, call, results):
    """Everything, sample by sample, as JSON text."""
    return json.dumps({
        "machine": facts,
        "warnings": warnings,
        "call": call,
        "rounds": settings.rounds,
        "seconds": settings.seconds,
        "experiments": [{
            "name": result.name,
            "rows": [{"case": row.case, "server": row.server,
                      "samples": [sample.as_json() for sample in row.samples]}
                     for row in result.rows],
            "figures": [{"case": figure.case, "figure": figure.what, "values": figure.values,
                         "median": figure.median, "target": str(figure.target or ""),
                         "verdict": figure.verdict} for figure in result.figures],
            "notes": result.notes + _doubts(result),
        } for result in results],
    }, indent=1, ensure_ascii=False) + "\n"


def _commands(results):
    samples = [sample for result in results for row in result.rows for sample in row.samples]
    lines = [*sorted({sample.started for sample in samples}), "",
             *sorted({sample.command for sample in samples})]
    return "## Commands\n\n```\n" + "\n".join(lines) + "\n```"


def _row(row):
    def spread(values, digits):
        return _spread([value for value in values if value is not None], digits)

    return (
        row.case,
        row.server,
        spread([sample.cpu_us for sample in row.samples], 2),
        spread([sample.per_second for sample in row.samples], 0),
        spread([sample.p99_ms for sample in row.samples], 2),
        f"{statistics.median(sample.core_busy for sample in row.samples):.0%}",
    )


def _figure(figure):
    digits = 2 if abs(figure.median) < 20 else 0
    return (figure.case, figure.what, _spread(figure.values, digits),
            str(figure.target or ""), figure.verdict)


def _doubts(result):
    """What the load tools complained of, once for each case and server."""
    found = []
    for row in result.rows:
        complaints = sorted({text for sample in row.samples for text in sample.complaints})
        if complaints:
            found.append(f"NOT SOUND: {row.case}, {row.server}: {'; '.join(complaints)}")
    return found


def _spread(values, digits):
    if not values:
        return ""
    median = f"{statistics.median(values):,.{digits}f}"
    if len(values) == 1:
        return median
    return f"{median} ({min(values):,.{digits}f} to {max(values):,.{digits}f})"


def _table(headings, rows):
    widths = [max(len(line[column]) for line in [headings, *rows])
              for column in range(len(headings))]
    lines = [headings, tuple("-" * width for width in widths), *rows]
    return "\n".join(
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths)) + " |"
        for line in lines
    )
