package web

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

const (
	// schedulesOnPage is the number of schedules that a template's page shows.
	schedulesOnPage = 50
	scheduleCells   = 12 // of each
)

// templateView is the page of a template: its schedules, by key.
type templateView struct {
	operations.Template
	Job    *jobs.Template // nil: the registry lacks it
	Status *ledger.JobStatus
	Prefix string
	Rows   []scheduleRow
	First  string // the address of the first page, "" on it
	Next   string
	Hours  throughput
	Audit  []ledger.Audit
	Do     []actionLink
	CLI    string
	Now    clock
}

// scheduleRow is a schedule in a list.
type scheduleRow struct {
	operations.Schedule
	At    time.Time // when it is due next; zero: never
	Strip strip
}

// template is the page of a template, which has the address of a job: both have IDs of one kind.
func (d *Dashboard) template(r *http.Request, t operations.Template) (view, error) {
	ctx, q := r.Context(), r.URL.Query()
	v := templateView{Template: t, Prefix: strings.TrimSpace(q.Get("key")), Now: d.clockOf(r).Of(t.ID)}
	if j, known := d.registry().Template(t.ID); known {
		v.Job = &j
	}
	v.CLI = commandOf("cronce schedules list "+shellQuote(t.ID), [][2]string{{"--prefix", v.Prefix}})
	statuses, err := d.Ledger.Jobs(ctx, t.ID)
	if err != nil {
		return view{}, err
	}
	if len(statuses) > 0 {
		v.Status = &statuses[0]
	}
	list, more, err := d.Operations.Schedules(ctx, ledger.ScheduleFilter{Template: t.ID, KeyPrefix: v.Prefix, AfterKey: q.Get("after"),
		Limit: schedulesOnPage})
	if err != nil {
		return view{}, err
	}
	if v.Rows, err = d.scheduleRows(r, list); err != nil {
		return view{}, err
	}
	if q.Get("after") != "" {
		v.First = address(jobPath(t.ID), "key", v.Prefix)
	}
	if more {
		v.Next = address(jobPath(t.ID), "key", v.Prefix, "after", list[len(list)-1].Key)
	}
	tallies, _, err := d.lastHours(ctx, 24, t.ID)
	if err != nil {
		return view{}, err
	}
	v.Hours = newThroughput(tallies, v.Now)
	if v.Audit, err = d.Ledger.Audit(ctx, ledger.AuditFilter{JobID: t.ID, Limit: pastOnPage}); err != nil {
		return view{}, err
	}
	v.Do = d.templateActions(r, v)
	return view{Template: "template", Title: t.ID + ": " + counted(t.Schedules, "schedule"), Section: "Jobs", Data: v}, nil
}

// scheduleRows adds to each schedule the strip of its last runs.
func (d *Dashboard) scheduleRows(r *http.Request, list []operations.Schedule) ([]scheduleRow, error) {
	ids := make([]string, len(list))
	for i, s := range list {
		ids[i] = s.JobID
	}
	if len(ids) == 0 {
		return nil, nil
	}
	cells, err := d.Ledger.Recent(r.Context(), ids, scheduleCells)
	if err != nil {
		return nil, err
	}
	rows := make([]scheduleRow, len(list))
	for i, s := range list {
		rows[i] = scheduleRow{Schedule: s, Strip: newStrip(cells[s.JobID], scheduleCells)}
		rows[i].At, _ = time.Parse(time.RFC3339, s.Next) // empty: zero
	}
	return rows, nil
}

// templateActions returns the action that pauses or resumes all schedules of a template.
func (d *Dashboard) templateActions(r *http.Request, v templateView) []actionLink {
	if v.Job == nil || v.Status == nil {
		return nil
	}
	name := operations.PauseJob
	if !v.Status.PausedAt.IsZero() {
		name = operations.ResumeJob
	}
	return d.allowed(r, actionLink{Name: name, Path: actionPath(name, "job", v.ID)})
}

// templateOf returns the template with an ID, of the registry or of the ledger.
func (d *Dashboard) templateOf(r *http.Request, id string) (t operations.Template, found bool, err error) {
	if _, isJob := d.registry().Job(id); isJob {
		return t, false, nil
	}
	list, err := d.Operations.Templates(r.Context())
	i := slices.IndexFunc(list, func(t operations.Template) bool { return t.ID == id })
	if i < 0 {
		return t, false, err
	}
	return list[i], true, nil
}
