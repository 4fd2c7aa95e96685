package web

import (
	"net/http"
	"slices"

	"github.com/cronce/cronce/ledger"
)

// processesView is the page /processes: who works on the ledger, with which definitions.
type processesView struct {
	Rows  []processRow
	Alive int
	Mine  string // the version of this process's registry
	// Versions is the number of different sets of definitions that the alive processes declare.
	Versions int
	Now      clock
}

// processRow is a process in the list.
type processRow struct {
	ledger.Process
	Here    bool // it is this process
	Current bool // it declares what this process's registry has
}

// processes is the page /processes. Processes with different definitions are normal during a rolling deploy; afterwards
// they mean that one was not reloaded.
func (d *Dashboard) processes(r *http.Request) (view, error) {
	list, err := d.Ledger.Processes(r.Context())
	if err != nil {
		return view{}, err
	}
	v := processesView{Now: d.clockOf(r), Mine: d.registry().Version()}
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
	return view{Template: "processes", Title: counted(v.Alive, "process") + " alive", Section: "Processes", Data: v}, nil
}
