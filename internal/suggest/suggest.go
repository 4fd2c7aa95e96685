// Package suggest suggests corrections of common mistakes: a mistyped word, and a
// schedule in YAML without its quotes.
package suggest

import (
	"fmt"
	"strings"
)

// most is the number of mistakes that a long word may have: more make another word of it.
const most = 3

// DidYouMean returns `; did you mean "x"?` with the word nearest to a mistyped
// one, or nothing when none is near: about one mistake in three letters, in any case of
// the letters. Of words equally near it takes the first.
func DidYouMean(word string, words []string) string {
	best, distance := "", 1+min(most, (len(word)+1)/3)
	for _, w := range words {
		if d := mistakes(strings.ToLower(word), strings.ToLower(w)); d < distance {
			best, distance = w, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}

// mistakes counts how many letters to insert, delete, replace or swap with the next
// make b of a, no letter twice (optimal string alignment).
func mistakes(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, last, row = last, row, before
		row[0] = i + 1
		for j := range len(b) {
			replaced := last[j]
			if a[i] != b[j] {
				replaced++
			}
			row[j+1] = min(replaced, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}
