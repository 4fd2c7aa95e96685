package mysql

import (
	"errors"

	"github.com/go-sql-driver/mysql"

	"github.com/cronce/cronce/idempotency/internal/sqlkeys"
)

// Advice implements [sqlkeys.Dialect].
func (d *dialect) Advice(error) string { return "" }

// Means implements [sqlkeys.Dialect].
func (d *dialect) Means(err error) sqlkeys.Meaning {
	switch code(err) {
	case deadlock:
		return sqlkeys.Victim
	case noSuchSavepoint:
		return sqlkeys.NoSavepoint
	}
	return sqlkeys.Unavailable
}

// Server error numbers.
const (
	duplicateKey    = 1062
	lockWaitTimeout = 1205
	deadlock        = 1213
	noSuchSavepoint = 1305
)

// code is the server's error number, 0 when the error is not the server's.
func code(err error) uint16 {
	var e *mysql.MySQLError
	if errors.As(err, &e) {
		return e.Number
	}
	return 0
}
