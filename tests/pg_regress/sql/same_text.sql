-- Texts that are the same in other writing, and texts that are not: each row that is returned is wrong.

-- By the defaults.
SELECT kind, a, simhash_resemblance(a, b) FROM (VALUES
    ('digits', 'price 125 in 2026', 'price ١٢٥ in २०२६'),
    ('apostrophes', E'комп\u02BCютер, Hawai\u02BBi', E'комп\u2019ютер, Hawai''i'),
    ('yeh and kaf', 'كتاب هاي فارسي در كتابخانه ملي', 'کتاب های فارسی در کتابخانه ملی'),
    ('commas', 'știința țării și orașul', 'ştiinţa ţării şi oraşul'),
    ('joiners', E'അവര്\u200D വന്നു എന്നാല്\u200D അവന്\u200D പോയി', 'അവർ വന്നു എന്നാൽ അവൻ പോയി'),
    ('lines', E'the consti\u00ADtution of the\u2010 \r\n  state', 'the constitution of thestate')) AS v (kind, a, b)
WHERE simhash_resemblance(a, b) < 1 OR simhash(a) <> simhash(b);
-- By the numbers.
SELECT a, b FROM (VALUES
    ('Galaxy A15 128GB schwarz', 'Galaxy A15 128 GB schwarz', true), ('Netzteil 12 V 3 A', 'Netzteil 12V 3A', true),
    ('Wasser 6x1,5l PET', 'Wasser 6 x 1,5 l PET', true), ('total of 12.50EUR', 'total of 12.50 EUR', true),
    ('v1.2.3 of the parser', '1.2.3 of the parser', true), ('Powerbank 12 000 mAh', 'Powerbank 12000 mAh', true),
    (E'12\u202F000,50 EUR', '12.000,50 EUR', true), (E'12\u00A0000,50 EUR', '12.000,50 EUR', true),
    ('release 1.2.30', 'release 1.30.2', false), ('Galaxy A15', 'Galaxy A51', false), ('20 m2', '20 m', false))
    AS v (a, b, same) WHERE (simhash_resemblance(a, b, '{"tokens": "chars", "same": ["numbers"]}') > 0) <> same;
-- By the option "ignore".
SELECT a, b, options FROM (VALUES
    ('pod web-7d9c5b8f6-x2kfq (3f2a9c1e-8b4d-4c6a-9f1e-2b7c8d9e0f1a) answers 503',
        'pod web-bdcfbchjk-xzkfq (a81b2c3d-4e5f-4a6b-8c9d-0e1f2a3b4c5d) answers 503',
        jsonb '{"ignore": ["ids"]}', true),
    ('exit code 1', 'exit code 137', '{"ignore": ["ids"]}', false),
    ('port 5432 of gnupg', 'port 5433 of gnupg', '{"ignore": ["ids"]}', false),
    ('@alice@x.example write to anna@spam.example or visit spam.example/1?u=a',
        '@bob write to bob@junk.test or visit junk.com',
        '{"ignore": ["urls"]}', true),
    (E'a lengthy de-\nbate', 'a lengthy debate', '{"ignore": ["hyphenation"]}', true),
    (E'2010-\n2012', '20102012', '{"ignore": ["hyphenation"]}', false),
    ('<nav>Home</nav><main>text</main>', '<header>Shop</header><article>text</article>', '{"markup": "main"}', true),
    ('<div>a mail</div><p>of two parts', 'a mail of two parts', '{"markup": "main"}', true)) AS v (a, b, options, same)
WHERE (simhash_resemblance(a, b, options) = 1) <> same;
