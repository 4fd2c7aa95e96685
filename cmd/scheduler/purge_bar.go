package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/cronce/cronce/cleanup"
)

const (
	barWidth = 30
	barEvery = 100 * time.Millisecond
)

// bar shows on one line how far a purge is: rows, rows a second, what is left.
type bar struct {
	w     io.Writer
	total int64
	start time.Time

	mu    sync.Mutex
	done  int64
	drawn time.Time
}

var _ cleanup.Observer = (*bar)(nil)

// newBar counts what there is to remove. A store that fails to count fails
// again, and is reported, when it is purged.
func newBar(ctx context.Context, w io.Writer, p cleanup.Purge) (*bar, error) {
	fmt.Fprint(w, "counting ...")
	p.DryRun = true
	report, _ := p.Run(ctx)
	if ctx.Err() != nil {
		fmt.Fprintln(w)
		return nil, ctx.Err()
	}
	return &bar{w: w, total: report.Deleted + report.Runs, start: time.Now()}, nil
}

// Removed implements cleanup.Observer.
func (b *bar) Removed(_ string, scopes map[string]int64, _ time.Duration) {
	var n int64
	for _, s := range scopes {
		n += s
	}
	b.add(n)
}

// RemovedRuns implements cleanup.Observer.
func (b *bar) RemovedRuns(n int, _ time.Duration) { b.add(int64(n)) }

// Ended implements cleanup.Observer.
func (b *bar) Ended(cleanup.StoreReport) {}

func (b *bar) add(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.done += n
	if now := time.Now(); now.Sub(b.drawn) >= barEvery {
		b.drawn = now
		b.draw(now)
	}
}

func (b *bar) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.draw(time.Now())
	fmt.Fprintln(b.w)
}

// draw writes over the line. The total is what had expired at the start; more
// may have since.
func (b *bar) draw(now time.Time) {
	fmt.Fprintf(b.w, "\r\x1b[K%s", barText(b.done, max(b.total, b.done), now.Sub(b.start)))
}

func barText(done, total int64, took time.Duration) string {
	full := barWidth
	if total > 0 {
		full = int(int64(barWidth) * done / total)
	}
	text := fmt.Sprintf("[%s%s] %d of %d", strings.Repeat("#", full), strings.Repeat(".", barWidth-full), done, total)
	if seconds := took.Seconds(); done > 0 && seconds > 0 {
		rate := float64(done) / seconds
		text += fmt.Sprintf("  %.0f/s", rate)
		if left := total - done; left > 0 {
			text += fmt.Sprintf("  %d left, %s", left, time.Duration(float64(left)/rate*float64(time.Second)).Round(time.Second))
		}
	}
	return text
}
