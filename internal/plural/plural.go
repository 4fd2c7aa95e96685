// Package plural writes counts with their nouns, and durations.
package plural

import (
	"fmt"
	"strings"
	"time"
)

// Of returns a count with its noun: "1 job", "2 jobs".
func Of[N int | int64](n N, noun string) string { return fmt.Sprintf("%d %s", n, Noun(n, noun)) }

// Noun returns the form of a noun that a count takes. The plural of a noun that ends in
// s has es, of any other s.
func Noun[N int | int64](n N, noun string) string {
	switch {
	case n == 1:
		return noun
	case strings.HasSuffix(noun, "s"):
		return noun + "es"
	}
	return noun + "s"
}

// Duration writes a duration without zero minutes and seconds: 24h, not 24h0m0s.
func Duration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
