"""Measurements in turns, their ratios, and the bars that a benchmark must reach."""

from statistics import median

# The number of rows for which bars hold, unless they name another.
BAR_ROWS = 10_000_000


def measure_in_turns(cases, runs, measure):
    """What `measure` returns for each case in each run. Every other run has the opposite order."""
    measured = {case: [] for case in cases}
    for run in range(runs):
        for case in cases if run % 2 == 0 else reversed(cases):
            measured[case].append(measure(case))
    return measured


def median_ratio(measured, others):
    """The median of the runs' ratios of some measurements to others."""
    return median(one / other for one, other in zip(measured, others))


def verdict(is_reached):
    return "reached" if is_reached else "MISSED"


def print_bars(bars, rows=BAR_ROWS):
    """Prints the bars: lines, each with whether it is reached."""
    print()
    if rows != BAR_ROWS:
        print(f"The bars are for {BAR_ROWS:,} rows; here for {rows:,}:")
    for line, is_reached in bars:
        print(f"{line}: {verdict(is_reached)}")
