package migrations

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"

	"github.com/cronce/cronce/idempotency/keytable"
)

// Print returns the ledger's migrations as plain SQL, for another migration tool. The SQL
// ends by recording its versions, so that a later Up or Status knows which migrations
// are applied.
func Print(t Target) (string, error) {
	t, err := t.complete()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	files, err := printFiles(&b, t.Engine, t.Schema, t.files(), t.names())
	if err != nil {
		return "", err
	}
	err = t.printVersions(&b, files)
	return b.String(), err
}

// PrintKeys returns the table of keys as plain SQL. The default of the schema is
// DefaultSchema, that of the table keytable.DefaultTable.
func PrintKeys(e Engine, schema, table string) (string, error) {
	schema, err := schemaOn(e, schema)
	if err != nil {
		return "", err
	}
	table = cmp.Or(table, keytable.DefaultTable)
	if err := keytable.CheckName(table); err != nil {
		return "", err
	}
	if !slices.Contains([]Engine{Postgres, MySQL, SQLite}, e) {
		return "", fmt.Errorf("unknown engine %q; use postgres, mysql or sqlite", e)
	}
	files, err := fs.Sub(keytable.Files, string(e))
	if err != nil {
		return "", err
	}
	var b strings.Builder
	_, err = printFiles(&b, e, schema, files, strings.NewReplacer("{{schema}}", schema, "{{table}}", table))
	return b.String(), err
}

// printFiles prints migrations, and returns the names of their files.
func printFiles(b *strings.Builder, e Engine, schema string, from fs.FS, put *strings.Replacer) ([]string, error) {
	// The pattern is constant and the names begin with zero-padded numbers.
	files, err := fs.Glob(from, "*.sql")
	if err != nil {
		return nil, err
	}
	if e == Postgres {
		fmt.Fprintf(b, "CREATE SCHEMA IF NOT EXISTS %s;\n\n", schema)
	}
	for _, name := range files {
		text, err := fs.ReadFile(from, name)
		if err != nil {
			return nil, err
		}
		up, _, _ := strings.Cut(string(text), "-- +goose Down")
		up = strings.ReplaceAll(up, " CONCURRENTLY", "") // a tool may run the SQL in a transaction, and the tables are new
		fmt.Fprintf(b, "-- %s\n", name)
		for line := range strings.Lines(put.Replace(up)) {
			if !strings.HasPrefix(line, "-- +goose") {
				b.WriteString(line)
			}
		}
	}
	return files, nil
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
