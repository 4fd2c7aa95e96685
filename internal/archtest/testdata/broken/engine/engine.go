// Package engine may use its driver.
package engine

import (
	"os"

	"example.com/driver/sub"
)

var Name = sub.Name + os.Args[0]
