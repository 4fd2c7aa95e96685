package postgres_test

import (
	"slices"
	"testing"

	"github.com/cronce/cronce/ledger"
)

// A transaction that began before others and commits after them is told when it
// commits, and nothing that they changed waits for it or is told twice.
func TestChangesAreToldWhenTheyCommit(t *testing.T) {
	f := newFleet(t, 3, ledger.OverlapAllow)
	work := f.admit(t, true)
	position := ""
	told := func(want ...string) {
		t.Helper()
		got, err := f.Changes(t.Context(), position)
		must(t, err)
		var ids []string
		for _, r := range got.Runs {
			ids = append(ids, r.ID)
		}
		slices.Sort(ids)
		position = got.Position
		if got.Lost || !slices.Equal(ids, want) {
			t.Errorf("%q changed, want %q", ids, want)
		}
	}
	told()
	slow, err := connect(t, f.url).Begin(t.Context())
	must(t, err)
	_, err = slow.Exec(t.Context(), `UPDATE cronce.runs SET changed = DEFAULT WHERE run_id = $1`, work[0].RunID)
	must(t, err)
	f.record(t, work[1:2])
	told(work[1].RunID)
	f.record(t, work[2:])
	told(work[2].RunID)
	told()
	must(t, slow.Commit(t.Context()))
	told(work[0].RunID)
	told()
}
