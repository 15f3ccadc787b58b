"""Which errors hostile calls may end with. Everything else is a defect: above all XX000, which is what a panic and an
unforeseen case become, and which tells an application nothing."""

# Those that the README lists.
OURS = (
    "22023 42501 42809 42701 42710 42703 42804 0A000 42704 2BP01 42602 42622 22004 25001 39P01 22P02 22003 2202E 22021"
    " 54000 54011 53200 23P01 40001 40P01 55000 42P10 42883 42P01"
).split()

# PostgreSQL's own: of values that are none of their type, and of statements that do not fit the call or the state of
# things.
SERVERS = (
    # What was asked for: limits of time and memory; and what others do at the same time.
    "57014 55P03 53400 54001 55006"
    # Values: text that is no Unicode or too long, numbers, arrays, JSON.
    " 22001 22P05 22012 22008 22030 22032 2202H 22000"
    # Rows that break a constraint, or more of them than a place takes.
    " 21000 23502 23503 23505 23514 428C9"
    # Names and types that are not there, or are there twice, in tables that others drop and alter.
    " 42P02 42P07 42P06 3F000 42846 42702 42725 42P18 42P38 42611 42P21 42P22"
    # A call in a place where none may stand.
    " 42803 42P20 42P16 42P17 42P13 42601 42P19 42P11 54023 0LP01"
    # Statements in a transaction that is over, has failed, or may not do that.
    " 25P01 25P02 25006 2D000 3B001 34000 24000 26000 42P05 27000 09000"
).split()


def allowed(code):
    return code in OURS or code in SERVERS


def allowed_warning(code):
    """A warning says that something was not given back, or that memory was overwritten; hardly ever that no transaction
    is open, or that rows lack a fingerprint."""
    return code in ("25P01", "55000")
