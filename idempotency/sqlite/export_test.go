package sqlite

import "database/sql/driver"

// Source is how Open names a file to the driver.
var Source = source

// DriverConn is what a connection must be to keep statements.
type DriverConn = driverConn

// Keeping wraps a connector as Open does.
func Keeping(c driver.Connector) driver.Connector { return connector{c} }
