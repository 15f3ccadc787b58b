"""pgbench on the server of psql's environment."""

import re
import subprocess
import tempfile

from statements import environment

# The statement latency that is wanted is that of the INSERT; where the text comes from is not part of it.
SCRIPT = """\\set turn :turn + 1
\\set row (:turn - 1) * :clients + :client_id
\\set n :first + :row
\\set id :last_id + 1 + :row
SELECT body FROM fresh WHERE n = :n \\gset
INSERT INTO docs (id, body) VALUES (:id, :body);
"""


def insert_rate(clients, transactions, first, last_id):
    """Rows a second of all clients: each inserts its own texts, of those from `first`."""
    with tempfile.NamedTemporaryFile("w", prefix="pg_simhash.", suffix=".sql") as file:
        file.write(SCRIPT)
        file.flush()
        output = subprocess.run(
            ["pgbench", "-n", "-M", "prepared", "-r", "-c", str(clients), "-j", str(clients), "-t", str(transactions),
             "-D", "turn=0", "-D", f"clients={clients}", "-D", f"first={first}", "-D", f"last_id={last_id}",
             "-f", file.name],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment({}),
        ).stdout
    found = re.search(r"^ +([0-9.]+) +\d+ +INSERT", output, re.MULTILINE)
    if not found or "aborted" in output:
        raise RuntimeError(f"pgbench:\n{output}")
    return clients * 1e3 / float(found[1])
