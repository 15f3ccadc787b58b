"""Times searches and orders by distance, and look-ups by primary key, in tables of several sizes."""

from search.exact import compare_nearest_with_sort, compare_with_scan
from search.layouts import count_probes, near_condition
from search.tables import COPIED_ROWS, QUERIES
from search.timing import Statement, measure_statements

LOOKUP, NEAR = "look-up", "simhash_near"
NEAREST, FAR, SORT = "nearest 10 of near ones", "nearest 10, nothing near", "scan and sort"
NEAREST_ROWS = 10
# A statement that is not shown. It stands between the last search of a transaction and the first look-up of the next,
# which would take longer right after a long search.
BETWEEN = {"an empty answer": Statement("SELECT 1")}


def report_near(sizes, blocks, distances, runs):
    """Prints a line for each distance and table (`sizes` has its number of rows); returns the times by distance, and
    the number of differing rows."""
    print(f"{'distance':>8} {'rows':>11} {'probes':>7} {'found':>6} {'wrong':>6} {'look-up, ms':>11} {'near, ms':>9}"
          f" {'x look-up':>9}")
    times, all_differing = {}, 0
    for distance in distances:
        timed = dict(BETWEEN)
        for table, rows in sizes.items():
            timed[LOOKUP, table] = look_up(table, rows)
            timed[NEAR, table] = near(table, distance, *choose_query(table, distance))
        times[distance] = measure_statements(timed, runs, sizes)
        for table, rows in sizes.items():
            found, differing = compare_with_scan(table, distance, near_condition(distance, "query.fingerprint"))
            all_differing += differing
            print(f"{distance:>8} {rows:>11,} {count_probes(blocks, distance):>7,} {found:>6} {differing:>6}"
                  f" {format_times(times[distance], table, NEAR)}", flush=True)
    return times, all_differing


def report_nearest(sizes, runs):
    """Orders by distance; returns the times, those of sorts, and the number of differing distances. The near ones are
    a row and its nine copies (tables.make_copies)."""
    timed, sorting = dict(BETWEEN), dict(BETWEEN)
    for table, rows in sizes.items():
        choose_other = choose_query(table, 0, of_another=True)
        timed[LOOKUP, table] = look_up(table, rows)
        timed[NEAREST, table] = nearest(table, *choose_copied_row(table))
        timed[FAR, table] = nearest(table, *choose_other)
        sorting[SORT, table] = nearest(table, *choose_other, scan="off")
    times = measure_statements(timed, runs, sizes, min_transactions=5)
    sorts = measure_statements(sorting, min(runs, 3), sizes, min_transactions=2)
    all_differing = 0
    for table, rows in sizes.items():
        differing = compare_nearest_with_sort(table, NEAREST_ROWS)
        all_differing += differing
        for order in (NEAREST, FAR):
            print(f"{order}, {rows:,} rows: {format_times(times, table, order)} x look-up", flush=True)
        print(f"nearest {NEAREST_ROWS} of all queries, {rows:,} rows: wrong distances: {differing}")
        sort, far = sorts.median_ms((SORT, table)), times.median_ms((FAR, table))
        print(f"{SORT}, {rows:,} rows: {sort:.1f} ms, {sort / far:.0f} times as long as {FAR}")
    return times, sorts, all_differing


def format_times(times, table, statement):
    """The times of a look-up and of another statement in a table, in ms, and their ratio."""
    measured, look_ups = (statement, table), (LOOKUP, table)
    ratio = times.ratio(measured, look_ups)
    return f"{times.median_ms(look_ups):>11.3f} {times.median_ms(measured):>9.3f} {ratio:>9.1f}"


def look_up(table, rows):
    return Statement(f"SELECT fingerprint FROM {table} WHERE id = :row", f"\\set row random(1, {rows})")


def near(table, distance, *setup):
    return Statement(f"SELECT id FROM {table} AS searched WHERE {near_condition(distance, ':query')}", *setup)


def nearest(table, *setup, scan="on"):
    """An order by distance. The scan of the indexes is on or off."""
    set_scan = f"SELECT set_config('pg_simhash.enable_scan', '{scan}', false) AS scan \\gset"
    return Statement(f"SELECT id FROM {table} ORDER BY fingerprint <~> :query LIMIT {NEAREST_ROWS}", *setup, set_scan)


def choose_query(table, distance, of_another=False):
    """Commands that choose one of the table's queries at random, or one of those that are of another text: every third
    one (tables.make_queries)."""
    choice = f"3 * random(0, {QUERIES // 3 - 1}) + 2" if of_another else f"random(1, {QUERIES})"
    choose = f"SELECT fingerprint AS query FROM queries_{table} WHERE distance = {distance} AND id = :id \\gset"
    return f"\\set id {choice}", choose


def choose_copied_row(table):
    """Commands that choose one of the table's rows that have near copies."""
    choose = f"SELECT fingerprint AS query FROM copied_{table} WHERE id = :id \\gset"
    return f"\\set id random(0, {COPIED_ROWS - 1})", choose
