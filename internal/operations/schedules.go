package operations

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"

	"github.com/cronce/cronce/internal/suggest"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/schedule"
)

// Schedule is a schedule that was made at run time from a template of the registry.
type Schedule struct {
	JobID      string          `json:"jobId"` // "<template>:<key>"
	Template   string          `json:"template"`
	Key        string          `json:"key"`
	Schedule   string          `json:"schedule"`
	InWords    string          `json:"inWords"`
	Timezone   string          `json:"timezone"`
	DST        string          `json:"dst"`
	Data       json.RawMessage `json:"data,omitempty"`
	Until      string          `json:"until,omitempty"`
	Generation int64           `json:"generation,omitempty"`
	Revision   int64           `json:"revision"`
	State      ScheduleState   `json:"state"`
	Problem    string          `json:"problem,omitempty"` // why it is unfit
	Next       string          `json:"next"`              // empty: none, unfit, or paused without an end
	CreatedAt  string          `json:"createdAt"`
	ChangedAt  string          `json:"changedAt"`
	ChangedBy  string          `json:"changedBy"`
	EndedAt    string          `json:"endedAt,omitempty"`

	// The pause of the schedule, of its template, or of many jobs.
	PausedAt    string `json:"pausedAt,omitempty"`
	PausedBy    string `json:"pausedBy,omitempty"`
	PausedWhy   string `json:"pausedWhy,omitempty"`
	PausedUntil string `json:"pausedUntil,omitempty"` // empty: without an end
}

// ScheduleState says whether a schedule is being planned.
type ScheduleState string

const (
	ScheduleActive   ScheduleState = "active"
	SchedulePaused   ScheduleState = "paused"
	ScheduleEnded    ScheduleState = "ended"    // no scheduled time is left
	ScheduleDisabled ScheduleState = "disabled" // the registry has the template disabled
	ScheduleUnfit    ScheduleState = "unfit"    // it cannot be planned: see Problem
	ScheduleOrphaned ScheduleState = "orphaned" // the registry lacks the template
)

// Template is a template of the registry or of the ledger.
type Template struct {
	ID        string        `json:"id"`
	Schedules int           `json:"schedules"`     // that have not ended
	Max       int           `json:"max,omitempty"` // 0: orphaned
	State     ScheduleState `json:"state"`         // of its schedules, unless one has another
}

// Templates lists the templates of the registry, and those that only the ledger knows.
func (s *Service) Templates(ctx context.Context) ([]Template, error) {
	reg, err := s.registry()
	if err != nil {
		return nil, err
	}
	schedules := map[string]int{}
	list := []Template{}
	if s.ledger != nil {
		counts, err := s.ledger.Templates(ctx)
		if err != nil {
			return nil, err
		}
		for _, c := range counts {
			schedules[c.Template] = c.Schedules
			if _, known := reg.Template(c.Template); !known && c.Schedules > 0 {
				list = append(list, Template{ID: c.Template, Schedules: c.Schedules, State: ScheduleOrphaned})
			}
		}
	}
	pauses, err := s.activePauses(ctx)
	if err != nil {
		return nil, err
	}
	templates := reg.Templates()
	ids := make([]string, len(templates))
	for i, t := range templates {
		ids[i] = t.ID
	}
	known, err := s.statuses(ctx, ids...)
	for _, t := range templates {
		v := Template{ID: t.ID, Schedules: schedules[t.ID], Max: t.Max, State: ScheduleActive}
		if d := DescribeJob(&t.Job, known[t.ID], pauses, s.now()); d.State == JobDisabled || d.State == JobPaused {
			v.State = ScheduleState(d.State)
		}
		list = append(list, v)
	}
	return list, err
}

// Schedule shows one schedule.
func (s *Service) Schedule(ctx context.Context, template, key string) (Schedule, error) {
	if !jobs.ValidKey(key) {
		return Schedule{}, unknownSchedule(template, key)
	}
	got, err := s.findSchedule(ctx, template, key)
	if err != nil {
		return Schedule{}, err
	}
	pauses, err := s.activePauses(ctx)
	return s.scheduleOf(got, pauses), err
}

// findSchedule reads a schedule from the ledger. Its Error tells a deleted schedule, an unknown key and an unknown
// template apart.
func (s *Service) findSchedule(ctx context.Context, template, key string) (ledger.Schedule, error) {
	got, err := s.ledger.Schedule(ctx, jobs.ScheduleID(template, key))
	switch {
	case !errors.Is(err, ledger.ErrNotFound):
		return got, err
	case !got.DeletedAt.IsZero():
		return got, refuse(UnknownSchedule, "the schedule %s was deleted at %s by %s", got.JobID, actualTime(got.DeletedAt), got.ChangedBy)
	}
	if _, err := s.template(ctx, template); err != nil {
		return got, err
	}
	return got, unknownSchedule(template, key)
}

// maxSchedulePage is the number of schedules that the ledger returns at most.
const maxSchedulePage = 1000

// Schedules lists a page of a template's schedules by key, and whether there are more.
func (s *Service) Schedules(ctx context.Context, f ledger.ScheduleFilter) (list []Schedule, more bool, err error) {
	size := f.PageSize()
	f.Limit = min(size+1, maxSchedulePage)
	got, err := s.ledger.Schedules(ctx, f)
	if err == nil && len(got) == 0 {
		_, err = s.template(ctx, f.Template)
	}
	if err != nil {
		return nil, false, err
	}
	pauses, err := s.activePauses(ctx)
	if err != nil {
		return nil, false, err
	}
	// One more row tells whether there is a next page. The ledger gives no more than its maximum: a full
	// page of that size may be the last, and the next one is then empty.
	more = len(got) > size || size == maxSchedulePage && len(got) == size
	list = []Schedule{}
	for _, each := range got[:min(size, len(got))] {
		list = append(list, s.scheduleOf(each, pauses))
	}
	return list, more, nil
}

// ListSchedules lists up to limit schedules of a template whose keys have a prefix, by key.
func (s *Service) ListSchedules(ctx context.Context, template, prefix string, limit int) ([]Schedule, error) {
	all, f := []Schedule{}, ledger.ScheduleFilter{Template: template, KeyPrefix: prefix}
	for {
		f.Limit = min(limit-len(all), MaxPage)
		page, more, err := s.Schedules(ctx, f)
		if err != nil {
			return nil, err
		}
		if all = append(all, page...); !more || len(all) >= limit {
			return all, nil
		}
		f.AfterKey = all[len(all)-1].Key
	}
}

// template returns a template of the registry, or the zero Template for one that only the
// ledger has schedules of.
func (s *Service) template(ctx context.Context, id string) (jobs.Template, error) {
	reg, err := s.registry()
	if err != nil {
		return jobs.Template{}, err
	}
	if t, known := reg.Template(id); known {
		return t, nil
	}
	names := []string{}
	for _, t := range reg.Templates() {
		names = append(names, t.ID)
	}
	counts, err := s.ledger.Templates(ctx)
	for _, c := range counts {
		if c.Template == id {
			return jobs.Template{}, nil
		}
	}
	if err != nil {
		return jobs.Template{}, err
	}
	if _, isJob := reg.Index(id); isJob {
		return jobs.Template{}, refuse(Invalid,
			"the job %q has a schedule of its own; only a job with keyed has schedules that are made at run time", id)
	}
	return jobs.Template{}, refuse(UnknownJob, "unknown template %q%s a template is a job of the registry with keyed", id,
		cmp.Or(suggest.DidYouMean(id, names), ";"))
}

func unknownSchedule(template, key string) error {
	return refuse(UnknownSchedule, "the template %s has no schedule with the key %q; \"cronce schedules list %s\" lists them", template, key,
		template)
}

// scheduleOf describes a schedule by what the registry says of its template, and by the pauses
// of many jobs.
func (s *Service) scheduleOf(got ledger.Schedule, pauses []ledger.Pause) Schedule {
	v := Schedule{
		JobID: got.JobID, Template: got.Template(), Key: got.Key(), Schedule: got.Expr, Timezone: got.Timezone, DST: got.DST, Data: got.Data,
		Until: TimeText(got.Until), Generation: got.Generation, Revision: got.Revision,
		CreatedAt: actualTime(got.CreatedAt), ChangedAt: actualTime(got.ChangedAt), ChangedBy: got.ChangedBy, EndedAt: actualTime(got.EndedAt),
	}
	j, known := s.keyedJob(got)
	if parsed := j.ParsedSchedule(); parsed != nil {
		v.InWords = parsed.Describe()
	}
	d := DescribeJob(&j, ledger.JobStatus{Position: ledger.Position{JobID: got.JobID, Watermark: got.Watermark}, Ended: !got.EndedAt.IsZero(),
		PausedAt: got.PausedAt, PausedBy: got.PausedBy, PausedWhy: got.PausedWhy}, pauses, s.now())
	v.PausedAt, v.PausedBy, v.PausedWhy, v.PausedUntil = actualTime(d.Pause.From), d.Pause.By, d.Pause.Why, TimeText(d.Pause.Until)
	v.State, v.Next = ScheduleState(d.State), TimeText(d.Next)
	switch {
	case v.State == ScheduleUnfit:
		v.Problem = j.Unfit()
	case !known && v.State != ScheduleEnded:
		v.State, v.Next = ScheduleOrphaned, ""
	}
	return v
}

// keyedJob returns the job that a schedule makes of its template. If the registry lacks the template, known is false
// and the job has only the schedule itself.
func (s *Service) keyedJob(got ledger.Schedule) (j jobs.Job, known bool) {
	in := jobs.KeyedSchedule{Key: got.Key(), Schedule: got.Expr, Timezone: got.Timezone, DST: schedule.DST(got.DST), Data: got.Data,
		Until: got.Until}
	t := jobs.Template{}
	if reg, err := s.registry(); err == nil {
		t, known = reg.Template(got.Template())
	}
	j, _ = t.JobOf(in, &s.parsed) // its Unfit has the error
	return j, known
}

// KeyedJob returns the job of a schedule, by its job ID.
func (s *Service) KeyedJob(ctx context.Context, id string) (jobs.Job, error) {
	template, key, _ := jobs.SplitJobID(id)
	if s.ledger == nil {
		return jobs.Job{}, refuse(NotServed, "the schedule %s is in the ledger, and there is none yet", id)
	}
	got, err := s.findSchedule(ctx, template, key)
	if err != nil {
		return jobs.Job{}, err
	}
	j, known := s.keyedJob(got)
	switch {
	case !known:
		err = refuse(UnknownJob, "the registry lacks the template %q of the schedule %s; put it back first", template, id)
	case j.ParsedSchedule() == nil:
		err = refuse(Invalid, "the schedule %s cannot be read: %v", id, j.Unfit())
	}
	return j, err
}
