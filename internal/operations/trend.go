package operations

import (
	"context"
	"time"

	"github.com/cronce/cronce/ledger"
)

const (
	// trendDays is the number of UTC days in a Trend.
	trendDays = 90
	day       = 24 * time.Hour
)

// Trend is how long a job's runs took, and how they went, day by day.
type Trend struct {
	Days []TrendDay `json:"days"` // those with a run, oldest first
	// Slowdown is the p95 of the last week divided by that of the same days four weeks
	// before: 2 is twice as slow. Empty: one of them has fewer than 5 runs.
	Slowdown float64 `json:"slowdown,omitempty"`
}

// TrendDay is one UTC day, by the runs' scheduled times. The durations are of the runs that
// succeeded, within 5 %; "" without one.
type TrendDay struct {
	Day  string `json:"day"`
	Runs int    `json:"runs"` // scheduled times and other runs, in any state
	Dead int    `json:"dead"`
	P50  string `json:"p50,omitempty"`
	P95  string `json:"p95,omitempty"`
}

// Days adds hours up to UTC days.
func Days(hours []ledger.Hour) (days []ledger.Hour) {
	for _, h := range hours {
		start := h.Start.UTC().Truncate(day)
		if n := len(days); n == 0 || !days[n-1].Start.Equal(start) {
			days = append(days, ledger.Hour{Start: start})
		}
		days[len(days)-1].Add(h.Tally)
	}
	return days
}

// Trend shows how a job's runs of the last 90 days went.
func (s *Service) Trend(ctx context.Context, jobID string) (Trend, error) {
	if err := s.KnownJob(ctx, jobID); err != nil {
		return Trend{}, err
	}
	end := s.now().UTC().Truncate(day).Add(day)
	hours, err := s.ledger.Hours(ctx, jobID, end.Add(-trendDays*day), end)
	if err != nil {
		return Trend{}, err
	}
	t := Trend{Days: []TrendDay{}, Slowdown: ledger.Slowdown(hours, s.now())}
	for _, d := range Days(hours) {
		states := d.ByState()
		v := TrendDay{Day: d.Start.Format(time.DateOnly), Dead: states[ledger.Dead]}
		for _, n := range states {
			v.Runs += n
		}
		if d.Durations.Total() > 0 {
			v.P50, v.P95 = d.Durations.Quantile(.5).Round(time.Millisecond).String(), d.Durations.Quantile(.95).Round(time.Millisecond).String()
		}
		t.Days = append(t.Days, v)
	}
	return t, nil
}

// Slowdowns returns the slowdown of each job that has one, counted once a day.
func (s *Service) Slowdowns(ctx context.Context) (map[string]float64, error) {
	return s.ledger.Slowdowns(ctx)
}
