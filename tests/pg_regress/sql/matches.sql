-- The places of a clue in a text: simhash_matches, simhash_coverage and simhash_headline.

CREATE TABLE texts (id integer PRIMARY KEY, content text, clue text, options jsonb DEFAULT '{}');
INSERT INTO texts VALUES
    (1, 'Ein Päckchen: the quick brown fox jumps over the lazy dog.', 'THE QUICK, "brown" cat jumps over the lazy dog',
        DEFAULT),
    (2, '在天地人和，天地間 one two three', 'One, two: three 天地人和天地', DEFAULT),
    (3, '<p>an <b>am</b>pers&amp;and &lt;here&gt;', 'ampers and here', '{"markup": "html"}'),
    (4, 'no match at all here', 'nothing of this kind', DEFAULT),
    (5, 'two words', 'Two, words!', DEFAULT),
    (6, 'a b c', '?!', DEFAULT),
    (7, '', 'a b c d', DEFAULT),
    (8, '그는 산길로 돌아서 집에 왔다', '산길로 돌아 서집에왔다', '{"tokens": "chars"}');
SELECT id, m.*, substr(content, content_position, content_length), substr(clue, clue_position, clue_length) AS of_clue
FROM texts, simhash_matches(content, clue, options) AS m ORDER BY id, content_position;

-- The coverage is the sum of the words of the matches, as a share of the clue.
SELECT id, simhash_coverage(content, clue, options) AS coverage,
    (SELECT sum(words) FROM simhash_matches(content, clue, options)) AS words FROM texts ORDER BY id;

-- simhash_headline: whole texts, fragments, and limits.
SELECT id, simhash_headline(content, clue, options => options) FROM texts ORDER BY id;
SELECT simhash_headline(repeat('so it goes on and on ', 20) || content || repeat(' and again and once more', 20), clue,
    $$MaxFragments=1, MaxWords=12, startsel = "<mark class='x'>", StopSel=</mark>$$) FROM texts WHERE id = 1;
SELECT simhash_headline('a b c d 1 2 3 4 5 6 7 8 9 e f g h i 1 2 3 4 5 6 7 8 9 j k l',
    'a b c d, or j k l, or e f g h i',
    'MaxFragments=2, MaxWords=7, FragmentDelimiter=" | "') AS longest,
    simhash_headline('a b c d 1 2 3 4 5 e f g h', 'e f g h or a b c d', 'MaxFragments=2, MaxWords=9') AS merged,
    simhash_headline('a b c d 1 e f g h 1 2 3 4 5 i j k', 'e f g h or a b c d or i j k', 'MaxFragments=2, MaxWords=9')
        AS within,
    simhash_headline('a b c d e f', 'a b c d e f', 'MaxFragments=1, MaxWords=3') AS cut,
    simhash_headline('a b c d e f', 'c d e', 'MaxFragments=1, MaxWords=18446744073709551615') AS all,
    simhash_headline('a b c d e f', 'nothing of it', 'MaxFragments=3, MaxWords=3') AS begin,
    simhash_headline('½ ½ ½', '1 2 1 0 2 1 2') AS parts_of_a_character,
    simhash_headline('?!', 'a b c', 'MaxFragments=1') AS no_word, simhash_headline('a', NULL) IS NULL AS unknown;

SELECT errors($$SELECT simhash_headline('a', 'b', 'Start=x')$$,
    $$SELECT simhash_headline('a', 'b', 'MaxFragments=-1')$$,
    $$SELECT simhash_headline('a', 'b', 'MaxWords=0')$$, $$SELECT simhash_headline('a', 'b', 'MaxWords=many')$$,
    $$SELECT simhash_headline('a', 'b', '{"markup": "html"}')$$, $$SELECT simhash_matches('a', 'b', '{"ngram": 17}')$$);

-- A clue that stands unchanged is one match, however often the text repeats its parts.
WITH lines AS (SELECT n, format('192.168.0.%s - - [10/Oct/2026:13:%s:%s +0000] "GET /index.html HTTP/1.1" 200 %s "-" '
        '"Mozilla/5.0 (X11; Linux x86_64)"',
        n * 7 % 5, n / 60 % 60, n % 60, n * 7919 % 5000) AS line FROM generate_series(1, 500) AS n),
    texts AS (SELECT string_agg(line, E'\n' ORDER BY n) AS content,
        string_agg(line, E'\n' ORDER BY n) FILTER (WHERE n BETWEEN 250 AND 299) AS clue FROM lines)
SELECT simhash_coverage(content, clue), simhash_contains(content, clue, 1),
    (SELECT count(*) FROM simhash_matches(content, clue)) FROM texts;
