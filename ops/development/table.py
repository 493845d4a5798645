"""The table of ops/bench."""


class Row:
    """One measured goal.

    `measured` and `floor` are texts, `ratio` is their ratio as a number, and `holds` says whether the goal holds.
    """

    def __init__(self, what, measured, floor="", ratio=None, goal="", holds=None):
        self.cells = [what, measured, floor, "" if ratio is None else f"{ratio:.2f}", goal,
                      {True: "holds", False: "does not hold", None: ""}[holds]]


def show(rows):
    heads = ["what", "measured", "floor", "ratio", "goal", ""]
    columns = [heads] + [row.cells for row in rows]
    widths = [max(len(line[index]) for line in columns) for index in range(len(heads))]
    print()
    for line in [heads, ["-" * width for width in widths]] + [row.cells for row in rows]:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip())
