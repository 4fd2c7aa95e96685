// Package keytable holds the SQL that creates the table of idempotency keys, for each
// database system. It is for engines and migration tools. A service creates the table
// with CreateTable of its engine, or copies the output of `cronce migrate print --set
// keys` into its own migrations.
package keytable

import (
	"embed"
	"fmt"
	"hash/fnv"
	"regexp"
	"strings"
)

// Files has one directory for each database system: postgres, mysql (for MariaDB, too)
// and sqlite. A file in it is a goose migration named <version>_<name>.sql, in which
// {{schema}} and {{table}} stand for the user's names.
//
//go:embed postgres mysql sqlite
var Files embed.FS

// Default names of the schema and the table.
const (
	DefaultSchema = "cronce" // PostgreSQL only
	DefaultTable  = "idempotency_keys"
)

var identifier = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,39}$`)

// CheckName returns an error for a name that would need quoting or is longer than
// forty characters. Forty characters leave room for the suffixes of index names.
func CheckName(name string) error {
	if !identifier.MatchString(name) {
		return fmt.Errorf("%q cannot be a schema or table name: use up to 40 of a-z, 0-9 and _, not beginning with a digit", name)
	}
	return nil
}

// Create returns the statements that create the table, and on PostgreSQL its
// schema, unless the table exists. Any number of processes may run them at once.
func Create(engine, schema, table string) ([]string, error) {
	for _, name := range []string{schema, table} {
		if err := CheckName(name); err != nil {
			return nil, err
		}
	}
	files, err := Files.ReadDir(engine)
	if err != nil {
		return nil, fmt.Errorf("no table for the engine %q; there is one for postgres, mysql and sqlite", engine)
	}
	names := strings.NewReplacer("{{schema}}", schema, "{{table}}", table)
	var statements []string
	for _, file := range files {
		text, err := Files.ReadFile(engine + "/" + file.Name())
		if err != nil {
			return nil, err
		}
		up, _, _ := strings.Cut(string(text), "-- +goose Down")
		statements = append(statements, split(names.Replace(up))...)
	}
	if engine == "postgres" {
		statements = []string{unlessThere(schema, table, statements)}
	}
	return statements, nil
}

// split takes apart what ends in a semicolon at a line's end.
func split(text string) (statements []string) {
	for statement := range strings.SplitAfterSeq(text, ";\n") {
		if strings.HasSuffix(statement, ";\n") {
			statements = append(statements, strings.TrimSpace(statement))
		}
	}
	return statements
}

// unlessThere asks first: PostgreSQL wants the right to create even where there
// is nothing to create. The lock is for processes that start at once, because IF
// NOT EXISTS is no guard against another session's uncommitted CREATE.
func unlessThere(schema, table string, statements []string) string {
	name := schema + "." + table
	lock := fnv.New64a()
	lock.Write([]byte("cronce table " + name))
	return fmt.Sprintf(`DO $create$ BEGIN
IF to_regclass('%s') IS NULL THEN
PERFORM pg_advisory_xact_lock(%d);
IF to_regnamespace('%s') IS NULL THEN CREATE SCHEMA %s; END IF;
%s
END IF;
END $create$`, name, int64(lock.Sum64()), schema, schema, strings.Join(statements, "\n"))
}
