"""The functions and operators of the extension, read from the catalogue, so that nothing new can be forgotten."""

from dataclasses import dataclass

FUNCTIONS = """
SELECT p.oid::regprocedure::text, n.nspname, p.proname, p.prokind::text, p.proretset,
    format_type(p.prorettype, NULL), p.provolatile::text,
    ARRAY(SELECT format_type(type, NULL) FROM unnest(p.proargtypes::oid[]) WITH ORDINALITY AS t (type, n) ORDER BY n),
    coalesce(p.proargnames[1:p.pronargs], '{}'), p.pronargdefaults
FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
WHERE d.refclassid = 'pg_extension'::regclass
    AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'pg_simhash')
ORDER BY 1
"""

OPERATORS = """
SELECT o.oid::regoperator::text, n.nspname, o.oprname, format_type(o.oprleft, NULL), format_type(o.oprright, NULL),
    format_type(o.oprresult, NULL)
FROM pg_operator o JOIN pg_namespace n ON n.oid = o.oprnamespace
JOIN pg_depend d ON d.classid = 'pg_operator'::regclass AND d.objid = o.oid AND d.deptype = 'e'
WHERE d.refclassid = 'pg_extension'::regclass
    AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'pg_simhash')
ORDER BY 1
"""


@dataclass(frozen=True)
class Function:
    """A function, an aggregate, a window function, or an operator."""

    signature: str
    schema: str
    name: str
    kind: str
    is_set: bool
    result: str
    volatility: str
    types: tuple
    names: tuple
    defaults: int

    def call(self, arguments):
        """SQL of the call, without an OVER."""
        if self.kind == "operator":
            left, right = arguments
            return f"({left} OPERATOR({self.schema}.{self.name}) {right})"
        return f"{self.schema}.{self.name}({', '.join(arguments)})"

    def takes_internal(self):
        return "internal" in self.types


def read(connection):
    """The functions and the operators of the extension."""
    functions = [
        Function(*row[:7], tuple(row[7]), tuple(row[8]) + ("",) * (len(row[7]) - len(row[8])), row[9])
        for row in connection.execute(FUNCTIONS)
    ]
    functions += [
        Function(signature, schema, name, "operator", False, result, "i", (left, right), ("", ""), 0)
        for signature, schema, name, left, right, result in connection.execute(OPERATORS)
    ]
    return functions
