"""Draws what a search costs over the number of rows."""

NAMES = {4: "4 blocks", 3: "3 blocks", 2: "2 halves"}
# Readable on white and on GitHub's dark background.
INK = "#7d8590"
FONT = 11
LABEL = 15  # points from one name to the next
COLOURS = {4: "#d9730d", 3: "#8a63d2", 2: "#2f81f7", None: "#2da44e"}


class Points:
    """Milliseconds by the number of rows: of searches in each layout, and of primary-key lookups."""

    def __init__(self):
        self.searches = {}
        self.lookups = {}

    def add(self, blocks, ms):
        self.searches[blocks] = ms

    def add_lookups(self, ms):
        for rows, time in ms.items():
            self.lookups[rows] = min(time, self.lookups.get(rows, time))


def draw(points, svg):
    try:
        import matplotlib
    except ImportError:
        print("\nno curve: the packages of benches/requirements.txt are not installed")
        return
    matplotlib.use("svg")
    import matplotlib.pyplot as plot
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    # Text as text, and the same file for the same numbers.
    plot.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "pg_simhash", "font.family": "sans-serif"})
    figure, axes = plot.subplots(figsize=(8, 4.5))
    lines = {NAMES[blocks]: (blocks, ms) for blocks, ms in points.searches.items()}
    lines["primary-key lookup"] = None, points.lookups
    for name, (blocks, ms) in lines.items():
        rows = sorted(ms)
        axes.plot(rows, [ms[size] for size in rows], color=COLOURS[blocks], linewidth=2, marker="o", markersize=4)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda rows, _: short(rows)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda ms, _: f"{ms:g}"))
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel("rows", color=INK, fontsize=FONT)
    axes.set_ylabel("ms per search, distance at most 3", color=INK, fontsize=FONT)
    axes.tick_params(colors=INK, labelsize=FONT)
    axes.grid(color=INK, alpha=0.25)
    for side, spine in axes.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(INK)
    label(axes, {name: (COLOURS[blocks], ms) for name, (blocks, ms) in lines.items()})
    figure.savefig(svg, transparent=True, bbox_inches="tight", metadata={"Date": None})
    print(f"\nThe curve is drawn in {svg}")


def label(axes, lines):
    """Names each line at its end, those that end close to each other one above the other."""
    axes.autoscale_view()
    ends = {name: (max(ms), ms[max(ms)]) for name, (_, ms) in lines.items()}
    points = 72 / axes.figure.dpi
    free = float("-inf")
    for name in sorted(ends, key=lambda name: ends[name][1]):
        height = axes.transData.transform(ends[name])[1] * points
        shift = max(height, free) - height
        free = height + shift + LABEL
        axes.annotate(
            f"{name}, {ends[name][1]:.2f} ms", ends[name], xytext=(8, shift), textcoords="offset points",
            color=lines[name][0], va="center", fontsize=FONT,
        )


def short(rows):
    for unit, name in ((1_000_000, "million"), (1_000, "thousand")):
        if rows >= unit:
            return f"{rows / unit:g} {name}"
    return f"{rows:g}"
