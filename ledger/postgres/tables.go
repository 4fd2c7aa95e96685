package postgres

import (
	"database/sql"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// Version is the version of the tables that this package's statements need:
// that of the newest file in migrations/postgres/ledger. It is a number, so that a
// program which does not migrate, such as a Lambda, links neither the files nor
// goose.
const Version = 1

const defaultSchema = "cronce"

// Tables calls do with the ledger's database and the name of its schema, and closes
// the database afterwards. Package migrate uses it to create the tables. Errors are
// those of Open.
func Tables(url string, do func(db *sql.DB, schema string) error, options ...Option) error {
	s := defaults(options)
	config, err := s.config(url)
	if err != nil {
		return err
	}
	config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe // a pooler takes no named statements
	db := stdlib.OpenDB(*config.ConnConfig)
	defer db.Close()
	return translate("migrate", do(db, s.schema))
}
