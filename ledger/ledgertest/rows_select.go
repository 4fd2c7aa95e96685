package ledgertest

import (
	"errors"
	"slices"
	"time"

	"github.com/cronce/cronce/ledger"
)

// rowsOf is a question whose answer is rows.
type rowsOf = func(ledger.Tx) ledger.Future[[]ledger.Row]

var selectCases = []rowsCase{
	{"rows are found by ID, oldest first, with bodies", func(t *table) {
		late, early, second := runAt("a", 2), runAt("b", 1), runAt("c", 1)
		t.insert(late, early, second)
		ids := []string{late.ID, "unknown", second.ID, early.ID, late.ID}
		for what, question := range map[string]rowsOf{
			"Find":     func(tx ledger.Tx) ledger.Future[[]ledger.Row] { return tx.Find(ids) },
			"LockRuns": func(tx ledger.Tx) ledger.Future[[]ledger.Row] { return tx.LockRuns(ids) },
		} {
			same(t, what, ask(t, question), []ledger.Row{early, second, late})
		}
	}},
	{"rows are listed oldest first, without bodies, up to a limit", func(t *table) {
		late, early, dead := runAt("a", 2), runAt("b", 1), inState(ledger.Dead, runAt("c", 1))
		t.insert(late, early, dead)
		list := func(f ledger.Filter) []ledger.Row {
			return ask(t, func(tx ledger.Tx) ledger.Future[[]ledger.Row] { return tx.Runs(f) })
		}
		t.sameIDs("all", list(ledger.Filter{}), early, dead, late)
		t.sameIDs("two", list(ledger.Filter{Limit: 2}), early, dead)
		t.sameIDs("dead", list(ledger.Filter{States: []ledger.State{ledger.Dead}}), dead)
		after := &ledger.Cursor{ScheduledAt: early.ScheduledAt, ID: early.ID}
		t.sameIDs("after", list(ledger.Filter{After: after, Limit: 1}), dead)
		if found := list(ledger.Filter{JobID: "a"}); len(found) != 1 || found[0].Call.Body != nil {
			t.Errorf("of a job: %+v", found)
		}
	}},
	{"leased runs are those of the token", func(t *table) {
		other, mine, ended := inState(ledger.Running, runAt("j", 0)), inState(ledger.Running, runAt("j", 1)), inState(ledger.Succeeded, runAt("j", 2))
		other.Token, ended.Token = "other", "t"
		t.insert(other, mine, ended)
		same(t, "leased", ask(t, func(tx ledger.Tx) ledger.Future[[]ledger.Row] { return tx.Leased("t") }), []ledger.Row{mine})
	}},
	{"ranges are those with a scheduled time of the interval", func(t *table) {
		span := inState(ledger.Missed, runAt("j", 10))
		span.ID, span.Until, span.Count = span.ID+"/x", span.ScheduledAt.Add(10*time.Minute), 11
		t.insert(span, runAt("j", 10), runAt("k", 10))
		for n, want := range map[int]int{9: 0, 10: 1, 15: 1, 20: 1, 21: 0} {
			at := runAt("j", n).ScheduledAt
			found := ask(t, func(tx ledger.Tx) ledger.Future[[]ledger.Row] { return tx.LockRanges("j", at, at) })
			if len(found) != want {
				t.Errorf("minute %d: %d ranges, want %d", n, len(found), want)
			}
		}
	}},
	{"own rows are those of single scheduled times", func(t *table) {
		adHoc, span := runAt("j", 1), inState(ledger.Missed, runAt("j", 2))
		adHoc.ID += "~x"
		span.ID, span.Until = span.ID+"/x", span.ScheduledAt.Add(time.Minute)
		t.insert(runAt("j", 0), runAt("j", 1), runAt("j", 3), runAt("j", 4), adHoc, span, runAt("k", 1))
		first, last := runAt("j", 1).ScheduledAt, runAt("j", 3).ScheduledAt
		same(t, "own", ask(t, func(tx ledger.Tx) ledger.Future[int] { return tx.CountSingles("j", first, last) }), 2)
	}},
	{"groups have the rows of a filter and its limit", func(t *table) {
		t.insert(inState(ledger.Dead, runAt("j", 0)), inState(ledger.Dead, runAt("j", 1)), runAt("j", 2), inState(ledger.Dead, runAt("k", 3)))
		for _, f := range []ledger.Filter{{}, {Limit: 2}, {JobID: "j", States: []ledger.State{ledger.Dead}}} {
			got := map[string]int{}
			for _, g := range ask(t, func(tx ledger.Tx) ledger.Future[[]ledger.RunGroup] { return tx.Groups(f) }) {
				got[g.JobID+string(g.State)] += g.Rows
			}
			want := map[string]int{}
			for _, r := range ask(t, func(tx ledger.Tx) ledger.Future[[]ledger.Row] { return tx.Newest(f) }) {
				want[r.JobID+string(r.State)]++
			}
			same(t, "rows by group", got, want)
		}
	}},
	{"settled runs are counted by what settled them", func(t *table) {
		t.insert(inState(ledger.Dead, runAt("j", 3)), inState(ledger.Dead, runAt("k", 0)))
		for n := range 3 {
			was := inState(ledger.Dead, runAt("j", n))
			is := was
			if n != 0 {
				is.AckedAt = pastHour
			}
			if n != 1 {
				is.RerunID = "r"
			}
			t.insert(was)
			t.write(func(tx ledger.Tx) error {
				tx.LockRuns([]string{was.ID})
				return tx.Update([]ledger.RowChange{ledger.DiffRows(&was, &is)})
			})
		}
		counts := ask(t, func(tx ledger.Tx) ledger.Future[[]ledger.AckedOrRerunCount] {
			return tx.AckedOrRerun(ledger.Filter{JobID: "j"})
		})
		for _, want := range []ledger.AckedOrRerunCount{{Acknowledged: true, Count: 1}, {Rerun: true, Count: 1},
			{Acknowledged: true, Rerun: true, Count: 1}} {
			if !slices.Contains(counts, want) || len(counts) != 3 {
				t.Errorf("%+v, want %+v among them", counts, want)
			}
		}
	}},
	{"unfinished runs are listed by job, with those that wait and those with ~", func(t *table) {
		adHoc := runAt("j", 0)
		adHoc.ID += "~x"
		t.insert(adHoc, waiting(runAt("j", 1)), inState(ledger.Dead, runAt("j", 2)), runAt("k", 0), runAt("l", 0))
		byJob := ask(t, func(tx ledger.Tx) ledger.Future[map[string][]string] { return tx.Unfinished([]string{"j", "l", "m"}) })
		slices.Sort(byJob["j"])
		same(t, "unfinished", byJob, map[string][]string{"j": {adHoc.ID, runAt("j", 1).ID}, "l": {runAt("l", 0).ID}})
	}},
	{"redriven runs are those of a series of one operator", func(t *table) {
		t.write(func(tx ledger.Tx) error { return tx.AddAudit(ofSeries()) })
		found := ask(t, func(tx ledger.Tx) ledger.Future[[]string] {
			return tx.Redriven([]string{"a", "b", "c", "d", "e"}, "me", "r")
		})
		slices.Sort(found)
		same(t, "redriven", found, []string{"a", "b"})
	}},
	{"a series ends at the last run that it changed and that is left", func(t *table) {
		t.insert(runAt("j", 0), runAt("j", 1))
		entries := ofSeries()
		for i := range entries {
			entries[i].RunID = runAt("j", i).ID
		}
		t.write(func(tx ledger.Tx) error { return tx.AddAudit(entries) })
		for series, want := range map[string][]ledger.Cursor{"r": {{ScheduledAt: runAt("j", 1).ScheduledAt, ID: runAt("j", 1).ID}},
			"none": nil} {
			same(t, series, ask(t, func(tx ledger.Tx) ledger.Future[[]ledger.Cursor] { return tx.SeriesEnd("me", series) }), want)
		}
	}},
	{"a key is of one request of a principal", func(t *table) {
		kept := ledger.KeptRequest{Principal: "me", Key: "k", Fingerprint: "f", Answer: []byte("a")}
		add := func(kept ledger.KeptRequest) error {
			return t.Write(t.Context(), "add", func(tx ledger.Tx) error {
				return tx.AddAudit([]ledger.Audit{{Action: ledger.ActionPause, JobID: "j", Kept: &kept}, {Action: ledger.ActionPause, JobID: "j"}})
			})
		}
		other := kept
		other.Principal = "you"
		for _, k := range []ledger.KeptRequest{kept, other} {
			if err := add(k); err != nil {
				t.Fatal(err)
			}
			if err := add(k); !errors.Is(err, ledger.ErrRepeated) {
				t.Errorf("again: %v", err)
			}
		}
		for key, want := range map[string][]ledger.KeptRequest{"k": {kept}, "K": nil} {
			same(t, key, ask(t, func(tx ledger.Tx) ledger.Future[[]ledger.KeptRequest] { return tx.FindRequest("me", key) }), want)
		}
	}},
	{"runs of a filter are counted, whatever its limit", func(t *table) {
		t.insert(runAt("j", 0), runAt("j", 1), inState(ledger.Dead, runAt("j", 2)), runAt("k", 0))
		same(t, "planned", ask(t, func(tx ledger.Tx) ledger.Future[int] {
			return tx.CountRuns(ledger.Filter{JobID: "j", States: []ledger.State{ledger.Planned}, Limit: 1})
		}), 2)
	}},
}

// ofSeries returns the audit of redrives of several operators and series.
func ofSeries() (list []ledger.Audit) {
	for _, a := range []struct {
		run, by, series string
		kind            ledger.ActionKind
	}{
		{"a", "me", "r", ledger.ActionRedrive}, {"b", "me", "r", ledger.ActionRedrive}, {"c", "you", "r", ledger.ActionRedrive},
		{"d", "me", "r2", ledger.ActionRedrive}, {"e", "me", "r", ledger.ActionAck}, {"f", "me", "r", ledger.ActionRedrive},
	} {
		list = append(list, ledger.Audit{Action: a.kind, JobID: "j", RunID: a.run, Series: a.series, Actor: ledger.Actor{By: a.by, Why: "so"}})
	}
	return list
}
