// Package edge uses a driver that is not its own, and a library nobody knows.
package edge

import (
	_ "example.com/driver"
	_ "example.com/driverless"
)
