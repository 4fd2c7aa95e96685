package operations

import (
	"cmp"
	"context"
	"errors"
	"slices"
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
// run, in whatever form its target takes it. A text that is neither, or the key of no run in
// the ledger, is returned as it is.
//
// A key contains its run's scheduled time, so only the runs of that second and their members
// are read.
func (s *Service) FindRun(ctx context.Context, text string) (string, error) {
	text = strings.Trim(strings.TrimSpace(text), `"'`)
	if _, _, _, err := jobs.ParseRunID(text); err == nil {
		return text, nil
	}
	if jobID, when, isID := strings.Cut(text, "@"); isID {
		if id := jobs.CanonicalRunID(text); id != text {
			return id, nil
		}
		return s.localRunID(ctx, text, jobID, when)
	}
	at, ok := jobs.TimeOfKey(text)
	if !ok {
		return text, nil
	}
	var parents []string
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
			if r.Fan.Members > 0 {
				parents = append(parents, r.ID)
			}
		}
		if len(runs) < f.Limit {
			return s.findMember(ctx, text, parents)
		}
		last := runs[len(runs)-1]
		f.Before = &ledger.Cursor{ScheduledAt: last.ScheduledAt, ID: last.ID}
	}
}

// membersSearched limits the members of one second that are searched for a key.
const membersSearched = 100_000

// findMember returns the run ID of the member that has a key, or else the key.
func (s *Service) findMember(ctx context.Context, key string, parents []string) (string, error) {
	searched := 0
	for _, parent := range parents {
		f := ledger.MemberFilter{Parent: parent, Limit: 1000}
		for more := true; more; {
			if searched >= membersSearched {
				return "", refuse(Invalid,
					"the key %s may be that of a member of %s, and has not been found among %d members; name the member by its run ID",
					key, parent, searched)
			}
			page, err := s.ledger.Members(ctx, f)
			if err != nil {
				return "", err
			}
			for _, m := range page.Members {
				if m.Run != nil && jobs.IsKeyOf(key, m.RunID) {
					return m.RunID, nil
				}
			}
			searched += len(page.Members)
			f.After, more = page.Next, page.Next != ""
		}
	}
	return key, nil
}

// localLayouts are the ways to write a local time in a run ID: with its date, as an action must
// not be on another run a minute later.
var localLayouts = []string{"2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02 15:04"}

// localRunID returns the run ID of a local time of the job's zone. It refuses a time that may
// mean another run: of a zone that is not known here, or two runs. A text without such a time is
// returned as it is.
func (s *Service) localRunID(ctx context.Context, text, jobID, when string) (string, error) {
	i := slices.IndexFunc(localLayouts, func(layout string) bool {
		_, err := time.Parse(layout, when)
		return err == nil && len(when) == len(layout) // Parse takes fractions of a second too
	})
	if i < 0 {
		return text, nil
	}
	j, err := s.registered(ctx, ledger.JobOfID(jobID), "")
	if errors.Is(err, ledger.ErrUnavailable) {
		return "", err
	} else if err != nil {
		return "", refuse(Invalid,
			"the time of the run %s has no offset, and the time zone of its job is not known here; write an offset, or Z", text)
	}
	t, err := time.ParseInLocation(localLayouts[i], when, j.ParsedSchedule().Location())
	if err != nil {
		return "", err
	}
	times := instants(t)
	due := slices.DeleteFunc(slices.Clone(times), func(at time.Time) bool { return !j.ParsedSchedule().Last(at).Equal(at) })
	switch len(due) {
	case 0:
		return jobs.RunID(jobID, times[0]), nil
	case 1:
		return jobs.RunID(jobID, due[0]), nil
	}
	return "", refuse(Invalid,
		"the local time of the run %s comes twice, and the job runs at both; write an offset, such as %s", text, due[0].Format(time.RFC3339))
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
