package operations

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/cronce/cronce/internal/jobdiff"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// Job is a job of the registry with what the ledger knows of it.
type Job struct {
	// The definition in the registry, with its defaults. The fields mean what docs/registry.md says of them.
	ID          string   `json:"id"`
	Schedule    string   `json:"schedule"`
	InWords     string   `json:"inWords"`
	Timezone    string   `json:"timezone"`
	DST         string   `json:"dst"`
	Target      string   `json:"target"`
	Method      string   `json:"method"`
	Path        string   `json:"path"`
	Scopes      []string `json:"scopes"`
	KeyScope    string   `json:"keyScope"`
	Timeout     string   `json:"timeout"`
	Overlap     string   `json:"overlap"`
	CatchUp     string   `json:"catchUp"`
	Spread      string   `json:"spread,omitempty"`
	Acknowledge string   `json:"acknowledge"`
	Async       *Async   `json:"async,omitempty"` // nil: a 202 is a success
	Each        string   `json:"each,omitempty"`  // in words; empty: its runs have no members
	Enabled     bool     `json:"enabled"`

	// What will become of it.
	State       JobState `json:"state"`
	Next        string   `json:"next"`             // that is not in a pause; empty: never again, paused without an end, or disabled
	Starts      string   `json:"starts,omitempty"` // the run of Next, by the job's spread
	Watermark   string   `json:"watermark"`        // up to it, all scheduled times are planned
	PausedAt    string   `json:"pausedAt,omitempty"`
	PausedBy    string   `json:"pausedBy,omitempty"`
	PausedWhy   string   `json:"pausedWhy,omitempty"`
	PausedUntil string   `json:"pausedUntil,omitempty"` // empty: no end is set
	HeldUntil   string   `json:"heldUntil,omitempty"`   // nothing is sent to its target until then

	// What the ledger has of its runs; nil or empty without any.
	LastRun      *Run   `json:"lastRun"`           // the newest by scheduled time
	SlotRun      *Run   `json:"slotRun,omitempty"` // the unfinished run that has the job's slot
	LastOutcome  *Run   `json:"lastOutcome"`       // the newest run that succeeded or died
	FailingSince string `json:"failingSince,omitempty"`
	// FailingEarlier says that the job has failed since FailingSince or an earlier time.
	FailingEarlier bool `json:"failingEarlier,omitempty"`

	Dead      int           `json:"deadUnacknowledged"` // runs that nobody has acknowledged
	Incidents []JobIncident `json:"incidents"`          // open ones

	// For people, from the registry.
	Description string            `json:"description,omitempty"`
	Owner       string            `json:"owner,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
}

// Async says how long the target of long work may work on after a 202.
type Async struct {
	Within string `json:"within"` // after that the run is dead
	Poll   string `json:"poll"`   // the same request is sent again each time
}

// JobState says whether a job is being planned, and whether its runs do what they are for.
type JobState string

const (
	JobActive   JobState = "active"
	JobFailing  JobState = "failing" // active, and its last outcome is dead: FailingSince is set
	JobPaused   JobState = "paused"
	JobDisabled JobState = "disabled"
	JobNew      JobState = "new"   // no process has served it yet, or not since it was removed
	JobUnfit    JobState = "unfit" // a schedule made at run time that cannot be planned
	JobEnded    JobState = "ended" // removed from the registry, or a schedule that has ended
)

// JobStates are the states that jobs of the registry can have; those that need somebody come first. JobUnfit and JobEnded are
// states of schedules made at run time and of removed jobs, so they are not in the list.
var JobStates = []JobState{JobFailing, JobPaused, JobActive, JobNew, JobDisabled}

// JobDetail is a job with its whole definition, its newest events, and the actions of operators on it and on its runs.
// Events and actions come newest first.
type JobDetail struct {
	Job
	// Definition are its fields but for those that only some may see: headers and body.
	Definition []jobdiff.Value `json:"definition"`
	Events     []Event         `json:"events"`
	Audit      []AuditEntry    `json:"audit"`
}

// Event is something about a job that is not a run and that no operator did.
type Event struct {
	At    string `json:"at"`
	Kind  string `json:"kind"`
	Local string `json:"local,omitempty"`
	Zone  string `json:"zone,omitempty"`
}

// Jobs lists the selected jobs of the registry, by id.
func (s *Service) Jobs(ctx context.Context, sel Selection) ([]Job, error) {
	list, _, err := s.JobsAfter(ctx, sel, "", math.MaxInt)
	return list, err
}

// JobsAfter lists up to limit of the selected jobs of the registry whose ids follow
// another, by id, and whether there are more.
func (s *Service) JobsAfter(ctx context.Context, sel Selection, after string, limit int) (list []Job, more bool, err error) {
	reg, err := s.registry()
	if err != nil {
		return nil, false, err
	}
	selected, more, err := sel.after(reg, after, limit)
	if err != nil {
		return nil, false, err
	}
	ids := make([]string, len(selected))
	for i := range selected {
		ids[i] = selected[i].ID
	}
	known, err := s.statuses(ctx, ids...)
	if err != nil {
		return nil, false, err
	}
	pauses, err := s.activePauses(ctx)
	if err != nil {
		return nil, false, err
	}
	list = []Job{}
	for _, j := range selected {
		list = append(list, s.jobOf(ctx, j, known[j.ID], pauses))
	}
	return list, more, nil
}

// Job shows one job of the registry.
func (s *Service) Job(ctx context.Context, id string) (JobDetail, error) {
	j, err := s.registered(ctx, id, "")
	if err != nil {
		return JobDetail{}, err
	}
	known, err := s.statuses(ctx, id)
	if err != nil {
		return JobDetail{}, err
	}
	pauses, err := s.activePauses(ctx)
	if err != nil {
		return JobDetail{}, err
	}
	d := JobDetail{Job: s.jobOf(ctx, j, known[j.ID], pauses), Definition: Definition(j), Audit: []AuditEntry{}, Events: []Event{}}
	if s.ledger == nil {
		return d, nil
	}
	entries, err := s.ledger.Audit(ctx, ledger.AuditFilter{JobID: id, Limit: ledger.MaxAuditPage})
	if err != nil {
		return d, err
	}
	d.Audit = auditEntriesOf(entries)
	events, err := s.ledger.Events(ctx, id, 20)
	for _, e := range events {
		d.Events = append(d.Events, Event{actualTime(e.At), string(e.Kind), e.Local, e.Zone})
	}
	return d, err
}

// Definition returns the fields of a job that every reader may see: all but headers and body.
func Definition(j jobs.Job) []jobdiff.Value {
	return slices.DeleteFunc(jobdiff.Values(j), func(v jobdiff.Value) bool { return bodyFields[v.Field] })
}

// statuses returns the ledger's rows of the jobs, by ID; a ledger that is not
// made yet knows nothing.
func (s *Service) statuses(ctx context.Context, ids ...string) (map[string]ledger.JobStatus, error) {
	known := map[string]ledger.JobStatus{}
	if s.ledger == nil || len(ids) == 0 {
		return known, nil
	}
	statuses, err := s.ledger.Jobs(ctx, ids...)
	if err != nil {
		return nil, err
	}
	var shown []*ledger.Run
	for _, st := range statuses {
		known[st.JobID] = st
		for _, r := range []*ledger.Run{st.LastRun, st.SlotRun} {
			if r != nil {
				shown = append(shown, r)
			}
		}
	}
	return known, s.AddWaiting(ctx, shown...)
}

func runIf(ctx context.Context, r *ledger.Run) *Run {
	if r == nil {
		return nil
	}
	v := RunOf(ctx, *r)
	return &v
}

// Outcome says whether the job's runs do what they are for: which of them waits,
// and what became of the last one that was sent, whatever was skipped since.
func (j Job) Outcome() string {
	var parts []string
	switch {
	case j.SlotRun != nil && j.SlotRun.Waiting != nil:
		parts = append(parts, fmt.Sprintf("waiting since %s (%s)", j.SlotRun.ScheduledAt, j.SlotRun.Waiting.Code))
	case j.LastRun != nil && j.LastRun.Waiting != nil: // earlier runs may wait too
		parts = append(parts, fmt.Sprintf("waiting (%s)", j.LastRun.Waiting.Code))
	}
	if j.LastOutcome != nil && j.FailingSince == "" {
		parts = append(parts, string(j.LastOutcome.State))
	}
	if j.FailingSince != "" {
		since := "failing since " + j.FailingSince
		if j.FailingEarlier {
			since += " or earlier"
		}
		parts = append(parts, since)
	}
	if j.Dead > 0 {
		parts = append(parts, fmt.Sprintf("%d dead to acknowledge", j.Dead))
	}
	return strings.Join(parts, ", ")
}

// Trouble lists the job's open incidents in words; "" for none.
func (j Job) Trouble() string {
	var parts []string
	for _, i := range j.Incidents {
		text := fmt.Sprintf("%s (#%d)", i.Cause, i.ID)
		if i.Acknowledged {
			text += " acknowledged"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}
