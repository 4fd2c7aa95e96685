// Package plural writes counts with their nouns.
package plural

import (
	"fmt"
	"strings"
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
