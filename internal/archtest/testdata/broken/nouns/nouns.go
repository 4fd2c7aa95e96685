// Package nouns must know no clock and no files.
package nouns

import (
	clock "time"

	"example.com/broken/engine"
)

var Start = clock.Now()

var Engine = engine.Name
