-- simhash_of_features, with weights and without. Its numbers are in the golden vectors, which pg_test computes in SQL too.

-- Without a feature that has a weight, there is no fingerprint.
SELECT simhash_of_features('{}'), simhash_of_features('{}', '{}'),
    simhash_of_features(ARRAY['a', 'b'], ARRAY[0, 0]) AS weightless,
    simhash_of_features(NULL::text[]) AS no_features, simhash_of_features(NULL::text[], '{1}') AS no_weighted_features,
    simhash_of_features(ARRAY['a'], NULL::float8[]) AS no_weights;

-- A feature may be any string, even an empty one, and is not normalised.
SELECT simhash_of_features(ARRAY['A']) <> simhash_of_features(ARRAY['a']) AS case_matters, simhash_of_features(ARRAY['']) AS empty,
    simhash_of_features(ARRAY['two words']) = simhash_of_features(ARRAY['two', 'words']) AS split;

-- A feature that occurs twice counts twice; order does not matter; only the ratios of weights do.
SELECT simhash_of_features(ARRAY['a', 'b', 'a', 'c']) = simhash_of_features(ARRAY['a', 'b', 'c'], ARRAY[2, 1, 1]) AS twice,
    simhash_of_features(ARRAY['c', 'a', 'b'], ARRAY[.7, .2, .1]) = simhash_of_features(ARRAY['a', 'b', 'c'], ARRAY[.2, .1, .7]) AS reordered,
    simhash_of_features(ARRAY['a', 'b', 'c'], ARRAY[1, 1, 1]) = simhash_of_features(ARRAY['a', 'b', 'c']) AS equal_weights,
    simhash_of_features(ARRAY['a', 'b', 'c'], ARRAY[.1, .2, .4]) = simhash_of_features(ARRAY['a', 'b', 'c'], ARRAY[1e8, 2e8, 4e8]) AS scaled;

-- 0.1 + 0.2 against 0.3 is a tie, as in decimal and not as in binary fractions: the bits in which the two features
-- differ are all 0.
SELECT simhash_of_features(ARRAY['b', 'b', 'a'], ARRAY[.1, .2, .3]) = simhash_of_features(ARRAY['a']) & simhash_of_features(ARRAY['b']) AS tie,
    simhash_of_features(ARRAY['b', 'b', 'a'], ARRAY[.1, .2, .300000001]) = simhash_of_features(ARRAY['a']) AS just_more;

-- Other element types, other lower bounds.
SELECT simhash_of_features(ARRAY['a', 'b']::varchar[], ARRAY[1, 2]::int[])
    = simhash_of_features(ARRAY['a', 'b'], ARRAY[1, 2]::float8[]) AS types,
    simhash_of_features('[5:6]={a,b}'::text[], '[-3:-2]={1,2}') = simhash_of_features(ARRAY['a', 'b'], ARRAY[1, 2]) AS lower_bounds,
    simhash_of_features(features => ARRAY['a', 'b'], weights => ARRAY[1, 2]) = simhash_of_features(ARRAY['a', 'b'], ARRAY[1, 2]) AS named;
