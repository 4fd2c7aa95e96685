package memory

import (
	"context"
	"strconv"

	"github.com/cronce/cronce/ledger"
)

// Changes returns what changed after a position. It looks at every run.
func (l *Ledger) Changes(ctx context.Context, after string) (ledger.Changes, error) {
	if _, err := l.begin(ctx); err != nil {
		return ledger.Changes{}, err
	}
	defer l.mu.Unlock()
	got := ledger.Changes{Position: strconv.FormatUint(l.change, 10)}
	if after == "" {
		return got, nil
	}
	from, err := strconv.ParseUint(after, 10, 64)
	if err != nil || from > l.change {
		got.Lost = true
		return got, nil
	}
	for _, r := range l.runs {
		if r.changed > from {
			got.Runs = append(got.Runs, r.listed())
		}
	}
	if len(got.Runs) > ledger.MaxChanges {
		got.Runs, got.Lost = nil, true
	}
	return got, nil
}
