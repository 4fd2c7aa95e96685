package ledgertest

import "github.com/cronce/cronce/ledger"

var memberListCases = []testCase{
	{"members are listed with their runs, those without a run too", func(t *fixture) {
		j := t.job("j")
		l := j.parent(0, 0)
		t.fanOut(l, "a", "b", "c")
		work := t.release(2, l.RunID).Work
		t.recordAll(ledger.Dead, work[0])
		t.recordAll(ledger.Succeeded, work[1])
		list := func(f ledger.MemberFilter) (text string) {
			f.Parent = l.RunID
			page, err := t.Members(t.ctx, f)
			t.must(err)
			for _, m := range page.Members {
				state := ledger.State("")
				if m.Run != nil {
					state = m.Run.State
				}
				text += m.Key + " " + string(state) + ";"
			}
			return text + page.Next
		}
		for _, c := range []struct {
			f    ledger.MemberFilter
			want string
		}{
			{ledger.MemberFilter{}, "key of a dead;key of b succeeded;key of c ;"},
			{ledger.MemberFilter{Limit: 2}, "key of a dead;key of b succeeded;" + memberID(l.RunID, "b")},
			{ledger.MemberFilter{After: memberID(l.RunID, "b")}, "key of c ;"},
			{ledger.MemberFilter{Missing: true}, "key of c ;"},
			{ledger.MemberFilter{Missing: true, States: []ledger.State{ledger.Dead}}, "key of a dead;key of c ;"},
			{ledger.MemberFilter{States: []ledger.State{ledger.Succeeded}}, "key of b succeeded;"},
			{ledger.MemberFilter{RunID: memberID(l.RunID, "b")}, "key of b succeeded;"},
			{ledger.MemberFilter{RunID: memberID(l.RunID, "bb")}, ""},
			{ledger.MemberFilter{States: []ledger.State{ledger.Dead}}, "key of a dead;"},
			{ledger.MemberFilter{States: []ledger.State{ledger.Running}}, ""},
		} {
			if got := list(c.f); got != c.want {
				t.Errorf("%+v: %q, want %q", c.f, got, c.want)
			}
		}
	}},
	{"members are found by the beginning of their keys, which a run ID has or not", func(t *fixture) {
		l := t.job("j").parent(0, 0)
		var list []ledger.Member
		for id, key := range map[string]string{"acme": "acme", "acme-2": "acme-2", "Acme": "Acme", "b": "b", "_0h": "acme/ü", "_1h": "ü/acme",
			"_2h": "a%me"} {
			list = append(list, ledger.Member{RunID: memberID(l.RunID, id), Key: key})
		}
		_, err := t.FreezeMembers(t.ctx, ledger.Freeze{Lease: l, First: true, Members: list})
		t.must(err)
		t.record(ledger.Outcome{Lease: l, State: ledger.FannedOut, Members: len(list),
			Attempt: ledger.Attempt{RunID: l.RunID, N: 1, Answer: ledger.AnswerFresh}})
		for _, c := range []struct {
			prefix string
			limit  int
			want   string // pages
		}{
			{"acme", 9, "acme-2 acme acme/ü "}, {"acme", 2, "acme-2 acme |acme/ü "}, {"acme", 1, "acme-2 |acme |acme/ü |"},
			{"acme-", 9, "acme-2 "}, {"acme/", 9, "acme/ü "}, {"ü", 9, "ü/acme "}, {"a%", 9, "a%me "}, {"_", 9, ""}, {"acme@", 9, ""},
		} {
			got, f := "", ledger.MemberFilter{Parent: l.RunID, Prefix: c.prefix, Limit: c.limit}
			for more := true; more; {
				page, err := t.Members(t.ctx, f)
				t.must(err)
				for _, m := range page.Members {
					got += m.Key + " "
				}
				if f.After, more = page.Next, page.Next != ""; more {
					got += "|"
				}
			}
			if got != c.want {
				t.Errorf("%q by %d: %q, want %q", c.prefix, c.limit, got, c.want)
			}
		}
	}},
}
