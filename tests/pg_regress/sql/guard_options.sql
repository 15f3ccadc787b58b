-- Guards and previews that compare texts with other options than those of the fingerprints.
CREATE TABLE mails (id integer PRIMARY KEY, body text);
SELECT simhash_attach('mails', 'body');
CREATE FUNCTION mail(invoice integer) RETURNS text LANGUAGE sql AS $$
    SELECT format('Dear customer, please pay invoice number %s, which was due on the first of the month, within the next '
        'three weeks. If you have paid by now, please take this letter for void. With kind regards, your water works', invoice)
$$;

-- By default, as the fingerprints: the second invoice is a near-duplicate.
SELECT simhash_guard('mails');
INSERT INTO mails VALUES (1, mail(17));
INSERT INTO mails VALUES (2, mail(18));
-- With the same numbers, it is not; a copy is.
SELECT simhash_guard('mails', criterion => '{"same": ["numbers"]}');
SELECT definition('mails');
INSERT INTO mails VALUES (2, mail(18));
INSERT INTO mails VALUES (3, upper(mail(18)));
-- Texts that are compared by other features; the old value of an UPDATE does not matter.
SELECT simhash_guard('mails', criterion => '{"resemblance": 0.5, "ngram": 2, "same": ["numbers"]}');
SELECT definition('mails');
UPDATE mails SET body = mail(18) || ' of London' WHERE id = 2;
INSERT INTO mails VALUES (3, mail(18));
-- The same guard again, and with the options of the fingerprint.
SET client_min_messages = notice;
SELECT simhash_guard('mails', criterion => '{"resemblance": 0.5, "same": ["numbers"], "ngram": 2.0}');
SELECT simhash_guard('mails');
SET client_min_messages = warning;
SELECT definition('mails');

-- A preview takes them too.
SELECT simhash_unguard('mails');
SELECT distance, duplicate, rows, resemblance FROM simhash_preview('mails');
SELECT distance, duplicate, rows, resemblance FROM simhash_preview('mails', '{"same": ["numbers"]}');
SELECT distance, duplicate, rows, resemblance FROM simhash_preview('mails', '{"resemblance": 0.8, "ngram": 2}');
-- A preview without a limit shows the resemblance with the options of the fingerprints.
SELECT distance, duplicate, rows, resemblance FROM simhash_preview('mails', '{"resemblance": null}');

-- Options of the fingerprints are the default. "same" changes no bit of them.
CREATE TABLE letters (id integer PRIMARY KEY, body text);
SELECT simhash_attach('letters', 'body', options => '{"same": ["numbers"]}');
SELECT simhash_guard('letters');
SELECT definition('letters');
INSERT INTO letters SELECT id, body FROM mails WHERE id = 1;
INSERT INTO letters VALUES (2, mail(18));
INSERT INTO letters VALUES (3, mail(18) || '!');
SELECT bool_and(simhash = simhash(body)) AS same_bits FROM letters;
SELECT simhash_guard('letters', 'skip', '{"same": []}');
INSERT INTO letters VALUES (3, mail(19));
SELECT count(*) FROM letters;

-- What is refused.
SELECT errors($$SELECT simhash_guard('mails', criterion => '{"numbers": "same"}')$$,
    $$SELECT simhash_guard('mails', criterion => '{"same": "numbers"}')$$,
    $$SELECT simhash_guard('mails', criterion => '{"resemblance": null, "ngram": 2}')$$,
    $$SELECT * FROM simhash_preview('mails', '{"resemblance": null, "same": ["numbers"]}')$$);
