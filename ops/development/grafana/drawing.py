"""Draws dashboards as SVG, small enough for a page: what Grafana would show, without Grafana."""
import html
import math

from development.grafana.model import Row

# Pixels of a column and of a line of Grafana's grid. Lines are drawn in halves of a pixel, so that numbers are whole.
COLUMN, LINE, HALF = 50, 22, 2
GAP, HEAD = 6, 56
COLOURS = ("#3274d9", "#e0752d", "#299c46", "#d44a3a", "#8f3bb8", "#13a0b5", "#b38f00", "#5f6a7d", "#b5508c", "#7a5230")
STAT = {"green": "#299c46", "red": "#c4162a", "blue": "#3274d9", None: "#9aa0a8"}
INK, PALE, FRAME = "#24292f", "#6b7280", "#d8dee4"
FONT = "font-family=\"Helvetica,Arial,'DejaVu Sans',sans-serif\""


def number(value, unit):
    """A number as a person reads it."""
    if value is None:
        return "–"
    if unit == "s":
        for size, name in ((86400, "d"), (3600, "h"), (60, "min"), (1, "s")):
            if abs(value) >= size:
                return f"{digits(value / size)} {name}"
        return f"{digits(value * 1000)} ms" if value else "0 s"
    if unit == "bytes":
        for size, name in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
            if abs(value) >= size:
                return f"{digits(value / size)} {name}"
        return f"{digits(value)} B"
    if unit == "percentunit":
        return f"{digits(value * 100)} %"
    text = digits(value / 1000) + "k" if abs(value) >= 10_000 else digits(value)
    return text + {"reqps": " req/s", "ops": "/s"}.get(unit, "")


def digits(value):
    size = abs(value)
    places = 0 if size >= 100 else 1 if size >= 10 else 2 if size >= 0.1 or not size else 4
    text = f"{value:.{places}f}"
    return text.rstrip("0").rstrip(".") if places else text


def ticks(top, unit=""):
    """Round numbers from 0 to a top, three to five of them."""
    if top <= 0:
        return [0, 1]
    if unit == "s" and 30 < top < 4 * 86400:
        step = next(step for step in (10, 20, 30, 60, 120, 300, 600, 1200, 3600, 7200, 14400, 28800, 86400)
                    if top / step <= 4.5)
    elif unit == "bytes":
        step = next(2 ** power for power in range(60) if top / 2 ** power <= 4.5)
    else:
        step = 10 ** math.floor(math.log10(top / 3))
        step *= next(factor for factor in (1, 2, 5, 10) if top / (step * factor) <= 4.5)
    return [index * step for index in range(math.ceil(top / step - 1e-9) + 1)]


def text(x, y, words, size=11, colour=INK, anchor="start", weight=None):
    more = f' text-anchor="{anchor}"' if anchor != "start" else ""
    more += f' font-weight="{weight}"' if weight else ""
    return f'<text x="{x:g}" y="{y:g}" font-size="{size}" fill="{colour}"{more}>{html.escape(words)}</text>'


def width_of(words, size, bold=False):
    """About so many pixels. Capital letters are wide."""
    return sum(0.72 if each.isupper() or each in "_mw%" else 0.57 for each in words) * size * (1.1 if bold else 1)


def fitting(words, width, size=11, bold=False):
    """Words, cut where they become wider than a number of pixels."""
    if width_of(words, size, bold) <= width:
        return words
    while len(words) > 1 and width_of(words + "…", size, bold) > width:
        words = words[:-1]
    return words.rstrip() + "…"


class Drawing:
    """A picture of a dashboard.

    begin, end: the time of the picture, in seconds
    faults: what was broken, as pairs of times and a text
    """

    def __init__(self, begin, end, faults=()):
        self.begin, self.end, self.faults = begin, end, faults
        self.parts = []

    def draw(self, dashboard, answer):
        """
        answer: gives the series of a query: a legend, and pairs of a time and a number
        """
        placed = list(dashboard.placed())
        height = max(y + (1 if isinstance(each, Row) else each.height) for each, _, y in placed) * LINE + HEAD
        width = 24 * COLUMN
        self.parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" {FONT}>',
            f'<rect width="{width}" height="{height}" fill="#f4f5f7"/>',
            text(GAP, 22, f"Countersign / {dashboard.title}", 16, weight="bold")]
        told = "  ·  ".join(f"{mark}: {what}" for mark, (_, _, what) in zip("abcdefgh", self.faults))
        self.parts.append(text(GAP, 42, told, 12, PALE))
        for each, x, y in placed:
            left, top = x * COLUMN, y * LINE + HEAD
            if isinstance(each, Row):
                self.parts.append(text(left + GAP, top + 16, each.title, 13, weight="bold"))
                continue
            series = [found for query in each.queries for found in answer(query)]
            draw = self.stat if each.kind == "stat" else self.lines
            draw(each, series, left + GAP / 2, top + GAP / 2, each.width * COLUMN - GAP, each.height * LINE - GAP)
        return "\n".join([*self.parts, "</svg>\n"])

    def stat(self, panel, series, x, y, width, height):
        value = series[0][1][-1][1] if series else None
        colour = None
        for step in panel.steps() if value is not None else ():
            if step["value"] is None or value >= step["value"]:
                colour = step["color"]
        self.parts.append(f'<rect x="{x:g}" y="{y:g}" width="{width}" height="{height}" rx="3" fill="{STAT[colour]}"/>')
        self.parts.append(text(x + 7, y + 15, fitting(panel.title, width - 10, 10.5), 10.5, "#fff"))
        self.parts.append(text(x + width / 2, y + height / 2 + 16, number(value, panel.unit), 24, "#fff", "middle",
                               "bold"))

    def lines(self, panel, series, x, y, width, height):
        self.parts.append(f'<rect x="{x:g}" y="{y:g}" width="{width}" height="{height}" rx="3" fill="#fff" '
                          f'stroke="{FRAME}"/>')
        self.parts.append(text(x + 8, y + 16, fitting(panel.title, width - 16, 11.5, True), 11.5, weight="bold"))
        plot = Plot(panel, series, self, x + 52, y + 25, width - 70, height - 59)
        self.parts += plot.drawn()
        # Those that stay at 0 have no line of their own.
        ordered = sorted(enumerate(series), key=lambda each: -max(value for _, value in each[1][1]))
        shown = [each for each in ordered if max(value for _, value in each[1][1]) > 0] or ordered[:1]
        self.legend(shown, len(series) - len(shown), x + 8, y + height - 7, width - 16)
        if not series:
            self.parts.append(text(x + width / 2, y + height / 2, "no data", 12, PALE, "middle"))

    def legend(self, shown, rest, x, y, width):
        end = x + width
        for count, (index, (name, _)) in enumerate(shown):
            left_out = len(shown) - count
            room = end - x - (0 if left_out == 1 and not rest else 52)
            need = 14 + width_of(name, 10) + 8
            if need > room and count:
                break
            name = fitting(name, room - 14, 10)
            self.parts.append(f'<rect x="{x:g}" y="{y - 5:g}" width="9" height="3" fill="{colour_of(index)}"/>')
            self.parts.append(text(x + 12, y, name, 10, PALE))
            x += 14 + width_of(name, 10) + 8
        else:
            left_out = 0
        if left_out:
            self.parts.append(text(x, y, f"+ {left_out} more", 10, PALE))
        elif rest:
            self.parts.append(text(x, y, f"+ {rest} at 0", 10, PALE))


def colour_of(index):
    return COLOURS[index % len(COLOURS)]


def stacked(series):
    """Each series on top of those before it."""
    sums, found = {}, []
    for name, values in series:
        found.append((name, [(time, value + sums.get(time, 0)) for time, value in values]))
        for time, value in values:
            sums[time] = sums.get(time, 0) + value
    return found


class Plot:
    """The lines of a panel, with their axes."""

    def __init__(self, panel, series, drawing, x, y, width, height):
        self.panel, self.series, self.drawing = panel, series, drawing
        self.x, self.y, self.width, self.height = x, y, width, height
        # Of stacked series, each one's own.
        self.tops = [max(value for _, value in values) for _, values in series]
        if panel.stacked:
            self.series = stacked(series)
        top = max((value for _, values in self.series for _, value in values), default=0)
        self.bound = panel.threshold()[0] if panel.has_line() else None
        # A threshold far above all lines would press them to the bottom.
        self.shows_bound = self.bound is not None and self.bound <= max(top * 4, 0)
        if self.shows_bound:
            top = max(top, self.bound * 1.05)
        self.ticks = ticks(panel.most or top, panel.unit)

    def across(self, time):
        drawing = self.drawing
        return self.x + self.width * (time - drawing.begin) / (drawing.end - drawing.begin)

    def up(self, value):
        return self.y + self.height * (1 - min(1, value / self.ticks[-1]))

    def drawn(self):
        yield from self.axes()
        flat = False
        for index, (_, values) in enumerate(self.series):
            if self.tops[index] == 0:
                # One line at the bottom is enough.
                if flat or any(self.tops):
                    continue
                flat = True
            yield from self.line(values, colour_of(index))
        if self.shows_bound:
            at = f"{self.up(self.bound):.1f}"
            yield (f'<path d="M{self.x:g} {at}h{self.width:g}" stroke="#c4162a" stroke-dasharray="5 3" fill="none"/>')

    def axes(self):
        for mark, (begin, end, _) in zip("abcdefgh", self.drawing.faults):
            left, right = self.across(begin), self.across(end)
            yield (f'<rect x="{left:.1f}" y="{self.y:g}" width="{right - left:.1f}" height="{self.height:g}" '
                   'fill="#f6dede" fill-opacity=".6"/>')
            yield text(round((left + right) / 2, 1), self.y - 1, mark, 8, PALE, "middle")
        for tick in self.ticks:
            at = round(self.up(tick), 1)
            yield f'<path d="M{self.x:g} {at:g}h{self.width:g}" stroke="#e9ecef" fill="none"/>'
            yield text(self.x - 5, at + 3, number(tick, self.panel.unit), 9, PALE, "end")
        seconds = self.drawing.end - self.drawing.begin
        every = next(step for step in (60, 120, 240, 300, 600, 1800) if seconds / step * 42 <= self.width)
        for minute in range(0, int(seconds) + 1, every):
            at = self.across(self.drawing.begin + minute)
            yield text(round(at, 1), self.y + self.height + 11, f"{minute // 60} min", 9, PALE, "middle")

    def line(self, values, colour):
        """A path for each stretch without a gap."""
        for stretch in stretches(values):
            points = thinned([(round(self.across(time) * HALF), round(self.up(value) * HALF))
                              for time, value in stretch])
            path = f"M{points[0][0]} {points[0][1]}"
            for (x, y), (after, high) in zip(points, points[1:]):
                path += f"l{after - x} {high - y}"
            path += "h1" if len(points) == 1 else ""
            path = path.replace(" -", "-")
            if self.panel.stacked:
                bottom = round((self.y + self.height) * HALF)
                yield (f'<path transform="scale(.5)" d="{path}V{bottom}H{points[0][0]}z" fill="{colour}" '
                       'fill-opacity=".12"/>')
            yield f'<path transform="scale(.5)" d="{path}" stroke="{colour}" stroke-width="3" fill="none"/>'


def stretches(values):
    """Parts of a series between which samples are missing."""
    usual = min((after - time for (time, _), (after, _) in zip(values, values[1:])), default=1)
    found = [[values[0]]]
    for each in values[1:]:
        if each[0] - found[-1][-1][0] > usual * 1.5:
            found.append([])
        found[-1].append(each)
    return found


def thinned(points):
    """Points without those between two of the same height."""
    return [point for index, point in enumerate(points)
            if not (0 < index < len(points) - 1 and points[index - 1][1] == point[1] == points[index + 1][1])]
