package mysql

import (
	"database/sql"

	"github.com/cronce/cronce/idempotency/internal/sqlkeys"
)

// Parse is what Open makes of an address.
var Parse = parse

// LookUp is the statement that looks a key up.
var LookUp = newDialect("idempotency_keys").common.Lookup.Text()

// NewForMySQL is New with what the store sends to MySQL, on a pool as advised. MariaDB
// understands it too.
func NewForMySQL(db *sql.DB) *Store {
	d := newDialect("idempotency_keys")
	d.pool.Store(&pool{silence: 300})
	return &Store{sqlkeys.New(db, d, false)}
}
