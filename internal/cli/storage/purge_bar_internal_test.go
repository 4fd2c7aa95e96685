package storage

import (
	"strings"
	"testing"
)

func TestBar(t *testing.T) {
	for _, tc := range []struct {
		rule        string
		done, total int64
		want        string
	}{
		{"nothing to do", 0, 0, "[" + strings.Repeat("#", 30) + "] 0 of 0"},
		{"not begun", 0, 10, "[" + strings.Repeat(".", 30) + "] 0 of 10"},
		{"half way", 500, 1000, "[" + strings.Repeat("#", 15) + strings.Repeat(".", 15) + "] 500 of 1000"},
		{"more than at the start", 1001, 1000, "[" + strings.Repeat("#", 30) + "] 1001 of 1001"},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			if got := (&bar{total: tc.total}).text(tc.done); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}
