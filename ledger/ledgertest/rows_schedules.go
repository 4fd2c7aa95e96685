package ledgertest

import (
	"time"

	"github.com/cronce/cronce/ledger"
)

var scheduleRowCases = []rowsCase{
	{"a schedule is kept as it is, and an update writes its group of fields alone", func(t *table) {
		s := t.putSchedule(scheduleRow("t:a"))
		for _, c := range []struct {
			set    ledger.ScheduleColumns
			change func(*ledger.ScheduleRow)
		}{
			{ledger.ScheduleColPosition, func(s *ledger.ScheduleRow) {
				s.Revision, s.Watermark, s.NextAt, s.EndedAt = 2, pastHour.Add(time.Minute), time.Time{}, pastHour.Add(time.Hour)
			}},
			{ledger.ScheduleColContent, func(s *ledger.ScheduleRow) {
				s.Expr, s.Timezone, s.DST, s.Data, s.Until, s.Generation = "e2", "z2", "d2", []byte(`{"a": 2}`), time.Time{}, 8
				s.CreatedAt, s.ChangedAt, s.ChangedBy, s.DeletedAt = pastHour.Add(1e6), pastHour.Add(2e6), "eve", pastHour.Add(3e6)
			}},
			{ledger.ScheduleColPause, func(s *ledger.ScheduleRow) { s.PausedAt, s.PausedBy, s.PausedWhy = pastHour, "me", "so" }},
			{ledger.ScheduleColPause, func(s *ledger.ScheduleRow) { s.PausedAt, s.PausedBy, s.PausedWhy = time.Time{}, "", "" }},
			{ledger.ScheduleColFailure, func(s *ledger.ScheduleRow) { s.FailedAt = pastHour.Add(time.Minute) }},
		} {
			c.change(&s)
			other := ledger.ScheduleRow{ID: s.ID, TemplateID: s.TemplateID}
			other.JobID, other.Watermark, other.CreatedAt, other.ChangedAt = s.JobID, pastHour, pastHour, pastHour
			c.change(&other) // the other fields are empty
			t.write(func(tx ledger.Tx) error {
				if _, err := tx.LockSchedules([]string{s.JobID}).Get(); err != nil {
					return err
				}
				return tx.UpdateSchedules([]ledger.ScheduleUpdate{{Row: &other, Set: c.set}})
			})
			same(t, "changed", t.schedules("t:a")[0], s)
		}
	}},
	{"a job ID has one schedule", func(t *table) {
		t.putSchedule(scheduleRow("t:a"))
		again, other := scheduleRow("t:a"), scheduleRow("t:b")
		again.Expr = "again"
		inserted := t.insertSchedules("t", again, other)
		same(t, "inserted", inserted, []bool{false, true})
		if list := t.schedules("t:b", "t:unknown", "t:a"); len(list) != 2 || list[0].Expr != "e" || list[1].JobID != "t:b" ||
			list[0].ID == list[1].ID {
			t.Errorf("%+v", list)
		}
	}},
	{"due schedules are those of one template, the earliest first", func(t *table) {
		for i, id := range []string{"t:c", "t:a", "t:b", "t:later", "t:ended", "u:a"} {
			s := scheduleRow(id)
			s.NextAt = pastHour.Add(time.Duration(10-i) * time.Minute)
			switch s.Key() {
			case "later":
				s.NextAt = time.Now().UTC().Truncate(time.Second).Add(time.Hour)
			case "ended":
				s.NextAt = time.Time{}
			}
			t.putSchedule(s)
		}
		due := ask(t, func(tx ledger.Tx) ledger.Future[[]ledger.ScheduleRow] { return tx.LockDueSchedules("t", pastHour, 10) })
		if len(due) != 3 || due[0].Key() != "b" || due[1].Key() != "a" || due[2].Key() != "c" || due[0].Expr != "e" {
			t.Errorf("%+v", due)
		}
		if due = ask(t, func(tx ledger.Tx) ledger.Future[[]ledger.ScheduleRow] { return tx.LockDueSchedules("t", pastHour, 2) }); len(due) != 2 {
			t.Errorf("at most 2: %+v", due)
		}
		since := pastHour.Add(9 * time.Minute)
		due = ask(t, func(tx ledger.Tx) ledger.Future[[]ledger.ScheduleRow] { return tx.LockDueSchedules("t", since, 10) })
		if len(due) != 2 || due[0].Key() != "a" || due[1].Key() != "c" {
			t.Errorf("since a time: %+v", due)
		}
		first := ask(t, func(tx ledger.Tx) ledger.Future[map[string]time.Time] {
			return tx.FirstDue([]string{"t", "unknown"}, pastHour)
		})
		same(t, "first", first, map[string]time.Time{"t": pastHour.Add(8 * time.Minute)})
		first = ask(t, func(tx ledger.Tx) ledger.Future[map[string]time.Time] { return tx.FirstDue([]string{"t"}, since) })
		same(t, "first since a time", first, map[string]time.Time{"t": since})
		var seen []string
		for after := int64(0); ; {
			page := ask(t, func(tx ledger.Tx) ledger.Future[ledger.SchedulePage] { return tx.LockSchedulesAfter("t", after, 2) })
			if after = page.Last; after == 0 {
				break
			}
			for _, s := range page.Rows {
				seen = append(seen, s.Key())
			}
		}
		same(t, "those that have a NextAt", seen, []string{"c", "a", "b", "later"})
	}},
	{"due runs are counted by template", func(t *table) {
		later := runAt("t:b", 0)
		later.SetDueAt(time.Now().Add(time.Hour))
		t.insert(runAt("t:a", 0), runAt("t:b", 1), runAt("j", 0), later, waiting(runAt("t:c", 0)), inState(ledger.Succeeded, runAt("t:c", 1)))
		counts := ask(t, func(tx ledger.Tx) ledger.Future[map[string]int] { return tx.CountDue(pastHour.Add(time.Hour), 10, nil) })
		same(t, "due", counts, map[string]int{"t": 2, "": 1})
		early := ask(t, func(tx ledger.Tx) ledger.Future[map[string]int] { return tx.CountDue(pastHour, 10, nil) })
		same(t, "by an earlier time", early, map[string]int{"t": 1, "": 1})
		if counts = ask(t, func(tx ledger.Tx) ledger.Future[map[string]int] {
			return tx.CountDue(pastHour.Add(time.Hour), 2,
				nil)
		}); counts["t"]+counts[""] != 2 {
			t.Errorf("of the first two: %v", counts)
		}
		held := runAt("t:a", 2)
		held.Call.Target = "held"
		t.insert(held)
		counts = ask(t, func(tx ledger.Tx) ledger.Future[map[string]int] {
			return tx.CountDue(pastHour.Add(time.Hour), 10, []string{"held"})
		})
		same(t, "without those of a held target", counts, map[string]int{"t": 2, "": 1})
	}},
	{"a template is made by its first lock, and keeps what is written", func(t *table) {
		row := t.template("t")
		same(t, "again", t.template("t"), row)
		row.Schedules, row.PurgedThrough, row.Swept = 3, pastHour, "h"
		t.write(func(tx ledger.Tx) error {
			if _, err := tx.LockTemplate("t").Get(); err != nil {
				return err
			}
			return tx.PutTemplate(row)
		})
		s := t.putSchedule(scheduleRow("t:a"))
		same(t, "of the schedule", s.PurgedThrough, pastHour)
		t.template("a")
		all := ask(t, func(tx ledger.Tx) ledger.Future[[]ledger.TemplateRow] { return tx.Templates() })
		if len(all) != 2 || all[0].Name != "a" || all[1] != row {
			t.Errorf("%+v", all)
		}
	}},
}

func scheduleRow(id string) ledger.ScheduleRow {
	return ledger.ScheduleRow{Schedule: ledger.Schedule{
		JobID: id, Generation: 7, Revision: 1, Watermark: pastHour, NextAt: pastHour.Add(time.Minute), CreatedAt: pastHour, ChangedAt: pastHour,
		ChangedBy: "ann",
		ScheduleContent: ledger.ScheduleContent{Expr: "e", Timezone: "z", DST: "d", Data: []byte(`{"a": "é"}`),
			Until: pastHour.Add(24 * time.Hour)},
	}}
}

func (t *table) template(name string) ledger.TemplateRow {
	t.Helper()
	return ask(t, func(tx ledger.Tx) ledger.Future[ledger.TemplateRow] { return tx.LockTemplate(name) })
}

func (t *table) insertSchedules(template string, list ...ledger.ScheduleRow) []bool {
	t.Helper()
	var inserted ledger.Future[[]bool]
	t.write(func(tx ledger.Tx) error {
		row, err := tx.LockTemplate(template).Get()
		for i := range list {
			list[i].TemplateID = row.ID
		}
		inserted = tx.InsertSchedules(list)
		return err
	})
	return await(t, inserted)
}

// putSchedule inserts a schedule and returns it as it is stored.
func (t *table) putSchedule(s ledger.ScheduleRow) ledger.ScheduleRow {
	t.Helper()
	t.insertSchedules(s.Template(), s)
	stored := t.schedules(s.JobID)
	if len(stored) != 1 || stored[0].ID == 0 {
		t.Fatalf("%+v", stored)
	}
	s.ID, s.TemplateID, s.PurgedThrough = stored[0].ID, stored[0].TemplateID, stored[0].PurgedThrough
	same(t, "new", stored[0], s)
	return s
}

func (t *table) schedules(ids ...string) []ledger.ScheduleRow {
	t.Helper()
	return ask(t, func(tx ledger.Tx) ledger.Future[[]ledger.ScheduleRow] { return tx.LockSchedules(ids) })
}
