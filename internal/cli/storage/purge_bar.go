package storage

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/cronce/cronce/cleanup"
	"github.com/cronce/cronce/internal/terminal"
)

// bar shows on one line how far a purge is.
type bar struct {
	line  *terminal.Line
	total int64
	done  atomic.Int64
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
	return &bar{line: terminal.NewLine(w), total: report.Deleted + report.Runs}, nil
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

func (b *bar) add(n int64) { b.line.Show(b.text(b.done.Add(n))) }

func (b *bar) end() { b.line.Keep(b.text(b.done.Load())) }

func (b *bar) text(done int64) string {
	total := max(b.total, done) // more may have expired since the start
	part := 1.0
	if total > 0 {
		part = float64(done) / float64(total)
	}
	return fmt.Sprintf("%s %d of %d", terminal.Bar(part), done, total)
}
