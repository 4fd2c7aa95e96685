package operations

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/schedule"
)

// Verdict is one word for what is known of a job at a time. Programs can test it; Explanation.Text is for people.
type Verdict string

const (
	Recorded     Verdict = "recorded"       // the ledger has a row for it
	NotScheduled Verdict = "not_scheduled"  // the job is not due then
	Future       Verdict = "future"         // it is due then, and that time has not come
	SetBack      Verdict = "clock_set_back" // it is planned already, without a run for it: the ledger is ahead of its clock
	BeforeJob    Verdict = "before_job"     // the ledger did not know the job then
	Purged       Verdict = "purged"         // what became of it is no longer known
	NotPlanned   Verdict = "not_planned"    // it is due, and no process has planned it yet
	NotInList    Verdict = "not_in_list"    // the list of the run's members does not have the key
	DisabledJob  Verdict = "disabled"       // the registry has the job disabled
	UnfitJob     Verdict = "unfit"          // it is due then, and cannot be planned: its template needs other data
)

// Explanation is why a job ran, or did not, at a time.
type Explanation struct {
	JobID   string  `json:"jobId"`
	At      string  `json:"at"`
	Member  string  `json:"member,omitempty"` // its key
	Local   string  `json:"local,omitempty"`  // At in the job's zone, if that is not UTC
	Verdict Verdict `json:"verdict"`
	Text    string  `json:"text"` // a sentence
	// Run is the row that accounts for the time, perhaps a range row.
	Run *Run `json:"run,omitempty"`
	// Previous and Next are the scheduled times around At.
	Previous string `json:"previous,omitempty"`
	Next     string `json:"next,omitempty"`
}

// Why explains what became of a job at any time, also at one for which the ledger has no run. The
// text is a time as ParseTime reads it, without an offset in the job's zone. For a triggered run it
// is what follows the @ of the run ID, with ~ and the token. With the key of a member, Why explains
// what became of the member.
func (s *Service) Why(ctx context.Context, jobID, text, member string) (Explanation, error) {
	v := Explanation{JobID: jobID}
	if jobID == "" {
		return v, refuse(Invalid, "job is missing; set it to the ID of a job")
	}
	j, err := s.registered(ctx, jobID, "")
	gone := "" // why the ledger knows it by its runs alone
	switch _, _, keyed := jobs.SplitJobID(jobID); {
	case s.isTemplate(jobID):
		return v, err
	case err != nil && keyed:
		gone = err.Error()
	case err != nil:
		gone = "it is not in the registry"
	}
	registered := gone == ""
	if err := s.KnownJob(ctx, jobID); err != nil {
		return v, err
	}
	at, token, err := s.parseWhen(j, registered, text)
	if err != nil {
		return v, err
	}
	v.At = TimeText(at)
	due := registered && v.addNeighbors(j.ParsedSchedule(), at)
	run, attempts, found, err := s.covering(ctx, jobID, at, token, due || !registered)
	switch {
	case err != nil:
		return v, err
	case found:
		return s.whyRun(ctx, v, run, attempts, member)
	}
	status, known, err := s.status(ctx, jobID)
	if err != nil {
		return v, err
	}
	serving, err := s.serving(ctx)
	if err != nil {
		return v, err
	}
	counts, err := s.counts.get(ctx, "", statusAge, s.ledger.Counts)
	if err != nil {
		return v, err
	}
	v.Verdict, v.Text = s.unrecorded(j, gone, due, status, known && serving, at, counts.Now)
	return v, nil
}

// parseWhen reads the time of a question, and the token of a triggered run's ID if it has one.
func (s *Service) parseWhen(j jobs.Job, registered bool, text string) (at time.Time, token string, err error) {
	when, token, _ := strings.Cut(text, "~")
	at, ok := ParseTime(when, s.now(), time.UTC)
	if registered {
		at, ok = parseTimeOf(j.ParsedSchedule(), when, s.now())
	}
	if year := at.UTC().Year(); !ok || year < 0 || year > 9999 {
		return at, token, refuse(Invalid,
			"invalid time %q; use a time such as 2026-11-21T03:00:00Z, 2026-11-21T03:00 or 03:00 (in the job's time zone), or an age such as 24h", text)
	}
	return at.UTC().Truncate(time.Second), token, nil
}

// addNeighbors adds the scheduled times around a time, and reports whether it is one itself.
func (v *Explanation) addNeighbors(sched *schedule.Schedule, at time.Time) (due bool) {
	v.Previous, v.Next = TimeText(sched.Last(at.Add(-time.Second))), TimeText(sched.Next(at))
	if zone := sched.Location(); zone != time.UTC {
		v.Local = at.In(zone).Format("2006-01-02T15:04:05 MST")
	}
	return sched.Last(at).Equal(at)
}

// whyRun explains the run that accounts for the time, or a member of it.
func (s *Service) whyRun(
	ctx context.Context, v Explanation, run ledger.Run, attempts []ledger.Attempt, member string,
) (Explanation, error) {
	if err := s.AddWaiting(ctx, &run); err != nil {
		return v, err
	}
	r := RunOf(ctx, run)
	v.Verdict, v.Run, v.Text = Recorded, &r, Sentence(run, attempts)
	if member != "" {
		return s.whyMember(ctx, v, run, member)
	}
	return v, nil
}

// unrecorded explains a time that no row accounts for. served means that the
// ledger knows the job and that a live process works on the ledger.
func (s *Service) unrecorded(j jobs.Job, gone string, due bool, st ledger.JobStatus, served bool, at, now time.Time) (Verdict, string) {
	when, gap := TimeText(at), ""
	if gone == "" {
		gap = skippedTime(j, at)
	}
	switch {
	case !st.PurgedThrough.IsZero() && !at.After(st.PurgedThrough):
		return Purged,
			"What happened at " + when + " was purged: the ledger keeps nothing of this job at or before " + TimeText(st.PurgedThrough) + "."
	case gone != "":
		return NotScheduled, "The ledger has no run of this job at " + when + ": " + gone + "."
	case !due && gap != "":
		return NotScheduled, gap
	case !due:
		return NotScheduled, when + " is not a scheduled time of this job: its schedule is " + j.Schedule + " (" + j.Timezone + ")."
	case j.Disabled:
		return DisabledJob, when + " is a scheduled time of this job, and the registry has the job disabled."
	case j.Unfit() != "" && at.After(st.Watermark):
		return UnfitJob, when + " is a scheduled time of this schedule, which cannot be planned because it does not fit its template: " + j.Unfit() +
			". Repair the template, and this time is caught up; or change the schedule."
	case ledger.AheadOfClock(st.Watermark, now) > 0 && !at.After(st.Watermark):
		return SetBack, "The ledger has no run for " + when + " and plans none: " + ledger.AheadText(st.Watermark, now) + "."
	case at.After(s.now()) && st.PausedAt.IsZero():
		return Future, when + " is a scheduled time to come."
	case at.After(s.now()):
		return Future, fmt.Sprintf("%s is a scheduled time to come, and its run will be skipped unless the job is resumed: %s paused it (%s).",
			when, st.PausedBy, st.PausedWhy)
	case !st.Watermark.IsZero() && !at.After(st.Watermark):
		return BeforeJob,
			"The ledger has no run for " + when + ": the job did not exist then, had another schedule, or the clock was set back over this time."
	case j.DueAt(at).After(s.now()):
		return Future,
			when + " is a scheduled time whose run starts at " + TimeText(j.DueAt(at)) + ": the job has a spread of " + j.Spread.String() + "."
	case !served || st.Ended:
		return NotPlanned, when + " is not planned yet, waiting because no process that is alive serves this job."
	}
	return NotPlanned, when + " is not planned yet, waiting because the job is planned up to " + TimeText(st.Watermark) + " only."
}

// skippedTime explains a time that a clock change skips in the job's zone; "" for another.
func skippedTime(j jobs.Job, at time.Time) string {
	g, ok := j.ParsedSchedule().GapAt(at)
	if !ok {
		return ""
	}
	return fmt.Sprintf("The job's local time %s does not exist in %s: the clock was put forward over it, up to %s. "+
		"With dst %q the job does not run instead.",
		g.Local, g.Zone, TimeText(g.At), j.DST)
}

// serving reports whether a live process works on the ledger.
func (s *Service) serving(ctx context.Context) (bool, error) {
	list, err := s.ledger.Processes(ctx)
	return slices.ContainsFunc(list, func(p ledger.Process) bool { return p.Alive }), err
}

// status returns what the ledger knows of one job, and whether it knows it.
func (s *Service) status(ctx context.Context, jobID string) (ledger.JobStatus, bool, error) {
	all, err := s.ledger.Jobs(ctx, jobID)
	for _, st := range all {
		if st.JobID == jobID {
			return st, true, err
		}
	}
	return ledger.JobStatus{}, false, err
}

// covering returns the row that accounts for a job's scheduled time, with its attempts: the time's own row or, with
// inRange, the range row that contains it. token is the part of a triggered run's ID after the ~; "" for a scheduled
// time.
func (s *Service) covering(ctx context.Context, jobID string, at time.Time, token string, inRange bool) (ledger.Run, []ledger.Attempt, bool, error) {
	if token != "" {
		id := jobs.RunIDWithToken(jobID, at, token)
		run, attempts, err := s.ledger.Get(ctx, id)
		return run, attempts, err == nil, s.notFound(ctx, id, err)
	}
	run, attempts, err := s.ledger.Get(ctx, jobs.RunID(jobID, at))
	if !errors.Is(err, ledger.ErrNotFound) {
		return run, attempts, err == nil, err
	}
	ranges, err := s.ledger.Ranges(ctx, jobID, at, at)
	if err != nil || len(ranges) == 0 || !inRange {
		return run, nil, false, err
	}
	run, attempts, err = s.ledger.Get(ctx, ranges[0].RunID)
	return run, attempts, err == nil, err
}
