-- The options in the criterion of a guard or a preview: those of the indexes, to which it may add "same".
CREATE TABLE mails (id integer PRIMARY KEY, body text);
SELECT simhash_index('mails', 'body');
CREATE FUNCTION mail(invoice integer) RETURNS text LANGUAGE sql AS $$
    SELECT format('Dear customer, please pay invoice number %s, which was due on the first of the month, within the '
        'next three weeks. If you have paid by now, please take this letter for void. With kind regards, your water '
        'works', invoice)
$$;

-- By default, the second invoice is a near-duplicate.
SELECT simhash_guard('mails');
INSERT INTO mails VALUES (1, mail(17));
INSERT INTO mails VALUES (2, mail(18));
-- If the numbers must be the same, the second invoice is not a near-duplicate; a copy of it is.
SELECT simhash_guard('mails', criterion => '{"same": ["numbers"]}'), definition('mails');
INSERT INTO mails VALUES (2, mail(18));
INSERT INTO mails VALUES (3, upper(mail(18)));
-- The criterion in other words, with the same meaning, changes nothing. A criterion without the option takes it away.
SET client_min_messages = notice;
SELECT simhash_guard('mails', criterion => '{"same": ["numbers"], "resemblance": 0.840}');
SELECT simhash_guard('mails', criterion => '{}');
SET client_min_messages = warning;
SELECT definition('mails');

-- A preview takes the same criteria. It counts rows by their resemblance, in steps of .05.
SELECT simhash_unguard('mails');
SELECT resemblance, distance, duplicate, rows FROM simhash_preview('mails');
SELECT resemblance, distance, duplicate, rows FROM simhash_preview('mails', '{"same": ["numbers"]}');
SELECT resemblance, distance, duplicate, rows FROM simhash_preview('mails', '{"resemblance": 0.98}');

-- The indexes of another table are on pairs of words. A criterion that does not name this option has it anyway.
CREATE TABLE letters (id integer PRIMARY KEY, body text);
SELECT simhash_index('letters', 'body', '{"ngram": 2}');
SELECT simhash_guard('letters', criterion => '{"resemblance": 0.9, "same": ["numbers"]}'), definition('letters');
INSERT INTO letters SELECT id, body FROM mails WHERE id = 1;
INSERT INTO letters VALUES (2, mail(18));
INSERT INTO letters VALUES (3, mail(18) || '!');
SELECT simhash_guard('letters', 'skip', '{"same": []}');
INSERT INTO letters VALUES (3, mail(19));
SELECT count(*) FROM letters;
SELECT resemblance, duplicate, rows FROM simhash_preview('letters', '{"same": ["numbers"]}');
SELECT resemblance, duplicate, rows FROM simhash_preview('letters', '{"same": []}');

-- Wrong keys and values, options that the indexes do not have, and options of texts for fingerprints.
SELECT errors($$SELECT simhash_guard('mails', criterion => '{"numbers": "same"}')$$,
    $$SELECT simhash_guard('mails', criterion => '{"same": "numbers"}')$$,
    $$SELECT simhash_guard('mails', criterion => '{"ngram": 2}')$$,
    $$SELECT * FROM simhash_preview('mails', '{"ngram": 2}')$$,
    $$SELECT * FROM simhash_preview('mails', '{"resemblance": null, "same": ["numbers"]}')$$);
