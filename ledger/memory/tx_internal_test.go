package memory

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/cronce/cronce/ledger"
)

// state writes out what a transaction can change.
func (l *Ledger) state() (text string) {
	for _, id := range slices.Sorted(maps.Keys(l.runs)) {
		text += fmt.Sprintf("%+v changed %d, %+v\n", l.runs[id].Row, l.runs[id].changed, l.runs[id].attempts)
	}
	ids := func(m map[string]*record) []string { return slices.Sorted(maps.Keys(m)) }
	return text + fmt.Sprintf("%+v\n%+v\n%+v\n%v %v %v %d %d", l.jobs, l.events, l.incidents, ids(l.open), ids(l.slots), l.audit, l.lastAudit, l.lastIncident)
}

// row returns the row of a run that is scheduled at a minute.
func row(minute int, state ledger.State) ledger.Row {
	at := time.Date(2026, 1, 1, 0, minute, 0, 0, time.UTC)
	r := ledger.Row{LateAt: at, TakesSlot: true, Run: ledger.Run{
		ID: "j@" + at.Format(time.RFC3339), JobID: "j", ScheduledAt: at, Count: 1, State: state,
	}}
	r.SetDueAt(at)
	return r
}

func TestATransactionThatFailsLeavesNothingWritten(t *testing.T) {
	l, refused := New(), errors.New("refused")
	holder, waiting, dead, span := row(0, ledger.Running), row(1, ledger.Planned), row(2, ledger.Dead), row(3, ledger.Missed)
	holder.HasSlot, waiting.Waiting, span.Until = true, true, span.ScheduledAt.Add(time.Hour)
	write := func(f func(ledger.Tx) error) error { return rows{l}.Write(t.Context(), "test", f) }
	err := write(func(tx ledger.Tx) error {
		tx.Insert([]ledger.Row{holder, waiting, dead, span})
		return errors.Join(tx.PutIncidents([]ledger.Incident{{JobID: "j", Cause: ledger.IncidentDead}}), tx.AddAudit([]ledger.Audit{{JobID: "j"}}), tx.AddEvents([]ledger.Event{{JobID: "j"}}),
			tx.PutJobs([]ledger.JobChange{{JobRow: ledger.JobRow{Position: ledger.Position{JobID: "j"}}, Set: ledger.JobColRevision}}))
	})
	if err != nil {
		t.Fatal(err)
	}
	before := l.state()
	err = write(func(tx ledger.Tx) error {
		ended, given, acked := holder, waiting, dead
		ended.State, ended.HasSlot = ledger.Succeeded, false
		ended.SetDueAt(time.Time{})
		given.Waiting, given.HasSlot, given.LateAt = false, true, time.Time{}
		acked.AckedAt, _ = tx.Now()
		end := ledger.DiffRows(&holder, &ended)
		end.Attempt = &ledger.Attempt{N: 1}
		err := tx.Update([]ledger.RowChange{end, ledger.DiffRows(&waiting, &given), ledger.DiffRows(&dead, &acked)})
		tx.Insert([]ledger.Row{row(5, ledger.Planned)})
		opened := tx.PutIncidents([]ledger.Incident{{JobID: "k", Cause: ledger.IncidentDead}, {ID: 1, JobID: "j", Cause: ledger.IncidentDead, Count: 2}})
		err = errors.Join(err, opened, tx.Delete([]string{span.ID, dead.ID}), tx.AddAudit([]ledger.Audit{{}}), tx.AddEvents([]ledger.Event{{JobID: "j"}}),
			tx.PutJobs([]ledger.JobChange{
				{JobRow: ledger.JobRow{Position: ledger.Position{JobID: "j", Revision: 2}}, Set: ledger.JobColRevision},
				{JobRow: ledger.JobRow{Position: ledger.Position{JobID: "k"}}},
			}))
		if err != nil || l.state() == before {
			t.Errorf("%v; the ledger is as it was: %t", err, l.state() == before)
		}
		return refused
	})
	if after := l.state(); !errors.Is(err, refused) || after != before {
		t.Errorf("%v; before:\n%s\nafter:\n%s", err, before, after)
	}
}

func TestARangeHasTheScheduledTimesBetweenItsBounds(t *testing.T) {
	l, span := New(), row(10, ledger.Missed)
	span.Until = span.ScheduledAt.Add(10 * time.Minute)
	err := rows{l}.Write(t.Context(), "test", func(tx ledger.Tx) error {
		tx.Insert([]ledger.Row{span})
		for minute, want := range map[int]int{9: 0, 10: 1, 20: 1, 21: 0} {
			at := row(minute, ledger.Planned).ScheduledAt
			if found, _ := tx.LockRanges("j", at, at).Get(); len(found) != want {
				t.Errorf("minute %d lies in %d ranges, want %d", minute, len(found), want)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
