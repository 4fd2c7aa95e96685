package storage

import (
	"strings"
	"testing"
	"time"
)

func TestBar(t *testing.T) {
	for _, tc := range []struct {
		rule        string
		done, total int64
		took        time.Duration
		want        string
	}{
		{"nothing to do", 0, 0, time.Second, "[" + strings.Repeat("#", 30) + "] 0 of 0"},
		{"not begun", 0, 10, 0, "[" + strings.Repeat(".", 30) + "] 0 of 10"},
		{"half way", 500, 1000, 5 * time.Second, "[" + strings.Repeat("#", 15) + strings.Repeat(".", 15) + "] 500 of 1000  100/s  500 left, 5s"},
		{"done", 1000, 1000, 10 * time.Second, "[" + strings.Repeat("#", 30) + "] 1000 of 1000  100/s"},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			if got := barText(tc.done, tc.total, tc.took); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}
