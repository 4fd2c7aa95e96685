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

func (b *fixture) recent(n int, jobIDs ...string) map[string][]string {
	b.Helper()
	cells, err := b.Recent(b.ctx, jobIDs, n)
	b.must(err)
	ids := map[string][]string{}
	for job, mine := range cells {
		for _, c := range mine {
			ids[job] = append(ids[job], c.RunID)
		}
	}
	return ids
}

func recentRows(b *fixture) {
	a, ab := b.job("a"), b.job("a-b") // "a-b@" sorts between "a" and "a@"
	a, ab = a.next(), ab.next()
	a.admit(a.planned(0, ledger.OverlapAllow), a.rangeOf(1, 3), a.planned(4, ledger.OverlapAllow))
	ab.admit(ab.planned(0, ledger.OverlapAllow))
	for i := range 5 {
		b.mustEnter(a.adHocAt(9, fmt.Sprint(i)))
	}
	want := map[string][]string{"a": {a.id(4), a.rangeID(1, 3), a.id(0)}, "a-b": {ab.id(0)}}
	if got := b.recent(30, "a", "a-b", "a", "nobody", "", "x\x00"); !maps.EqualFunc(got, want, slices.Equal) {
		b.Errorf("recent rows %v, want %v", got, want)
	}
	if got := b.recent(2, "a"); !slices.Equal(got["a"], want["a"][:2]) {
		b.Errorf("the newest two are %v, want %v", got, want["a"][:2])
	}
	for _, n := range []int{0, -1} {
		if got := b.recent(n, "a"); len(got) != 0 {
			b.Errorf("the newest %d are %v, want none", n, got)
		}
	}
	if got := b.recent(30); len(got) != 0 {
		b.Errorf("recent rows of no job: %v", got)
	}
}

func recentFields(b *fixture) {
	j, w := b.newStarted("j")
	b.advance(time.Minute)
	o := succeeded(w)
	o.Replayed = true
	b.record(o)
	j = j.next()
	j.admit(j.rangeOf(0, 2))
	cells, err := b.Recent(b.ctx, []string{"j"}, 2)
	b.must(err)
	if len(cells["j"]) != 2 {
		b.Fatalf("cells %+v, want two", cells)
	}
	for _, c := range cells["j"] {
		r := b.get(c.RunID)
		want := ledger.RunSummary{
			RunID: r.ID, ScheduledAt: r.ScheduledAt, Until: r.Until, Count: r.Count, State: r.State, Reason: r.Reason,
			Replayed: r.Replayed, StartedAt: r.StartedAt, FinishedAt: r.FinishedAt,
		}
		if c != want {
			b.Errorf("cell %+v, want %+v", c, want)
		}
	}
}

func recentWindow(b *fixture) {
	j := b.job("j")
	j.admit(j.missed(0))
	for i := range ledger.OutcomeWindow {
		e := j.adHocAt(1, fmt.Sprintf("%04d", i))
		e.Lease = false
		b.mustEnter(e)
	}
	if got := b.recent(1, "j"); len(got) != 0 {
		b.Errorf("found %v behind %d newer rows", got, ledger.OutcomeWindow)
	}
}

func processes(b *fixture) {
	b.declare("p1", "v1", "j", "k")
	b.assignments("v1")
	b.advance(ledger.ProcessTTL + time.Hour)
	b.must(b.Declare(b.ctx, ledger.Declaration{
		Process: "p2", Registry: registry, Version: "v2", Host: "host-2", Program: "1.2.3", Definitions: definitions("v2", "j"),
	}))
	j := b.now("j")
	got, err := b.Admit(b.ctx, ledger.Admission{
		Plans: []ledger.Plan{j.plan(0, j.leased(0, ledger.OverlapAllow))}, Process: "p2", Token: b.token(), LeaseFor: lease,
	})
	b.must(err)
	list, err := b.Processes(b.ctx)
	b.must(err)
	for i := range list {
		if age := got.Now.Sub(list[i].HeartbeatAt); list[i].Alive != (age < time.Hour) {
			b.Errorf("%+v, whose last heartbeat was %s ago", list[i], age)
		}
		list[i].HeartbeatAt = time.Time{}
	}
	want := []ledger.Process{{ProcessRow: ledger.ProcessRow{ID: "p1", Version: "v1"}, Definitions: 2},
		{ProcessRow: ledger.ProcessRow{ID: "p2", Version: "v2", Host: "host-2", Program: "1.2.3"}, Alive: true, Definitions: 1, Running: 1}}
	if !slices.Equal(list, want) {
		b.Errorf("processes %+v, want %+v", list, want)
	}
}
