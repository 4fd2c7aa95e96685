package ledgertest

import (
	"slices"
	"time"

	"github.com/cronce/cronce/ledger"
)

// summaryIDs returns the runs of summaries.
func summaryIDs(list []ledger.RunSummary) (ids []string) {
	for _, r := range list {
		ids = append(ids, r.RunID)
	}
	return ids
}

var purgeRowCases = []rowsCase{
	{"old runs are found by when they were scheduled and finished, and those of the last one's time too", func(t *table) {
		at := func(n int) time.Time { return runAt("j", n).ScheduledAt }
		dead, acked, tied := inState(ledger.Dead, runAt("j", 0)), inState(ledger.Dead, runAt("j", 1)), inState(ledger.Succeeded, runAt("k", 1))
		late, next := inState(ledger.Succeeded, runAt("j", 2)), inState(ledger.Missed, runAt("j", 3))
		late.FinishedAt = at(30)
		t.insert(dead, acked, tied, late, next, runAt("j", 4), inState(ledger.Succeeded, runAt("j", 10)))
		was := acked
		acked.AckedAt = at(5)
		t.write(func(tx ledger.Tx) error {
			tx.LockRuns([]string{acked.ID})
			return tx.Update([]ledger.RowChange{ledger.DiffRows(&was, &acked)})
		})
		q := ledger.OldRuns{Scheduled: at(9), Finished: at(20), UnacknowledgedState: ledger.Dead, UnacknowledgedFinished: at(-1)}
		find := func(after time.Time, limit int) (ids []string) {
			return summaryIDs(ask(t, func(tx ledger.Tx) ledger.Future[[]ledger.RunSummary] { return tx.OldRuns(q, after, limit) }))
		}
		one := find(time.Time{}, 1)
		slices.Sort(one)
		same(t, "a batch of one", one, []string{acked.ID, tied.ID})
		same(t, "after it", find(at(1), 9), []string{next.ID})
		q.UnacknowledgedFinished = at(0)
		same(t, "the dead one", find(at(-1), 1), []string{dead.ID})
	}},
	{"an excerpt is written in place of the attempt's former one, and found by its run", func(t *table) {
		until := pastHour
		put := func(n int, text string) ledger.Excerpt {
			e := ledger.Excerpt{RunID: runAt("j", 0).ID, N: n, Text: text, KeepUntil: until}
			t.write(func(tx ledger.Tx) error {
				return tx.PutExcerpts([]ledger.Excerpt{e, {RunID: runAt("k", 0).ID, N: n, Text: text, KeepUntil: until}})
			})
			return e
		}
		put(1, "former")
		want := []ledger.Excerpt{put(1, "one"), put(2, "two")}
		found := func() []ledger.Excerpt {
			list := ask(t, func(tx ledger.Tx) ledger.Future[[]ledger.Excerpt] { return tx.Excerpts(runAt("j", 0).ID) })
			slices.SortFunc(list, func(a, b ledger.Excerpt) int { return a.N - b.N })
			return list
		}
		got := found()
		for i := range got {
			got[i].KeepUntil = got[i].KeepUntil.UTC()
		}
		same(t, "found", got, want)
		old := func(until time.Time) int {
			return ask(t, func(tx ledger.Tx) ledger.Future[int] {
				return tx.OldRows(ledger.OldRows{Kind: ledger.ExcerptRows, Until: until}, 0, true)
			})
		}
		same(t, "deleted before their time", old(until.Add(-time.Second)), 0)
		same(t, "deleted at their time", old(until), 4)
		same(t, "left", len(found()), 0)
	}},
	{"old runs are deleted with their attempts, the others stay", func(t *table) {
		old, young := inState(ledger.Succeeded, runAt("j", 0)), inState(ledger.Succeeded, runAt("j", 9))
		t.insert(old, young, runAt("j", 1))
		q := ledger.OldRuns{Scheduled: old.ScheduledAt, Finished: old.ScheduledAt}
		gone := ask(t, func(tx ledger.Tx) ledger.Future[[]ledger.RunSummary] {
			return tx.DeleteOldRuns([]string{"unknown", old.ID, young.ID, runAt("j", 1).ID}, q)
		})
		if len(gone) != 1 || gone[0].RunID != old.ID || !gone[0].ScheduledAt.Equal(old.ScheduledAt) {
			t.Errorf("deleted %+v", gone)
		}
		left := ask(t, func(tx ledger.Tx) ledger.Future[[]ledger.Row] { return tx.Runs(ledger.Filter{}) })
		t.sameIDs("left", left, runAt("j", 1), young)
	}},
}

var listingRowCases = []rowsCase{
	{"the last run of a job, and its streak, are of its newest rows", func(t *table) {
		span := inState(ledger.Missed, runAt("j", 9))
		span.ID, span.Until = span.ID+"/x", span.ScheduledAt.Add(time.Minute)
		t.insert(inState(ledger.Dead, runAt("j", 0)), inState(ledger.Succeeded, runAt("j", 1)), inState(ledger.Dead, runAt("j", 2)),
			inState(ledger.Dead, runAt("j", 3)),
			inState(ledger.Skipped, runAt("j", 4)), span, inState(ledger.Dead, runAt("k", 5)), runAt("l", 0))
		last := func(states []ledger.State, window int) []string {
			var ids []string
			for _, r := range ask(t, func(tx ledger.Tx) ledger.Future[[]ledger.Row] {
				return tx.Last([]string{"j", "k", "m"}, states, window)
			}) {
				ids = append(ids, r.ID)
			}
			slices.Sort(ids)
			return ids
		}
		ended := []ledger.State{ledger.Succeeded, ledger.Dead}
		same(t, "last", last(nil, 1), []string{runAt("j", 4).ID, runAt("k", 5).ID})
		same(t, "last that ended", last(ended, 5), []string{runAt("j", 3).ID, runAt("k", 5).ID})
		same(t, "last of one row that ended", last(ended, 1), []string{runAt("k", 5).ID})
		streaks := func(window int) map[string]ledger.Streak {
			return ask(t, func(tx ledger.Tx) ledger.Future[map[string]ledger.Streak] {
				return tx.Streaks([]string{"j", "k"}, ledger.Dead, ledger.Succeeded, window)
			})
		}
		k := ledger.Streak{Since: runAt("k", 5).ScheduledAt, Rows: 1}
		same(t, "streaks", streaks(9), map[string]ledger.Streak{"j": {Since: runAt("j", 2).ScheduledAt, Ended: true, Rows: 3}, "k": k})
		same(t, "streaks of two rows", streaks(2), map[string]ledger.Streak{"j": {Since: runAt("j", 3).ScheduledAt, Rows: 2}, "k": k})
	}},
	{"runs are counted by job and state, and unacknowledged dead ones by job", func(t *table) {
		t.insert(inState(ledger.Running, runAt("j", 0)), inState(ledger.Running, runAt("j", 1)), runAt("j", 2), inState(ledger.Running, runAt("k", 0)),
			inState(ledger.Running, runAt("l:schedule", 0)), inState(ledger.Dead, runAt("j", 3)), inState(ledger.Dead, runAt("k", 3)))
		same(t, "running", ask(t, func(tx ledger.Tx) ledger.Future[map[string]int] {
			return tx.CountByJob(ledger.Running, []string{"j", "l", "l:schedule"})
		}), map[string]int{"j": 2, "l": 1})
		same(t, "of no job", len(ask(t, func(tx ledger.Tx) ledger.Future[map[string]int] { return tx.CountByJob(ledger.Running, nil) })), 0)
		same(t, "unseen", ask(t, func(tx ledger.Tx) ledger.Future[map[string]int] { return tx.CountUnacknowledged([]string{"k", "l"}) }),
			map[string]int{"k": 1})
	}},
	{"a target is held back by the run whose wait ends last, for a cause of the target", func(t *table) {
		later := time.Now().UTC().Truncate(time.Second).Add(time.Hour)
		held := func(n int, wait time.Duration, why ledger.WaitCode) ledger.Row {
			was := runAt("j", n)
			is := was
			is.SetDueAt(later.Add(wait))
			is.WaitReason = ledger.WaitReason{Code: why, Text: "so"}
			t.insert(was)
			t.write(func(tx ledger.Tx) error {
				tx.LockRuns([]string{was.ID})
				return tx.Update([]ledger.RowChange{ledger.DiffRows(&was, &is)})
			})
			return is
		}
		held(0, 0, ledger.WaitNoToken)
		last := held(1, time.Minute, ledger.WaitBreakerOpen)
		held(2, time.Hour, ledger.WaitNotSent)
		same(t, "given back", ask(t, func(tx ledger.Tx) ledger.Future[[]ledger.GivenBack] { return tx.GivenBack([]string{"t", "u"}) }),
			[]ledger.GivenBack{{Target: "t", RunID: last.ID, Until: last.DueAt(), Why: last.WaitReason}})
	}},
}
