package ledgertest

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/cronce/cronce/ledger"
)

var hourCases = []testCase{
	{"hours count states, lateness of scheduled runs and durations of succeeded ones", func(t *fixture) {
		j := t.job("j")
		a := ledger.OverlapAllow
		got := j.admit(j.planned(0, a), j.leased(1, a), j.leased(2, a), j.rangeOf(3, 6))
		ws := got.Leased
		t.advance(10 * time.Minute)
		t.record(succeeded(ws[0]), dead(ws[1], ledger.ReasonExhausted))
		e := j.adHocAt(2, "x")
		e.Trigger = ledger.ByOperator
		t.mustEnter(e)

		sum := sumOf(hoursOf(t.T, t.Store, ""))
		if want := map[ledger.State]int{ledger.Planned: 1, ledger.Succeeded: 1, ledger.Dead: 1}; !maps.Equal(sum.Counts, want) {
			t.Errorf("counts %v, want %v", sum.Counts, want)
		}
		if sum.Ranges[ledger.Missed] != 4 || len(sum.AdHoc) != 1 {
			t.Errorf("ranges %v and ~ runs %v, want 4 missed scheduled times and one run", sum.Ranges, sum.AdHoc)
		}
		if want := map[ledger.State]int{ledger.Planned: 2, ledger.Succeeded: 1, ledger.Dead: 1,
			ledger.Missed: 4}; !maps.Equal(sum.ByState(), want) {
			t.Errorf("all rows %v, want %v", sum.ByState(), want)
		}
		if n := sum.Lateness.Total(); n != 2 {
			t.Errorf("%d latenesses, want those of the two scheduled runs that started: %v", n, sum.Lateness)
		}
		late := t.get(j.id(1)).StartedAt.Sub(j.at(1))
		if q := sum.Lateness.Quantile(1); q < late*9/10 || q > late*11/10 {
			t.Errorf("the longest lateness is %s, want about %s", q, late)
		}
		if q := sum.Durations.Quantile(0.5); sum.Durations.Total() != 1 || q < 9*time.Minute || q > 11*time.Minute {
			t.Errorf("durations %v with a median of %s, want about 10m", sum.Durations, q)
		}
		if r := t.get(j.id(1)); sum.Took != r.FinishedAt.Sub(r.StartedAt) {
			t.Errorf("durations of %s together, want %s", sum.Took, r.FinishedAt.Sub(r.StartedAt))
		}
		t.sameAsRuns()
	}},
	{"lateness is counted from the end of a delay", func(t *fixture) {
		j := t.job("j")
		t.advance(20 * time.Minute)
		late, early, none := j.leased(0, ledger.OverlapAllow), j.leased(1, ledger.OverlapAllow), j.leased(2, ledger.OverlapAllow)
		late.Call.Delay, early.Call.Delay = 7*time.Minute+30*time.Second, 100*365*24*time.Hour
		none.Call.Headers = map[string]string{"delay": "600000000000"}
		j.admit(late, early, none)
		got, want := sumOf(hoursOf(t.T, t.Store, "j")).Lateness, ledger.Histogram{}
		for i, delay := range []time.Duration{late.Call.Delay, early.Call.Delay, 0} {
			want.Count(ledger.HistogramBucket(t.get(j.id(i)).StartedAt.Sub(j.at(i))-delay), 1)
		}
		if !slices.Equal(got, want) || want[ledger.HistogramBucket(0)] != 1 {
			t.Errorf("lateness %v, want %v", got, want)
		}
	}},
	{"the hours of a job add up to its scheduled times, and do not count neighboring jobs", func(t *fixture) {
		j, k := t.job("j"), t.job("j.k")
		t.advance(3 * time.Hour)
		j, k = j.next(), k.next()
		j.admit(j.missed(0), j.missed(1), j.rangeOf(2, 70), j.missed(71), j.planned(130, ledger.OverlapAllow))
		k.admit(k.missed(0), k.missed(7))
		t.mustEnter(j.adHocAt(6, "x"))
		check := func() {
			t.Helper()
			sum := sumOf(hoursOf(t.T, t.Store, "j"))
			if sum.Counts[ledger.Missed] != 3 || sum.Counts[ledger.Planned] != 1 || sum.Ranges[ledger.Missed] != 69 {
				t.Errorf("hours %+v, want 4 scheduled times and a range of 69", sum)
			}
			t.sameAsRuns()
		}
		check()
		rollUp(t.T, t.Store)
		check()
	}},
	{"hours are bounded by time", func(t *fixture) {
		j := t.job("j")
		j.admit(j.missed(0), j.missed(1))
		hour := j.at(0).Truncate(time.Hour)
		for what, c := range map[string]struct {
			jobID        string
			since, until time.Time
			want         bool
		}{
			"the hour":      {"j", hour, hour.Add(time.Hour), true},
			"a part of it":  {"", hour.Add(20 * time.Minute), hour.Add(21 * time.Minute), true},
			"the one after": {"", j.at(1).Add(time.Hour), j.at(1).Add(2 * time.Hour), false},
			"before":        {"j", hour.Add(-5 * time.Hour), hour, false},
			"backwards":     {"j", hour.Add(time.Hour), hour.Add(-time.Hour), false},
			"nobody's":      {"nobody\x00", hour, hour.Add(time.Hour), false},
		} {
			got, err := t.Hours(t.ctx, c.jobID, c.since, c.until)
			t.must(err)
			if (len(got) > 0) != c.want {
				t.Errorf("%s: %+v", what, got)
			}
		}
	}},
	{"HoursOf adds up the hours of several jobs", func(t *fixture) {
		j, k, other := t.job("j"), t.job("k"), t.job("other")
		for _, of := range []*job{j, k, other} {
			of.admit(of.missed(0), of.missed(1))
		}
		hour := j.at(0).Truncate(time.Hour)
		many := []string{"j", "k", "other"}
		for i := range 40 {
			many = append(many, fmt.Sprint("nobody-", i))
		}
		gone := 0
		missed := func(when string) {
			for want, ids := range map[int][]string{0: {"nobody"}, 2: {"k", "k"}, 4 - gone: {"j", "k", "nobody"}, 6 - gone: many} {
				got, err := t.SumHours(t.ctx, ids, hour.Add(-time.Hour), hour.Add(4*time.Hour))
				t.must(err)
				n := 0
				for _, h := range got {
					n += h.Counts[ledger.Missed]
				}
				if n != want {
					t.Errorf("%s: %v have %d missed, want %d: %+v", when, ids, n, want, got)
				}
			}
		}
		missed("from the runs")
		t.advance(500 * time.Hour)
		for t.rollUpStep() {
		}
		missed("from their counts")
		_, err := t.Backfill(t.ctx, ledger.BackfillRequest{JobID: "j", Runs: []ledger.RunSpec{j.planned(0, ledger.OverlapQueue)}, Actor: who("ann", "late")})
		t.must(err)
		gone = 1
		missed("after a change")
	}},
	{"Ranges lists the range rows with a scheduled time of the interval", func(t *fixture) {
		j := t.job("j")
		j.admit(j.missed(0), j.rangeOf(2, 5))
		for what, c := range map[string]struct {
			first, last int
			want        int
		}{"all": {0, 9, 1}, "its end": {5, 9, 1}, "its beginning": {0, 2, 1}, "within": {3, 3, 1}, "before": {0, 1, 0}, "after": {6, 9, 0}} {
			got, err := t.Ranges(t.ctx, "j", j.at(c.first), j.at(c.last))
			t.must(err)
			if len(got) != c.want {
				t.Errorf("%s: %+v", what, got)
			}
			for _, r := range got {
				if r.RunID != j.rangeID(2, 5) || r.Count != 4 || r.State != ledger.Missed || !r.Until.Equal(j.at(5)) ||
					r.Reason != ledger.ReasonCatchUpWindow {
					t.Errorf("%s: %+v", what, r)
				}
			}
		}
	}},
	{"an empty ledger has no hour to count", func(t *fixture) {
		t.job("j")
		t.advance(500 * time.Hour)
		if t.rollUpStep() {
			t.Error("an empty ledger has something to count")
		}
	}},
	{"hours that are over are counted once", func(t *fixture) {
		j := t.job("j")
		j.admit(j.missed(0), j.missed(59))
		steps := 0
		for steps < 3 && t.rollUpStep() {
			steps++
		}
		if steps == 3 {
			t.Error("an hour is counted that may not be over")
		}
		t.advance(4 * time.Hour)
		rollUp(t.T, t.Store)
		if t.rollUpStep() {
			t.Error("there is something to count after all was counted")
		}
		t.advance(time.Hour)
		if !t.rollUpStep() || t.rollUpStep() {
			t.Error("want one more hour to count after an hour")
		}
		t.sameAsRuns()
	}},
	{"two processes may count at once", func(t *fixture) {
		stores := t.fleet(20, 2)
		begun, err := t.Assignments(t.ctx, "v1", "")
		t.must(err)
		t.onEachReplica(stores, 1, func(s ledger.Store, token string) error {
			_, err := s.Admit(t.ctx, ledger.Admission{Plans: plansAt(begun, 5, ledger.OverlapAllow), Process: token, Token: token, LeaseFor: lease})
			return err
		})
		t.advance(30 * time.Hour)
		t.onEachReplica(stores, 2, func(s ledger.Store, token string) error {
			for range 200 {
				if _, err := s.Claim(t.ctx, ledger.ClaimRequest{Process: token, Token: token, Limit: 3, LeaseFor: lease}); err != nil {
					return err
				}
				if more, err := s.RollUp(t.ctx); !more || err != nil {
					return err
				}
			}
			return nil
		})
		t.sameAsRuns()
		rollUp(t.T, t.Store)
		t.sameAsRuns()
	}},
	{"the time since which hours are counted is known until all are", func(t *fixture) {
		countedFrom := func() time.Time {
			from, err := t.CountedFrom(t.ctx)
			t.must(err)
			return from.UTC()
		}
		if from := countedFrom(); !from.IsZero() {
			t.Errorf("without a run, counted from %s", from)
		}
		j := t.job("j")
		j.admit(j.missed(0))
		t.advance(5 * time.Hour)
		for before := countedFrom(); before.After(j.at(0)); before = before.Add(-time.Hour) {
			if from := countedFrom(); !from.Equal(before) {
				t.Fatalf("counted from %s, want %s", from, before)
			}
			t.rollUpStep()
		}
		rollUp(t.T, t.Store)
		if from := countedFrom(); !from.IsZero() {
			t.Errorf("all is counted from %s", from)
		}
	}},
	{"hours too old for their counts to be kept are counted from the runs", func(t *fixture) {
		j := t.job("j")
		j.admit(j.missed(0), j.planned(1, ledger.OverlapAllow))
		t.advance(ledger.HoursKept + 48*time.Hour)
		rollUp(t.T, t.Store)
		t.sameAsRuns()
		t.canceled(j.id(1))
		t.sameAsRuns()
	}},
	{"counts of purged runs are kept", func(t *fixture) {
		j, w := t.newStarted("j")
		t.record(succeeded(w))
		t.advance(3 * time.Hour)
		rollUp(t.T, t.Store)
		before := tallyText(hoursOf(t.T, t.Store, "j"))
		t.purge(ledger.Purge{Retention: time.Hour, DeadRetention: time.Hour})
		t.wantRuns("j")
		for range 2 {
			if got := tallyText(hoursOf(t.T, t.Store, "j")); got != before {
				t.Errorf("after the purge:\n%s\nbefore:\n%s", got, before)
			}
			if sum := sumOf(hoursOf(t.T, t.Store, "")); sum.Counts[ledger.Succeeded] != 1 {
				t.Errorf("of all jobs: %+v", sum)
			}
			t.advance(time.Hour)
			rollUp(t.T, t.Store)
		}
		if got, err := t.Hours(t.ctx, "j", j.at(0), j.at(1)); err != nil || len(got) != 1 {
			t.Errorf("%+v, %v", got, err)
		}
	}},
	{"a run that is left of a purged hour does not change its counts", func(t *fixture) {
		j := t.job("j")
		ins := []ledger.RunSpec{j.leased(0, ledger.OverlapAllow), j.leased(1, ledger.OverlapAllow)}
		if j.at(0).Hour() != j.at(1).Hour() {
			ins = []ledger.RunSpec{j.leased(1, ledger.OverlapAllow), j.leased(2, ledger.OverlapAllow)}
		}
		ws := j.admit(ins...).Leased
		t.record(succeeded(ws[0]))
		t.advance(3 * time.Hour)
		rollUp(t.T, t.Store)
		t.purge(ledger.Purge{Retention: time.Hour, DeadRetention: time.Hour})
		t.wantRuns("j", ws[1].RunID)
		t.record(succeeded(ws[1]))
		rollUp(t.T, t.Store)
		if sum := sumOf(hoursOf(t.T, t.Store, "j")); sum.Counts[ledger.Succeeded] != 1 || sum.Counts[ledger.Running] != 1 {
			t.Errorf("%+v, want the counts before the purge", sum)
		}
	}},
}

func (t *fixture) rollUpStep() bool {
	t.Helper()
	more, err := t.RollUp(t.ctx)
	t.must(err)
	return more
}
