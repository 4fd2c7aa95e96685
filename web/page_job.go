package web

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/cronce/cronce/internal/jobdiff"
	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/jobs/retention"
	"github.com/cronce/cronce/ledger"
)

const (
	// recentCells are linked one by one on a job's page.
	recentCells = 90
	// durationRuns is the number of a job's last rows whose durations are shown.
	durationRuns = 100
	comingTimes  = 10
	pastOnPage   = 10
)

// fieldsInWords are fields of a definition that the page shows with words or links of its own.
var fieldsInWords = []string{"owner", "labels", "method", "path", "target", "overlap", "catchUp", "keyScope"}

// jobView is the page of a job: its runs, its next times, its definition and how it changed.
type jobView struct {
	Row       jobRow
	Job       *jobs.Job // nil: not in the registry
	Status    *ledger.JobStatus
	Proof     *retention.Proof
	Headers   []string
	Body      string
	Cells     []jobCell
	Heat      heat
	Durations durationBars
	Trend     trend
	Sends     bool // its runs are notifications or pings
	Coming    []comingTime
	Change    []comingTime // around the next clock change
	Events    []ledger.Event
	Changes   []definitionChange
	Compared  *operations.RevisionDiff // nil: it was not asked for
	CompareNo string                   // why it was refused
	Revisions []ledger.DeclaredDefinition
	Audit     []ledger.Audit
	Dead      []runGroup
	Incidents []attention
	Answer    *whyAnswer
	At        string
	Policies  struct{ Overlap, CatchUp string }
	Fields    []jobdiff.Value // of the definition, without those that the page has words or links for
	Do        []actionLink
	Now       clock
}

// jobCell is one row of the ledger as a link.
type jobCell struct {
	Kind  kind
	Link  string
	Title string
}

func (d *Dashboard) job(r *http.Request) (view, error) {
	id, ctx := r.PathValue("id"), r.Context()
	if t, is, err := d.templateOf(r, id); is || err != nil {
		if err != nil {
			return view{}, err
		}
		return d.template(r, t)
	}
	v := jobView{Now: d.clockOf(r), At: r.URL.Query().Get("at")}
	if err := d.findJob(r, id, &v); err != nil {
		return view{}, err
	}
	cells, err := d.Ledger.Recent(ctx, []string{id}, durationRuns)
	if err != nil {
		return view{}, err
	}
	mine := cells[id]
	if v.Sends { // Recent lists scheduled times, and these runs are for none
		if mine, err = d.newest(ctx, id); err != nil {
			return view{}, err
		}
	}
	v.Durations = newDurationBars(mine, v.Now)
	v.Row.Strip = newStrip(mine, stripCells)
	for _, c := range slices.Backward(mine[:min(len(mine), recentCells)]) {
		v.Cells = append(v.Cells, newJobCell(c, v.Now))
	}
	if v.Status != nil {
		days, hours, err := d.countDays(ctx, id, cmp.Or(v.Job, &jobs.Job{}).ParsedSchedule(), heatDays)
		if err != nil {
			return view{}, err
		}
		v.Heat, v.Trend = newHeat(id, days), newTrend(days, hours, v.Now.Time)
	}
	if v.Job != nil {
		v.Coming, v.Change = comingTimesOf(*v.Job, v.Now.Time), atClockChange(*v.Job, v.Now.Time)
	}
	if v.Events, err = d.Ledger.Events(ctx, id, pastOnPage); err != nil {
		return view{}, err
	}
	if err := d.addChanges(r, id, &v); err != nil {
		return view{}, err
	}
	if v.Audit, err = d.Ledger.Audit(ctx, ledger.AuditFilter{JobID: id, Limit: pastOnPage}); err != nil {
		return view{}, err
	}
	if v.Dead, err = d.deadOf(ctx, v.Status); err != nil {
		return view{}, err
	}
	for i, g := range v.Dead {
		v.Dead[i].Actions = d.groupActions(r, g)
	}
	if v.Incidents, err = d.jobIncidents(r, id); err != nil {
		return view{}, err
	}
	v.Do = d.jobActions(r, v)
	if v.At != "" {
		if v.Answer, err = d.why(ctx, v); err != nil {
			return view{}, err
		}
	}
	return view{Template: "job", Title: id + ": " + string(v.Row.State), Section: "Jobs", Data: v}, nil
}

// deadOf groups a job's dead runs that nobody has acknowledged.
func (d *Dashboard) deadOf(ctx context.Context, s *ledger.JobStatus) ([]runGroup, error) {
	if s == nil || s.DeadUnacknowledged == 0 {
		return nil, nil
	}
	dead, _, err := d.deadRuns(ctx, s.JobID)
	return deadGroups(dead, map[string]int{s.JobID: s.DeadUnacknowledged}, d.now()), err
}

// findJob looks the job up in the registry and in the ledger.
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

// sends says what the runs of a job are that the registry makes for a channel or a
// heartbeat; "": it is none.
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

// newest are a job's newest runs, of any kind, as cells.
func (d *Dashboard) newest(ctx context.Context, jobID string) (list []ledger.RunSummary, err error) {
	runs, err := d.Ledger.List(ctx, ledger.Filter{JobID: jobID, Limit: durationRuns})
	for _, r := range runs {
		list = append(list, ledger.RunSummary{
			RunID: r.ID, ScheduledAt: r.ScheduledAt, Count: r.Count, State: r.State, Reason: r.Reason, Replayed: r.Replayed, StartedAt: r.StartedAt,
			FinishedAt: r.FinishedAt,
		})
	}
	return list, err
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

func newJobCell(c ledger.RunSummary, now clock) jobCell {
	k := kindOf(c.State, c.Replayed)
	title := now.exact(c.ScheduledAt) + ": " + string(k)
	if c.Count > 1 {
		title = now.exact(c.ScheduledAt) + " to " + now.exact(c.Until) + ": " + counted(c.Count, "scheduled time") + " " + string(k)
	}
	if c.Reason != "" {
		title += " (" + strings.ReplaceAll(string(c.Reason), "_", " ") + ")"
	}
	return jobCell{k, runPath(c.RunID), title}
}

// pretty indents JSON for reading; what is none stays as it is.
func pretty(body []byte) string {
	var b bytes.Buffer
	if err := json.Indent(&b, body, "", "  "); err != nil {
		return string(body)
	}
	return b.String()
}
