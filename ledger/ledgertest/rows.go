package ledgertest

import (
	"reflect"
	"testing"
	"time"

	"github.com/cronce/cronce/ledger"
)

// RunRows runs the contract of an engine's rows against those that open returns, fresh
// ones for each case. The rules above them are the contract that Run runs.
func RunRows(t *testing.T, open func(t *testing.T) ledger.Rows) {
	for _, group := range rowsGroups {
		t.Run(group.name, func(t *testing.T) {
			for _, c := range group.cases {
				t.Run(c.rule, func(t *testing.T) {
					t.Parallel()
					c.test(&table{T: t, Rows: open(t)})
				})
			}
		})
	}
}

var rowsGroups = []struct {
	name  string
	cases []rowsCase
}{
	{"update", updateCases},
}

// A rowsCase defends one guarantee of ledger.Rows; it is its name.
type rowsCase struct {
	rule string
	test func(*table)
}

// table is one case's empty rows.
type table struct {
	*testing.T
	ledger.Rows
}

// write runs f in a transaction that has to succeed.
func (t *table) write(f func(ledger.Tx) error) {
	t.Helper()
	if err := t.Write(t.Context(), "test", f); err != nil {
		t.Fatal(err)
	}
}

// insert writes new rows.
func (t *table) insert(rows ...ledger.Row) {
	t.Helper()
	t.write(func(tx ledger.Tx) error {
		inserted, err := tx.Insert(rows).Get()
		for i, ok := range inserted {
			if !ok {
				t.Errorf("%s was not inserted", rows[i].ID)
			}
		}
		return err
	})
}

// row returns a row as it is stored, with its body.
func (t *table) row(id string) (r ledger.Row) {
	t.Helper()
	err := t.Read(t.Context(), "test", func(tx ledger.Tx) error {
		found, err := tx.Find([]string{id}).Get()
		if len(found) == 1 {
			r = found[0]
		}
		return err
	})
	if err != nil || r.ID == "" {
		t.Fatalf("row %s: %+v, %v", id, r, err)
	}
	return r
}

// minute returns the row of a job's run that is planned at a minute of an hour, now past.
func minute(jobID string, n int) ledger.Row {
	at := time.Date(2026, 1, 1, 0, n, 0, 0, time.UTC)
	r := ledger.Row{Run: ledger.Run{
		ID: jobID + "@" + at.Format(time.RFC3339), JobID: jobID, ScheduledAt: at, Count: 1, Trigger: ledger.BySchedule, State: ledger.Planned,
		Call: ledger.Call{Target: "t", Method: "POST", Path: "/", Body: []byte(`{"a": 1}`)}, PlannedAt: at,
	}}
	r.SetDueAt(at)
	return r
}

// sameRow reports a difference between two rows. An engine may keep an empty list as
// none, and text where JSON is.
func (t *table) sameRow(what string, got, want ledger.Row) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s:\n got %+v\nwant %+v", what, got, want)
	}
}
