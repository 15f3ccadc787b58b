// docs/frameworks/go.md: its package, in a new database on the server of psql's environment.
package docs

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

var ctx = context.Background()

// Of the 601 words of text and near, 599 are common.
var text, near, other = texts()

func texts() (text, near, other string) {
	var words, doubled []string
	for number := 0; number < 600; number++ {
		word := fmt.Sprintf("word%d", number)
		words = append(words, word)
		doubled = append(doubled, word+word)
	}
	start := strings.Join(words[:599], " ")
	return start + " word599", start + " another", strings.Join(doubled, " ")
}

func connect(t *testing.T, database string) *pgx.Conn {
	conn, err := pgx.Connect(ctx, "dbname="+database)
	check(t, err)
	t.Cleanup(func() { conn.Close(ctx) })
	return conn
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func equal(t *testing.T, expected, actual interface{}) {
	t.Helper()
	if !reflect.DeepEqual(expected, actual) {
		t.Fatalf("expected %v, not %v", expected, actual)
	}
}

func execute(t *testing.T, conn *pgx.Conn, sql string) {
	t.Helper()
	_, err := conn.Exec(ctx, sql)
	check(t, err)
}

func TestPage(t *testing.T) {
	postgres := connect(t, "postgres")
	execute(t, postgres, "DROP DATABASE IF EXISTS go")
	execute(t, postgres, "CREATE DATABASE go")
	conn := connect(t, "go")
	execute(t, conn, `
		CREATE EXTENSION pg_simhash;
		CREATE TABLE docs (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, body text NOT NULL);
		SELECT simhash_index('docs', 'body'), simhash_guard('docs')`)
	reject(t, conn)
	search(t, conn)
	skip(t, conn)
}

func reject(t *testing.T, conn *pgx.Conn) {
	id, err := Insert(ctx, conn, text)
	check(t, err)
	equal(t, int64(1), id)

	// The transaction goes on after a rejected row, which was in a savepoint.
	tx, err := conn.Begin(ctx)
	check(t, err)
	savepoint, err := tx.Begin(ctx)
	check(t, err)
	_, err = Insert(ctx, savepoint.Conn(), near)
	var found *NearDuplicate
	equal(t, true, errors.As(err, &found))
	equal(t, int64(1), found.Key.ID)
	equal(t, 0.997, found.Resemblance)
	check(t, savepoint.Rollback(ctx))
	_, err = Insert(ctx, tx.Conn(), other)
	check(t, err)
	check(t, tx.Commit(ctx))

	// Another exclusion constraint.
	execute(t, conn, "ALTER TABLE docs ADD CONSTRAINT lengths EXCLUDE (length(body) WITH =)")
	_, err = Insert(ctx, conn, strings.ReplaceAll(other, "w", "s"))
	equal(t, false, err == nil || errors.As(err, &found))
	execute(t, conn, "ALTER TABLE docs DROP CONSTRAINT lengths")
}

func search(t *testing.T, conn *pgx.Conn) {
	var fingerprint, id int64
	check(t, conn.QueryRow(ctx, "SELECT id FROM docs WHERE simhash_near(body, $1)", strings.ToUpper(near)).Scan(&id))
	equal(t, int64(1), id)
	// An int64 holds the fingerprint.
	check(t, conn.QueryRow(ctx, "SELECT simhash(body) FROM docs WHERE id = 1").Scan(&fingerprint))
	check(t, conn.QueryRow(ctx, "SELECT id FROM docs WHERE simhash(body) = $1", fingerprint).Scan(&id))
	equal(t, int64(1), id)
}

func skip(t *testing.T, conn *pgx.Conn) {
	execute(t, conn, "TRUNCATE docs")
	execute(t, conn, "SELECT simhash_guard('docs', 'skip')")
	_, err := Insert(ctx, conn, text)
	check(t, err)
	_, err = Insert(ctx, conn, near)
	equal(t, pgx.ErrNoRows, err)
	tag, err := conn.Exec(ctx, "INSERT INTO docs (body) VALUES ($1)", near)
	check(t, err)
	equal(t, int64(0), tag.RowsAffected())
	rows := [][]interface{}{{near}, {other}}
	count, err := conn.CopyFrom(ctx, pgx.Identifier{"docs"}, []string{"body"}, pgx.CopyFromRows(rows))
	check(t, err)
	equal(t, int64(1), count)
}
