CREATE EXTENSION pg_simhash;
CREATE TABLE docs (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    path text NOT NULL,
    body text NOT NULL
);
