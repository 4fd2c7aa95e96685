package ledger

import (
	"fmt"
	"strings"
	"time"

	"github.com/cronce/cronce/internal/plaintext"
)

// Validate returns ErrInvalidRun for plans whose rows do not lie in
// (After, Through] or violate the rules of RunSpec. Ledger calls it first.
func (a Admission) Validate() error {
	for i := range a.Plans {
		if err := a.Plans[i].validate(); err != nil {
			return err
		}
	}
	return nil
}

// Validate returns ErrInvalidRun for anything but a single run, and ErrInvalidActor.
// Ledger calls it first.
func (e Entry) Validate() error {
	if err := e.Actor.Validate(); err != nil {
		return err
	}
	return e.RunSpec.validateSingle(e.JobID)
}

// Validate returns ErrInvalidRun for anything but single runs, and ErrInvalidActor.
// Ledger calls it first.
func (b BackfillRequest) Validate() error {
	if err := b.Actor.Validate(); err != nil {
		return err
	}
	if b.Pace.Parallel() > MaxParallel {
		return fmt.Errorf("%w: at most %d backfilled runs of a job run at a time, not %d", ErrInvalidRun, MaxParallel, b.Pace.Parallel())
	}
	for i := range b.Runs {
		if err := b.Runs[i].validateSingle(b.JobID); err != nil {
			return err
		}
	}
	return nil
}

// MaxRunID is the maximum length of a run ID, in bytes.
const MaxRunID = 128

// validate returns ErrInvalidRun for a plan with a row that is not valid, or not in (After,
// Through].
func (p *Plan) validate() error {
	for i := range p.Runs {
		in := &p.Runs[i]
		if err := in.validate(p.JobID); err != nil {
			return err
		}
		if !in.ScheduledAt.After(p.After) || in.ScheduledAt.After(p.Through) || in.Until.After(p.Through) {
			return in.invalid("it is outside of its plan, which is of the scheduled times after %s up to %s",
				p.After.UTC().Format(time.RFC3339Nano), p.Through.UTC().Format(time.RFC3339Nano))
		}
	}
	return nil
}

// validateSingle returns ErrInvalidRun for a row that is not that of a single scheduled time with a
// valid ID.
func (in *RunSpec) validateSingle(jobID string) error {
	if !in.Until.IsZero() {
		return in.invalid("a range of scheduled times comes from a plan only: give each scheduled time its own run")
	}
	return in.validate(jobID)
}

// validate returns ErrInvalidRun for a row whose time or ID no store can have.
func (in *RunSpec) validate(jobID string) error {
	switch {
	case in.ScheduledAt.Nanosecond() != 0 || in.Until.Nanosecond() != 0:
		return in.invalid("its time has a fraction of a second, and run IDs have none: truncate it to whole seconds first")
	case !in.hasValidID(jobID):
		return in.invalid(`a run ID has at most %d visible ASCII characters: its job's id, %.80q (without "@", "~" and "/"), `+
			`"@" and its time, %s, then nothing, "~" and a suffix, or "/" and the end of its range`,
			MaxRunID, jobID, in.ScheduledAt.UTC().Format(time.RFC3339))
	}
	return nil
}

// hasValidID reports whether the run ID is that of the job, ScheduledAt and Until. IDs have
// whole seconds, so two scheduled times within one second would be one run; and a job's runs
// are found, and paged, in the order of their IDs, which has to be that of their times.
func (in *RunSpec) hasValidID(jobID string) bool {
	if len(in.RunID) > MaxRunID || !isPlainJobID(jobID) || !hasFourDigitYear(in.ScheduledAt) || !hasFourDigitYear(in.Until) {
		return false
	}
	begin := jobID + "@" + in.ScheduledAt.UTC().Format(time.RFC3339)
	if !in.Until.IsZero() {
		return in.RunID == begin+"/"+in.Until.UTC().Format(time.RFC3339)
	}
	suffix, ok := strings.CutPrefix(in.RunID, begin)
	return ok && (suffix == "" || suffix[0] == '~' && suffix != "~" && plaintext.VisibleASCII(suffix))
}

// hasFourDigitYear reports whether a time can be written in a run ID; the order of the IDs would
// else not be that of the times.
func hasFourDigitYear(t time.Time) bool {
	year := t.UTC().Year()
	return 0 <= year && year <= 9999
}

// isPlainJobID reports whether a text may be a job's part of a run ID: visible ASCII without the
// marks of its other parts.
func isPlainJobID(jobID string) bool {
	for i := range len(jobID) {
		if c := jobID[i]; c <= ' ' || c >= '~' || c == '@' || c == '/' {
			return false
		}
	}
	return true
}

// invalid returns ErrInvalidRun for the row, with what is wrong.
func (in *RunSpec) invalid(format string, args ...any) error {
	return fmt.Errorf("%w: run %.200q at %s: %s", ErrInvalidRun, in.RunID, in.ScheduledAt.UTC().Format(time.RFC3339Nano),
		fmt.Sprintf(format, args...))
}

// StorableText returns a text from outside as every store can keep it: valid UTF-8 without
// NUL, and cut to limit bytes.
func StorableText(s string, limit int) string {
	s = s[:min(len(s), limit)]
	if clean := strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD"); clean != s {
		return strings.ToValidUTF8(clean[:min(len(clean), limit)], "") // a replacement may be longer than what it replaces
	}
	return s
}
