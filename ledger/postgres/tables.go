package postgres

import (
	"database/sql"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// Version is the version of the tables that this package's statements need:
// that of the newest file in migrations/postgres/ledger. It stands here as a
// number so that a program which migrates nothing, such as a Lambda, carries
// neither the files nor what applies them.
const Version = 1

const defaultSchema = "cronce"

// Tables lends the ledger's database, and the name of the schema that its
// tables are in, to do, and closes it afterwards. Package migrate below this
// one makes the tables by it. Errors are those of Open.
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
