"""Measurements in turns, their ratios, and the bars that a benchmark must reach."""

from statistics import median

# The number of rows for which bars hold, unless they name another.
BAR_ROWS = 10_000_000


def measure_in_turns(items, runs, measure):
    """What `measure` returns for each item in each run. Every other run has the opposite order."""
    measured = {item: [] for item in items}
    for run in range(runs):
        for item in items if run % 2 == 0 else reversed(items):
            measured[item].append(measure(item))
    return measured


def median_ratio(times, others):
    """How many times as long as the others it takes: the median of the runs' ratios."""
    return median(time / other for time, other in zip(times, others))


def verdict(is_reached):
    return "reached" if is_reached else "MISSED"


def print_bars(bars, rows=BAR_ROWS):
    """Prints each bar, which is a line, and whether it is reached."""
    print()
    if rows != BAR_ROWS:
        print(f"The bars are for {BAR_ROWS:,} rows; here for {rows:,}:")
    for line, is_reached in bars:
        print(f"{line}: {verdict(is_reached)}")
