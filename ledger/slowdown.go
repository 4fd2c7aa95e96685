package ledger

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"
)

// A job's slowdown compares a week with the same days four weeks before, so that both have
// the same days of the week. Of fewer runs it would be chance.
const (
	aDay         = 24 * time.Hour
	week         = 7 * aDay
	slowdownBack = 28 * aDay
	slowdownRuns = 5
	// slowdownsAtOnce is the number of jobs whose hours one transaction reads.
	slowdownsAtOnce = 50
)

// Slowdown returns the p95 of the durations of the last week divided by that of the same
// days four weeks before: 2 is twice as slow. 0: one of them has fewer than 5 runs.
func Slowdown(hours []Hour, now time.Time) float64 {
	recent, before := Histogram{}, Histogram{}
	for _, h := range hours {
		switch age := now.Sub(h.Start); {
		case age < week:
			recent.Add(h.Durations)
		case age >= slowdownBack && age < slowdownBack+week:
			before.Add(h.Durations)
		}
	}
	if recent.Total() < slowdownRuns || before.Total() < slowdownRuns {
		return 0
	}
	return float64(recent.Quantile(.95)) / float64(before.Quantile(.95))
}

// slowdowns are those of all jobs at the start of a UTC day. They are counted once a day,
// as they read two weeks of every job.
type slowdowns struct {
	Day   time.Time          `json:"day"`
	ByJob map[string]float64 `json:"byJob"`
}

// Slowdowns returns the slowdown of each job that has one, at the start of the last day of
// which RollUp has counted them.
func (l *Ledger) Slowdowns(ctx context.Context) (map[string]float64, error) {
	s, err := read(ctx, l, "list slowdowns", readSlowdowns)
	return s.ByJob, err
}

// readSlowdowns returns the slowdowns that were counted last.
func readSlowdowns(tx Tx) (s slowdowns, err error) {
	text, err := tx.Slowdowns().Get()
	if err != nil || text == "" {
		return s, err
	}
	if err = json.Unmarshal([]byte(text), &s); err != nil {
		err = fmt.Errorf("slowdowns in the ledger: %w", err)
	}
	return s, err
}

// countSlowdowns counts the slowdowns of today, unless that was done, or hours before today are not
// counted yet.
func (l *Ledger) countSlowdowns(ctx context.Context, counted HourSpan, now time.Time) error {
	today := now.UTC().Truncate(aDay)
	var jobs []string
	last, err := read(ctx, l, "look for slowdowns to count", func(tx Tx) (s slowdowns, err error) {
		if s, err = readSlowdowns(tx); err != nil || s.Day.Equal(today) || counted.To.Before(today) {
			return slowdowns{Day: today}, err
		}
		jobs, err = countedJobIDs(tx)
		return s, err
	})
	if err != nil || last.Day.Equal(today) {
		return err
	}
	found := slowdowns{today, map[string]float64{}}
	for chunk := range slices.Chunk(jobs, slowdownsAtOnce) {
		ratios, err := read(ctx, l, "count slowdowns", func(tx Tx) (map[string]float64, error) { return slowdownsOf(tx, chunk, today) })
		if err != nil {
			return err
		}
		maps.Copy(found.ByJob, ratios)
	}
	text, err := json.Marshal(found)
	if err != nil {
		return err
	}
	_, err = write(ctx, l, "store slowdowns", func(tx Tx) (none struct{}, err error) { return none, tx.PutSlowdowns(string(text)) })
	return err
}

// countedJobIDs returns the jobs and templates that hours are counted of.
func countedJobIDs(tx Tx) (ids []string, err error) {
	jobsFuture, templatesFuture := tx.JobsAndNewest(), tx.Templates()
	jobs, err := jobsFuture.Get()
	if err != nil {
		return nil, err
	}
	templates, err := templatesFuture.Get()
	for i := range jobs {
		ids = append(ids, jobs[i].JobID)
	}
	for i := range templates {
		ids = append(ids, templates[i].Name)
	}
	return sortedSet(ids), err
}

// slowdownsOf returns the slowdowns of some jobs at the start of a day, as their hours were
// counted.
func slowdownsOf(tx Tx, jobIDs []string, today time.Time) (map[string]float64, error) {
	byJob := map[string][]Hour{}
	for _, from := range []time.Time{today.Add(-slowdownBack - week), today.Add(-week)} {
		rows, err := tx.StoredHours(jobIDs, from, from.Add(week)).Get()
		if err != nil {
			return nil, err
		}
		for i := range rows {
			t, err := decodeTally(rows[i].Counts)
			if err != nil {
				return nil, err
			}
			byJob[rows[i].JobID] = append(byJob[rows[i].JobID], Hour{rows[i].Hour, t})
		}
	}
	found := map[string]float64{}
	for id, hours := range byJob {
		if ratio := Slowdown(hours, today.Add(-time.Second)); ratio > 0 {
			found[id] = ratio
		}
	}
	return found, nil
}
