package sqlite

import (
	"database/sql"
	"database/sql/driver"
)

// Source is how Open names a file to the driver.
var Source = source

// DriverConn is what a connection must be to keep statements.
type DriverConn = driverConn

// Keeping wraps a connector as Open does.
func Keeping(c driver.Connector) driver.Connector { return connector{c} }

// MaxKept bounds what Kept counts: the statements that a connection keeps.
const MaxKept = maxKept

func Kept(conn *sql.Conn) (n int, err error) {
	err = conn.Raw(func(dc any) error {
		n = len(dc.(*keeper).kept)
		return nil
	})
	return n, err
}
