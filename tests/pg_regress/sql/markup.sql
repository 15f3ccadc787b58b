-- The option markup: the text of an HTML document, without its markup.

-- Two mails in one template. Most of what they have in common is markup.
CREATE TABLE mails (id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, html text);
INSERT INTO mails (html)
SELECT format($$<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Example Ltd</title>
<style type="text/css">
body { margin: 0; padding: 0; background-color: #f4f4f7; color: #51545e; font-family: Arial, Helvetica, sans-serif; }
.preheader { display: none; visibility: hidden; max-height: 0; overflow: hidden; line-height: 1px; }
.button { background-color: #3869d4; border-top: 10px solid #3869d4; border-right: 18px solid; border-radius: 3px; }
@media only screen and (max-width: 600px) { .inner { width: 100%% !important; } .full { text-align: center; } }
</style></head><body><table class="wrapper" width="100%%" cellpadding="0" cellspacing="0" role="presentation"><tr>
<td align="center">
<a href="https://example.com/?utm_source=mail&amp;utm_medium=newsletter" target="_blank" rel="noopener"
><img src="https://cdn.example.com/assets/logo-header.png" alt="Logo" height="48" border="0"></a></td></tr><tr>
<td class="inner" valign="top" style="word-break: break-word; letter-spacing: normal; text-decoration: none">
<h1>%s</h1></td></tr></table></body></html>$$, subject)
FROM (VALUES ('Invoice overdue: please pay'), ('Your parcel has arrived')) AS mails (subject);
SELECT options, simhash(a.html, options) <~> simhash(b.html, options) AS distance,
       round(simhash_resemblance(a.html, b.html, options)::numeric, 3) AS resemblance
FROM mails AS a JOIN mails AS b ON a.id = 1 AND b.id = 2, (VALUES (jsonb '{}'), ('{"markup": "html"}')) AS o (options);
-- A guard skips the second mail unless its indexes have the option.
CREATE TABLE as_text (id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, html text);
CREATE TABLE as_html (LIKE as_text INCLUDING ALL);
SELECT simhash_index('as_text', 'html'), simhash_guard('as_text', 'skip'),
       simhash_index('as_html', 'html', '{"markup": "html"}'), simhash_guard('as_html', 'skip');
INSERT INTO as_text (html) SELECT html FROM mails ORDER BY id;
INSERT INTO as_html (html) SELECT html FROM mails ORDER BY id;
-- The text of the first mail in other markup, which is its copy.
INSERT INTO as_html (html)
SELECT regexp_replace(regexp_replace(html, '<style.*</style>', ''), ' [a-z]+="[^"]*"', '', 'g')
FROM mails WHERE id = 1;
SELECT (SELECT count(*) FROM as_text) AS as_text, (SELECT count(*) FROM as_html) AS as_html;

-- Every function reads the option. How markup is read is tested with the crate, by an oracle and by fuzzing.
SELECT simhash_resemblance('<p>a b</p>', '<i>a</i> <b>b</b>', '{"markup": "html"}') AS resemblance,
       simhash('<p>a b</p>', '{"markup": "html", "tokens": "chars"}') = simhash('a b', '{"tokens": "chars"}') AS chars,
       simhash('<p>' || repeat('a b ', 9) || '</p>', '{"markup": "html", "weight": "tf"}')
           = simhash('a b', '{"weight": "tf"}') AS weighted,
       simhash_weights(html || n, '{}') ? 'td' AS as_text,
       simhash_weights(html || n, '{"markup": "html"}') ? 'td' AS as_html
FROM mails, generate_series(1, 20) AS n GROUP BY ();
-- Values that the option does not have.
SELECT errors($$SELECT simhash('a', '{"markup": "xml"}')$$, $$SELECT simhash('a', '{"markup": ["html"]}'::jsonb)$$,
    $$SELECT simhash_attach('mails', 'html', options => '{"markup": "HTML"}')$$);

-- The function of docs/choosing.md finds the texts in the documents of block editors, by the paths that the page gives.
CREATE FUNCTION strings_at(document jsonb, path jsonpath) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN (SELECT string_agg(string #>> '{}', E'\n' ORDER BY n)
        FROM jsonb_path_query(document, path) WITH ORDINALITY AS strings (string, n)
        WHERE jsonb_typeof(string) = 'string');
SELECT editor, strings_at(document, path) FROM (VALUES
    ('Wagtail', jsonpath 'strict $.** ? (@.type() == "object").keyvalue() ? (@.key != "id" && @.key != "type").value',
     jsonb '[{"type": "heading", "value": "one", "id": "a1"}, {"type": "row", "value": {"left":
     "<p data-block-key=\"x1\">two<br/>three</p>", "right": [{"type": "text", "value": "four", "id": "b2"}]}, "id":
     "c3"}]'),
    ('Editor.js', 'strict $.blocks[*].data.**',
     '{"time": 1, "blocks": [{"id": "a1", "type": "header", "data": {"text": "one", "level": 2}},
     {"id": "b2", "type": "list", "data": {"style": 1, "items": ["two", "three"]}}], "version": "2.8"}'),
    ('ProseMirror', 'strict $.**.text',
     '{"type": "doc", "content": [{"type": "paragraph", "content": [{"type": "text", "text": "one"}, {"type": "text",
     "marks": [{"type": "strong"}], "text": "two"}]}, {"type": "paragraph", "content": [{"type": "text", "text":
     "three"}]}]}')) AS documents (editor, path, document);
