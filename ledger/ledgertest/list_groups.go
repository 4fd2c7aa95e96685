package ledgertest

import (
	"cmp"
	"reflect"
	"slices"

	"github.com/cronce/cronce/ledger"
)

var groupCases = []testCase{
	{"Groups groups what List lists: the runs of a job that are alike", func(t *fixture) {
		t.newFailedParent() // a parent, whose status is that of its list
		k := t.job("k")
		var first string
		for i, status := range []int{503, 503, 400} {
			o := dead(k.lease(i), ledger.ReasonExhausted)
			o.Attempt.Status = status
			t.record(o)
			first = cmp.Or(first, o.RunID)
		}
		k.admit(k.missed(3), k.planned(4, ledger.OverlapAllow), k.planned(5, ledger.OverlapAllow))
		t.wantChanged(t.Ack(t.ctx, actionOn(first)))(first)
		for _, token := range []string{"b", "c", "a"} { // at one time
			t.mustEnter(k.adHoc(token))
		}
		for _, f := range []ledger.Filter{{}, {JobID: "k"}, {Limit: 2}, {States: []ledger.State{ledger.Dead}, Unacknowledged: true}, {JobID: "nobody"}} {
			runs, err := t.List(t.ctx, f)
			t.must(err)
			got, err := t.Groups(t.ctx, f)
			t.must(err)
			if want := grouped(runs); !reflect.DeepEqual(got, want) {
				t.Errorf("%+v: groups\n%+v, want\n%+v", f, got, want)
			}
		}
	}},
}

// grouped returns the groups of runs, one by one.
func grouped(runs []ledger.Run) (groups []ledger.RunGroup) {
	for _, r := range runs {
		if r.Reason == ledger.ReasonMembers {
			r.Status = 0
		}
		g := ledger.GroupOf(&ledger.Row{Run: r})
		i := slices.IndexFunc(groups, func(o ledger.RunGroup) bool {
			return o.JobID == g.JobID && o.Target == g.Target && o.State == g.State && o.Reason == g.Reason && o.Status == g.Status
		})
		if i < 0 {
			groups = append(groups, g)
		} else {
			groups[i].Add(g)
		}
	}
	return groups
}
