"""Load tests end when they have done their work, however long that takes. A time limit only ends what hangs, by an
exception. A test that has tried too little ends by one too: it proves nothing about the extension."""

import time

# In seconds. No step takes a tenth of this, even on a slow and busy machine.
PATIENCE = 600
# For libpq: the server cancels statements that hang.
TIME_LIMIT = f"-c statement_timeout={PATIENCE}s"


class NotReached(Exception):
    """A test has not reached a state that it needs."""


def until(condition, awaited):
    """Waits until the condition returns something true, and returns that."""
    deadline = time.monotonic() + PATIENCE
    while not (found := condition()):
        if time.monotonic() > deadline:
            raise NotReached(f"{awaited}: not within {PATIENCE} s")
        time.sleep(0.02)
    return found


def until_ended(ended, progress, awaited):
    """Waits until `ended` returns true, as long as the number that `progress` returns grows."""
    while not ended():
        before = progress()
        until(lambda: ended() or progress() > before, awaited)
