package ledgertest

import (
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/cronce/cronce/ledger"
)

var listCases = []testCase{
	{"an id that has no row is not found, whatever its bytes", func(t *fixture) {
		j := t.job("j")
		j.admit(j.planned(0, ledger.OverlapAllow))
		for _, id := range []string{"nobody@x", "", j.id(0) + "\x00", "\xff", strings.Repeat("x", 10<<20)} {
			if _, _, err := t.Get(t.ctx, id); !errors.Is(err, ledger.ErrNotFound) {
				t.Errorf("%.40q: %.200v, want ErrNotFound", id, err)
			}
			for _, f := range []ledger.Filter{{IDs: []string{id}}, {JobID: "j\x00" + id}, {JobID: "j\xff" + id},
				{Reason: ledger.Reason("\x00" + id)}} {
				if ids := t.page(f); len(ids) != 0 {
					t.Errorf("a listing of what has %.40q has %v", id, ids)
				}
			}
		}
		t.wantRejected(t.Cancel(t.ctx, actionOn("\x00", "\xff")))("\x00", "\xff")
	}},
	{"LastAttempts has the last attempt of each run that has one", func(t *fixture) {
		j := t.job("j")
		w := j.lease(0)
		o := dead(w, ledger.ReasonExhausted)
		o.Attempt.Error = "gone"
		t.record(o)
		k := j.next()
		k.admit(k.missed(0))
		last, err := t.LastAttempts(t.ctx, []string{w.RunID, k.id(0), "nobody@x"})
		t.must(err)
		if len(last) != 1 || last[w.RunID].Error != "gone" || last[w.RunID].N != 1 {
			t.Errorf("%+v", last)
		}
	}},
	{"List filters by id, job, state, reason, time and acknowledgement", func(t *fixture) {
		j := t.newDeadRuns(2) // at 0 and 1
		t.wantChanged(t.Ack(t.ctx, actionOn(j.id(0))))(j.id(0))
		k := j.next()
		k.admit(k.missed(0), k.planned(1, ledger.OverlapAllow)) // at 2 and 3
		o := &job{fixture: t, Position: ledger.Position{JobID: "other", Watermark: j.Watermark}}
		t.mustEnter(o.entry(o.planned(1, ledger.OverlapAllow)))
		s := &job{fixture: t, Position: ledger.Position{JobID: "t:acme", Watermark: j.Watermark}}
		t.change(upsert("acme", "24h"))
		t.mustEnter(s.entry(s.planned(1, ledger.OverlapAllow)))
		for name, c := range map[string]struct {
			filter ledger.Filter
			want   []string
		}{
			"all":       {ledger.Filter{}, []string{j.id(3), j.id(2), s.id(1), o.id(1), j.id(1), j.id(0)}},
			"schedules": {ledger.Filter{JobIDs: []string{"t", "other"}, WithSchedules: true}, []string{s.id(1), o.id(1)}},
			"template":  {ledger.Filter{JobIDs: []string{"t", "other"}}, []string{o.id(1)}},
			"prefix":    {ledger.Filter{JobIDs: []string{"t:a", "o"}, WithSchedules: true}, nil},
			"ids":       {ledger.Filter{IDs: []string{j.id(0), j.id(3), "nobody@x"}}, []string{j.id(3), j.id(0)}},
			"job":       {ledger.Filter{JobID: "other"}, []string{o.id(1)}},
			"jobs":      {ledger.Filter{JobIDs: []string{"other", "nobody"}}, []string{o.id(1)}},
			"of jobs":   {ledger.Filter{JobIDs: []string{"other", "j"}, States: []ledger.State{ledger.Dead}}, []string{j.id(1), j.id(0)}},
			"state":     {ledger.Filter{States: []ledger.State{ledger.Dead, ledger.Missed}}, []string{j.id(2), j.id(1), j.id(0)}},
			"reason":    {ledger.Filter{Reason: ledger.ReasonCatchUpWindow}, []string{j.id(2)}},
			"since":     {ledger.Filter{JobID: "j", Since: j.at(2)}, []string{j.id(3), j.id(2)}},
			"until":     {ledger.Filter{JobID: "j", Until: j.at(2)}, []string{j.id(1), j.id(0)}},
			"unacked":   {ledger.Filter{States: []ledger.State{ledger.Dead}, Unacknowledged: true}, []string{j.id(1)}},
			"limit":     {ledger.Filter{Limit: 2}, []string{j.id(3), j.id(2)}},
			"nothing":   {ledger.Filter{JobID: "nobody"}, nil},
		} {
			if got := t.page(c.filter); !slices.Equal(got, c.want) {
				t.Errorf("%s: %v, want %v", name, got, c.want)
			}
		}
	}},
	{"List by unfinished states has what waits for its job's slot too", func(t *fixture) {
		j := t.job("j")
		q := ledger.OverlapQueue
		j.admit(j.leased(0, q), j.planned(1, q), j.missed(2))
		for name, c := range map[string]struct {
			states []ledger.State
			want   []string
		}{
			"planned":    {[]ledger.State{ledger.Planned}, []string{j.id(1)}},
			"running":    {[]ledger.State{ledger.Running}, []string{j.id(0)}},
			"unfinished": {[]ledger.State{ledger.Planned, ledger.Running, ledger.Retrying}, []string{j.id(1), j.id(0)}},
		} {
			for _, jobID := range []string{"", "j"} {
				if got := t.page(ledger.Filter{JobID: jobID, States: c.states}); !slices.Equal(got, c.want) {
					t.Errorf("%s of job %q: %v, want %v", name, jobID, got, c.want)
				}
			}
		}
	}},
	{"List is newest first, equal times by id in byte order", func(t *fixture) {
		j := t.job("j")
		tokens := []string{"a", "B", "a-b", "a.b", "ab", "Z", "0"}
		for _, tok := range tokens {
			t.mustEnter(j.adHoc(tok))
		}
		j.admit(j.planned(0, ledger.OverlapAllow), j.planned(1, ledger.OverlapAllow))
		want := []string{j.id(0)}
		for _, tok := range tokens {
			want = append(want, j.id(0)+"~"+tok)
		}
		slices.SortFunc(want, func(a, b string) int { return strings.Compare(b, a) })
		want = append([]string{j.id(1)}, want...)
		if got := t.page(ledger.Filter{}); !slices.Equal(got, want) {
			t.Errorf("listed %v, want %v", got, want)
		}
	}},
	{"List pages by its last row: every run once", func(t *fixture) {
		j := t.job("j")
		for _, tok := range []string{"a", "b", "C", "d"} { // five runs at one scheduled time
			t.mustEnter(j.adHoc(tok))
		}
		var ins []ledger.RunSpec
		for i := range 20 {
			ins = append(ins, j.planned(i, ledger.OverlapAllow))
		}
		j.admit(ins...)
		whole := t.all("j")
		for _, size := range []int{1, 3, 24, 100} {
			var paged []ledger.Run
			f := ledger.Filter{JobID: "j", Limit: size}
			for range 100 {
				rs, err := t.List(t.ctx, f)
				t.must(err)
				if len(rs) == 0 {
					break
				}
				paged = append(paged, rs...)
				last := rs[len(rs)-1]
				f.Before = &ledger.Cursor{ScheduledAt: last.ScheduledAt, ID: last.ID}
			}
			if len(whole) != 24 || !reflect.DeepEqual(paged, whole) {
				t.Errorf("pages of %d have %d runs, want the %d of one listing", size, len(paged), len(whole))
			}
		}
	}},
	{"List by job is what the whole listing has of it, whatever other jobs are called", listNeighbours},
	{"List by job is bounded by time to the microsecond", listBetweenSeconds},
	{"List without a limit has 100", func(t *fixture) {
		j := t.job("j")
		for i := range 55 {
			t.mustEnter(j.entry(j.planned(i, ledger.OverlapAllow)))
			t.mustEnter(j.adHocAt(i, "x"))
		}
		if n := len(t.page(ledger.Filter{})); n != 100 {
			t.Errorf("listed %d of 110, want 100", n)
		}
	}},
	{"no list has the bodies of calls; a single run and its worker have them", func(t *fixture) {
		j := t.job("j")
		want := string(callOf("j").Body)
		f := t.newFollower()
		j.admit(j.leased(0, ledger.OverlapQueue), j.planned(1, ledger.OverlapAllow))
		statuses, err := t.Jobs(t.ctx)
		t.must(err)
		lists := map[string][]ledger.Run{"List": t.all("j"), "Changes": f.changes().Runs, "Jobs": {*statuses[0].LastRun, *statuses[0].SlotRun}}
		for name, cancel := range map[string]ledger.Action{"a preview of Cancel": {Actor: who("ann", "asked"), Filter: ledger.Filter{JobID: "j"},
			DryRun: true}, "Cancel": actionOn(j.id(1))} {
			got, err := t.Cancel(t.ctx, cancel)
			t.must(err)
			lists[name] = got.Changed
		}
		for name, runs := range lists {
			if len(runs) == 0 {
				t.Errorf("%s has no run", name)
			}
			for _, r := range runs {
				if r.Call.Body != nil || r.Call.Target != callOf("j").Target || r.Call.Method != callOf("j").Method {
					t.Errorf("%s: the call of %s is %+v, want it without its body", name, r.ID, r.Call)
				}
			}
		}
		if r := t.get(j.id(0)); string(r.Call.Body) != want || want == "" {
			t.Errorf("Get: the body is %q, want %q", r.Call.Body, want)
		}
	}},
	{"a limit below 1 is the default, of a listing, of events, of a purge", func(t *fixture) {
		j := t.job("j")
		j.admit(j.missed(0), j.missed(1))
		for _, n := range []int{0, -1, math.MinInt} {
			if ids := t.page(ledger.Filter{Limit: n}); len(ids) != 2 {
				t.Errorf("a listing with the limit %d has %v, want both runs", n, ids)
			}
			if es, err := t.Events(t.ctx, "j", n); err != nil || len(es) != 1 {
				t.Errorf("with the limit %d events %v, %v: want the one", n, es, err)
			}
		}
		if got := t.purge(ledger.Purge{Batch: -1}); got.Runs != 2 || got.More {
			t.Errorf("a purge with the batch -1: %+v, want both runs and no more", got)
		}
	}},
	{"Jobs lists every job by id with its last run", func(t *fixture) {
		j := t.job("b")
		j.admit(j.planned(0, ledger.OverlapAllow), j.planned(1, ledger.OverlapAllow), j.rangeOf(2, 4))
		t.job("a")
		jobs, err := t.Jobs(t.ctx)
		t.must(err)
		if len(jobs) != 2 || jobs[0].JobID != "a" || jobs[1].JobID != "b" {
			t.Fatalf("jobs %+v, want a and b", jobs)
		}
		if s := jobs[0]; s.LastRun != nil || s.Ended || s.Revision != 1 || s.Watermark.IsZero() {
			t.Errorf("status %+v, want one that has not run", s)
		}
		if s := jobs[1]; s.LastRun == nil || s.LastRun.ID != j.id(1) {
			t.Errorf("last run %+v, want %s: a range is not a run", s.LastRun, j.id(1))
		}
	}},
	{"Ping answers", func(t *fixture) { t.must(t.Ping(t.ctx)) }},
}

// page returns the ids of one page.
func (t *fixture) page(f ledger.Filter) []string {
	t.Helper()
	rs, err := t.List(t.ctx, f)
	t.must(err)
	var ids []string
	for _, r := range rs {
		ids = append(ids, r.ID)
	}
	return ids
}
