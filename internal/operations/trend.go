package operations

import (
	"context"
	"time"

	"github.com/cronce/cronce/ledger"
)

const (
	// trendDays is how many UTC days a Trend has.
	trendDays = 90
	day       = 24 * time.Hour
	// A job's slowdown compares this week with the same days four weeks before, so that
	// both have the same days of the week. Of fewer runs it would be chance.
	week, slowdownBack, slowdownRuns = 7 * day, 28 * day, 5
	// slowdownAge is how long a listing of all slowdowns is used: it reads two weeks of
	// every job.
	slowdownAge = 10 * time.Minute
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
	t := Trend{Days: []TrendDay{}, Slowdown: Slowdown(hours, s.now())}
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

// Slowdown is a Trend's, of a job's hours.
func Slowdown(hours []ledger.Hour, now time.Time) float64 {
	recent, before := ledger.Histogram{}, ledger.Histogram{}
	for _, h := range hours {
		switch age := now.Sub(h.Start); {
		case age < week:
			recent.Add(h.Durations)
		case age >= slowdownBack && age < slowdownBack+week:
			before.Add(h.Durations)
		}
	}
	return slowdown(recent, before)
}

func slowdown(recent, before ledger.Histogram) float64 {
	if recent.Total() < slowdownRuns || before.Total() < slowdownRuns {
		return 0
	}
	return float64(recent.Quantile(.95)) / float64(before.Quantile(.95))
}

// Slowdowns returns the slowdown of each job that has one, without the last hour. The answer
// may be 10 minutes old.
func (s *Service) Slowdowns(ctx context.Context) (map[string]float64, error) {
	return s.slowdowns.get(ctx, "", slowdownAge, func(ctx context.Context) (map[string]float64, error) {
		now := s.now()
		before, err := s.ledger.Durations(ctx, now.Add(-slowdownBack-week), now.Add(-slowdownBack))
		if err != nil {
			return nil, err
		}
		recent, err := s.ledger.Durations(ctx, now.Add(-week), now)
		byJob := map[string]float64{}
		for id := range recent {
			if ratio := slowdown(recent[id], before[id]); ratio > 0 {
				byJob[id] = ratio
			}
		}
		return byJob, err
	})
}
