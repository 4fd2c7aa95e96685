// Package suggest finds the word nearest to a mistyped one.
package suggest

import (
	"fmt"
	"strings"
)

// DidYouMean returns `; did you mean "x"?` with the word nearest to a mistyped
// one, or nothing when none is near.
func DidYouMean(word string, words []string) string {
	best, distance := "", 1+max(1, len(word)/2)
	for _, w := range words {
		if d := editDistance(strings.ToLower(word), strings.ToLower(w)); d < distance {
			best, distance = w, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}

// editDistance is Levenshtein's: how many letters to insert, delete or replace.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replace := diagonal
			if a[i] != b[j] {
				replace++
			}
			diagonal = row[j+1]
			row[j+1] = min(replace, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
