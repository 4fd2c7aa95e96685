package ledger

import (
	"reflect"
	"slices"
	"testing"
	"time"
)

// opposite returns two leased rows that differ in every group of fields.
func opposite() (a, b Row) {
	early, late := time.Unix(1, 0).UTC(), time.Unix(2, 0).UTC()
	a = Row{Run: Run{ID: "j@2026-01-01T00:00:00Z", State: Running, Count: 1, LeasedUntil: early}}
	b = Row{
		Run: Run{
			ID: a.ID, State: Accepted, Reason: ReasonOperator, Trigger: ByBackfill, Count: 2, Attempt: 3, Failures: 4, Replayed: true,
			Status: 500, NextAt: late, WaitReason: WaitReason{Code: WaitNotSent}, AcceptedAt: late, Progress: "p", SendBefore: late, LeasedBy: "o",
			StartedAt: late, FinishedAt: late, AckedAt: late, RerunID: "r", By: "me", Why: "so",
			KeySafeUntil: late, Fan: Fan{Members: 2},
		},
		LeasedAt: late, Token: "t", LateAt: late, TakesSlot: true, Pace: 2, Waiting: true, HasSlot: true,
	}
	return a, b
}

func TestOppositeRowsDifferInEveryGroup(t *testing.T) {
	a, b := opposite()
	if got, want := DiffRows(&a, &b).Set|ColCall, Columns(1)<<len(columns)-1; got != want {
		t.Errorf("the groups %b differ, want %b", got, want)
	}
}

// A field in no group would be lost: engines write groups. Of a running row, NextAt is no field of its own.
func TestEachFieldOfARowIsInAGroupOrNeverChanges(t *testing.T) {
	never := []string{"ID", "JobID", "Parent", "ScheduledAt", "Until", "Revision", "PlannedAt"}
	byHand := []string{"Call"} // see DiffRows
	a, b := opposite()
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Row]()) {
		if f.Anonymous || slices.Contains(slices.Concat(never, byHand), f.Name) {
			continue
		}
		written := false
		for _, rows := range [][2]Row{{a, b}, {b, a}} {
			old, updated := rows[0], rows[0]
			value := reflect.ValueOf(rows[1]).FieldByIndex(f.Index)
			reflect.ValueOf(&updated).Elem().FieldByIndex(f.Index).Set(value)
			c, kept := DiffRows(&old, &updated), old
			c.Apply(&kept)
			got := reflect.ValueOf(kept).FieldByIndex(f.Index)
			written = written || c.Set != 0 && reflect.DeepEqual(got.Interface(), value.Interface())
		}
		if !written {
			t.Errorf("%s is in no group of ledger/change.go, or a group compares it and does not copy it, or both rows of this test have one value of it", f.Name)
		}
	}
}

// The run of an outcome is usually not read before: what the outcome sets must be
// written whatever the row has, and nothing else.
func TestAnOutcomeWritesEachFieldThatItSets(t *testing.T) {
	now := time.Unix(3, 0).UTC()
	for _, state := range []State{Succeeded, Dead, Retrying, Accepted, FannedOut, Planned} {
		for n, attempt := range []Attempt{{}, {N: 7, Status: 201}, {N: 8}} {
			o := Outcome{State: state, Reason: ReasonExhausted, Failures: 9, Wait: time.Hour, Progress: "half", Attempt: attempt, WaitReason: WaitReason{Code: WaitNoToken}, Members: 5}
			if n == 2 {
				o.KeySafeUntil = time.Unix(1, 500).UTC()
			}
			one, other := opposite()
			for _, old := range []Row{one, other} {
				updated := old
				c, err := o.change(&updated, now)
				if err != nil {
					t.Fatal(err)
				}
				if forgotten := DiffRows(&old, &updated).Set &^ c.Set; forgotten != 0 {
					t.Errorf("%s, attempt %d: changes the groups %b and does not write them", state, attempt.N, forgotten)
				}
			}
		}
	}
}
