"""The errors that hostile calls may end with. Any other error is a defect, above all XX000: it is the error of a panic
and of an unforeseen case, and gives an application no information."""

# The errors that the README lists.
OURS = (
    "22023 42501 42809 42701 42710 42703 42804 0A000 42704 2BP01 42602 42622 22004 25001 39P01 22P02 22003 2202E 22021"
    " 54000 54011 53200 23P01 40001 40P01 55000 42P10 42883 42P01"
).split()

# PostgreSQL's own errors: for values that are invalid for their type, and for statements that are invalid for the call
# or for the current state.
SERVERS = (
    # Limits of time and memory, and conflicts with concurrent sessions.
    "57014 55P03 53400 54001 55006"
    # Values: text that is not Unicode or too long, numbers, arrays, JSON.
    " 22001 22P05 22012 22008 22030 22032 2202H 22000"
    # Rows that violate a constraint, or more rows than a subquery may return.
    " 21000 23502 23503 23505 23514 428C9"
    # Names and types that do not exist, or exist twice, in tables that other sessions drop and alter.
    " 42P02 42P07 42P06 3F000 42846 42702 42725 42P18 42P38 42611 42P21 42P22"
    # A call in a clause that does not allow it.
    " 42803 42P20 42P16 42P17 42P13 42601 42P19 42P11 54023 0LP01"
    # Statements in a transaction that has ended or failed, or that does not allow them.
    " 25P01 25P02 25006 2D000 3B001 34000 24000 26000 42P05 27000 09000"
).split()


def allowed(code):
    return code in OURS or code in SERVERS


def allowed_warning(code):
    """Most warnings are about a resource that was not released, or memory that was overwritten. The allowed ones say
    that no transaction is in progress, or that rows lack a fingerprint."""
    return code in ("25P01", "55000")
