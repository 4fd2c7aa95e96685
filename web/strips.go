package web

import (
	"context"
	"slices"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

const (
	// stripsOnOverview is the number of jobs whose last runs the overview shows.
	stripsOnOverview = 8
	// newestLooked is the number of runs that are searched for the jobs that ran last.
	newestLooked = 50
)

// overviewStrips reads the jobs that the overview shows: those in trouble, then those that ran last.
func (d *Dashboard) overviewStrips(ctx context.Context, states []ledger.JobState, pauses []ledger.Pause, dead []ledger.RunGroup) ([]jobRow, error) {
	chosen, err := d.chooseStrips(ctx, states, pauses, dead)
	if err != nil {
		return nil, err
	}
	return d.readRows(ctx, chosen)
}

// chooseStrips returns the IDs of those jobs: failing ones, the latest to die first, then those
// with older dead runs, paused ones, and the others by their newest run. Many jobs may be in
// trouble, so it lists their groups and states, which are at hand, before it reads any run. dead are
// the newest groups of dead runs.
func (d *Dashboard) chooseStrips(
	ctx context.Context, states []ledger.JobState, pauses []ledger.Pause, dead []ledger.RunGroup,
) (chosen []string, err error) {
	ends := map[string]bool{jobs.PurgeJobID: true} // it has a page of its own, and would fill a place for nothing
	failing := map[string]bool{}
	for _, s := range states {
		ends[s.JobID] = ends[s.JobID] || s.Ended
		failing[s.JobID] = s.Failing
	}
	for _, j := range d.registry().All() {
		ends[j.ID] = ends[j.ID] || j.Disabled
	}
	add := func(id string) {
		if len(chosen) < stripsOnOverview && !ends[id] && !slices.Contains(chosen, id) {
			chosen = append(chosen, id)
		}
	}
	for _, g := range dead {
		if failing[g.JobID] {
			add(g.JobID)
		}
	}
	for _, s := range states {
		if s.Failing {
			add(s.JobID)
		}
	}
	for _, g := range dead {
		add(g.JobID)
	}
	for _, s := range states {
		if d.paused(s, pauses) {
			add(s.JobID)
		}
	}
	if len(chosen) == stripsOnOverview {
		return chosen, nil
	}
	// Few are in trouble. A job that runs every second may have all of the newest runs: the registry's
	// first jobs then fill the places that are left.
	newest, err := d.Ledger.List(ctx, ledger.Filter{Limit: newestLooked})
	if err != nil {
		return nil, err
	}
	for _, r := range newest {
		add(r.JobID)
	}
	for _, j := range d.registry().All() {
		add(j.ID)
	}
	return chosen, nil
}
