package web

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cronce/cronce/ledger"
)

type processesView struct {
	Rows  []processRow
	Alive int
	Mine  string // the version of this process's registry
	// Versions is how many different sets of definitions the living declare.
	Versions int
	Now      time.Time
}

type processRow struct {
	ledger.Process
	Here    bool // it is this process
	Current bool // it declares what this process's registry has
}

func (d *Dashboard) processes(r *http.Request) (view, error) {
	list, err := d.Ledger.Processes(r.Context())
	if err != nil {
		return view{}, err
	}
	v := processesView{Now: d.now(), Mine: d.registry().Version()}
	versions := map[string]bool{}
	for _, p := range list {
		if p.Alive {
			v.Alive++
			versions[p.Version] = true
		}
		v.Rows = append(v.Rows, processRow{Process: p, Here: p.ID == d.Serving().Process, Current: p.Version == v.Mine})
	}
	v.Versions = len(versions)
	slices.SortStableFunc(v.Rows, func(a, b processRow) int { return b.HeartbeatAt.Compare(a.HeartbeatAt) })
	return view{Template: "processes", Title: counted(v.Alive, "living process"), Section: "Processes", Data: v}, nil
}

const auditOnPage = 50

type auditView struct {
	Filter struct{ Job, Run, By string }
	Acts   []ledger.Audit
	More   string
	Any    bool
	CLI    string
	Now    time.Time
}

func (d *Dashboard) audit(r *http.Request) (view, error) {
	q := r.URL.Query()
	v := auditView{Now: d.now()}
	v.Filter.Job, v.Filter.Run, v.Filter.By = strings.TrimSpace(q.Get("job")), strings.TrimSpace(q.Get("run")), strings.TrimSpace(q.Get("by"))
	v.Any = v.Filter.Job+v.Filter.Run+v.Filter.By != ""
	f := ledger.AuditFilter{JobID: v.Filter.Job, RunID: v.Filter.Run, By: v.Filter.By, Limit: auditOnPage + 1}
	if before := q.Get("before"); before != "" {
		n, err := strconv.ParseInt(before, 10, 64)
		if err != nil || n < 1 {
			return view{}, invalid("\""+before+"\" is not the number of an action.", "Follow the link \"Older\", or start with the newest.")
		}
		f.Before = n
	}
	var err error
	if v.Acts, err = d.Ledger.Audit(r.Context(), f); err != nil {
		return view{}, err
	}
	switch {
	case f.RunID != "":
		v.CLI = "cronce runs show " + shellQuote(f.RunID)
	case f.JobID != "":
		v.CLI = "cronce jobs show " + shellQuote(f.JobID)
	}
	if len(v.Acts) > auditOnPage {
		v.Acts = v.Acts[:auditOnPage]
		next := q
		next.Set("before", strconv.FormatInt(v.Acts[len(v.Acts)-1].ID, 10))
		v.More = "/audit?" + next.Encode()
	}
	return view{Template: "audit", Title: "Audit", Section: "Audit", Data: v}, nil
}
