"""How to index passages: GIN on arrays of hashes of 64, 32 and 24 bits, and a table of hashes with a btree.

    python3 postings.py

Needs psql's environment (PGHOST and so on) pointing to a server with the tables texts (id integer, hashes bigint[]) and
lookups (words integer, runs bigint[]), the runs of clues; the extension is not needed. From PostgreSQL 18 on, also
parallel builds. Times of a clue are means, warm, with the rows.
"""

from statements import psql, seconds, value

MEMORY = "16MB", "64MB", "256MB", "2GB"
BULK, SINGLE = 5000, 2000
OF_BITS = {64: ("bigint", "{}"), 32: ("integer", "({} >> 32)::integer"), 24: ("integer", "({} >> 40)::integer")}


def array(hashes, bits, other=0):
    """An expression for the array of hashes in so many bits, all of them others if `other` is not 0."""
    kind, shortened = OF_BITS[bits]
    return f"ARRAY(SELECT {shortened.format(f'(h # {other})')} FROM unnest({hashes}) AS h)::{kind}[]"


def main():
    print(value("SELECT version()"))
    for bits in OF_BITS:
        print(f"\nGIN, {bits} bits")
        fill(bits)
        for memory in MEMORY if bits == 64 else ("64MB", "2GB"):
            print(f"  {memory:>5}: {build(memory)}", end="", flush=True)
            if memory in ("64MB", "2GB"):
                print(f"; {searches(bits)}; {inserts(bits)}", end="", flush=True)
            print(flush=True)
        if bits == 64 and int(value("SHOW server_version_num")) >= 180000:
            for workers in 0, 1, 2:
                for memory in "64MB", "2GB":
                    print(f"  {memory:>5}, {workers} parallel workers: {build(memory, workers)}", flush=True)
        if bits == 64:
            pending()
    print("\nA table (hash, id) with a btree")
    fill(64)
    psql("DROP TABLE IF EXISTS postings")
    print(f"  table: {seconds('CREATE TABLE postings AS SELECT unnest(hashes) AS hash, id FROM docs'):.1f} s", end="")
    took = seconds("CREATE INDEX ON postings (hash, id)", maintenance_work_mem="2GB",
                   max_parallel_maintenance_workers="0")
    psql("VACUUM ANALYZE postings")
    print(f", index {took:.1f} s, {size('postings')} MB;", end="")
    query = "SELECT DISTINCT d.id FROM postings AS p JOIN docs AS d ON d.id = p.id WHERE hash = ANY (runs)"
    rows = rate(BULK, f"INSERT INTO postings SELECT unnest(hashes), id FROM ({new(64, BULK)}) AS n")
    print(*(clue(words, query) for words in (12, 60)), f"; {rows:.0f} rows/s")


def fill(bits):
    psql("DROP TABLE IF EXISTS docs", "CREATE TABLE docs (id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, "
         f"hashes {OF_BITS[bits][0]}[])", f"INSERT INTO docs (hashes) SELECT {array('hashes', bits)} FROM texts",
         "VACUUM ANALYZE docs")
    print(*psql("SELECT count(*), sum(cardinality(hashes)) FROM docs")[0], "texts and passages,",
          value("SELECT count(DISTINCT h) FROM docs, unnest(hashes) AS h"), "distinct")


def size(relation):
    return f"{int(value(f'SELECT pg_total_relation_size({relation!r})')) / 1e6:.0f}"


def build(memory, workers=0):
    psql("DROP INDEX IF EXISTS docs_gin")
    took = seconds("CREATE INDEX docs_gin ON docs USING gin (hashes)", maintenance_work_mem=memory,
                   max_parallel_maintenance_workers=str(workers))
    return f"{took:.1f} s, {size('docs_gin')} MB"


def searches(bits):
    query = f"SELECT id FROM docs WHERE hashes && {array('runs', bits)} OFFSET 0"
    return "clues of 12 and 60 words" + "".join(clue(words, query) for words in (12, 60))


def clue(words, query):
    statement = f"SELECT count(*) FROM lookups, LATERAL ({query}) AS d WHERE words = {words}"
    psql(statement, enable_seqscan="off")
    took = seconds(statement, enable_seqscan="off")
    rows = int(value(statement, enable_seqscan="off"))
    clues = int(value(f"SELECT count(*) FROM lookups WHERE words = {words}"))
    return f" {1e3 * took / clues:.2f} ms ({rows / clues:.1f} rows)"


def new(bits, count):
    return f"SELECT id, {array('hashes', bits, 0x1234567890ABCDEF)} AS hashes FROM texts LIMIT {count}"


def rate(count, statement):
    return count / seconds(statement, synchronous_commit="off")


def inserts(bits):
    bulk = rate(BULK, f"INSERT INTO docs (hashes) SELECT hashes FROM ({new(bits, BULK)}) AS n")
    psql("VACUUM docs")
    return f"{bulk:.0f} rows/s"


def pending():
    """Single rows with lists of pending entries of several lengths."""
    bulk = f"INSERT INTO docs (hashes) SELECT hashes FROM ({new(64, BULK)}) AS n"
    single = (f"DO $$ DECLARE n record; BEGIN FOR n IN {new(64, SINGLE)} LOOP "
              "INSERT INTO docs (hashes) VALUES (n.hashes); COMMIT; END LOOP; END $$")
    for option in "fastupdate = off", *(f"gin_pending_list_limit = {limit}" for limit in (64, 512, 4096, 65536)):
        build("64MB")
        psql(f"ALTER INDEX docs_gin SET ({option})")
        print(f"  {option}: {rate(BULK, bulk):.0f} rows/s of {BULK} at once, {rate(SINGLE, single):.0f} of one each; "
              f"then {searches(64)}", flush=True)


main()
