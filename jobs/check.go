package jobs

import (
	"strings"
	"time"

	"github.com/cronce/cronce/internal/plaintext"
)

// Bounds that keep sums of durations from overflowing, and typing errors from
// passing for intent.
const (
	maxWait     = 30 * 24 * time.Hour       // timeouts, waits, ages
	maxAge      = 10 * 366 * 24 * time.Hour // lives of keys and rows
	maxKept     = 90 * 24 * time.Hour       // of what answers say
	maxBackoff  = 100                       // retries
	maxKeyScope = 255                       // bytes; the widest that every key store's column holds
	maxPath     = 2048                      // bytes
	maxBody     = 256 << 10                 // bytes
)

// validKeyScope allows no *, since a KeyTTL would take it for a pattern.
func validKeyScope(s string) bool {
	return s != "" && len(s) <= maxKeyScope && plaintext.VisibleASCII(s) && !strings.Contains(s, "*")
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
