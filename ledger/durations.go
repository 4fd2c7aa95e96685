package ledger

import (
	"context"
	"time"
)

// Durations returns the durations of the runs that succeeded and were scheduled in the hours
// of [since, until), by job. It reads the counted hours of all jobs at once, as they were
// counted: what has changed since, and hours that are not counted yet, are left out.
func (l *Ledger) Durations(ctx context.Context, since, until time.Time) (map[string]Histogram, error) {
	return read(ctx, l, "list durations", func(tx Tx) (map[string]Histogram, error) {
		rows, err := tx.HoursIn(hourOf(since), hourOf(until), false, 0).Get()
		byJob := map[string]Histogram{}
		for i := range rows {
			if rows[i].JobID == "" {
				continue
			}
			t, err := decodeTally(rows[i].Counts)
			if err != nil {
				return nil, err
			}
			if t.Durations.Total() == 0 {
				continue
			}
			sum := byJob[rows[i].JobID]
			sum.Add(t.Durations)
			byJob[rows[i].JobID] = sum
		}
		return byJob, err
	})
}
