package web

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/jobs/retention"
	"github.com/cronce/cronce/ledger"
)

// keysView is the page /keys: for how long targets keep keys, whether that is long enough, and the purge.
type keysView struct {
	Proofs    []proofRow // those that fail first, then those with the least left
	Scopes    int        // how many there are in all
	Prev, Off string
	Stores    []jobs.KeyStore
	Cleanup   jobs.Cleanup
	Purges    []runRow    // the last runs of the nightly purge
	Last      *ledger.Run // the newest of them that succeeded
	Next      time.Time
	Overdue   bool
	Now       clock
}

// proofRow is the retention proof of the jobs that share a key scope and its
// numbers, as a bar of 1000: the horizon, the clocks' skew, and what is left.
type proofRow struct {
	retention.Proof
	Jobs             []string
	Used, Skewed     float64
	Left             time.Duration
	LeftX, LeftWidth float64
}

// keys is the page /keys. Its proofs follow from the registry alone; the purge is read from the ledger.
func (d *Dashboard) keys(r *http.Request) (view, error) {
	ctx := r.Context()
	v := keysView{Now: d.clockOf(r), Stores: d.registry().KeyStores(), Cleanup: d.registry().Cleanup()}
	v.pageOf(proofRows(retention.Proofs(d.registry())), r.URL.Query().Get("offset"))
	runs, err := d.Ledger.List(ctx, ledger.Filter{JobID: jobs.PurgeJobID, Limit: 7})
	if err != nil {
		return view{}, err
	}
	if v.Purges, err = d.runRows(r, runs); err != nil {
		return view{}, err
	}
	for i := range runs { // one each night: the last success is among them, or more than a week ago
		if runs[i].State == ledger.Succeeded && v.Last == nil {
			v.Last = &runs[i]
		}
	}
	if j, ok := d.registry().Job(jobs.PurgeJobID); ok && !j.Disabled {
		v.Next = j.ParsedSchedule().Next(v.Now.Time)
	}
	title := "Keys"
	if d.Serving().PurgeWarning != "" {
		v.Overdue, title = true, "Purge overdue"
	}
	return view{Template: "keys", Title: title, Section: "Keys", Data: v}, nil
}

// proofRows joins the proofs of jobs with the same scope, TTL and horizon: a registry of 1,000 jobs
// has a few. The proof that fails, or is nearest to it, comes first.
func proofRows(proofs []retention.Proof) (rows []proofRow) {
	type key struct {
		scope        string
		ttl, horizon time.Duration
	}
	place := map[key]int{}
	for _, p := range proofs {
		k := key{p.KeyScope, p.TTL, p.Horizon}
		if i, known := place[k]; known {
			rows[i].Jobs = append(rows[i].Jobs, p.JobID)
			continue
		}
		place[k] = len(rows)
		row := proofRow{Proof: p, Jobs: []string{p.JobID}, Left: p.TTL - p.Horizon - p.Skew}
		scale := chartWidth / float64(max(p.TTL, p.Horizon+p.Skew))
		row.Used, row.Skewed = round(float64(p.Horizon)*scale), round(max(float64(p.Skew)*scale, 4))
		row.LeftX = row.Used + row.Skewed
		row.LeftWidth = max(round(chartWidth-row.LeftX), 0)
		rows = append(rows, row)
	}
	slices.SortFunc(rows, func(a, b proofRow) int {
		return cmp.Or(cmp.Compare(a.Left, b.Left), strings.Compare(a.KeyScope, b.KeyScope))
	})
	return rows
}

const proofsOnPage = 40

// pageOf takes the proofs of one page. Any text is a valid offset: the first page is shown for one that is not a
// number.
func (v *keysView) pageOf(rows []proofRow, offset string) {
	from, _ := strconv.Atoi(offset)
	from = max(0, min(from, max(len(rows)-1, 0))) / proofsOnPage * proofsOnPage
	to := min(from+proofsOnPage, len(rows))
	v.Scopes, v.Proofs = len(rows), rows[from:to]
	if from > 0 {
		v.Prev = "/keys?offset=" + strconv.Itoa(from-proofsOnPage)
	}
	if to < len(rows) {
		v.Off = "/keys?offset=" + strconv.Itoa(to)
	}
}
