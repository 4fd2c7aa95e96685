package operations

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cronce/cronce/internal/plural"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

const (
	// MaxBackfill is the maximum number of scheduled times of one backfill: more are hours
	// of work, and more likely a slip in a date.
	MaxBackfill = 1_000_000
)

// Backfill asks for the scheduled times of a job that did not run to be run.
type Backfill struct {
	JobID    string
	From, To time.Time // both included
	// Parallel is the number of the runs that run at a time, beside the scheduled runs. If it is 0,
	// they run one after the other in the job's slot, or, with NewestFirst, one at a time beside
	// it.
	Parallel     int
	NewestFirst  bool
	NeverPlanned bool // takes scheduled times from before the job, or its schedule, existed
	ledger.Actor
	DryRun bool
}

// Backfilled counts what became of the scheduled times of a backfill or, after a dry run, what would become of them.
type Backfilled struct {
	Planned   int  `json:"planned"`
	Unchanged int  `json:"unchanged"` // they ran, or are about to
	Refused   int  `json:"refused"`   // never planned (without NeverPlanned), purged, rerun, or in a range that an earlier definition planned
	DryRun    bool `json:"dryRun"`
	// Remaining is the number of scheduled times that the request did not look at, as one takes
	// MaxPart. The next request of the series goes on at Next: it is its From, or, newest first, its
	// To.
	Remaining int       `json:"remaining"`
	Next      time.Time `json:"next,omitzero"`
	// Takes is the expected duration of a dry run's planned runs. It is nil if no run of the
	// job succeeded in the last 28 days.
	Takes *BackfillTime `json:"takes,omitempty"`
}

// BackfillTime is the duration of all runs, so many at a time, by the median and by the p95
// of the job's runs in the last 28 days.
type BackfillTime struct {
	P50      string `json:"p50"`
	P95      string `json:"p95"`
	Parallel int    `json:"parallel"`
}

// String returns the duration as a sentence, also for a nil BackfillTime.
func (t *BackfillTime) String() string {
	if t == nil {
		return "How long they take is not known: no run of the job succeeded in the last 28 days."
	}
	pace := "One after the other"
	if t.Parallel > 1 {
		pace = fmt.Sprintf("%d at a time", t.Parallel)
	}
	return fmt.Sprintf("%s they take %s, or %s if each is as slow as the slowest 5 %% of the last 28 days.", pace, t.P50, t.P95)
}

// Notes says in sentences how the runs run. The command line and the dashboard show them before a person confirms.
func (b Backfill) Notes() []string {
	order, slot := "oldest", "The job's scheduled runs wait or are skipped meanwhile, as its overlap policy says."
	if b.NewestFirst {
		order = "newest"
	}
	notes := []string{"They run one after the other, the " + order + " first."}
	if p := ledger.NewPace(b.Parallel, b.NewestFirst).Parallel(); p > 0 {
		slot = "The job's scheduled runs go on beside them, whatever its overlap policy."
		if p > 1 {
			notes[0] = fmt.Sprintf("Up to %d of them run at a time, the %s first.", p, order)
		}
	}
	notes = append(notes, slot)
	if b.NeverPlanned {
		notes = append(notes, "Times that were never planned are run too: the target is called for times at which the job, "+
			"or its schedule of today, did not exist.")
	}
	return notes
}

// takes returns how long n runs of a job take, so many at a time as the backfill and the job
// allow, or nil.
func (s *Service) takes(ctx context.Context, b Backfill, j jobs.Job, n int) (*BackfillTime, error) {
	parallel := max(b.Parallel, 1)
	if j.MaxInFlight > 0 {
		parallel = min(parallel, j.MaxInFlight)
	}
	hours, err := s.ledger.Hours(ctx, ledger.RegistryJobID(j.ID), s.now().Add(-28*day), s.now().Add(time.Hour))
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
		return (time.Duration((n+parallel-1)/parallel)*all.Quantile(q) + time.Second - 1).Truncate(time.Second).String()
	}
	return &BackfillTime{total(.5), total(.95), parallel}, nil
}

// Backfill plans the scheduled times of the span that did not run: the first MaxPart of
// the span, or, newest first, the last, in one transaction. A dry run looks at all. The times are
// those of the job's schedule in the registry, which has to be the one that the ledger plans by.
func (s *Service) Backfill(ctx context.Context, b Backfill) (Backfilled, error) {
	p := backfillPart{Backfill: b, ledger: s.ledger, done: Backfilled{DryRun: b.DryRun}}
	if !b.DryRun {
		if err := checkActor(b.Actor); err != nil {
			return p.done, err
		}
	}
	var err error
	if p.job, err = s.CheckBackfill(ctx, b); err == nil {
		err = s.sameSchedule(ctx, p.job)
	}
	if err != nil {
		return p.done, err
	}
	if err = p.run(ctx); err == nil && b.DryRun {
		p.done.Takes, err = s.takes(ctx, b, p.job, p.done.Planned)
	}
	return p.done, err
}

// and adds what a transaction did.
func (b Backfilled) and(got ledger.Backfilled) Backfilled {
	b.Planned, b.Unchanged, b.Refused = b.Planned+got.Planned, b.Unchanged+got.Unchanged, b.Refused+got.Refused
	return b
}

// BackfillAll plans the scheduled times of the whole span, with requests of one series. One
// that is interrupted is safe to repeat. It tells progress how far it is.
func BackfillAll(
	ctx context.Context, b Backfill, do func(context.Context, ActionRequest) (Backfilled, error), progress func(at time.Time, done Backfilled),
) (Backfilled, error) {
	ask := ActionRequest{By: b.By, Why: b.Why, DryRun: b.DryRun, Parallel: b.Parallel, NewestFirst: b.NewestFirst, NeverPlanned: b.NeverPlanned,
		Series: NewToken()}
	var all Backfilled
	for {
		ask.From, ask.To = b.From, b.To
		part, err := do(ctx, ask)
		part.Planned, part.Unchanged, part.Refused = part.Planned+all.Planned, part.Unchanged+all.Unchanged, part.Refused+all.Refused
		if all = part; err != nil || all.Next.IsZero() {
			return all, b.interrupted(ctx, all, err)
		}
		rest := b.from(all.Next)
		// A server of another version may not know an option, and send the same Next forever.
		if !rest.From.After(b.From) && !rest.To.Before(b.To) {
			return all, fmt.Errorf("the answer to the request from %s to %s says to go on from %s",
				b.From.Format(time.RFC3339), b.To.Format(time.RFC3339), all.Next.Format(time.RFC3339))
		}
		b = rest
		progress(all.Next, all)
	}
}

// interrupted adds to the error of a backfill how many times were planned before it: they stay planned.
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
	if b.Parallel < 0 || b.Parallel > ledger.MaxParallel {
		return jobs.Job{}, refuse(Invalid, "parallel must be from 1 to %d, or left out", ledger.MaxParallel)
	}
	if b.To.Before(b.From) {
		return jobs.Job{}, refuse(Invalid, "the backfill ends before it begins: its end (to) must not be before its start (from)")
	}
	j, err := s.callable(ctx, b.JobID, "; put a removed one back with \"enabled: false\" to backfill it")
	if err != nil {
		return j, err
	}
	if n := j.ParsedSchedule().Count(b.after(), b.To); n > MaxBackfill {
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
		return refuse(Invalid,
			"the ledger plans %s by %q (%s), this registry says %q (%s): "+
				"backfill with the registry that is served, or when this one is (\"cronce diff\" compares them)",
			j.ID, current.Schedule, current.Timezone, j.Schedule, j.Timezone)
	}
	return nil
}
