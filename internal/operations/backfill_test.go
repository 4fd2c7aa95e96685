package operations_test

import (
	"context"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// filled is a ledger that notes the scheduled times that are backfilled.
type filled struct {
	ledger.Store
	times []time.Time
}

func (f *filled) JobBodies(context.Context, ...string) (map[string][]byte, error) { return nil, nil }

func (f *filled) Hours(context.Context, string, time.Time, time.Time) ([]ledger.Hour, error) {
	return nil, nil
}

func (f *filled) Backfill(_ context.Context, b ledger.BackfillRequest) (ledger.Backfilled, error) {
	for _, r := range b.Runs {
		f.times = append(f.times, r.ScheduledAt)
	}
	return ledger.Backfilled{Planned: len(b.Runs)}, nil
}

// A span takes the same scheduled times in each order, and its dry run, none of which is before its
// start.
func TestABackfillBeginsAtItsStart(t *testing.T) {
	reg, err := jobs.Parse("cronce.yaml", []byte("{name: a, jobs: [{id: j, schedule: '* * * * * *', targetUrlEnv: A, path: /j}]}"))
	if err != nil {
		t.Fatal(err)
	}
	start := time.Date(2026, 11, 27, 3, 0, 0, 0, time.UTC)
	for _, from := range []time.Duration{0, 1, time.Second / 2, time.Second - 1, time.Second} {
		for _, b := range []operations.Backfill{{}, {NewestFirst: true}, {DryRun: true}} {
			f := &filled{}
			s := operations.New(operations.Config{Ledger: f, Registry: func() (*jobs.Registry, error) { return reg, nil }})
			b.JobID, b.From, b.To, b.Actor = "j", start.Add(from), start.Add(5*time.Second), ledger.Actor{By: "ann", Why: "x"}
			want := map[bool]int{true: 6, false: 5}[from == 0]
			if got, err := s.Backfill(t.Context(), b); err != nil || got.Planned != want {
				t.Errorf("from %s, %+v: %d, %v; want %d", from, b, got.Planned, err, want)
			}
			for _, at := range f.times {
				if at.Before(b.From) {
					t.Errorf("from %s: takes %s", from, at)
				}
			}
		}
	}
}
