"""Pictures as SVG: panels with bars or with lines, drawn from plain values. Nothing in them is loaded from elsewhere."""

import math
from html import escape

PANEL_WIDTH, PANEL_HEIGHT, COLUMNS, GAP = 520, 320, 2, 20
LEFT, RIGHT, TOP, BOTTOM = 62, 28, 58, 44
BAR_LEFT, BAR_TOP = 290, 46
# Told apart by people who see colours differently too (Okabe and Ito); Larder's is the first.
LARDER_COLOURS = ("#d55e00", "#cc79a7", "#e69f00", "#7a3b00")
OTHER_COLOURS = ("#0072b2", "#56b4e9", "#009e73", "#555555", "#999999", "#332288", "#88ccee")


def colours(names, larders):
    """A colour for each name, warm ones for Larder's."""
    warm, cold = iter(LARDER_COLOURS * 4), iter(OTHER_COLOURS * 4)
    return {name: next(warm) if name in larders else next(cold) for name in names}


def picture(title, panels, larders):
    """The whole picture as text. A panel is a table with `kind`, `title`, `unit` and `values` or `lines`."""
    names = list(dict.fromkeys(name for panel in panels if panel["kind"] == "lines" for name in panel["lines"]))
    # A bar has its name beside it: whose it is is enough, unless a line has the name too.
    bars = {name: LARDER_COLOURS[0] if name in larders else OTHER_COLOURS[0] for panel in panels for name in panel.get("values", ())}
    palette = bars | colours(names, larders)
    rows = math.ceil(len(panels) / COLUMNS)
    width = COLUMNS * PANEL_WIDTH + (COLUMNS + 1) * GAP
    legend = _legend(names, palette, width) if names else ([], 0)
    height = 40 + legend[1] + rows * (PANEL_HEIGHT + GAP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'font-family="sans-serif" font-size="12" role="img" aria-label="{escape(title)}">',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        _text(GAP, 26, title, size=16, weight="bold"),
        *legend[0],
    ]
    for index, panel in enumerate(panels):
        x = GAP + index % COLUMNS * (PANEL_WIDTH + GAP)
        y = 40 + legend[1] + index // COLUMNS * (PANEL_HEIGHT + GAP)
        draw = _bars if panel["kind"] == "bars" else _lines
        parts += [f'<g transform="translate({x} {y})">', *_frame(panel), *draw(panel, palette), "</g>"]
    return "\n".join([*parts, "</svg>"]) + "\n"


def _frame(panel):
    return [f'<rect width="{PANEL_WIDTH}" height="{PANEL_HEIGHT}" fill="none" stroke="#dddddd"/>',
            _text(12, 22, panel["title"], weight="bold"), _text(12, 38, panel["unit"], colour="#555555", size=11)]


def _legend(names, palette, width):
    parts, x, y = [], GAP, 52
    for name in names:
        needs = 30 + 7 * len(name)
        if x + needs > width and x > GAP:
            x, y = GAP, y + 18
        parts += [f'<rect x="{x}" y="{y - 10}" width="12" height="12" fill="{palette[name]}"/>', _text(x + 18, y, name)]
        x += needs
    return parts, y - 30


def _bars(panel, palette):
    present = {name: value for name, value in panel["values"].items() if value is not None}
    if not present:
        return [_text(LEFT, PANEL_HEIGHT / 2, "nothing was measured")]
    most = max(present.values()) or 1
    step = (PANEL_HEIGHT - BAR_TOP - 12) / len(panel["values"])
    room = PANEL_WIDTH - BAR_LEFT - 70
    thick = min(step * 0.7, 26)
    parts = []
    for index, (name, value) in enumerate(panel["values"].items()):
        y = BAR_TOP + index * step
        parts.append(_text(BAR_LEFT - 8, y + step / 2 + 4, _short(name), anchor="end", size=11))
        if value is None:
            parts.append(_text(BAR_LEFT, y + step / 2 + 4, "not measured", size=11, colour="#555555"))
            continue
        length = max(1.0, room * value / most)
        parts += [
            f'<rect x="{BAR_LEFT}" y="{y + (step - thick) / 2:.1f}" width="{length:.1f}" height="{thick:.1f}" '
            f'fill="{palette[name]}"/>',
            _text(BAR_LEFT + length + 6, y + step / 2 + 4, number(value), size=11),
        ]
    return parts


def _lines(panel, palette):
    points = [point for line in panel["lines"].values() for point in line if point[1] is not None]
    if not points:
        return [_text(LEFT, PANEL_HEIGHT / 2, "nothing was measured")]
    logarithmic = panel.get("log", False)
    right = _round_up(max(point[0] for point in points) or 1)
    high = max(point[1] for point in points) or 1
    low = min((point[1] for point in points if point[1] > 0), default=high) if logarithmic else 0
    low, high = _whole_decades(low, high) if logarithmic else (0, _round_up(high))

    def place_x(value):
        return LEFT + (PANEL_WIDTH - LEFT - RIGHT) * value / right

    def place_y(value):
        share = math.log(max(value, low) / low) / math.log(high / low) if logarithmic else value / high
        return PANEL_HEIGHT - BOTTOM - (PANEL_HEIGHT - TOP - BOTTOM) * share

    parts = []
    for value in _decades(low, high) if logarithmic else [high * part / 4 for part in range(5)]:
        y = place_y(value)
        parts += [f'<line x1="{LEFT}" x2="{PANEL_WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="#eeeeee"/>',
                  _text(LEFT - 6, y + 4, number(value), anchor="end", size=11)]
    for part in range(5):
        value = right * part / 4
        parts.append(_text(place_x(value), PANEL_HEIGHT - BOTTOM + 16, number(value), anchor="middle", size=11))
    parts.append(_text((LEFT + PANEL_WIDTH) / 2, PANEL_HEIGHT - 8, panel["across"], anchor="middle", size=11, colour="#555555"))
    for name, line in panel["lines"].items():
        drawn = " ".join(f"{place_x(x):.1f},{place_y(y):.1f}" for x, y in line if y is not None)
        if drawn:
            parts.append(f'<polyline points="{drawn}" fill="none" stroke="{palette[name]}" stroke-width="1.8" stroke-linejoin="round"/>')
    return parts


def number(value):
    """A figure with as many digits as mean something."""
    if value is None:
        return ""
    if value == 0 or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.{max(0, 2 - int(math.floor(math.log10(abs(value)))))}f}".rstrip("0").rstrip(".")


def _round_up(value):
    unit = 10 ** math.floor(math.log10(value))
    return next(step * unit for step in (1, 1.2, 1.6, 2, 2.4, 3.2, 4, 5, 6, 8, 10) if step * unit >= value)


def _whole_decades(low, high):
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    return 10.0**first, 10.0 ** max(last, first + 1)


def _decades(low, high):
    return [10.0**power for power in range(round(math.log10(low)), round(math.log10(high)) + 1)]


def _short(name):
    return name if len(name) <= 48 else name[:47] + "…"


def _text(x, y, words, anchor="start", size=12, weight="normal", colour="#222222"):
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" font-weight="{weight}" '
            f'fill="{colour}">{escape(words)}</text>')
