package memory_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/memory"
)

// countedRows counts the due rows that claims read.
type countedRows struct {
	ledger.Rows
	due *int
}

func (r countedRows) Write(ctx context.Context, name string, f func(ledger.Tx) error) error {
	return r.Rows.Write(ctx, name, func(tx ledger.Tx) error { return f(countedTx{tx, r.due}) })
}

type countedTx struct {
	ledger.Tx
	due *int
}

func (t countedTx) LockDue(q ledger.DueQuery) ledger.Future[[]ledger.Row] {
	future := t.Tx.LockDue(q)
	rows, _ := future.Get()
	*t.due += len(rows)
	return future
}

// A job's slot is free and a run waits for it, while runs of other jobs are due.
func TestAClaimThatGivesSlotsReadsEachDueRunOnce(t *testing.T) {
	l, read := memory.New(), 0
	rules := ledger.New(countedRows{l.Rows(), &read})
	at := time.Now().UTC().Truncate(time.Second).Add(-time.Minute)
	err := l.Rows().Write(t.Context(), "test", func(tx ledger.Tx) error {
		for i := range 3 {
			r := ledger.Row{Run: ledger.Run{ID: fmt.Sprintf("j%d@%s", i, at.Format(time.RFC3339)), JobID: fmt.Sprintf("j%d", i), ScheduledAt: at, Count: 1, State: ledger.Planned}}
			r.SetDueAt(at)
			r.TakesSlot, r.Waiting = i == 0, i == 0
			tx.Insert([]ledger.Row{r})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	// The job of a run that waits has a row.
	unknown := ledger.JobRow{Position: ledger.Position{JobID: "j0"}, EndedAt: at}
	err = l.Rows().Write(t.Context(), "test", func(tx ledger.Tx) error {
		return tx.PutJobs([]ledger.JobChange{{JobRow: unknown, Set: ledger.JobColRevision}})
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := rules.Claim(t.Context(), ledger.ClaimRequest{Process: "p", Token: "t", Limit: 10, LeaseFor: time.Minute})
	if err != nil || len(got.Work) != 3 || read != 3 {
		t.Errorf("leased %d runs and read %d: %v; want 3 and 3", len(got.Work), read, err)
	}
}
