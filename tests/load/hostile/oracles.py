"""Claims in plain SQL that must be true for all values, also hostile ones. {type} and {type:name} stand for a value; a
value with a name is the same throughout the claim. {near:a} is {bigint:a} with a few bits changed."""

import re

from templates import lines

CLAIMS = """
SELECT hamming({bigint:a}, {bigint:b}) = bit_count(({bigint:a} # {bigint:b})::bit(64))
SELECT ({bigint:a} <~> {bigint:b}) = ({bigint:b} <~> {bigint:a}) AND ({bigint:a} <~> {bigint:a}) = 0
SELECT simhash_near({bigint:a}, {near:a}, {distance:d}) = (hamming({bigint:a}, {near:a}) <= {distance:d})
SELECT simhash_from_hex(encode(int8send({bigint:a}), 'hex')) = {bigint:a}
SELECT simhash_near({bigint:a}, {near:a}, {integer:d}) = (hamming({bigint:a}, {near:a}) <= {integer:d}) WHERE
    {integer:d} BETWEEN 0 AND 64
SELECT sum(bit_count((simhash_block({bigint:a}, b, {blocks:n}) # simhash_block({near:a}, b, {blocks:n}))::bit(32)))
    = hamming({bigint:a}, {near:a}) FROM generate_series(0, {blocks:n} - 1) AS b
SELECT bool_or(simhash_block({near:a}, b, {blocks:n}) = ANY (simhash_probes({bigint:a}, b, {blocks:n}, {small:d})))
    OR hamming({bigint:a}, {near:a}) > {small:d} FROM generate_series(0, {blocks:n} - 1) AS b
SELECT bool_and(cardinality(p) = (SELECT count(DISTINCT v) FROM unnest(p) AS v)) FROM generate_series(0, {blocks:n}
    - 1) AS b, simhash_probes({bigint:a}, b, {blocks:n}, {small:d}) AS p
SELECT w[1] = simhash({text:t}, {jsonb:o}) AND w[3] = simhash({text:t}, ({jsonb:o}) || '{{"seed": 2}}') FROM
    simhash_wide({text:t}, 3, {jsonb:o}) AS w WHERE w IS NOT NULL
SELECT (ARRAY[{bigint:a}, {bigint:b}] <~> ARRAY[{bigint:c}, {bigint:d}]) = ({bigint:a} <~> {bigint:c}) + ({bigint:b}
    <~> {bigint:d})
SELECT simhash({text:t}) IS NOT DISTINCT FROM simhash({text:t}, '{{}}'::jsonb) AND simhash({text:t}) IS NOT DISTINCT
    FROM simhash({text:t}, '{{}}'::text)
SELECT simhash({text:t}, o) IS NOT DISTINCT FROM simhash({text:t}, o::text) FROM (SELECT {jsonb:o}) AS x (o)
SELECT simhash({text:t}, {jsonb:o}) IS NOT DISTINCT FROM (SELECT simhash_agg(feature, weight) FROM
    simhash_features({text:t}, {jsonb:o})) WHERE ({jsonb:o}) ->> 'weight' IS NULL OR ({jsonb:o}) ->> 'weight' <>
    'log'
SELECT (simhash({text:t}, {jsonb:o}) IS NULL) = (NOT EXISTS (SELECT FROM simhash_features({text:t}, {jsonb:o})))
SELECT count(*) = count(DISTINCT feature) AND bool_and(weight > 0 AND simhash(ARRAY[feature]) = hash) FROM
    simhash_features({text:t}, {jsonb:o})
SELECT simhash({text:t}, {jsonb:o}) IS NOT DISTINCT FROM simhash(x, {jsonb:o}) FROM (SELECT ({text:t}) || '' OFFSET
    0) AS s (x)
SELECT simhash({text:t}) IS NOT DISTINCT FROM simhash(normalize({text:t}, NFD)) AND simhash({text:t}) IS NOT
    DISTINCT FROM simhash(normalize({text:t}, NFKC))
SELECT simhash({text[]:f}) IS NOT DISTINCT FROM (SELECT simhash_agg(x, 1) FROM unnest({text[]:f}) AS x)
SELECT simhash({text[]:f}) IS NOT DISTINCT FROM simhash({text[]:f}, array_fill(1::float8,
    ARRAY[cardinality({text[]:f})])) WHERE cardinality({text[]:f}) > 0
SELECT simhash({text[]:f}, {double precision[]:w}) IS NOT DISTINCT FROM (SELECT simhash_agg(x, y) FROM
    unnest({text[]:f}, {double precision[]:w}) AS u (x, y))
SELECT simhash({tsvector:v}) IS NOT DISTINCT FROM (SELECT simhash_agg(lexeme, coalesce((SELECT sum((ARRAY[0.1, 0.2,
    0.4, 1.0])[strpos('DCBA', x)]) FROM unnest(weights) AS x), 0.1)) FROM unnest({tsvector:v}))
SELECT r BETWEEN 0 AND 1 AND r = simhash_resemblance({text:b}, {text:a}, {jsonb:o}) FROM
    simhash_resemblance({text:a}, {text:b}, {jsonb:o}) AS r
SELECT simhash_resemblance({text:a}, {text:a}, {jsonb:o}) = 1
SELECT (SELECT count(*) FROM simhash_pairs(ids, all_f, {distance:d})) = (SELECT count(*) FROM unnest(ids, all_f) AS
    x (i, f), unnest(ids, all_f) AS y (i, f) WHERE x.i < y.i AND hamming(x.f, y.f) <= {distance:d}) FROM (SELECT
    {fingerprints:f}) AS a (all_f), LATERAL (SELECT ARRAY(SELECT generate_series(1, cardinality(all_f)))) AS b (ids)
SELECT bool_and(hamming(f[a], f[b]) = distance AND a <> b) FROM (SELECT {fingerprints:f}) AS x (f), LATERAL (SELECT
    ARRAY(SELECT generate_series(1, cardinality(f)))) AS y (i), simhash_pairs(i, f, {distance:d})
WITH c AS (SELECT n, f, simhash_cluster(n, f, {distance:d}) OVER (ORDER BY n) AS c FROM unnest({fingerprints:f}) WITH
    ORDINALITY AS u (f, n)) SELECT bool_and((a.c = b.c) OR hamming(a.f, b.f) > {distance:d}) AND bool_and(a.c <= a.n
    AND (a.f IS NULL) = (a.c IS NULL)) FROM c a, c b
WITH RECURSIVE u AS MATERIALIZED (SELECT * FROM unnest({few:f}) WITH ORDINALITY AS u (f, n)), reach (n, m) AS
    (SELECT n, n FROM u WHERE f IS NOT NULL UNION SELECT reach.n, b.n FROM reach JOIN u a ON a.n = m JOIN u b ON
    hamming(a.f, b.f) <= {distance:d}) SELECT bool_and(c = least) FROM (SELECT n, simhash_cluster(n, f, {distance:d})
    OVER (ORDER BY n) AS c FROM u) AS c JOIN (SELECT n, min(m) AS least FROM reach GROUP BY n) AS r USING (n)
WITH c AS (SELECT n, simhash_cluster(n, f, {distance:d}) OVER (ORDER BY n) AS c FROM unnest({fingerprints:f}) WITH
    ORDINALITY AS u (f, n)), p AS (SELECT coalesce(array_agg(a), '{{}}') AS a, coalesce(array_agg(b), '{{}}') AS b FROM
    (SELECT {fingerprints:f}) AS x (f), LATERAL (SELECT ARRAY(SELECT generate_series(1, cardinality(f)))) AS y (i),
    simhash_pairs(i, f, {distance:d})) SELECT bool_and(c.c = component) AND count(*) = (SELECT count(DISTINCT x) FROM
    unnest(p.a || p.b) AS x) FROM p, simhash_components(p.a, p.b) JOIN c ON c.n = id GROUP BY p.a, p.b
SELECT (SELECT count(*) FROM hostile.attached WHERE simhash_near(simhash, {bigint:a}, {distance:d})) = (SELECT
    count(*) FROM hostile.attached WHERE hamming(simhash, {bigint:a}) <= {distance:d})
SELECT bool_and(simhash IS NOT DISTINCT FROM simhash(body)) FROM hostile.attached
SELECT simhash_format() = 2
"""
ALL = lines(CLAIMS)


def claim(rng, values):
    """A random claim with values, and the claim without values."""
    chosen = {}
    template = rng.choice(ALL)

    def value(match):
        type, name = match[1], match[2] or ""
        key = (type, name)
        if key not in chosen:
            chosen[key] = make(type, name)
        return chosen[key]

    def make(type, name):
        if type == "near":
            mask = sum(1 << bit for bit in rng.sample(range(63), rng.randint(0, 8)))
            return f"({chosen.setdefault(('bigint', name), values.bigint())} # {mask}::bigint)"
        if type == "distance":
            return str(rng.choice((0, 1, 3, 3, 7, 20, 64, rng.randint(0, 64))))
        if type == "small":
            return str(rng.randint(0, 6))
        if type == "blocks":
            return str(rng.randint(2, 8))
        if type in ("fingerprints", "few"):
            return fingerprints(rng, 200 if type == "fingerprints" else 25)
        return values.one(type, name)

    text = template.replace("{{", "\x01").replace("}}", "\x02")
    text = re.sub(r"\{([^:{}]+):?(\w*)\}", value, text)
    return text.replace("\x01", "{").replace("\x02", "}"), template


def fingerprints(rng, most):
    """Random fingerprints, some of which are near each other, equal or NULL."""
    found = []
    for _ in range(rng.randint(0, most)):
        way = rng.random()
        if way < 0.05:
            found.append(None)
        elif way < 0.6 and (known := [f for f in found if f is not None]):
            found.append(rng.choice(known) ^ sum(1 << bit for bit in rng.sample(range(64), rng.randint(0, 5))))
        else:
            found.append(rng.getrandbits(64))
    signed = [None if f is None else f - (1 << 64) if f >> 63 else f for f in found]
    return "'{" + ",".join("NULL" if f is None else str(f) for f in signed) + "}'::bigint[]"
