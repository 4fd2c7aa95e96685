package field

import (
	"fmt"
	"time"

	"github.com/goccy/go-yaml/ast"
)

// duration is a time with a unit.
type duration struct {
	to          *time.Duration
	zero        zeroes
	least, most time.Duration // the range of a duration that is set and is not zero
}

// zeroes says what 0s in the file means.
type zeroes int

const (
	zeroIsZero zeroes = iota
	zeroIsNone        // -1 in the Go API, whose 0 means the default
	noZero            // refused; there is a default
	noZeroEver        // refused; there is none
)

// Delay is a duration that may be zero. 0s is kept as -1, since the zero value means that
// it is not set.
func Delay(to *time.Duration, most time.Duration) Kind { return duration{to, zeroIsNone, 0, most} }

// Period is a positive duration that has a default.
func Period(to *time.Duration, least, most time.Duration) Kind {
	return duration{to, noZero, least, most}
}

// Span is a positive duration that has no default.
func Span(to *time.Duration, most time.Duration) Kind { return duration{to, noZeroEver, 0, most} }

func (k duration) decode(d *decoder, path string, n ast.Node) {
	text, ok := textOf(n)
	if i, isInt := integer(n); isInt {
		if i != 0 {
			d.Add(path, BadDuration, "invalid duration \"%d\" for %s; use a unit, e.g. %ds", i, Last(path), i)
			return
		}
		text, ok = "0s", true
	}
	if !ok {
		d.wrongType(path, n, "a duration such as 30s")
		return
	}
	got, err := parseDuration(text)
	switch {
	case err != nil:
		d.Add(path, BadDuration, "%v", err)
	case got < 0:
		d.Add(path, NegativeDuration, "%s %s is negative; use a positive duration", Last(path), got)
	case got == 0 && k.zero == noZero:
		d.Add(path, ZeroDuration, "%s must be greater than zero; remove it for the default", Last(path))
	case got == 0 && k.zero == noZeroEver:
		d.Add(path, ZeroDuration, "%s must be greater than zero, e.g. 6h", Last(path))
	case got == 0 && k.zero == zeroIsNone:
		*k.to = -1
	default:
		*k.to = got
	}
}

// durationPattern matches what time.ParseDuration takes, without a sign.
const durationPattern = `^(0|([0-9]+(\.[0-9]*)?(ns|us|µs|ms|s|m|h))+)$`

func (duration) Schema() Schema { return Schema{"type": "string", "pattern": durationPattern} }

func (k duration) check(r *Report, path string) {
	switch {
	case *k.to == 0, *k.to < 0 && k.zero == zeroIsNone:
	default:
		r.Between(path, *k.to, k.least, k.most)
	}
}

func (k duration) inherit(from Kind) { setDefault(k.to, *from.(duration).to) }

// parseDuration reads Go's durations. The error says what to write.
func parseDuration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("invalid duration %s; use numbers with units, e.g. 500ms, 30s, 1h30m (a day is 24h)", Quoted(text))
	}
	return d, nil
}
