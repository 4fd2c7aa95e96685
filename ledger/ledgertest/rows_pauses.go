package ledgertest

import (
	"time"

	"github.com/cronce/cronce/ledger"
)

var pauseRowCases = []rowsCase{
	{"a pause is written whole, and changed whole", func(t *table) {
		p := ledger.Pause{
			Kind: ledger.PauseCatchUp, Selector: ledger.Selector{Job: "a-*", Owner: "Ö \"x\"", Labels: []string{"env=prod", "tier"}, Target: "t"},
			From: pastHour, Until: pastHour.Add(time.Minute), By: "me", Why: "<so>", CreatedAt: pastHour.Add(time.Microsecond),
		}
		p.ID = t.putPause(p)
		same(t, "new", t.pauses(time.Time{}), []ledger.Pause{p})
		p.From, p.Until, p.By, p.Why, p.EndedAt = p.From.Add(time.Second), p.Until.Add(time.Hour), "you", "", pastHour.Add(time.Second)
		t.putPause(p)
		same(t, "locked", ask(t, func(tx ledger.Tx) ledger.Future[[]ledger.Pause] { return tx.LockPause(p.ID) }), []ledger.Pause{p})
		if found := ask(t, func(tx ledger.Tx) ledger.Future[[]ledger.Pause] { return tx.LockPause(p.ID + 1) }); len(found) != 0 {
			t.Errorf("an unknown pause: %+v", found)
		}
	}},
	{"pauses without an end, and those that end after a time, are returned by ID", func(t *table) {
		var ids []int64
		for i := range 4 {
			p := ledger.Pause{Kind: ledger.PauseHold, From: pastHour, Until: pastHour.Add(time.Duration(4-i) * time.Minute), CreatedAt: pastHour}
			if i > 0 {
				p.EndedAt = pastHour
			}
			ids = append(ids, t.putPause(p))
		}
		for after, want := range map[time.Time][]int64{
			{}: ids[:1], pastHour.Add(2 * time.Minute): ids[:2], pastHour.Add(-time.Minute): ids, pastHour.Add(time.Hour): ids[:1],
		} {
			var found []int64
			for _, p := range t.pauses(after) {
				found = append(found, p.ID)
			}
			same(t, "after "+after.String(), found, want)
		}
	}},
}

func (t *table) putPause(p ledger.Pause) int64 {
	t.Helper()
	return ask(t, func(tx ledger.Tx) ledger.Future[int64] { return tx.PutPause(p) })
}

func (t *table) pauses(after time.Time) []ledger.Pause {
	t.Helper()
	return ask(t, func(tx ledger.Tx) ledger.Future[[]ledger.Pause] { return tx.Pauses(after) })
}
