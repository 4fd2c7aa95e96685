package migrations

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"strings"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"
)

// Print returns the migrations of a set as plain SQL, for another migration tool. The SQL
// ends by recording its versions, so that a later Up or Status knows which migrations
// are applied.
func Print(t Target) (string, error) {
	t, err := t.complete()
	if err != nil {
		return "", err
	}
	// The pattern is constant and the names begin with zero-padded numbers.
	files, err := fs.Glob(t.files(), "*.sql")
	if err != nil {
		return "", err
	}
	var b strings.Builder
	if t.Engine == Postgres {
		fmt.Fprintf(&b, "CREATE SCHEMA IF NOT EXISTS %s;\n\n", t.Schema)
	}
	for _, name := range files {
		if err := t.printFile(&b, name); err != nil {
			return "", err
		}
	}
	err = t.printVersions(&b, files)
	return b.String(), err
}

func (t Target) printFile(b *strings.Builder, name string) error {
	text, err := fs.ReadFile(t.files(), name)
	if err != nil {
		return err
	}
	up, _, _ := strings.Cut(string(text), "-- +goose Down")
	up = strings.ReplaceAll(up, " CONCURRENTLY", "") // a tool may run the SQL in a transaction, and the tables are new
	fmt.Fprintf(b, "-- %s\n", name)
	for line := range strings.Lines(t.names().Replace(up)) {
		if !strings.HasPrefix(line, "-- +goose") {
			b.WriteString(line)
		}
	}
	return nil
}

func (t Target) printVersions(b *strings.Builder, files []string) error {
	store, err := t.store()
	if err != nil {
		return err
	}
	create, err := store.createSQL(context.Background())
	if err != nil {
		return err
	}
	fmt.Fprintf(b, "\n-- what has been applied\n%s;\n", create)
	fmt.Fprintf(b, "INSERT INTO %s (version_id, is_applied) VALUES (0, true)", t.versions())
	for _, name := range files {
		version, err := goose.NumericComponent(name)
		if err != nil {
			return err
		}
		fmt.Fprintf(b, ", (%d, true)", version)
	}
	b.WriteString(";\n")
	return nil
}

// recorder keeps the statement that goose would have run.
type recorder struct {
	database.DBTxConn
	query string
}

func (r *recorder) ExecContext(_ context.Context, query string, _ ...any) (sql.Result, error) {
	r.query = query
	return nil, nil
}
