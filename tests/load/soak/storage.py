"""That what is stored is sound, by other means than the proof has: PostgreSQL's own checks of tables and indexes, and
what columns are generated from. What a crash has torn would show here."""

import subprocess

import table

BLOCKS = 4


def failures():
    return [*damage(), *columns(), *lookups()]


def damage():
    """Of pages, of the order in indexes, and rows of the table that an index lacks."""
    with table.connect() as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS amcheck")
    checks = ["--heapallindexed", "--rootdescend", "--parent-check"]
    # Where nothing is wrong it says nothing.
    found = subprocess.run(["pg_amcheck", *checks], capture_output=True, text=True)
    if found.returncode or found.stdout or found.stderr:
        yield f"pg_amcheck ({found.returncode}): {found.stdout} {found.stderr}"


def columns():
    """Fingerprints and blocks that are not those of their text."""
    blocks = " OR ".join(f"simhash_block{i} IS DISTINCT FROM simhash_block(simhash, {i})" for i in range(BLOCKS))
    with table.connect() as connection:
        wrong = f"simhash IS DISTINCT FROM simhash(body) OR {blocks}"
        for (id,) in connection.execute(f"SELECT id FROM soak WHERE {wrong}"):
            yield f"row {id} has another fingerprint than its text, or other blocks"


def lookups():
    """Rows that a search for their own fingerprint does not find."""
    with table.connect() as connection:
        connection.execute("SET enable_seqscan = off")
        for (id,) in connection.execute(
            "SELECT id FROM soak AS this WHERE NOT EXISTS"
            " (SELECT FROM soak WHERE tenant = this.tenant AND simhash_near(simhash, this.simhash) AND id = this.id)"
        ):
            yield f"row {id} is not found by its fingerprint"
