package web

import (
	"context"
	"time"

	"github.com/cronce/cronce/ledger"
)

// chartBars is how many bars a chart of hours has.
const chartBars = 24

// lastHours are the n hours up to now of some jobs, "" being all, as bars of equal length,
// oldest first.
func (d *Dashboard) lastHours(ctx context.Context, n int, jobIDs ...string) ([]ledger.Hour, error) {
	end := d.now().Truncate(time.Hour).Add(time.Hour)
	first := end.Add(-time.Duration(n) * time.Hour)
	hours, err := d.Ledger.HoursOf(ctx, jobIDs, first, end)
	if err != nil {
		return nil, err
	}
	length := end.Sub(first) / chartBars
	out := make([]ledger.Hour, chartBars)
	for i := range out {
		out[i].Start = first.Add(time.Duration(i) * length)
	}
	for _, h := range hours {
		out[h.Start.Sub(first)/length].Add(h.Tally)
	}
	return out, nil
}
