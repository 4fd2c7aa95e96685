package main

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// The bar fills from left to right, never past its end, and leaves nothing
// behind; where there is no terminal there is none.
func TestProgressBar(t *testing.T) {
	var b bytes.Buffer
	a := &app{streams: streams{err: &b}}
	p := newProgress(a, "backfilling j", noon, noon.Add(time.Hour))
	p.at(noon, 1)
	p.end()
	if b.Len() != 0 {
		t.Errorf("drawn without a terminal: %q", &b)
	}
	p.shown = true
	p.at(noon.Add(-time.Hour), 0)
	p.at(noon.Add(30*time.Minute), 30)
	p.at(noon.Add(2*time.Hour), 60)
	p.end()
	frames := strings.Split(b.String(), "\r")
	want := []string{
		"", "backfilling j [" + strings.Repeat(".", 30) + "]   0% 0 scheduled times",
		"backfilling j [" + strings.Repeat("#", 15) + strings.Repeat(".", 15) + "]  50% 30 scheduled times",
		"backfilling j [" + strings.Repeat("#", 30) + "] 100% 60 scheduled times", "\x1b[K",
	}
	if strings.Join(frames, "|") != strings.Join(want, "|") {
		t.Errorf("frames %q", frames)
	}
}
