package web

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"slices"

	"github.com/cronce/cronce/internal/jobdiff"
	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/jobs/retention"
	"github.com/cronce/cronce/ledger"
)

const (
	comingTimes = 10
	pastOnPage  = 10
)

// fieldsInWords are fields of a definition that the page shows with words or links of its own.
var fieldsInWords = []string{"owner", "labels", "method", "path", "target", "overlap", "catchUp", "keyScope"}

// jobView is the page of a job: its runs, its next times, its definition and how it changed.
type jobView struct {
	Now clock
	At  string // the time that the address asks about; "": none
	Do  []actionLink

	// findJob sets these. Without Job, the job is not in the registry: it was removed, or Sends reports that its runs are
	// notifications or pings. Without Status, no process has planned it.
	Row      jobRow
	Job      *jobs.Job
	Status   *ledger.JobStatus
	Sends    bool
	Proof    *retention.Proof
	Headers  []string // of the next request
	Body     string
	Policies struct{ Overlap, CatchUp string }
	Fields   []jobdiff.Value // of the definition, without those that the page has words or links for

	// addCells, addDays and addTimes set these.
	Cells     []jobCell
	Durations durationBars
	Heat      heat
	Trend     trend
	Coming    []comingTime
	Change    []comingTime // around the next clock change

	// addChanges sets these.
	Revisions []ledger.DeclaredDefinition
	Changes   []definitionChange
	Compared  *operations.RevisionDiff // nil: it was not asked for
	CompareNo string                   // why it was refused

	// addPast, addProblems and addAnswer set these.
	Events    []ledger.Event
	Audit     []ledger.Audit
	Dead      []runGroup
	Incidents []attention
	Answer    *whyAnswer
}

// job is the page of a job, of a schedule that was made at run time, or of a template. Each step adds its part of the page. The
// steps come in this order because later ones read what earlier ones found.
func (d *Dashboard) job(r *http.Request) (view, error) {
	id := r.PathValue("id")
	t, isTemplate, err := d.templateOf(r, id)
	switch {
	case err != nil:
		return view{}, err
	case isTemplate:
		return d.template(r, t)
	}
	v := jobView{Now: d.clockOf(r), At: r.URL.Query().Get("at")}
	for _, add := range []func(*http.Request, string, *jobView) error{
		d.findJob, d.addCells, d.addDays, d.addTimes, d.addChanges, d.addPast, d.addProblems, d.addAnswer,
	} {
		if err := add(r, id, &v); err != nil {
			return view{}, err
		}
	}
	v.Do = d.jobActions(r, v)
	return view{Template: "job", Title: id + ": " + string(v.Row.State), Section: "Jobs", Data: v}, nil
}

// addDays adds how the job's runs went day by day: the calendar and the trend of their durations.
func (d *Dashboard) addDays(r *http.Request, id string, v *jobView) error {
	if v.Status == nil {
		return nil
	}
	days, hours, err := d.countDays(r.Context(), id, cmp.Or(v.Job, &jobs.Job{}).ParsedSchedule(), heatDays)
	if err != nil {
		return err
	}
	v.Heat, v.Trend = newHeat(id, days), newTrend(days, hours, v.Now.Time)
	return nil
}

// addTimes adds the job's next scheduled times, and those around the next clock change of its zone.
func (d *Dashboard) addTimes(_ *http.Request, _ string, v *jobView) error {
	if v.Job != nil {
		v.Coming, v.Change = comingTimesOf(*v.Job, v.Now.Time), atClockChange(*v.Job, v.Now.Time)
	}
	return nil
}

// addPast adds what happened to the job itself: events of the ledger, and actions of operators.
func (d *Dashboard) addPast(r *http.Request, id string, v *jobView) (err error) {
	if v.Events, err = d.Ledger.Events(r.Context(), id, pastOnPage); err != nil {
		return err
	}
	v.Audit, err = d.Ledger.Audit(r.Context(), ledger.AuditFilter{JobID: id, Limit: pastOnPage})
	return err
}

// addProblems adds what needs somebody: dead runs that nobody has acknowledged, and open incidents.
func (d *Dashboard) addProblems(r *http.Request, id string, v *jobView) (err error) {
	if v.Dead, err = d.deadOf(r.Context(), v.Status); err != nil {
		return err
	}
	for i, g := range v.Dead {
		v.Dead[i].Actions = d.groupActions(r, g)
	}
	v.Incidents, err = d.jobIncidents(r, id)
	return err
}

// addAnswer answers the question at the foot of the page, why the job ran or did not at a time, if it was asked.
func (d *Dashboard) addAnswer(r *http.Request, _ string, v *jobView) (err error) {
	if v.At != "" {
		v.Answer, err = d.why(r.Context(), *v)
	}
	return err
}

// deadOf groups a job's dead runs that nobody has acknowledged.
func (d *Dashboard) deadOf(ctx context.Context, s *ledger.JobStatus) ([]runGroup, error) {
	if s == nil || s.DeadUnacknowledged == 0 {
		return nil, nil
	}
	dead, _, err := d.deadRuns(ctx, s.JobID)
	return deadGroups(dead, map[string]int{s.JobID: s.DeadUnacknowledged}, d.now()), err
}

// findJob looks the job up in the registry and in the ledger. The page shows jobs that only one of them knows: a new
// job has no row in the ledger, and a removed one has no definition in the registry. It is a pageError if neither knows
// the job.
func (d *Dashboard) findJob(r *http.Request, id string, v *jobView) error {
	statuses, err := d.Ledger.Jobs(r.Context(), id)
	if err != nil {
		return err
	}
	if len(statuses) > 0 {
		v.Status = &statuses[0]
	}
	j, found, err := d.jobOf(r.Context(), id)
	if err != nil {
		return err
	}
	pauses, err := d.Ledger.Pauses(r.Context(), false)
	if err != nil {
		return err
	}
	switch {
	case found:
		v.Now = v.Now.ofSchedule(&j)
		v.Job, v.Row = &j, d.newJobRow(&j, *cmp.Or(v.Status, &ledger.JobStatus{}), pauses, nil, v.Now.Time)
		v.Policies.Overlap, v.Policies.CatchUp = overlapWords[j.Overlap], catchUpWords[j.CatchUp]
		next := cmp.Or(v.Row.Next, v.Now.Time) // the request that the page shows is that of the next run
		v.Fields = slices.DeleteFunc(operations.Definition(j), func(f jobdiff.Value) bool {
			return f.Value == "none" || slices.Contains(fieldsInWords, f.Field)
		})
		v.Headers = headersFor(r, j.RequestHeaders(jobs.RunID(id, next), next))
		v.Body = bodyFor(r, j.RequestBody(jobs.RunID(id, next), next))
		if j.Target != jobs.BuiltinTarget {
			proof := retention.ProofOf(d.registry(), j)
			v.Proof = &proof
		}
	case v.Status != nil:
		bodies, err := d.Ledger.JobBodies(r.Context(), id)
		if err != nil {
			return err
		}
		v.Row = d.newJobRow(d.definitionOf(id), *v.Status, pauses, bodies[id], v.Now.Time)
	case d.sends(id) != "": // its runs are in the ledger, and it has no row there and no definition
		v.Row.JobDescription = operations.JobDescription{ID: id, State: operations.JobActive}
		v.Row.Words, v.Sends = d.sends(id), true
	default:
		return missing("Unknown job \""+id+"\": neither the registry nor the ledger has it.", "Choose one on the page Jobs.")
	}
	return nil
}

// sends says what the runs of a job are that the registry makes for a channel or a heartbeat, which no file defines; ""
// for any other job.
func (d *Dashboard) sends(id string) string {
	for _, c := range d.registry().Channels() {
		if c.JobID() == id {
			return "the notifications of channel " + c.Name + " (" + string(c.Type) + ")"
		}
	}
	for _, j := range d.registry().All() {
		if j.HeartbeatURLEnv != "" && j.HeartbeatJobID() == id {
			return "the pings of the heartbeat of " + j.ID
		}
	}
	return ""
}

// jobOf returns a job of the registry, or of a schedule that was made at run time.
func (d *Dashboard) jobOf(ctx context.Context, id string) (j jobs.Job, found bool, err error) {
	if _, _, keyed := jobs.SplitJobID(id); !keyed {
		j, found = d.registry().Job(id)
		return j, found, nil
	}
	j, err = d.Operations.KeyedJob(ctx, id)
	if _, refused := operationsError(err); refused {
		return j, false, nil
	}
	return j, err == nil, err
}

// pretty indents JSON for reading. It returns any other text as it is.
func pretty(body []byte) string {
	var b bytes.Buffer
	if err := json.Indent(&b, body, "", "  "); err != nil {
		return string(body)
	}
	return b.String()
}
