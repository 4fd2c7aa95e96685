package web

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

const (
	jobsOnPage = 40
	stripCells = 30
)

type jobsView struct {
	Rows      []jobRow
	Query     string
	State     string
	States    []stateCount
	Total     int // that match
	All       int
	Prev, Off string // addresses of the pages beside this one
	From, To  int
	Now       time.Time
}

type stateCount struct {
	State string
	Count int
}

// jobRow is a job in a list.
type jobRow struct {
	ID       string
	Words    string // the schedule
	Expr     string
	Next     time.Time
	State    string // active, failing, paused, disabled, ended, new
	Since    time.Time
	Dead     int
	Strip    strip
	P95      time.Duration
	HasP95   bool
	Last     *ledger.Run
	LastKind kind
}

// jobStates are the states of a job, those that need somebody first.
var jobStates = []string{"failing", "paused", "active", "new", "disabled", "ended"}

func (d *Dashboard) jobs(r *http.Request) (view, error) {
	q := r.URL.Query()
	v := jobsView{Query: strings.TrimSpace(q.Get("q")), State: q.Get("state"), Now: d.now()}
	if v.State != "" && !slices.Contains(jobStates, v.State) {
		return view{}, invalid("There is no job state \""+v.State+"\".", "Valid states: "+strings.Join(jobStates, ", ")+".")
	}
	statuses, err := d.Ledger.Jobs(r.Context())
	if err != nil {
		return view{}, err
	}
	rows := d.jobRows(statuses)
	v.All = len(rows)
	counts := map[string]int{}
	for _, row := range rows {
		counts[row.State]++
	}
	for _, s := range jobStates {
		if counts[s] > 0 {
			v.States = append(v.States, stateCount{s, counts[s]})
		}
	}
	rows = slices.DeleteFunc(rows, func(row jobRow) bool {
		return v.State != "" && row.State != v.State || !strings.Contains(row.ID+" "+row.Words, v.Query)
	})
	v.Total = len(rows)
	offset, _ := strconv.Atoi(q.Get("offset"))
	offset = max(0, min(offset, max(len(rows)-1, 0)/jobsOnPage*jobsOnPage))
	end := min(offset+jobsOnPage, len(rows))
	v.From, v.To = offset+1, end
	if offset > 0 {
		v.Prev = pageAt(q, max(0, offset-jobsOnPage))
	}
	if end < len(rows) {
		v.Off = pageAt(q, end)
	}
	v.Rows = rows[offset:end]
	if err := d.addStrips(r, v.Rows); err != nil {
		return view{}, err
	}
	title := plural(v.All, "job")
	if n := counts["failing"]; n > 0 {
		title = plural(n, "failing job")
	}
	return view{Template: "jobs", Title: title, Section: "Jobs", Data: v}, nil
}

func pageAt(q url.Values, offset int) string {
	q = url.Values{"q": q["q"], "state": q["state"], "offset": {strconv.Itoa(offset)}}
	return "/jobs?" + q.Encode()
}

// jobRows joins the registry's jobs with what the ledger knows, by id.
func (d *Dashboard) jobRows(statuses []ledger.JobStatus) []jobRow {
	byID := map[string]*ledger.JobStatus{}
	for i := range statuses {
		byID[statuses[i].JobID] = &statuses[i]
	}
	now := d.now()
	var rows []jobRow
	for _, j := range d.registry().All() {
		rows = append(rows, newJobRow(j, byID[j.ID], now))
		delete(byID, j.ID)
	}
	for id, s := range byID {
		rows = append(rows, endedRow(id, s))
	}
	slices.SortFunc(rows, func(a, b jobRow) int { return strings.Compare(a.ID, b.ID) })
	return rows
}

func newJobRow(j jobs.Job, s *ledger.JobStatus, now time.Time) jobRow {
	row := jobRow{ID: j.ID, Words: j.Parsed().Describe(), Expr: j.Schedule, State: "active"}
	if !j.Disabled {
		row.Next = j.Parsed().Next(now)
	}
	if s != nil {
		row.Dead, row.Last = s.DeadUnseen, s.LastRun
		if row.Last != nil {
			row.LastKind = kindOf(row.Last.State, row.Last.Replayed)
		}
	}
	switch {
	case j.Disabled:
		row.State = "disabled"
	case s == nil:
		row.State = "new"
	case !s.PausedAt.IsZero():
		row.State, row.Since = "paused", s.PausedAt
	case !s.FailingSince.IsZero():
		row.State, row.Since = "failing", s.FailingSince
	}
	return row
}

// endedRow is a job that the ledger knows and the registry does not have.
func endedRow(id string, s *ledger.JobStatus) jobRow {
	row := jobRow{ID: id, Words: "not in this process's registry", State: "ended", Dead: s.DeadUnseen, Last: s.LastRun}
	if j, err := jobs.ParseDefinition(s.Body); err == nil && len(s.Body) > 0 {
		row.Words, row.Expr, row.State = j.Parsed().Describe(), j.Schedule, "active"
	}
	return row
}

// addStrips adds what the ledger knows of the last scheduled times.
func (d *Dashboard) addStrips(r *http.Request, rows []jobRow) error {
	ids := make([]string, len(rows))
	for i, row := range rows {
		ids[i] = row.ID
	}
	cells, err := d.Ledger.Recent(r.Context(), ids, stripCells)
	if err != nil {
		return err
	}
	for i := range rows {
		mine := cells[rows[i].ID]
		rows[i].Strip = newStrip(mine, stripCells)
		rows[i].P95, rows[i].HasP95 = p95(mine)
	}
	return nil
}
