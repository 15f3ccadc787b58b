"""Times searches and orders by distance, and look-ups by primary key, in tables of several sizes."""

from search.exact import compare_nearest_with_sort, compare_with_scan
from search.layouts import count_probes, near_condition
from search.tables import COPIED_ROWS, OTHER_TEXT, QUERIES, QUERY_KINDS
from search.timing import Statement, measure_statements

LOOKUP, NEAR = "look-up", "simhash_near"
NEAREST, FAR, SORT = "nearest 10 of near ones", "nearest 10, nothing near", "scan and sort"
NEAREST_ROWS = 10
# A statement that is not reported. Without it, the look-up right after a long search would take longer.
SPACER = {"an empty answer": Statement("SELECT 1")}


def report_near(sizes, blocks, distances, runs):
    """Prints a line for each distance and table. `sizes`: the rows of each table, by its name. Returns the times by
    distance, and the number of differing rows."""
    print(f"{'distance':>8} {'rows':>11} {'probes':>7} {'found':>6} {'wrong':>6} {'look-up, ms':>11} {'near, ms':>9}"
          f" {'x look-up':>9}")
    times, differing_rows = {}, 0
    for distance in distances:
        timed = dict(SPACER)
        for table, rows in sizes.items():
            timed[LOOKUP, table] = look_up_statement(table, rows)
            timed[NEAR, table] = near_statement(table, distance, *choose_query(table, distance))
        times[distance] = measure_statements(timed, runs, sizes)
        for table, rows in sizes.items():
            found, differing = compare_with_scan(table, distance, near_condition(distance, "query.fingerprint"))
            differing_rows += differing
            print(f"{distance:>8} {rows:>11,} {count_probes(blocks, distance):>7,} {found:>6} {differing:>6}"
                  f" {format_times(times[distance], table, NEAR)}", flush=True)
    return times, differing_rows


def report_nearest(sizes, runs):
    """Prints how long orders by distance take; returns their times, those of sorts, and the number of differing
    distances. Where rows are near, they are a row and its nine copies (tables.make_copies)."""
    timed, sorting = dict(SPACER), dict(SPACER)
    for table, rows in sizes.items():
        choose_other = choose_query(table, 0, of_another=True)
        timed[LOOKUP, table] = look_up_statement(table, rows)
        timed[NEAREST, table] = nearest_statement(table, *choose_copied_row(table))
        timed[FAR, table] = nearest_statement(table, *choose_other)
        sorting[SORT, table] = nearest_statement(table, *choose_other, scan="off")
    times = measure_statements(timed, runs, sizes, min_transactions=5)
    sorts = measure_statements(sorting, min(runs, 3), sizes, min_transactions=2)
    differing_distances = 0
    for table, rows in sizes.items():
        differing = compare_nearest_with_sort(table, NEAREST_ROWS)
        differing_distances += differing
        for order in (NEAREST, FAR):
            print(f"{order}, {rows:,} rows: {format_times(times, table, order)} x look-up", flush=True)
        print(f"nearest {NEAREST_ROWS} of all queries, {rows:,} rows: wrong distances: {differing}")
        sort, far = sorts.median_ms((SORT, table)), times.median_ms((FAR, table))
        print(f"{SORT}, {rows:,} rows: {sort:.1f} ms, {sort / far:.0f} times as long as {FAR}")
    return times, sorts, differing_distances


def format_times(times, table, statement):
    """The times of a look-up and of another statement in a table, in ms, and their ratio."""
    measured, look_ups = (statement, table), (LOOKUP, table)
    ratio = times.ratio(measured, look_ups)
    return f"{times.median_ms(look_ups):>11.3f} {times.median_ms(measured):>9.3f} {ratio:>9.1f}"


def look_up_statement(table, rows):
    return Statement(f"SELECT fingerprint FROM {table} WHERE id = :row", f"\\set row random(1, {rows})")


def near_statement(table, distance, *setup):
    return Statement(f"SELECT id FROM {table} AS searched WHERE {near_condition(distance, ':query')}", *setup)


def nearest_statement(table, *setup, scan="on"):
    """An order by distance. The scan of the indexes is on or off."""
    set_scan = f"SELECT set_config('pg_simhash.enable_scan', '{scan}', false) AS scan \\gset"
    return Statement(f"SELECT id FROM {table} ORDER BY fingerprint <~> :query LIMIT {NEAREST_ROWS}", *setup, set_scan)


def choose_query(table, distance, of_another=False):
    """Commands that choose one of the table's queries at random, or one of those that are of another text."""
    of_other_text = f"{QUERY_KINDS} * random(0, {QUERIES // QUERY_KINDS - 1}) + {OTHER_TEXT}"
    choice = of_other_text if of_another else f"random(1, {QUERIES})"
    choose = f"SELECT fingerprint AS query FROM queries_{table} WHERE distance = {distance} AND id = :id \\gset"
    return f"\\set id {choice}", choose


def choose_copied_row(table):
    """Commands that choose one of the table's rows that have near copies."""
    choose = f"SELECT fingerprint AS query FROM copied_{table} WHERE id = :id \\gset"
    return f"\\set id random(0, {COPIED_ROWS - 1})", choose
