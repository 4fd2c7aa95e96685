package postgres

import (
	"database/sql"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// SchemaVersion is the version of the tables that this package needs: that of the newest
// file in migrations/postgres/ledger. It is a constant, so that a program that does not
// migrate, such as a Lambda, does not link the migrations.
const SchemaVersion = 15

const defaultSchema = "cronce"

// WithDB calls do with the database at url and the name of the ledger's schema, and
// closes the database afterwards. It does not check the tables: package migrate uses it
// to create them.
func WithDB(url string, do func(db *sql.DB, schema string) error, options ...Option) error {
	s := defaults(options)
	config, err := s.config(url)
	if err != nil {
		return err
	}
	config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe // a pooler takes no named statements
	// Else a database's own settings may have the server or the driver refuse writes.
	session := &sessions{settings: map[string]string{"default_transaction_read_only": "off", "standard_conforming_strings": "on"}}
	db := stdlib.OpenDB(*config.ConnConfig, stdlib.OptionAfterConnect(session.start))
	defer db.Close()
	return translate("migrate", do(db, s.schema))
}
