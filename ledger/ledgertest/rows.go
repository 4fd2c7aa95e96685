package ledgertest

import (
	"reflect"
	"slices"
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
	{"insert", insertCases},
	{"update", updateCases},
	{"select", selectCases},
	{"due", dueCases},
	{"slot", slotCases},
	{"purge", purgeRowCases},
	{"membership", membershipCases},
	{"listing", listingRowCases},
	{"job", jobRowCases},
	{"incident", incidentRowCases},
	{"member", memberRowCases},
	{"hour", hourRowCases},
	{"schedule", scheduleRowCases},
	{"pause", pauseRowCases},
	{"transaction", transactionCases},
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
	var late ledger.Future[[]bool]
	t.write(func(tx ledger.Tx) error {
		late = tx.Insert(rows)
		return nil
	})
	if inserted := await(t, late); slices.Contains(inserted, false) || len(inserted) != len(rows) {
		t.Fatalf("inserted %v", inserted)
	}
}

// await returns a result.
func await[T any](t *table, late ledger.Future[T]) T {
	t.Helper()
	value, err := late.Get()
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// ask returns the answer to a question, of a transaction that writes nothing.
func ask[T any](t *table, question func(ledger.Tx) ledger.Future[T]) (answer T) {
	t.Helper()
	t.write(func(tx ledger.Tx) (err error) {
		answer, err = question(tx).Get()
		return err
	})
	return answer
}

// row returns a row as it is stored, with its body.
func (t *table) row(id string) ledger.Row {
	t.Helper()
	found := ask(t, func(tx ledger.Tx) ledger.Future[[]ledger.Row] { return tx.Find([]string{id}) })
	if len(found) != 1 {
		t.Fatalf("row %s: %+v", id, found)
	}
	return found[0]
}

// runAt returns the row of a job's run that is planned at a minute of an hour that is
// past.
func runAt(jobID string, n int) ledger.Row {
	at := pastHour.Add(time.Duration(n) * time.Minute)
	r := ledger.Row{Run: ledger.Run{
		ID: jobID + "@" + at.Format(time.RFC3339), JobID: jobID, ScheduledAt: at, Count: 1, Trigger: ledger.BySchedule, State: ledger.Planned,
		Call: ledger.CallSpec{Target: "t", Method: "POST", Path: "/", Body: []byte(`{"a": 1}`)}, PlannedAt: at,
	}}
	r.SetDueAt(at)
	return r
}

var pastHour = time.Now().UTC().Truncate(time.Hour).Add(-2 * time.Hour)

// inState returns the row in another state: a running one is leased under the token t until it
// was scheduled.
func inState(state ledger.State, r ledger.Row) ledger.Row {
	due := r.DueAt()
	r.State = state
	if state == ledger.Running {
		r.LeasedBy, r.Token, r.LeasedAt = "p", "t", r.ScheduledAt
	}
	r.SetDueAt(due)
	if state.Finished() {
		r.FinishedAt = r.ScheduledAt
		r.SetDueAt(time.Time{})
	}
	return r
}

// withSlot and waiting return a row that has its job's slot, or waits for it.
func withSlot(r ledger.Row) ledger.Row {
	r.TakesSlot, r.HasSlot = true, true
	return r
}

func waiting(r ledger.Row) ledger.Row {
	r.TakesSlot, r.Waiting = true, true
	return r
}

// sameIDs reports that rows are not those of the IDs, in order.
func (t *table) sameIDs(what string, rows []ledger.Row, want ...ledger.Row) {
	t.Helper()
	var ids, wanted []string
	for _, r := range rows {
		ids = append(ids, r.ID)
	}
	for _, r := range want {
		wanted = append(wanted, r.ID)
	}
	if !slices.Equal(ids, wanted) {
		t.Errorf("%s: %v, want %v", what, ids, wanted)
	}
}

// same reports a difference.
func same[T any](t *table, what string, got, want T) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s:\n got %+v\nwant %+v", what, got, want)
	}
}
