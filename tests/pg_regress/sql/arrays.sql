-- simhash(features) and simhash(features, weights). Their numbers are in the golden vectors, which pg_test computes in SQL
-- too.

-- Without a feature that has a weight, there is no fingerprint.
SELECT simhash('{}'::text[]), simhash('{}'::text[], '{}'), simhash(ARRAY['a', 'b'], ARRAY[0, 0]) AS weightless,
    simhash(NULL::text[]) AS no_features, simhash(NULL::text[], '{1}') AS no_weighted_features,
    simhash(ARRAY['a'], NULL::float8[]) AS no_weights;

-- A feature may be any string, even an empty one, and is not normalised.
SELECT simhash(ARRAY['A']) <> simhash(ARRAY['a']) AS case_matters, simhash(ARRAY['']) AS empty,
    simhash(ARRAY['two words']) = simhash(ARRAY['two', 'words']) AS split;

-- A feature that occurs twice counts twice; order does not matter; only the ratios of weights do.
SELECT simhash(ARRAY['a', 'b', 'a', 'c']) = simhash(ARRAY['a', 'b', 'c'], ARRAY[2, 1, 1]) AS twice,
    simhash(ARRAY['c', 'a', 'b'], ARRAY[.7, .2, .1]) = simhash(ARRAY['a', 'b', 'c'], ARRAY[.2, .1, .7]) AS reordered,
    simhash(ARRAY['a', 'b', 'c'], ARRAY[1, 1, 1]) = simhash(ARRAY['a', 'b', 'c']) AS equal_weights,
    simhash(ARRAY['a', 'b', 'c'], ARRAY[.1, .2, .4]) = simhash(ARRAY['a', 'b', 'c'], ARRAY[1e8, 2e8, 4e8]) AS scaled;

-- 0.1 + 0.2 against 0.3 is a tie, as in decimal and not as in binary fractions: the bits in which the two features
-- differ are all 0.
SELECT simhash(ARRAY['b', 'b', 'a'], ARRAY[.1, .2, .3]) = simhash(ARRAY['a']) & simhash(ARRAY['b']) AS tie,
    simhash(ARRAY['b', 'b', 'a'], ARRAY[.1, .2, .300000001]) = simhash(ARRAY['a']) AS just_more;

-- Other element types, other lower bounds.
SELECT simhash(ARRAY['a', 'b']::varchar[], ARRAY[1, 2]::int[])
    = simhash(ARRAY['a', 'b'], ARRAY[1, 2]::float8[]) AS types,
    simhash('[5:6]={a,b}'::text[], '[-3:-2]={1,2}') = simhash(ARRAY['a', 'b'], ARRAY[1, 2]) AS lower_bounds,
    simhash(features => ARRAY['a', 'b'], weights => ARRAY[1, 2]) = simhash(ARRAY['a', 'b'], ARRAY[1, 2]) AS named;
