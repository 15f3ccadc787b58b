"""Measures how well guards, clusters and simhash_duplicate_of find near-duplicates among sets of real documents.

    python benches/dedup FOLDER ...

A FOLDER holds sets of documents with their true near-duplicates, as simhash/benches/quality.rs describes them: every
pair whose resemblance J (of the sets of 5-character shingles) is at least 0.5, or 0.8 in the sets of debian_sets.py.

- A guard with the action `mark` gets the documents one by one, in the order of the file. It compares a row with the
  earlier rows without a mark, and so do these figures: precision is the share of the marked rows that have such a row
  with J >= 0.8, recall the share of the rows with such a row with J >= 0.9 that are marked. The last column is the
  share of the marks that name a marked row.
- simhash_duplicate_of finds the rows that a guard with `skip` would skip. Precision and recall are the same by the
  earlier rows that stay. Left is the number of near pairs among the rows that stay.
- In a cluster, precision is the share of the pairs of rows that are near and share a cluster whose J is at least 0.8.
  Recall is the share of the pairs with J >= 0.9 that share a cluster.
"""

import gzip
import json
import pathlib
import sys

from bars import verdict
from server import copy_in, psql, value

# Precision and recall that a set must reach by the default criterion, by the first word of its name. Sets of paragraphs
# have no bar: in a short text, a changed word is a larger share of its words than of the shingles that decide about J.
GUARD_BARS = {name: (0.99, 0.99) for name in ("reuters", "laws", "manuals", "copyrights", "descriptions")}
GUARD_BARS["licences"] = (0.99, 0.98)
CLUSTER_BARS = {"reuters": (0.98, 0.97), "licences": (0.98, 0.93), "laws": (0.98, 0.92)}
CRITERIA = {"default": "{}", "resemblance .7": '{"resemblance": 0.7}'}
DISTANCES = (3, 8)  # of the guards and clusters that compare fingerprints


def main():
    missed = []
    for documents in sorted(path for folder in sys.argv[1:] for path in pathlib.Path(folder).glob("*.jsonl.gz")):
        name = documents.name.removesuffix(".jsonl.gz")
        load(documents, documents.with_name(f"{name}.pairs.tsv.gz"))
        print(f"\n{name}: {value('SELECT count(*) FROM docs')} documents")
        missed += report(name, "guard", "marked  names a marked row", guard_figures(), GUARD_BARS)
        duplicate_figures = ((label, find_duplicates(criterion)) for label, criterion in CRITERIA.items())
        report(name, "duplicate_of", " found  left", duplicate_figures, {})
        missed += report(name, "cluster", " pairs", cluster_figures(), CLUSTER_BARS)
        report_estimates()
    print("\n" + ("MISSED: " + "; ".join(missed) if missed else "All bars are reached."))


def report(name, heading, columns, figures, bars):
    """Prints the figures of a set; returns the bar, which is that of the default criterion, if it is missed."""
    print(f"{heading:<28} precision  recall  {columns}")
    missed = []
    for label, (precision, recall, count, *rest) in figures:
        line = f"  {label:<26}{precision:>10.3f}{recall:>8.3f}{count:>8}  {' '.join(map(str, rest))}"
        bar = bars.get(name.split("-")[0])
        if bar and label == "default":
            is_reached = precision >= bar[0] and recall >= bar[1]
            line += f"  bar {bar[0]:.3f} / {bar[1]:.2f}: {verdict(is_reached)}"
            missed += [] if is_reached else [f"{name} {heading}"]
        print(line.rstrip(), flush=True)
    return missed


def guard_figures():
    for label, criterion in CRITERIA.items():
        yield label, guard_docs(criterion, "body")
    for distance in DISTANCES:
        criterion = f'{{"max_distance": {distance}, "resemblance": null}}'
        yield f"{distance} alone", guard_docs(criterion, "simhash")


def cluster_figures():
    for label, criterion in CRITERIA.items():
        yield label, cluster_texts(criterion, "{}")
    weights = '{"weights": %s}' % value("SELECT simhash_weights(body, '{}') FROM docs")
    yield "weights of the table", cluster_texts(weights, weights)
    for distance in DISTANCES:
        near_sql = f"hamming(simhash(a.body), simhash(b.body)) <= {distance}"
        yield f"{distance} alone", cluster_docs(f"simhash(body), {distance}", near_sql, "{}")


def report_estimates():
    """Prints by what factor the planner's estimate of near rows misses their number."""
    psql("SELECT simhash_index('docs', 'body')",
         """CREATE OR REPLACE FUNCTION estimated_rows(query text) RETURNS float8 LANGUAGE plpgsql AS $$
            DECLARE plan jsonb;
            BEGIN
                EXECUTE format('EXPLAIN (FORMAT JSON) SELECT FROM docs WHERE simhash_near(body, %L)', query) INTO plan;
                RETURN plan #>> '{0,Plan,Plan Rows}';
            END $$""")
    ((median, share, worst),) = psql("""
        SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY factor), avg((factor <= 10)::integer), max(factor)
        FROM (SELECT body FROM docs WHERE simhash(body) IS NOT NULL ORDER BY md5(id::text) LIMIT 500) AS queries,
            LATERAL (SELECT estimated_rows(queries.body) AS estimated, count(*) AS counted
                FROM docs WHERE simhash_near(docs.body, queries.body)) AS numbers,
            LATERAL greatest(estimated / counted, counted / estimated) AS factor""")
    print(f"estimates: median {float(median):.1f}, within 10 for {float(share):.3f}, at worst {float(worst):.0f}")


def load(documents, true_pairs):
    with gzip.open(documents, "rt") as lines:
        texts = [json.loads(line) for line in lines]
    numbers = {text["id"]: number for number, text in enumerate(texts, 1)}
    with gzip.open(true_pairs, "rt") as lines:
        pairs = [line.rstrip("\n").split("\t") for line in lines]
    psql("DROP TABLE IF EXISTS docs, true_pairs", "CREATE TABLE docs (id integer PRIMARY KEY, body text)",
         "CREATE TABLE true_pairs (a integer, b integer, j double precision)")
    copy_in("docs (id, body)", ((numbers[text["id"]], text["text"]) for text in texts))
    copy_in("true_pairs", ((*sorted((numbers[a], numbers[b])), j) for a, b, j in pairs))
    psql("VACUUM ANALYZE docs", "ANALYZE true_pairs")


def quoted(document):
    return f"$json${document}$json$"


def near_condition_sql(criterion):
    return f"simhash_near(a.body, b.body, {quoted(criterion)})"


def guard_docs(criterion, source):
    indexes = "simhash_index('marked', 'body', bands => 12)" if source == "body" else "simhash_attach('marked', 'body')"
    psql("DROP TABLE IF EXISTS marked", "CREATE TABLE marked (id integer PRIMARY KEY, body text, same_as integer)",
         f"SELECT {indexes}",
         f"SELECT simhash_guard('marked', 'mark', {quoted(criterion)}, mark_column => 'same_as', source => '{source}')",
         # One statement for each row, as applications insert them.
         """DO $$
            DECLARE doc record;
            BEGIN
                FOR doc IN SELECT id, body FROM docs ORDER BY id LOOP
                    INSERT INTO marked VALUES (doc.id, doc.body);
                END LOOP;
            END $$""")
    names_marked = value("SELECT coalesce(avg((named.same_as IS NOT NULL)::integer), 0)"
                         " FROM marked JOIN marked AS named ON marked.same_as = named.id")
    return *precision_and_recall("marked"), f"{float(names_marked):.3f}"


def find_duplicates(criterion):
    psql("DROP TABLE IF EXISTS results", f"""CREATE TABLE results AS
        SELECT id, body, simhash_duplicate_of(id, body, {quoted(criterion)}) OVER (ORDER BY id) AS same_as FROM docs""",
         "SELECT simhash_index('results', 'body', bands => 12)")
    left = value(f"""SELECT count(*) FROM results AS a JOIN results AS b
        ON a.same_as IS NULL AND b.same_as IS NULL AND a.id < b.id AND {near_condition_sql(criterion)}""")
    return *precision_and_recall("results"), left


def precision_and_recall(table):
    """Precision, recall and number of a table's duplicates: its rows with same_as."""
    ((correct, count, expected, recalled),) = psql(f"""
        WITH found AS (SELECT id FROM {table} WHERE same_as IS NOT NULL), earlier AS (
            SELECT b AS id, max(j) AS j FROM true_pairs JOIN {table} ON id = a AND same_as IS NULL GROUP BY b)
        SELECT count(*) FILTER (WHERE found.id IS NOT NULL AND j >= 0.8), (SELECT count(*) FROM found),
            count(*) FILTER (WHERE j >= 0.9), count(*) FILTER (WHERE found.id IS NOT NULL AND j >= 0.9)
        FROM earlier FULL JOIN found ON found.id = earlier.id""")
    return int(correct) / max(int(count), 1), int(recalled) / int(expected), int(count)


def cluster_texts(criterion, options):
    return cluster_docs(f"body, {quoted(criterion)}", near_condition_sql(criterion), options)


def cluster_docs(arguments, near_sql, options):
    """Precision, recall and the number of the near pairs in clusters. `near_sql` is a condition on the rows a and b."""
    psql("DROP TABLE IF EXISTS results", f"""CREATE TABLE results AS
        SELECT id, body, simhash_cluster(id, {arguments}) OVER (ORDER BY id) AS cluster FROM docs""",
         f"SELECT simhash_index('results', 'body', {quoted(options)}, bands => 12)")
    ((correct, count),) = psql(f"""
        WITH clustered_pairs AS (SELECT a.id AS a, b.id AS b FROM results AS a JOIN results AS b
            ON a.id < b.id AND a.cluster = b.cluster AND {near_sql})
        SELECT count(*) FILTER (WHERE j >= 0.8), count(*) FROM clustered_pairs LEFT JOIN true_pairs USING (a, b)""")
    recall = value("""SELECT avg((a.cluster = b.cluster)::integer) FROM true_pairs
        JOIN results AS a ON a.id = true_pairs.a JOIN results AS b ON b.id = true_pairs.b WHERE j >= 0.9""")
    return int(correct) / max(int(count), 1), float(recall), int(count)


if __name__ == "__main__":
    main()
