package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

const (
	// backfillBatch is how many scheduled times one transaction moves.
	backfillBatch = 500
	// maxBackfill is how many scheduled times one command takes on: more are hours of
	// work, and more likely a slip in a date.
	maxBackfill = 1_000_000
)

type backfillFlags struct {
	who
	from, to string
	dryRun   bool
}

func (a *app) backfillCommand() *cobra.Command {
	var f backfillFlags
	c := &cobra.Command{
		Use:   "backfill JOB --from T --to T --why REASON",
		Short: "Run scheduled times that were missed, skipped, superseded or canceled",
		Long: `backfill plans the scheduled times from --from to --to that did not run, each
under its own run ID, one after the other. A running scheduler makes the calls.
Times that ran or are about to run are left alone. Times that were never planned
or were purged are refused.

The times are those of the job's schedule in the registry. Times in a range row
(one row for many times) that was planned before the job was last edited are
refused, because the schedule may have been another. To backfill a removed job,
add it again with "enabled: false". An interrupted backfill is safe to repeat.`,
		Example: `  cronce backfill close-books --from 2026-11-20T00:00:00Z --why "outage" --dry-run`,
		Args:    cobra.ExactArgs(1),
		RunE:    func(c *cobra.Command, args []string) error { return a.backfill(c.Context(), args[0], f) },
	}
	f.flags(c, a)
	c.Flags().StringVar(&f.from, "from", "", "first `time` ("+timeHelp+"), required")
	c.Flags().StringVar(&f.to, "to", "", "last `time`, included (default now)")
	c.Flags().BoolVar(&f.dryRun, "dry-run", false, "count only, change nothing")
	return c
}

func (a *app) backfill(ctx context.Context, jobID string, f backfillFlags) error {
	from, to, err := f.span(a.now())
	if err != nil {
		return err
	}
	reg, err := a.registry()
	if err != nil {
		return err
	}
	j, ok := reg.Job(jobID)
	if !ok {
		return unknown("job", jobID, jobIDs(reg), "\"cronce jobs list\" lists the registry's jobs; put a removed one back with \"enabled: false\" to backfill it")
	}
	if n := j.Parsed().Count(from.Add(-time.Second), to); n > maxBackfill {
		return usage("%s is due %d times from %s to %s; at most %d are taken at once: split the time", jobID, n, from.UTC().Format(time.RFC3339), instant(to), maxBackfill)
	}
	l, err := a.existingLedger(ctx)
	if err != nil {
		return err
	}
	defer l.Close()
	if err := sameSchedule(ctx, l, j); err != nil {
		return err
	}
	done, err := a.backfillAll(ctx, l, j, from, to, f)
	switch {
	case errors.Is(err, ledger.ErrNotFound):
		return unknownJob(jobID)
	case ctx.Err() != nil && !f.dryRun:
		return fmt.Errorf("interrupted; %d scheduled times were planned before that: run it again for the rest", done.Planned)
	case err != nil && !f.dryRun:
		return fmt.Errorf("%w; %d scheduled times were planned before that: run it again for the rest", err, done.Planned)
	case err != nil:
		return err
	}
	return a.printBackfilled(done, f.dryRun)
}

// sameSchedule refuses a registry whose schedule of the job is not the one
// that the ledger plans by: its times need not be the job's scheduled times.
func sameSchedule(ctx context.Context, l ledger.Store, j jobs.Job) error {
	statuses, err := l.Jobs(ctx)
	if err != nil {
		return err
	}
	for _, s := range statuses {
		if s.JobID != j.ID || s.Body == nil {
			continue
		}
		current, err := jobs.ParseDefinition(s.Body)
		if err != nil {
			return fmt.Errorf("the ledger's definition of %s cannot be read by this version: %w", j.ID, err)
		}
		if current.Schedule != j.Schedule || current.Timezone != j.Timezone || current.DST != j.DST {
			return usage("the ledger plans %s by %q (%s), this registry says %q (%s): backfill with the registry that is served, or when this one is (\"cronce diff\" compares them)",
				j.ID, current.Schedule, current.Timezone, j.Schedule, j.Timezone)
		}
	}
	return nil
}

func (f backfillFlags) span(now time.Time) (from, to time.Time, err error) {
	if f.from == "" {
		return from, to, usage("say from when: --from 2026-11-20T00:00:00Z")
	}
	if !f.dryRun {
		if err := f.check(); err != nil {
			return from, to, err
		}
	}
	if from, err = timeOrAge("from", f.from, now); err != nil {
		return from, to, err
	}
	if to, err = timeOrAge("to", f.to, now); err != nil {
		return from, to, err
	}
	if to.IsZero() {
		to = now
	}
	if to.Before(from) {
		return from, to, usage("--to is before --from")
	}
	return from, to, nil
}

// backfillAll goes through the span in batches, each a transaction of its own:
// one that is interrupted is safe to run again.
func (a *app) backfillAll(ctx context.Context, l ledger.Store, j jobs.Job, from, to time.Time, f backfillFlags) (ledger.Backfilled, error) {
	var done ledger.Backfilled
	var batch []ledger.RunSpec
	bar := newProgress(a, "backfilling "+j.ID, from, to)
	defer bar.end()
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		got, err := l.Backfill(ctx, ledger.Backfill{JobID: j.ID, Runs: batch, Actor: f.actor(), DryRun: f.dryRun})
		done.Planned += got.Planned
		done.Left += got.Left
		done.Refused += got.Refused
		bar.at(batch[len(batch)-1].ScheduledAt, done.Planned+done.Left+done.Refused)
		batch = batch[:0]
		return err
	}
	for at := range j.Parsed().Due(from.Add(-time.Second), to) {
		id := jobs.RunID(j.ID, at)
		batch = append(batch, ledger.RunSpec{
			RunID: id, ScheduledAt: at, Count: 1, State: ledger.Planned, Trigger: ledger.ByBackfill,
			Overlap: ledger.OverlapQueue, Call: executor.CallFor(j, id, at),
		})
		if len(batch) == backfillBatch {
			if err := flush(); err != nil {
				return done, err
			}
		}
	}
	return done, flush()
}

// backfilledJSON counts scheduled times; of a dry run, what would have become of them.
type backfilledJSON struct {
	Planned int  `json:"planned"`
	Left    int  `json:"left"`    // they ran, or are about to
	Refused int  `json:"refused"` // never planned, purged, or in a range that an earlier definition planned
	DryRun  bool `json:"dryRun"`
}

func (a *app) printBackfilled(b ledger.Backfilled, dryRun bool) error {
	if a.json {
		return printJSON(a.out, backfilledJSON{b.Planned, b.Left, b.Refused, dryRun})
	}
	verb := "planned"
	if dryRun {
		verb = "would be planned"
	}
	_, err := fmt.Fprintf(a.out, "%d %s, %d left (they ran, or are about to), %d refused (never planned, purged, or in a range that an earlier definition planned)\n", b.Planned, verb, b.Left, b.Refused)
	return err
}

// progress is a bar on a terminal, and nothing elsewhere.
type progress struct {
	a        *app
	what     string
	from, to time.Time
	shown    bool
}

func newProgress(a *app, what string, from, to time.Time) *progress {
	return &progress{a: a, what: what, from: from, to: to, shown: isTerminal(a.err)}
}

func (p *progress) at(t time.Time, n int) {
	if !p.shown {
		return
	}
	const width = 30
	part := 1.0
	if span := p.to.Sub(p.from); span > 0 {
		part = min(1, max(0, float64(t.Sub(p.from))/float64(span)))
	}
	full := int(part * width)
	fmt.Fprintf(p.a.err, "\r%s [%s%s] %3.0f%% %d scheduled times", p.what, strings.Repeat("#", full), strings.Repeat(".", width-full), 100*part, n)
}

func (p *progress) end() {
	if p.shown {
		fmt.Fprint(p.a.err, "\r\x1b[K")
	}
}
