package ledgertest

import (
	"cmp"
	"reflect"
	"slices"

	"github.com/cronce/cronce/ledger"
)

var groupCases = []testCase{
	{"Groups groups what List lists: the runs of a job that are alike", func(b *fixture) {
		b.newFailedParent() // a parent, whose status is that of its list
		k := b.job("k")
		var first string
		for i, status := range []int{503, 503, 400} {
			o := dead(k.lease(i), ledger.ReasonExhausted)
			o.Attempt.Status = status
			b.record(o)
			first = cmp.Or(first, o.RunID)
		}
		k.admit(k.missed(3), k.planned(4, ledger.OverlapAllow), k.planned(5, ledger.OverlapAllow))
		b.wantChanged(b.Ack(b.ctx, actionOn(first)))(first)
		for _, token := range []string{"b", "c", "a"} { // at one time
			b.mustEnter(k.adHoc(token))
		}
		for _, f := range []ledger.Filter{{}, {JobID: "k"}, {Limit: 2}, {States: []ledger.State{ledger.Dead}, Unacknowledged: true}, {JobID: "nobody"}} {
			runs, err := b.List(b.ctx, f)
			b.must(err)
			got, err := b.Groups(b.ctx, f)
			b.must(err)
			if want := grouped(runs); !reflect.DeepEqual(got, want) {
				b.Errorf("%+v: groups\n%+v, want\n%+v", f, got, want)
			}
		}
	}},
}

// grouped are the groups of runs, one by one.
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
