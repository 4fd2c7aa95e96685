package sqlite_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/sqlite"
)

// A file of the first tables, whose process was killed: after the migrations each unfinished
// run goes on under its ID, once, and the slot goes on to the runs that wait for it.
func TestRunsOfTheFirstTablesGoOn(t *testing.T) {
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile("testdata/first_tables.sql")
	must(err)
	path := filepath.Join(t.TempDir(), "ledger.db")
	db, err := sql.Open("sqlite", path)
	must(err)
	_, err = db.Exec(string(text))
	must(err)
	must(db.Close())
	expired := time.Date(2026, 11, 27, 15, 4, 20, 0, time.UTC) // the leases
	l, err := sqlite.Open(t.Context(), path, sqlite.Options{Now: func() time.Time { return expired }})
	must(err)
	defer l.Close()

	const day = "@2026-11-27T15:04:"
	for _, want := range [][]string{
		{"allow 10", "capped 06", "capped 08", "capped 10", "flaky 10", "long 10", "queue 06"},
		{"queue 08"}, {"queue 10"}, nil,
	} {
		got, err := l.Claim(t.Context(), ledger.ClaimRequest{Process: "new", Token: "t", Limit: 100, LeaseFor: time.Minute})
		must(err)
		var ids []string
		var outcomes []ledger.Outcome
		for _, w := range got.Work {
			ids = append(ids, strings.NewReplacer(day, " ", "Z", "").Replace(w.RunID))
			if w.Call.Path == "" || w.Call.Horizon == 0 || w.SendBefore.IsZero() {
				t.Errorf("%s has the call %+v and is sent before %s", w.RunID, w.Call, w.SendBefore)
			}
			outcomes = append(outcomes, ledger.Outcome{Lease: ledger.Lease{RunID: w.RunID, Token: w.Token}, State: ledger.Succeeded,
				Attempt: ledger.Attempt{RunID: w.RunID, N: w.Attempt, StartedAt: expired, FinishedAt: expired, Status: 200, Answer: ledger.AnswerFresh}})
		}
		slices.Sort(ids)
		if !slices.Equal(ids, want) {
			t.Fatalf("claimed %q, want %q", ids, want)
		}
		results, err := l.Record(t.Context(), outcomes)
		must(err)
		if slices.Contains(results, ledger.Fenced) {
			t.Errorf("recorded %v", results)
		}
	}
	states := map[ledger.State]int{}
	list, err := l.List(t.Context(), ledger.Filter{Limit: 100})
	must(err)
	for _, r := range list {
		states[r.State]++
	}
	if len(list) != 15 || states[ledger.Succeeded] != 11 || states[ledger.Dead] != 2 || states[ledger.Skipped] != 2 {
		t.Errorf("at the end %v", states)
	}
	redriven, err := l.Redrive(t.Context(), ledger.Action{Filter: ledger.Filter{States: []ledger.State{ledger.Dead}, Limit: 10},
		Actor: ledger.Actor{By: "ops", Why: "mended"}})
	must(err)
	if len(redriven.Changed) != 2 {
		t.Errorf("redriven %+v", redriven)
	}
}
