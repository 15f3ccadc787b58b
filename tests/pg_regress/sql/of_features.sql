-- simhash_of_features, with weights and without. Its numbers are in the golden vectors, which pg_test computes in SQL
-- too.

-- Without a feature that has a weight, the fingerprint is NULL.
SELECT simhash_of_features('{}'), simhash_of_features('{}', '{}'),
    simhash_of_features(ARRAY['a', 'b'], ARRAY[0, 0]) AS weightless,
    simhash_of_features(NULL::text[]) AS no_features, simhash_of_features(NULL::text[], '{1}') AS no_weighted_features,
    simhash_of_features(ARRAY['a'], NULL::float8[]) AS no_weights;

-- A feature may be any string, even an empty one, and is not normalised.
SELECT simhash_of_features(ARRAY['A']) <> simhash_of_features(ARRAY['a']) AS case_matters,
    simhash_of_features(ARRAY['']) IS NOT NULL AS empty_has_one,
    simhash_of_features(ARRAY['two words']) <> simhash_of_features(ARRAY['two', 'words']) AS not_split;

-- A feature that occurs twice counts twice; order does not matter; only the ratios of weights do. (One feature weighs
-- as much as the others together: any other weight would give other bits.)
SELECT simhash_of_features(ARRAY['a', 'b', 'a', 'c'])
    = simhash_of_features(ARRAY['a', 'b', 'c'], ARRAY[2, 1, 1]) AS twice,
    simhash_of_features(ARRAY['c', 'a', 'b'], ARRAY[.3, .2, .1])
        = simhash_of_features(ARRAY['a', 'b', 'c'], ARRAY[.2, .1, .3]) AS reordered,
    simhash_of_features(ARRAY['a', 'b', 'c'], ARRAY[1, 1, 1])
        = simhash_of_features(ARRAY['a', 'b', 'c']) AS equal_weights,
    simhash_of_features(ARRAY['a', 'b', 'c'], ARRAY[.1, .2, .3])
        = simhash_of_features(ARRAY['a', 'b', 'c'], ARRAY[1e8, 2e8, 3e8]) AS scaled;

-- 0.1 + 0.2 against 0.3 is a tie, as in decimal and not as in binary fractions: the bits in which the two features
-- differ are all 0.
SELECT simhash_of_features(ARRAY['b', 'b', 'a'], ARRAY[.1, .2, .3])
    = simhash_of_features(ARRAY['a']) & simhash_of_features(ARRAY['b']) AS tie,
    simhash_of_features(ARRAY['b', 'b', 'a'], ARRAY[.1, .2, .300000001]) = simhash_of_features(ARRAY['a']) AS just_more;

-- Other element types and other lower bounds do not matter.
SELECT simhash_of_features('{a,b,c}'::varchar[], '{1,2,3}'::int[]) = simhash_of_features('{a,b,c}', '{1,2,3}') AS types,
    simhash_of_features('[5:7]={a,b,c}', '[-3:-1]={1,2,3}') = simhash_of_features('{a,b,c}', '{1,2,3}') AS lower_bounds,
    simhash_of_features(weights => '{1,2,3}', features => '{a,b,c}')
        = simhash_of_features('{a,b,c}', '{1,2,3}') AS named;
