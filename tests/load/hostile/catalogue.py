"""The functions and operators of the extension, read from the catalogue, so that nothing new can be forgotten."""

from dataclasses import dataclass

MEMBERS_SQL = """
JOIN pg_depend ON classid = '{catalogue}'::regclass AND objid = {catalogue}.oid AND deptype = 'e'
WHERE refclassid = 'pg_extension'::regclass
    AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'pg_simhash')
ORDER BY 1
"""
FUNCTIONS_SQL = """
SELECT pg_proc.oid::regprocedure::text, nspname, proname, prokind::text, proretset, format_type(prorettype, NULL),
    provolatile::text,
    ARRAY(
        SELECT format_type(type, NULL) FROM unnest(proargtypes::oid[]) WITH ORDINALITY AS types (type, number)
        ORDER BY number
    ),
    coalesce(proargnames[1:pronargs], '{}'), pronargdefaults
FROM pg_proc JOIN pg_namespace ON pg_namespace.oid = pronamespace
""" + MEMBERS_SQL.format(catalogue="pg_proc")
OPERATORS_SQL = """
SELECT pg_operator.oid::regoperator::text, nspname, oprname, format_type(oprleft, NULL), format_type(oprright, NULL),
    format_type(oprresult, NULL)
FROM pg_operator JOIN pg_namespace ON pg_namespace.oid = oprnamespace
""" + MEMBERS_SQL.format(catalogue="pg_operator")


@dataclass(frozen=True)
class Function:
    """A function, an aggregate, a window function, or an operator. `kind` is pg_proc.prokind, or "operator"."""

    signature: str
    schema: str
    name: str
    kind: str
    returns_set: bool
    result: str
    volatility: str
    argument_types: tuple
    argument_names: tuple
    default_count: int

    def call_sql(self, arguments):
        """A call, without an OVER."""
        if self.kind == "operator":
            left, right = arguments
            return f"({left} OPERATOR({self.schema}.{self.name}) {right})"
        return f"{self.schema}.{self.name}({', '.join(arguments)})"

    def takes_internal(self):
        return "internal" in self.argument_types


def read_functions(connection):
    """The functions and the operators of the extension."""
    functions = [
        Function(*row[:7], tuple(row[7]), tuple(row[8]) + ("",) * (len(row[7]) - len(row[8])), row[9])
        for row in connection.execute(FUNCTIONS_SQL)
    ]
    functions += [
        Function(signature, schema, name, "operator", False, result, "i", (left, right), ("", ""), 0)
        for signature, schema, name, left, right, result in connection.execute(OPERATORS_SQL)
    ]
    return functions
