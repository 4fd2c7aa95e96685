package ledger

import (
	"fmt"
	"strings"
	"time"
)

// Validate returns ErrInvalidRun for plans whose rows do not lie in
// (After, Through] or violate the rules of RunSpec. Every store calls it first.
func (a Admission) Validate() error {
	var d validator
	for i := range a.Plans {
		if err := d.plan(&a.Plans[i]); err != nil {
			return err
		}
	}
	return nil
}

// Validate returns ErrInvalidRun for anything but a single run, and ErrInvalidActor.
// Every store calls it first.
func (e Entry) Validate() error {
	if err := e.Actor.Validate(); err != nil {
		return err
	}
	return new(validator).single(e.JobID, &e.RunSpec)
}

// Validate returns ErrInvalidRun for anything but single runs, and ErrInvalidActor.
// Every store calls it first.
func (b BackfillRequest) Validate() error {
	if err := b.Actor.Validate(); err != nil {
		return err
	}
	if b.Pace.Parallel() > MaxParallel {
		return fmt.Errorf("%w: at most %d backfilled runs of a job run at a time, not %d", ErrInvalidRun, MaxParallel, b.Pace.Parallel())
	}
	var d validator
	for i := range b.Runs {
		if err := d.single(b.JobID, &b.Runs[i]); err != nil {
			return err
		}
	}
	return nil
}

// validator compares scheduled times with their run IDs. IDs have whole seconds, so
// two scheduled times within one second would be one run; and a job's runs are found, and paged,
// in the order of their ids, which has to be that of their times.
type validator struct {
	// The last time and how it is written: at the top of an hour a hundred
	// thousand scheduled times have the same.
	last    time.Time
	written [2 * instantLength]byte
	length  int
}

const (
	maxRunID      = 128
	instantLength = len("2006-01-02T15:04:05Z")
)

func (d *validator) plan(p *Plan) error {
	for i := range p.Runs {
		in := &p.Runs[i]
		if err := d.scheduledTime(p.JobID, in); err != nil {
			return err
		}
		if !in.ScheduledAt.After(p.After) || in.ScheduledAt.After(p.Through) || in.Until.After(p.Through) {
			return in.invalid("it is outside of its plan, which is of the scheduled times after %s up to %s",
				p.After.UTC().Format(time.RFC3339Nano), p.Through.UTC().Format(time.RFC3339Nano))
		}
	}
	return nil
}

func (d *validator) single(jobID string, in *RunSpec) error {
	if !in.Until.IsZero() {
		return in.invalid("a range of scheduled times comes from a plan only: give each scheduled time its own run")
	}
	return d.scheduledTime(jobID, in)
}

func (d *validator) scheduledTime(jobID string, in *RunSpec) error {
	switch {
	case in.ScheduledAt.Nanosecond() != 0 || in.Until.Nanosecond() != 0:
		return in.invalid("its time has a fraction of a second, and run IDs have none: truncate it to whole seconds first")
	case !d.hasValidID(jobID, in):
		return in.invalid(`a run ID has at most %d visible ASCII characters: its job's id, %.80q (without "@", "~" and "/"), `+
			`"@" and its time, %s, then nothing, "~" and a suffix, or "/" and the end of its range`,
			maxRunID, jobID, in.ScheduledAt.UTC().Format(time.RFC3339))
	}
	return nil
}

// hasValidID reports whether the run ID is that of the job, At and Until.
func (d *validator) hasValidID(jobID string, in *RunSpec) bool {
	rest, ok := strings.CutPrefix(in.RunID, jobID)
	if !ok || len(in.RunID) > maxRunID || !isPlainJobID(jobID) {
		return false
	}
	rest, ok = d.cutTime(rest, '@', in.ScheduledAt)
	if ok && !in.Until.IsZero() {
		rest, ok = d.cutTime(rest, '/', in.Until)
		return ok && rest == ""
	}
	return ok && (rest == "" || rest[0] == '~' && rest != "~" && isPrintable(rest))
}

// cutTime takes a sign and the time after it, as a run ID has it, from the front of
// a text.
func (d *validator) cutTime(text string, sign byte, t time.Time) (rest string, ok bool) {
	if d.length == 0 || !t.Equal(d.last) {
		d.last, d.length = t, len(t.UTC().AppendFormat(d.written[:0], time.RFC3339))
	}
	if d.length != instantLength || len(text) <= instantLength || text[0] != sign ||
		text[1:instantLength+1] != string(d.written[:instantLength]) {
		return "", false
	}
	return text[instantLength+1:], true
}

func isPlainJobID(jobID string) bool {
	for i := range len(jobID) {
		if c := jobID[i]; c <= ' ' || c >= '~' || c == '@' || c == '/' {
			return false
		}
	}
	return true
}

func isPrintable(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

func (in *RunSpec) invalid(format string, args ...any) error {
	return fmt.Errorf("%w: run %.200q at %s: %s", ErrInvalidRun, in.RunID, in.ScheduledAt.UTC().Format(time.RFC3339Nano),
		fmt.Sprintf(format, args...))
}
