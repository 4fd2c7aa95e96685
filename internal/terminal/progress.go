package terminal

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// redrawAfter is how long a line stands before it is drawn again.
const redrawAfter = 100 * time.Millisecond

// Line is one line that is drawn again and again. A nil Line draws nothing. It is
// safe for concurrent use.
type Line struct {
	w     io.Writer
	mu    sync.Mutex
	drawn time.Time
}

// NewLine returns a line on w, nil unless that is a terminal.
func NewLine(w io.Writer) *Line {
	if !Is(w) {
		return nil
	}
	return &Line{w: w}
}

// Show draws the text, unless the line was drawn a moment ago.
func (l *Line) Show(text string) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := time.Now(); now.Sub(l.drawn) >= redrawAfter {
		l.drawn = now
		fmt.Fprint(l.w, "\r\x1b[K"+text)
	}
}

// Clear leaves an empty line.
func (l *Line) Clear() { l.finish("") }

// Keep leaves the text, and moves on to the next line.
func (l *Line) Keep(text string) { l.finish(text + "\n") }

func (l *Line) finish(text string) {
	if l != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		fmt.Fprint(l.w, "\r\x1b[K"+text)
	}
}

// Bar draws a part of the whole, from 0 to 1, as [###...].
func Bar(part float64) string {
	const width = 30
	full := int(min(1, max(0, part)) * width)
	return "[" + strings.Repeat("#", full) + strings.Repeat(".", width-full) + "]"
}
