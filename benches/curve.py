"""Draws curves of measured values over the number of rows."""

from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plot
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

# Readable on white and on GitHub's dark background.
INK = "#7d8590"
# At most three curves.
COLOURS = ["#d9730d", "#8a63d2", "#2da44e"]
STYLE = {
    "font.family": "sans-serif", "font.size": 11, "lines.linewidth": 2, "lines.markersize": 4,
    "axes.labelcolor": INK, "axes.labelsize": 11, "axes.edgecolor": INK, "axes.spines.top": False,
    "axes.spines.right": False, "xtick.color": INK, "ytick.color": INK, "axes.grid": True, "grid.color": INK,
    "grid.alpha": 0.25, "legend.frameon": False, "legend.labelcolor": "linecolor", "savefig.transparent": True,
    # The file has its text as text, and is the same for the same numbers.
    "svg.fonttype": "none", "svg.hashsalt": "pg_simhash",
}


def draw(curves, y_label, value_format, svg, scale="log"):
    """Draws curves, by their names, into a file. A curve is values by numbers of rows. The legend has the last one."""
    plot.rcParams.update(STYLE)
    figure, axes = plot.subplots(figsize=(8, 4.5))
    for (name, values), colour in zip(curves.items(), COLOURS):
        rows = sorted(values)
        label = f"{name}, {value_format.format(values[rows[-1]])}"
        axes.plot(rows, [values[count] for count in rows], color=colour, marker="o", label=label)
    axes.set(xscale="log", yscale=scale, xlabel="rows", ylabel=y_label)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda rows, _: in_words(rows)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    if scale == "log":
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_minor_locator(NullLocator())
    else:
        axes.set_ylim(bottom=0)
    axes.xaxis.set_minor_locator(NullLocator())
    axes.legend()
    figure.savefig(svg, bbox_inches="tight", metadata=dict.fromkeys(("Creator", "Date", "Format", "Type")))
    # The file becomes one line: nobody reads its coordinates.
    Path(svg).write_text(" ".join(Path(svg).read_text().split()) + "\n")
    print(f"\nThe curve is drawn in {svg}")


def in_words(rows):
    for unit, name in ((1_000_000, "million"), (1_000, "thousand")):
        if rows >= unit:
            return f"{rows / unit:g} {name}"
    return f"{rows:g}"
