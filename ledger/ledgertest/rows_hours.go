package ledgertest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/ledger"
)

var hourRowCases = []rowsCase{
	{"the span of hours that are counted is kept", func(t *table) {
		span := func() ledger.HourSpan { return ask(t, ledger.Tx.HourSpan) }
		same(t, "at first", span(), ledger.HourSpan{})
		want := ledger.HourSpan{From: pastHour, To: pastHour.Add(5 * time.Hour)}
		t.write(func(tx ledger.Tx) error { return tx.PutHourSpan(want) })
		same(t, "written", span(), want)
		t.write(func(tx ledger.Tx) error { return tx.PutHourSpan(ledger.HourSpan{}) })
		same(t, "none", span(), ledger.HourSpan{})
	}},
	{"rows of hours are returned by time and job, of one job or of all", func(t *table) {
		all, b, a, other := hourRow(0, ""), hourRow(1, "b"), hourRow(1, "a"), hourRow(2, "a")
		t.putHours(other, b, a, all)
		same(t, "of all jobs", t.hours(0, 3, false, 0), []ledger.HourRow{all, a, b, other})
		same(t, "of an hour", t.hours(1, 2, false, 0), []ledger.HourRow{a, b})
		same(t, "up to a limit", t.hours(0, 3, false, 2), []ledger.HourRow{all, a})
		for jobs, want := range map[string][]ledger.HourRow{"a": {a, other}, "": {all}, "c": nil, "a b": {a, b, other}, "b" + strings.Repeat(" c", 300): {b}} {
			got := ask(t, func(tx ledger.Tx) ledger.Future[[]ledger.HourRow] {
				return tx.StoredHours(strings.Split(jobs, " "), pastHour, pastHour.Add(3*time.Hour))
			})
			slices.SortFunc(got, func(a, b ledger.HourRow) int { return cmp.Or(a.Hour.Compare(b.Hour), cmp.Compare(a.JobID, b.JobID)) })
			same(t, "of jobs "+jobs, got, want)
		}
		sums := map[string]int{}
		for _, s := range ask(t, func(tx ledger.Tx) ledger.Future[[]ledger.HourSum] {
			return tx.HourSums([]string{"a", "b", "c"}, pastHour, pastHour.Add(3*time.Hour), [2]string{" of b", "nts"})
		}) {
			sums[fmt.Sprint(s.Hour.Sub(pastHour), " ", s.Counts)] += s.Rows
		}
		same(t, "sums", sums, map[string]int{"1h0m0s cou": 2, other.Hour.Sub(pastHour).String() + " cou": 1})
		b.Counts = "other"
		t.putHours(b)
		same(t, "written again", t.hours(1, 2, false, 0), []ledger.HourRow{a, b})
		t.write(func(tx ledger.Tx) error { return tx.DeleteHours(b.Hour.Add(time.Minute), 2) })
		same(t, "after two were deleted", t.hours(0, 3, false, 0), []ledger.HourRow{b, other})
	}},
	{"slowdowns are kept", func(t *table) {
		same(t, "at first", ask(t, ledger.Tx.Slowdowns), "")
		t.write(func(tx ledger.Tx) error { return tx.PutSlowdowns("text") })
		same(t, "written", ask(t, ledger.Tx.Slowdowns), "text")
	}},
	{"flags of hours are set as their names say", func(t *table) {
		a, b, none := hourRow(0, "a"), hourRow(0, "b"), ledger.HourRow{HourKey: ledger.HourKey{Hour: pastHour, JobID: "none"}}
		t.putHours(a, b)
		keys := []ledger.HourKey{a.HourKey, b.HourKey, none.HourKey}
		t.flag(ledger.HourPurged, a.HourKey, none.HourKey) // writes no row
		t.flag(ledger.HourStale, keys...)
		a.Purged, b.Stale, none.Stale = true, true, true
		same(t, "stale but where it is kept", t.hours(0, 1, false, 0), []ledger.HourRow{a, b, none})
		same(t, "stale ones", t.hours(0, 1, true, 1), []ledger.HourRow{b})
		t.flag(ledger.HourPurged, keys...)
		same(t, "kept but where it is stale", t.hours(0, 1, false, 0), []ledger.HourRow{a, b, none})
		b.Counts, none.Counts = "b", "none"
		t.putHours(b, none)
		same(t, "counts leave flags", t.hours(0, 1, false, 0), []ledger.HourRow{a, b, none})
		t.flag(ledger.HourNotStale, keys...)
		b.Stale, none.Stale = false, false
		same(t, "fresh", t.hours(0, 1, false, 0), []ledger.HourRow{a, b, none})
	}},
	{"runs are tallied by hour, of one job, of each or of all", func(t *table) {
		a, b, later := inState(ledger.Dead, runAt("a", 0)), inState(ledger.Dead, runAt("b", 1)), inState(ledger.Dead, runAt("a", 61))
		a2, beside := inState(ledger.Dead, runAt("a", 2)), inState(ledger.Dead, runAt("a", 3))
		beside.ID += "~x"
		t.insert(a, a2, b, beside, later)
		tally := func(q ledger.TallyQuery) map[ledger.RunCount]int {
			q.Since, q.Until = pastHour, pastHour.Add(2*time.Hour)
			got := map[ledger.RunCount]int{}
			for _, c := range ask(t, func(tx ledger.Tx) ledger.Future[[]ledger.RunCount] { return tx.Tally(q) }) {
				n := c.Count
				c.Count = 0
				got[c] += n
			}
			return got
		}
		count := func(jobID string, hour int, kind ledger.RowKind) ledger.RunCount {
			return ledger.RunCount{
				JobID: jobID, Hour: pastHour.Add(time.Duration(hour) * time.Hour), Kind: kind, State: ledger.Dead, Trigger: ledger.BySchedule,
				Late: ledger.NoBucket, Took: ledger.NoBucket,
			}
		}
		same(t, "of a", tally(ledger.TallyQuery{JobID: "a"}),
			map[ledger.RunCount]int{count("a", 0, 0): 2, count("a", 0, ledger.RowAdHoc): 1, count("a", 1, 0): 1})
		same(t, "of all", tally(ledger.TallyQuery{}), map[ledger.RunCount]int{count("", 0, 0): 3, count("", 0, ledger.RowAdHoc): 1,
			count("", 1, 0): 1})
		same(t, "of each", tally(ledger.TallyQuery{ByJob: true}), map[ledger.RunCount]int{
			count("a", 0, 0): 2, count("a", 0, ledger.RowAdHoc): 1, count("a", 1, 0): 1, count("b", 0, 0): 1,
		})
		t.insert(inState(ledger.Dead, runAt("a:k", 4)), inState(ledger.Dead, runAt("a:l", 5)), inState(ledger.Dead, runAt("aa:k", 6)))
		same(t, "of template a", tally(ledger.TallyQuery{JobID: "a", Template: true}), map[ledger.RunCount]int{
			count("", 0, 0): 4, count("", 0, ledger.RowAdHoc): 1, count("", 1, 0): 1,
		})
		same(t, "of a schedule", tally(ledger.TallyQuery{JobID: "a:k"}), map[ledger.RunCount]int{count("a:k", 0, 0): 1})
		same(t, "of each owner", tally(ledger.TallyQuery{ByJob: true}), map[ledger.RunCount]int{
			count("a", 0, 0): 4, count("a", 0, ledger.RowAdHoc): 1, count("a", 1, 0): 1, count("b", 0, 0): 1, count("aa", 0, 0): 1,
		})
		took := inState(ledger.Dead, runAt("c", 0))
		took.StartedAt = took.FinishedAt.Add(-time.Second)
		t.insert(took)
		same(t, "of c by state", tally(ledger.TallyQuery{JobID: "c", States: true}), map[ledger.RunCount]int{count("c", 0, 0): 1})
		if timed := tally(ledger.TallyQuery{JobID: "c"}); timed[count("c", 0, 0)] != 0 || len(timed) != 1 {
			t.Errorf("of c: %v, want a duration", timed)
		}
	}},
}

func hourRow(n int, jobID string) ledger.HourRow {
	return ledger.HourRow{HourKey: ledger.HourKey{Hour: pastHour.Add(time.Duration(n) * time.Hour), JobID: jobID},
		Counts: "counts of " + jobID}
}

func (t *table) putHours(rows ...ledger.HourRow) {
	t.Helper()
	t.write(func(tx ledger.Tx) error { return tx.PutHours(rows) })
}

func (t *table) flag(flag ledger.HourFlag, keys ...ledger.HourKey) {
	t.Helper()
	t.write(func(tx ledger.Tx) error { return tx.FlagHours(keys, flag) })
}

// hours returns rows from an hour to another.
func (t *table) hours(from, to int, stale bool, limit int) []ledger.HourRow {
	t.Helper()
	return ask(t, func(tx ledger.Tx) ledger.Future[[]ledger.HourRow] {
		return tx.HoursIn(pastHour.Add(time.Duration(from)*time.Hour), pastHour.Add(time.Duration(to)*time.Hour), stale, limit)
	})
}
