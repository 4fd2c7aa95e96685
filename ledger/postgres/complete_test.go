package postgres_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/cronce/cronce/ledger"
)

// TestABatchLeasesWhatItWroteAndNothingElse: of a batch in which every scheduled time
// is written as it was to be, the server says no ids.
func TestABatchLeasesWhatItWroteAndNothingElse(t *testing.T) {
	for _, tt := range []struct {
		name       string
		busy       string // whose last run still has the slot
		paused     string
		early      string // whose scheduled time an event has brought before
		leased     []string
		overlapped int
		skipped    int
	}{
		{"all that is written", "", "", "", []string{"job-00000", "job-00001", "job-00002"}, 0, 0},
		{"not what finds the slot taken", "job-00001", "", "", []string{"job-00000", "job-00002"}, 1, 0},
		{"not what is paused", "", "job-00000", "", []string{"job-00001", "job-00002"}, 0, 1},
		{"not what somebody else has", "", "", "job-00002", []string{"job-00000", "job-00001"}, 0, 0},
		{"nor any of these together", "job-00001", "job-00000", "job-00002", nil, 1, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFleet(t, 3, ledger.OverlapSkip)
			f.record(t, slices.DeleteFunc(f.admit(t, true), func(w ledger.Work) bool { return w.JobID == tt.busy }))
			if tt.paused != "" {
				must(t, f.PauseJob(t.Context(), tt.paused, ledger.Actor{By: "me", Why: "test"}))
			}
			a := ledger.Admission{Process: "p", Token: f.token(), LeaseFor: time.Minute}
			for i := range f.stands {
				a.Plans = append(a.Plans, f.plan(i, true))
			}
			f.enter(t, a.Plans, tt.early)
			got, err := f.Admit(t.Context(), a)
			must(t, err)
			var leased []string
			for _, w := range got.Leased {
				leased = append(leased, w.JobID)
			}
			want := map[ledger.Reason]int{ledger.ReasonOverlap: tt.overlapped, ledger.ReasonPaused: tt.skipped}
			maps.DeleteFunc(want, func(_ ledger.Reason, n int) bool { return n == 0 })
			if !slices.Equal(leased, tt.leased) || !maps.Equal(got.Skipped, want) || len(got.Stale) > 0 {
				t.Errorf("leased %v, skipped %v, stale %v; want %v and %v", leased, got.Skipped, got.Stale, tt.leased, want)
			}
			held, err := f.LeasedWork(t.Context(), a.Token)
			must(t, err)
			if fmt.Sprint(idsOfWork(held)) != fmt.Sprint(idsOfWork(got.Leased)) {
				t.Errorf("the ledger holds %v under the token, and said %v", idsOfWork(held), idsOfWork(got.Leased))
			}
		})
	}
}

// enter brings the planned scheduled time of one job before its time's plan does.
func (f *fleet) enter(t *testing.T, plans []ledger.Plan, jobID string) {
	t.Helper()
	for _, p := range plans {
		if p.JobID == jobID {
			got, err := f.Enter(t.Context(), ledger.Entry{
				JobID: jobID, RunSpec: p.Runs[0], Process: "lambda", Token: f.token(), LeaseFor: time.Minute,
			})
			if err != nil || got.Work == nil {
				t.Fatalf("entered %+v: %v", got, err)
			}
		}
	}
}

func idsOfWork(work []ledger.Work) (ids []string) {
	for _, w := range work {
		ids = append(ids, w.RunID)
	}
	return ids
}
