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
	switch number := code(err); {
	case d.rollsBack(number):
		return sqlkeys.Victim
	case number == noSuchSavepoint:
		return sqlkeys.NoSavepoint
	}
	return sqlkeys.Unavailable
}

// rollsBack reports whether the server rolls the whole transaction back with an error of
// this number.
func (d *dialect) rollsBack(number uint16) bool {
	p := d.pool.Load()
	return number == deadlock || number == recordChanged || number == lockTableFull ||
		number == lockWaitTimeout && p != nil && p.rollbackOnTimeout
}

// Server error numbers.
const (
	recordChanged   = 1020 // MariaDB with innodb_snapshot_isolation
	duplicateKey    = 1062
	lockWaitTimeout = 1205
	lockTableFull   = 1206
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
