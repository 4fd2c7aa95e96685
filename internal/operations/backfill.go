package operations

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/internal/plural"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

const (
	// MaxBackfill is how many scheduled times one backfill takes on: more are hours
	// of work, and more likely a slip in a date.
	MaxBackfill = 1_000_000
)

// Backfill asks for the scheduled times of a job that did not run to be run.
type Backfill struct {
	JobID    string
	From, To time.Time // both included
	ledger.Actor
	DryRun bool
	// Progress, when not nil, is told by BackfillAll how far it is.
	Progress func(at time.Time, done Backfilled)
}

// Backfilled counts what became of the scheduled times; of a dry run, what would.
type Backfilled struct {
	Planned int  `json:"planned"`
	Left    int  `json:"left"`    // they ran, or are about to
	Refused int  `json:"refused"` // never planned, purged, rerun, or in a range that an earlier definition planned
	DryRun  bool `json:"dryRun"`
	// Remaining counts the scheduled times of the span from Next on: further requests of
	// the series, which begin there, look at them.
	Remaining int        `json:"remaining"`
	Next      *time.Time `json:"next,omitempty"`
	// Takes is the expected duration of a dry run's planned runs. It is nil if no run of the
	// job succeeded in the last 28 days.
	Takes *BackfillTime `json:"takes,omitempty"`
}

// BackfillTime is the duration of all runs, one after the other, by the median and by the p95
// of the job's runs in the last 28 days.
type BackfillTime struct {
	P50 string `json:"p50"`
	P95 string `json:"p95"`
}

// String says it in a sentence.
func (t *BackfillTime) String() string {
	if t == nil {
		return "How long they take is not known: no run of the job succeeded in the last 28 days."
	}
	return fmt.Sprintf("One after the other they take %s, or %s if each is as slow as the slowest 5 %% of the last 28 days.", t.P50, t.P95)
}

// takes returns how long n runs of a job take one after the other, or nil.
func (s *Service) takes(ctx context.Context, jobID string, n int) (*BackfillTime, error) {
	hours, err := s.ledger.Hours(ctx, ledger.OwnerOf(jobID), s.now().Add(-slowdownBack), s.now().Add(time.Hour))
	if err != nil {
		return nil, err
	}
	all := ledger.Histogram{}
	for _, h := range hours {
		all.Add(h.Durations)
	}
	if all.Total() == 0 {
		return nil, nil
	}
	total := func(q float64) string { // rounded up
		return (time.Duration(n)*all.Quantile(q) + time.Second - 1).Truncate(time.Second).String()
	}
	return &BackfillTime{total(.5), total(.95)}, nil
}

// Backfill plans the scheduled times of the span that did not run: the first MaxPart of
// the span, in one transaction. A dry run looks at all. The times are those of the job's
// schedule in the registry, which has to be the one that the ledger plans by.
func (s *Service) Backfill(ctx context.Context, b Backfill) (Backfilled, error) {
	done := Backfilled{DryRun: b.DryRun}
	if !b.DryRun {
		if err := checkActor(b.Actor); err != nil {
			return done, err
		}
	}
	j, err := s.CheckBackfill(ctx, b)
	if err == nil {
		err = s.sameSchedule(ctx, j)
	}
	if err != nil {
		return done, err
	}
	var batch []ledger.RunSpec
	plan := func() error {
		if len(batch) == 0 && b.Request == nil { // else the key is kept
			return nil
		}
		keep(b.Actor, func(got ledger.Backfilled) (any, error) { return done.and(got), nil })
		got, err := s.ledger.Backfill(ctx, ledger.Backfill{JobID: j.ID, Runs: batch, Actor: b.Actor, DryRun: b.DryRun})
		if errors.Is(err, ledger.ErrNotFound) {
			return notServed(j.ID)
		}
		done, batch = done.and(got), batch[:0]
		return err
	}
	for at := range j.ParsedSchedule().Due(b.From.Add(-time.Second), b.To) {
		if len(batch) == MaxPart && !b.DryRun {
			done.Next, done.Remaining = &at, j.ParsedSchedule().Count(at.Add(-time.Second), b.To)
			break
		} else if len(batch) == MaxPart {
			if err := plan(); err != nil {
				return done, err
			}
		}
		id := jobs.RunID(j.ID, at)
		batch = append(batch, ledger.RunSpec{
			RunID: id, ScheduledAt: at, Count: 1, State: ledger.Planned, Trigger: ledger.ByBackfill,
			Overlap: ledger.OverlapQueue, Call: executor.FrozenCall(j, id, at),
		})
	}
	if err = plan(); err == nil && b.DryRun {
		done.Takes, err = s.takes(ctx, j.ID, done.Planned)
	}
	return done, err
}

// and adds what a transaction did.
func (b Backfilled) and(got ledger.Backfilled) Backfilled {
	b.Planned, b.Left, b.Refused = b.Planned+got.Planned, b.Left+got.Left, b.Refused+got.Refused
	return b
}

// BackfillAll plans the scheduled times of the whole span, with requests of one series. One
// that is interrupted is safe to repeat.
func BackfillAll(ctx context.Context, b Backfill, do func(context.Context, Backfill) (Backfilled, error)) (Backfilled, error) {
	b.Request = &ledger.Request{Series: NewToken()}
	var all Backfilled
	for {
		part, err := do(ctx, b)
		part.Planned, part.Left, part.Refused = part.Planned+all.Planned, part.Left+all.Left, part.Refused+all.Refused
		if all = part; err != nil || all.Next == nil {
			return all, b.interrupted(ctx, all, err)
		}
		if !all.Next.After(b.From) {
			return all, fmt.Errorf("the answer to the request from %s says to go on from %s",
				b.From.Format(time.RFC3339), all.Next.Format(time.RFC3339))
		}
		if b.From = *all.Next; b.Progress != nil {
			b.Progress(b.From, all)
		}
	}
}

func (b Backfill) interrupted(ctx context.Context, done Backfilled, err error) error {
	planned := plural.Of(done.Planned, "scheduled time")
	switch _, refused := errors.AsType[*Error](err); {
	case err == nil, b.DryRun, refused:
		return err
	case ctx.Err() != nil:
		return fmt.Errorf("interrupted; %s planned before that: run it again for the rest", planned)
	}
	return fmt.Errorf("%w; %s planned before that: run it again for the rest", err, planned)
}

// CheckBackfill refuses what no ledger is needed to refuse: a job that the
// registry does not have, and a span of too many scheduled times. It returns the
// job.
func (s *Service) CheckBackfill(ctx context.Context, b Backfill) (jobs.Job, error) {
	if b.To.Before(b.From) {
		return jobs.Job{}, refuse(Invalid, "the backfill ends before it begins: its end (to) must not be before its start (from)")
	}
	j, err := s.callable(ctx, b.JobID, "; put a removed one back with \"enabled: false\" to backfill it")
	if err != nil {
		return j, err
	}
	if n := j.ParsedSchedule().Count(b.From.Add(-time.Second), b.To); n > MaxBackfill {
		return j, refuse(Invalid, "%s is due %d times from %s to %s; at most %d are taken at once: split the time",
			j.ID, n, b.From.UTC().Format(time.RFC3339), b.To.UTC().Format(time.RFC3339), MaxBackfill)
	}
	return j, nil
}

// sameSchedule refuses a registry whose schedule of the job is not the one that
// the ledger plans by: its times need not be the job's scheduled times.
func (s *Service) sameSchedule(ctx context.Context, j jobs.Job) error {
	if _, _, keyed := jobs.SplitJobID(j.ID); keyed {
		return nil // its schedule is in the ledger
	}
	bodies, err := s.ledger.JobBodies(ctx, j.ID)
	body := bodies[j.ID]
	if err != nil || body == nil {
		return err
	}
	current, err := jobs.ParseDefinition(body)
	if err != nil {
		return fmt.Errorf("the ledger's definition of %s cannot be read by this version: %w", j.ID, err)
	}
	if current.Schedule != j.Schedule || current.Timezone != j.Timezone || current.DST != j.DST {
		return refuse(Invalid, "the ledger plans %s by %q (%s), this registry says %q (%s): backfill with the registry that is served, or when this one is (\"cronce diff\" compares them)",
			j.ID, current.Schedule, current.Timezone, j.Schedule, j.Timezone)
	}
	return nil
}
