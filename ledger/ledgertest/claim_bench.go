package ledgertest

import (
	"fmt"
	"testing"
	"time"

	"github.com/cronce/cronce/ledger"
)

// BenchmarkClaim claims where nothing is due: while no run waits, and while each of 20,000 jobs
// has a run in its slot and one that waits.
func BenchmarkClaim(b *testing.B, open func(*testing.B) (ledger.Store, ledger.Rows)) {
	for _, jobs := range []int{0, 20_000} {
		b.Run(fmt.Sprintf("waiting=%d", jobs), func(b *testing.B) {
			l, rows := open(b)
			for from := 0; from < jobs; from += 1000 {
				must(b, rows.Write(b.Context(), "make runs", func(tx ledger.Tx) error { return insertWaiting(tx, from) }))
			}
			n := 0
			claim := func() {
				n++
				got, err := l.Claim(b.Context(), ledger.ClaimRequest{Process: "p", Token: fmt.Sprint(n), Limit: 100, LeaseFor: time.Minute})
				must(b, err)
				if len(got.Work) > 0 {
					b.Fatalf("claimed %d", len(got.Work))
				}
			}
			for range 110 { // the first look around
				claim()
			}
			for b.Loop() {
				claim()
			}
		})
	}
}

func insertWaiting(tx ledger.Tx, from int) error {
	var list []ledger.Row
	for i := range 1000 {
		job := fmt.Sprintf("made:%06d", from+i)
		held := withSlot(runAt(job, 0))
		held.SetDueAt(time.Now().Add(24 * time.Hour))
		list = append(list, held, waiting(runAt(job, 1)))
	}
	_, err := tx.Insert(list).Get()
	return err
}

func must(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}
