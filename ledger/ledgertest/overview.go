package ledgertest

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/cronce/cronce/ledger"
)

var overviewCases = []testCase{
	{"Recent has the newest rows of each job, ranges too and ~ runs not", recentRows},
	{"Recent tells what became of a row, and when", recentFields},
	{"Recent looks back over a bounded number of rows", recentWindow},
	{"Processes tells who lives, what they declare and what they run", processes},
}

func (t *fixture) recent(n int, jobIDs ...string) map[string][]string {
	t.Helper()
	cells, err := t.Recent(t.ctx, jobIDs, n)
	t.must(err)
	ids := map[string][]string{}
	for job, mine := range cells {
		for _, c := range mine {
			ids[job] = append(ids[job], c.RunID)
		}
	}
	return ids
}

func recentRows(t *fixture) {
	a, ab := t.job("a"), t.job("a-b") // "a-b@" sorts between "a" and "a@"
	a, ab = a.next(), ab.next()
	a.admit(a.planned(0, ledger.OverlapAllow), a.rangeOf(1, 3), a.planned(4, ledger.OverlapAllow))
	ab.admit(ab.planned(0, ledger.OverlapAllow))
	for i := range 5 {
		t.mustEnter(a.adHocAt(9, fmt.Sprint(i)))
	}
	want := map[string][]string{"a": {a.id(4), a.rangeID(1, 3), a.id(0)}, "a-b": {ab.id(0)}}
	if got := t.recent(30, "a", "a-b", "a", "nobody", "", "x\x00"); !maps.EqualFunc(got, want, slices.Equal) {
		t.Errorf("recent rows %v, want %v", got, want)
	}
	if got := t.recent(2, "a"); !slices.Equal(got["a"], want["a"][:2]) {
		t.Errorf("the newest two are %v, want %v", got, want["a"][:2])
	}
	for _, n := range []int{0, -1} {
		if got := t.recent(n, "a"); len(got) != 0 {
			t.Errorf("the newest %d are %v, want none", n, got)
		}
	}
	if got := t.recent(30); len(got) != 0 {
		t.Errorf("recent rows of no job: %v", got)
	}
}

func recentFields(t *fixture) {
	j, w := t.newStarted("j")
	t.advance(time.Minute)
	o := succeeded(w)
	o.Replayed = true
	t.record(o)
	j = j.next()
	j.admit(j.rangeOf(0, 2))
	cells, err := t.Recent(t.ctx, []string{"j"}, 2)
	t.must(err)
	if len(cells["j"]) != 2 {
		t.Fatalf("cells %+v, want two", cells)
	}
	for _, c := range cells["j"] {
		r := t.get(c.RunID)
		want := ledger.RunSummary{
			RunID: r.ID, ScheduledAt: r.ScheduledAt, Until: r.Until, Count: r.Count, State: r.State, Reason: r.Reason,
			Replayed: r.Replayed, StartedAt: r.StartedAt, FinishedAt: r.FinishedAt,
		}
		if c != want {
			t.Errorf("cell %+v, want %+v", c, want)
		}
	}
}

func recentWindow(t *fixture) {
	j := t.job("j")
	j.admit(j.missed(0))
	for i := range ledger.OutcomeWindow {
		e := j.adHocAt(1, fmt.Sprintf("%04d", i))
		e.Lease = false
		t.mustEnter(e)
	}
	if got := t.recent(1, "j"); len(got) != 0 {
		t.Errorf("found %v behind %d newer rows", got, ledger.OutcomeWindow)
	}
}

func processes(t *fixture) {
	t.declare("p1", "v1", "j", "k")
	t.assignments("v1")
	t.advance(ledger.ProcessTTL + time.Hour)
	t.must(t.Declare(t.ctx, ledger.Declaration{
		Process: "p2", Registry: registry, Version: "v2", Host: "host-2", Program: "1.2.3", Definitions: definitions("v2", "j"),
	}))
	j := t.now("j")
	got, err := t.Admit(t.ctx, ledger.Admission{
		Plans: []ledger.Plan{j.plan(0, j.leased(0, ledger.OverlapAllow))}, Process: "p2", Token: t.token(), LeaseFor: lease,
	})
	t.must(err)
	list, err := t.Processes(t.ctx)
	t.must(err)
	for i := range list {
		if age := got.Now.Sub(list[i].HeartbeatAt); list[i].Alive != (age < time.Hour) {
			t.Errorf("%+v, whose last heartbeat was %s ago", list[i], age)
		}
		list[i].HeartbeatAt = time.Time{}
	}
	want := []ledger.Process{{ProcessRow: ledger.ProcessRow{ID: "p1", Version: "v1"}, Definitions: 2},
		{ProcessRow: ledger.ProcessRow{ID: "p2", Version: "v2", Host: "host-2", Program: "1.2.3"}, Alive: true, Definitions: 1, Running: 1}}
	if !slices.Equal(list, want) {
		t.Errorf("processes %+v, want %+v", list, want)
	}
}
