"""Bars that a benchmark must reach, and the ratios of measurements in turns."""

from statistics import median


def in_turns(items, runs):
    """Yields each of the items once in each run. Every other run has the opposite order."""
    for run in range(runs):
        yield from items if run % 2 == 0 else reversed(items)


def ratio(times, others):
    """How many times as much: the median of the runs' ratios."""
    return median(a / b for a, b in zip(times, others))


def verdict(is_reached):
    return "reached" if is_reached else "MISSED"


def print_bars(judged):
    """Prints each bar, and whether it is reached."""
    for line, is_reached in judged:
        print(f"{line}: {verdict(is_reached)}")
