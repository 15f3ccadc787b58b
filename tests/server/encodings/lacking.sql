-- LATIN1 has the micro sign, but not the Greek letter that it stands for in normalised text.
\pset format unaligned
\pset tuples_only on
SELECT feature FROM simhash_features('5 µm');
SELECT side, feature FROM simhash_difference('5 µm thick', '5 nm thick');
SELECT in_a, required FROM simhash_explain('5 µm a', '5 b', '{"same": ["µm"]}') WHERE strpos(in_a, '\u{') > 0;
SELECT simhash_weights('the µm layer ' || n, '{}') FROM generate_series(1, 100) AS n;
-- A text that is converted in parts.
SELECT feature = repeat('\u{3bc}', 99999) || 'm' FROM simhash_features(repeat('µ', 99999) || 'm');
