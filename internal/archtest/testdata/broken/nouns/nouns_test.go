package nouns_test

import (
	"os"

	"example.com/driver"
)

var _ = os.Args

var _ = driver.Name
