package operations

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// RunKey is the idempotency key of a run, as its target gets it.
type RunKey struct{ Header, Value string }

// KeyOf returns the key of a run. A form that this program does not know has no value.
func KeyOf(r ledger.Run) RunKey {
	k := RunKey{Header: cmp.Or(r.Call.KeyHeader, jobs.HeaderIdempotencyKey)}
	if form := jobs.KeyForm(r.Call.KeyForm); form.Known() {
		k.Value = form.Of(r.ID)
	}
	return k
}

// FindRun returns the run ID that a text names: a run ID, with or without quotes, whose time
// may have any offset, or none and is then in the job's zone; or the idempotency key of a
// run in whatever form its target takes it. A text that is neither, or the key of no run in
// the ledger, is returned as it is.
//
// A key contains its run's scheduled time, so only the runs of that second are read.
func (s *Service) FindRun(ctx context.Context, text string) (string, error) {
	text = strings.Trim(strings.TrimSpace(text), `"'`)
	if _, _, _, err := jobs.ParseRunID(text); err == nil {
		return text, nil
	}
	if jobID, when, isID := strings.Cut(text, "@"); isID {
		if at, ok := s.timeOf(ctx, jobID, when); ok && !strings.ContainsAny(when, "~/") {
			return jobs.RunID(jobID, at), nil
		}
		return jobs.CanonicalRunID(text), nil
	}
	at, ok := jobs.TimeOfKey(text)
	if !ok {
		return text, nil
	}
	f := ledger.Filter{Since: at, Until: at.Add(time.Second), Limit: 1000}
	for {
		runs, err := s.ledger.List(ctx, f)
		if err != nil {
			return "", err
		}
		for _, r := range runs {
			if jobs.IsKeyOf(text, r.ID) {
				return r.ID, nil
			}
		}
		if len(runs) < f.Limit {
			return text, nil
		}
		last := runs[len(runs)-1]
		f.Before = &ledger.Cursor{ScheduledAt: last.ScheduledAt, ID: last.ID}
	}
}

// findRuns returns the run IDs that texts name; see FindRun.
func (s *Service) findRuns(ctx context.Context, texts []string) ([]string, error) {
	ids := make([]string, len(texts))
	for i, text := range texts {
		var err error
		if ids[i], err = s.FindRun(ctx, text); err != nil {
			return nil, err
		}
	}
	return ids, nil
}
