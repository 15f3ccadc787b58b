"""Times searches and orders by distance, and look-ups by primary key, in tables of several numbers of rows."""

from search.exact import compare_nearest_with_sort, compare_with_scan
from search.layouts import count_probes, near_condition
from search.tables import COPIED_ROWS, NEAREST_ROWS, OTHER_TEXT, QUERIES, QUERY_KINDS
from search.timing import Statement, measure_statements

LOOKUP, NEAR = "look-up", "simhash_near"
NEAREST, FAR, SORT = "nearest 10 of near ones", "nearest 10, nothing near", "scan and sort"
# Not reported. In forward order it comes first, so that no look-up follows the last search of the transaction before.
SPACER = {"spacer": Statement("SELECT 1")}


def report_near(rows_by_table, blocks, distances, runs):
    """Prints a line for each distance and table; returns the times by distance, and the number of differing rows.
    `rows_by_table` has the tables by ascending number of rows."""
    print(f"{'distance':>8} {'rows':>11} {'probes':>7} {'found':>6} {'wrong':>6} {'look-up, ms':>11} {'near, ms':>9}"
          f" {'x look-up':>9}")
    times, differing_rows = {}, 0
    for distance in distances:
        timed = dict(SPACER)
        for table, rows in rows_by_table.items():
            timed[LOOKUP, table] = look_up_statement(table, rows)
            timed[NEAR, table] = near_statement(table, distance, *choose_query(table, distance))
        times[distance] = measure_statements(timed, runs, rows_by_table)
        for table, rows in rows_by_table.items():
            found, differing = compare_with_scan(table, distance)
            differing_rows += differing
            print(f"{distance:>8} {rows:>11,} {count_probes(blocks, distance):>7,} {found:>6} {differing:>6}"
                  f" {format_times(times[distance], table, NEAR)}", flush=True)
    return times, differing_rows


def report_nearest(rows_by_table, runs):
    """Prints how long orders by distance take; returns their times, those of sorts, and the number of differing
    distances. The near rows are copies that tables.make_copies has made."""
    timed, sorting = dict(SPACER), dict(SPACER)
    for table, rows in rows_by_table.items():
        choose_other = choose_query(table, 0, of_other_text=True)
        timed[LOOKUP, table] = look_up_statement(table, rows)
        timed[NEAREST, table] = nearest_statement(table, *choose_copied_row(table))
        timed[FAR, table] = nearest_statement(table, *choose_other)
        sorting[SORT, table] = nearest_statement(table, *choose_other, scan="off")
    times = measure_statements(timed, runs, rows_by_table, min_transactions=5)
    sorts = measure_statements(sorting, min(runs, 3), rows_by_table, min_transactions=2)
    differing_distances = 0
    for table, rows in rows_by_table.items():
        differing = compare_nearest_with_sort(table)
        differing_distances += differing
        for order in (NEAREST, FAR):
            print(f"{order}, {rows:,} rows: {format_times(times, table, order)} x look-up", flush=True)
        print(f"nearest {NEAREST_ROWS} of all queries, {rows:,} rows: wrong distances: {differing}")
        sort, far = sorts.median_ms((SORT, table)), times.median_ms((FAR, table))
        print(f"{SORT}, {rows:,} rows: {sort:.1f} ms, {sort / far:.0f} times as long as {FAR}")
    return times, sorts, differing_distances


def format_times(times, table, statement):
    """The times of a look-up and of another statement in a table, in ms, and their ratio."""
    key, look_up_key = (statement, table), (LOOKUP, table)
    return f"{times.median_ms(look_up_key):>11.3f} {times.median_ms(key):>9.3f} {times.ratio(key, look_up_key):>9.1f}"


def look_up_statement(table, rows):
    return Statement(f"SELECT fingerprint FROM {table} WHERE id = :row", f"\\set row random(1, {rows})")


def near_statement(table, distance, *setup):
    return Statement(f"SELECT id FROM {table} AS searched WHERE {near_condition(distance, ':query')}", *setup)


def nearest_statement(table, *setup, scan="on"):
    """An order by distance, with the scan of the indexes on or off."""
    set_scan = f"SELECT set_config('pg_simhash.enable_scan', '{scan}', false) AS scan \\gset"
    return Statement(f"SELECT id FROM {table} ORDER BY fingerprint <~> :query LIMIT {NEAREST_ROWS}", *setup, set_scan)


def choose_query(table, distance, of_other_text=False):
    """Commands that choose one of the table's queries at random: any one, or one of another text."""
    choice = f"random(1, {QUERIES})"
    if of_other_text:
        choice = f"{QUERY_KINDS} * random(0, {QUERIES // QUERY_KINDS - 1}) + {OTHER_TEXT}"
    choose = f"SELECT fingerprint AS query FROM queries_{table} WHERE distance = {distance} AND id = :id \\gset"
    return f"\\set id {choice}", choose


def choose_copied_row(table):
    """Commands that choose one of the table's rows that have near copies."""
    choose = f"SELECT fingerprint AS query FROM copied_{table} WHERE id = :id \\gset"
    return f"\\set id random(0, {COPIED_ROWS - 1})", choose
