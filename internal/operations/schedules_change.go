package operations

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/internal/access"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/jobs/dataschema"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/schedule"
)

// ScheduleOutcome is what became of one change.
type ScheduleOutcome struct {
	Schedule Schedule
	Effect   ledger.ScheduleEffect
	Err      error // an Error: the change was refused
}

// MaxScheduleChanges bounds the schedules that one transaction changes, so that planners
// wait for it for a moment only.
const MaxScheduleChanges = 500

// ScheduledByProgram is the reason of a change of schedules that gives none.
const ScheduledByProgram = "schedules of an application"

// ScheduleActor returns who changes schedules, for the audit. The reason may be left out, unlike that of an operator: a
// program seldom has one.
func ScheduleActor(by Caller, name, why string) (ledger.Actor, error) {
	who, err := by.actor(name, cmp.Or(why, ScheduledByProgram))
	if err != nil {
		return who, err
	}
	return who, checkActor(who)
}

// MayChangeSchedules returns an Error if an identity may not change the schedules of a
// template.
func MayChangeSchedules(who access.Identity, template string) error {
	if !who.MayChange(template) {
		return refuse(Forbidden, "%s", who.Needs("operator, or scheduler for the template "+template))
	}
	return nil
}

// MayReadSchedules returns an Error if an identity may not read the schedules of a template.
func MayReadSchedules(who access.Identity, template string) error {
	if !who.MayRead(template) {
		return refuse(Forbidden, "%s", who.Needs("viewer, or scheduler for the template "+template))
	}
	return nil
}

// ChangeSchedules makes, changes or deletes up to MaxScheduleChanges schedules of a
// template with different keys, in one transaction. The outcomes are in the order of the
// changes.
func (s *Service) ChangeSchedules(ctx context.Context, template string, changes []ScheduleChange, who ledger.Actor) ([]ScheduleOutcome, error) {
	t, err := s.template(ctx, template)
	if err != nil {
		return nil, err
	}
	reg, err := s.registry()
	if err != nil {
		return nil, err
	}
	schema, err := s.schemas.of(reg, t)
	if err != nil {
		return nil, err
	}
	pauses, err := s.activePauses(ctx)
	if err != nil {
		return nil, err
	}
	outcomes := make([]ScheduleOutcome, len(changes))
	c := ledger.ChangeSchedulesRequest{Template: template, Max: t.Max, Actor: who, Rules: executor.ScheduleRules(reg, 0)}
	var at []int // of each item, its change
	for i, change := range changes {
		item, err := itemOf(t, template, change, schema)
		if err != nil {
			outcomes[i].Err = err
			continue
		}
		c.Items, at = append(c.Items, item), append(at, i)
	}
	if len(c.Items) == 0 {
		return outcomes, nil
	}
	results, err := s.ledger.ChangeSchedules(ctx, c)
	if err != nil {
		return nil, err
	}
	for k, r := range results {
		outcomes[at[k]] = s.outcome(c.Items[k].JobID, t.Max, r, pauses)
	}
	return outcomes, nil
}

// itemOf checks a change against its template and returns it as the ledger takes it. Its error is an Error of this
// change alone.
func itemOf(t jobs.Template, template string, change ScheduleChange, schema dataschema.Schema) (item ledger.ScheduleChange, err error) {
	item = ledger.ScheduleChange{JobID: jobs.ScheduleID(template, change.Key), Delete: change.Delete, Generation: change.Generation,
		IfRevision: change.IfRevision}
	switch {
	case change.Generation < 0:
		return item, refuse(Invalid, "generation must be at least 1, or left out")
	case change.Delete && !jobs.ValidKey(change.Key):
		return item, unknownSchedule(template, change.Key)
	case change.Delete:
		return item, nil
	case t.ID == "":
		return item, refuse(UnknownJob,
			"the registry lacks the template %q; its schedules can be read, paused, resumed and deleted, not made or changed", template)
	}
	in := jobs.KeyedSchedule{Key: change.Key, Schedule: change.Schedule, Timezone: change.Timezone, DST: schedule.DST(change.DST),
		Data: change.Data, Until: change.Until.UTC()}
	checked, err := t.Check(in)
	if err == nil {
		err = schema.Check(checked.Data)
	}
	if problem, is := errors.AsType[jobs.Problem](err); is {
		return item, refuse(Invalid, "%s", problem.Message)
	}
	item.ScheduleContent = ledger.ScheduleContent{Expr: checked.Schedule, Timezone: checked.Timezone, DST: string(checked.DST),
		Data: checked.Data, Until: checked.Until}
	return item, err
}

// outcome turns the result of one change into what the interfaces return: the schedule as it is now, or an Error.
func (s *Service) outcome(jobID string, most int, r ledger.ScheduleResult, pauses []ledger.Pause) ScheduleOutcome {
	template, key, _ := jobs.SplitJobID(jobID)
	out := ScheduleOutcome{Effect: r.Effect}
	if r.Schedule.JobID != "" {
		out.Schedule = s.scheduleOf(r.Schedule, pauses)
	}
	switch err := r.Err; {
	case err == nil:
	case errors.Is(err, ledger.ErrGeneration):
		out.Err = refuse(LaterGeneration,
			"the schedule %s has generation %d: the same with other content, or a later one; send a higher generation",
			r.Schedule.JobID, r.Schedule.Generation)
	case errors.Is(err, ledger.ErrOtherRevision):
		out.Err = refuse(OtherRevision, "the schedule %s has %s; read it, and decide again", jobID,
			revisionText(r.Schedule))
	case errors.Is(err, ledger.ErrQuota):
		out.Err = refuse(TooManySchedules, "the template %s has %d schedules, its maximum; delete some, or raise keyed.max in the registry",
			template, most)
	case errors.Is(err, ledger.ErrNotFound):
		out.Err = unknownSchedule(template, key)
	case errors.Is(err, ledger.ErrBacklog):
		out.Err = refuse(Backlog, "%v", err)
	default:
		out.Err = refuse(Invalid, "%v", err)
	}
	return out
}

func revisionText(s ledger.Schedule) string {
	if s.Revision == 0 || !s.DeletedAt.IsZero() {
		return "no revision: it does not exist"
	}
	return "revision " + strconv.FormatInt(s.Revision, 10)
}

// schemas are the compiled schemas of a registry's templates.
type schemas struct {
	mu       sync.Mutex
	registry *jobs.Registry
	compiled map[string]dataschema.Schema
}

// of returns the compiled schema of a template. A reload of the registry forgets all of them.
func (c *schemas) of(reg *jobs.Registry, t jobs.Template) (dataschema.Schema, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.registry != reg {
		c.registry, c.compiled = reg, map[string]dataschema.Schema{}
	}
	if known, ok := c.compiled[t.ID]; ok {
		return known, nil
	}
	compiled, err := dataschema.Of(t)
	if err == nil {
		c.compiled[t.ID] = compiled
	}
	return compiled, err
}

// ResolveIn returns the schedule of one call after a delay from now on: an at(…) in UTC.
func ResolveIn(now time.Time, delay time.Duration) string {
	return "at(" + now.UTC().Add(delay+time.Second-1).Truncate(time.Second).Format("2006-01-02T15:04:05") + ")"
}

// ScheduleChange is a requested change of one schedule.
type ScheduleChange struct {
	Key        string          `json:"key,omitempty"`
	Schedule   string          `json:"schedule,omitempty"`
	Timezone   string          `json:"timezone,omitempty"`
	DST        string          `json:"dst,omitempty"`
	Data       json.RawMessage `json:"data,omitempty"`
	Until      ScheduleEnd     `json:"until,omitzero"`
	Generation int64           `json:"generation,omitempty"`
	Delete     bool            `json:"delete,omitempty"`

	// IfRevision, if it is not 0, must be the revision of the schedule, or
	// ledger.MustNotExist.
	IfRevision int64 `json:"-"`
}

// ScheduleEnd is the time after which no scheduled time runs. The zero value is no end. JSON leaves
// it out then, and must not say it: it would be a time.
type ScheduleEnd struct{ time.Time }

// UnmarshalJSON reads a time.
func (e *ScheduleEnd) UnmarshalJSON(text []byte) error {
	switch err := e.Time.UnmarshalJSON(text); {
	case err != nil:
		return fmt.Errorf(`invalid until %.40s; use a time in whole seconds with an offset, such as "2027-01-01T00:00:00Z"`, text)
	case e.IsZero() && string(text) != "null":
		return errors.New("until is before any time; leave it out for a schedule without an end")
	}
	return nil
}
