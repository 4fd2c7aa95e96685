package cleanup

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sort"
)

// FinishedRuns names the ledger in a report, beside the key stores, none of
// which can have it: their names have no space.
const FinishedRuns = "finished runs"

// Report counts the keys and runs that a purge removed; with DryRun, those that it would remove.
type Report struct {
	Deleted int64   `json:"deleted"` // keys
	Scopes  []Scope `json:"scopes"`  // by name
	Runs    int64   `json:"runs"`    // finished runs of the ledger
	// History counts old rows of the ledger that are not runs: actions, events,
	// processes, definitions.
	History int64 `json:"history"`
	DryRun  bool  `json:"dryRun,omitempty"`
	// Stores are the key stores in the registry's order.
	Stores []StoreReport `json:"stores"`
	// Ledger reports how the purge of finished runs ended, if it failed or left some.
	Ledger *StoreReport `json:"ledger,omitempty"`
	// ByDefault names the scopes whose keys live for the default TTL because
	// no keyTTLs scope covers them.
	ByDefault []string `json:"byDefault,omitempty"`
	// Omitted is the number of scopes, those with the fewest keys, that Detail left out.
	Omitted int `json:"omitted,omitempty"`
}

// Scope counts the keys that were removed of one key scope, in all stores.
type Scope struct {
	Scope   string `json:"scope"`
	Deleted int64  `json:"deleted"`
}

// StoreReport is the result of one store.
type StoreReport struct {
	Name      string `json:"name"`
	Deleted   int64  `json:"deleted"`
	Remaining int64  `json:"left"` // expired when the time was over
	// Scopes are the key scopes that something was removed of, by name.
	Scopes []Scope `json:"scopes,omitempty"`
	Error  string  `json:"error,omitempty"`
	Err    error   `json:"-"`

	scopes  map[string]int64
	history int64 // rows of the ledger that are not runs
}

// fail notes an error, if there is one.
func (r *StoreReport) fail(err error) {
	if err != nil {
		r.Err, r.Error = err, err.Error()
	}
}

// Remaining returns how many expired keys and finished runs remain because the time ran
// out.
func (r Report) Remaining() (n int64) {
	for _, s := range r.Stores {
		n += s.Remaining
	}
	if r.Ledger != nil {
		n += r.Ledger.Remaining
	}
	return n
}

// summarize adds up the reports of the stores and of the ledger. The error joins those of all that
// failed: one does not stop the others.
func (p Purge) summarize(stores []StoreReport, runs StoreReport) (Report, error) {
	r := Report{Scopes: []Scope{}, Stores: stores, Runs: runs.Deleted, History: runs.history, DryRun: p.DryRun}
	sums := map[string]int64{}
	var failures []error
	for i, s := range stores {
		r.Deleted += s.Deleted
		for scope, n := range s.scopes {
			sums[scope] += n
		}
		stores[i].Scopes = byName(s.scopes)
		failures = append(failures, s.Err)
	}
	r.Scopes = append(r.Scopes, byName(sums)...)
	for _, s := range r.Scopes {
		if _, rule := p.TTL(s.Scope); rule == "" {
			r.ByDefault = append(r.ByDefault, s.Scope)
		}
	}
	if runs.Err != nil {
		runs.fail(fmt.Errorf("%s: %w", FinishedRuns, runs.Err))
	}
	if runs.Err != nil || runs.Remaining > 0 {
		r.Ledger = &runs
	}
	return r, errors.Join(append(failures, runs.Err)...)
}

// byName returns counts by key scope in the order of their names.
func byName(counts map[string]int64) (scopes []Scope) {
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		scopes = append(scopes, Scope{name, counts[name]})
	}
	return scopes
}

// Detail returns the report as JSON of at most limit bytes. If not all scopes fit,
// it has those with the most keys, and how many were left out.
func (r Report) Detail(limit int) string {
	for {
		text, err := json.Marshal(r)
		if err == nil && len(text) <= limit {
			return string(text)
		}
		if err != nil || len(r.Scopes) == 0 {
			return ""
		}
		r = r.shorter()
	}
}

// shorter leaves out the tenth of the scopes with the fewest keys.
func (r Report) shorter() Report {
	keep := len(r.Scopes) - max(1, len(r.Scopes)/10)
	most := slices.Clone(r.Scopes)
	sort.SliceStable(most, func(i, k int) bool { return most[i].Deleted > most[k].Deleted })
	r.Omitted += len(r.Scopes) - keep
	kept := map[string]bool{}
	for _, s := range most[:keep] {
		kept[s.Scope] = true
	}
	only := func(scopes []Scope) []Scope {
		return slices.DeleteFunc(slices.Clone(scopes), func(s Scope) bool { return !kept[s.Scope] })
	}
	r.Scopes, r.Stores = only(r.Scopes), slices.Clone(r.Stores)
	for i := range r.Stores {
		r.Stores[i].Scopes = only(r.Stores[i].Scopes)
	}
	r.ByDefault = slices.DeleteFunc(slices.Clone(r.ByDefault), func(s string) bool { return !kept[s] })
	return r
}
