package ledgertest

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/cronce/cronce/ledger"
)

var hourCases = []testCase{
	{"hours count states, lateness of scheduled runs and durations of succeeded ones", func(b *fixture) {
		j := b.job("j")
		a := ledger.OverlapAllow
		got := j.admit(j.planned(0, a), j.leased(1, a), j.leased(2, a), j.rangeOf(3, 6))
		ws := got.Leased
		b.advance(10 * time.Minute)
		b.record(succeeded(ws[0]), dead(ws[1], ledger.ReasonExhausted))
		e := j.adHocAt(2, "x")
		e.Trigger = ledger.ByOperator
		b.mustEnter(e)

		sum := sumOf(hoursOf(b.T, b.Store, ""))
		if want := map[ledger.State]int{ledger.Planned: 1, ledger.Succeeded: 1, ledger.Dead: 1}; !maps.Equal(sum.Counts, want) {
			b.Errorf("counts %v, want %v", sum.Counts, want)
		}
		if sum.Ranges[ledger.Missed] != 4 || len(sum.AdHoc) != 1 {
			b.Errorf("ranges %v and ~ runs %v, want 4 missed scheduled times and one run", sum.Ranges, sum.AdHoc)
		}
		if want := map[ledger.State]int{ledger.Planned: 2, ledger.Succeeded: 1, ledger.Dead: 1,
			ledger.Missed: 4}; !maps.Equal(sum.ByState(), want) {
			b.Errorf("all rows %v, want %v", sum.ByState(), want)
		}
		if n := sum.Lateness.Total(); n != 2 {
			b.Errorf("%d latenesses, want those of the two scheduled runs that started: %v", n, sum.Lateness)
		}
		late := b.get(j.id(1)).StartedAt.Sub(j.at(1))
		if q := sum.Lateness.Quantile(1); q < late*9/10 || q > late*11/10 {
			b.Errorf("the longest lateness is %s, want about %s", q, late)
		}
		if q := sum.Durations.Quantile(0.5); sum.Durations.Total() != 1 || q < 9*time.Minute || q > 11*time.Minute {
			b.Errorf("durations %v with a median of %s, want about 10m", sum.Durations, q)
		}
		if r := b.get(j.id(1)); sum.Took != r.FinishedAt.Sub(r.StartedAt) {
			b.Errorf("durations of %s together, want %s", sum.Took, r.FinishedAt.Sub(r.StartedAt))
		}
		b.sameAsRuns()
	}},
	{"lateness is counted from the end of a delay", func(b *fixture) {
		j := b.job("j")
		b.advance(20 * time.Minute)
		late, early, none := j.leased(0, ledger.OverlapAllow), j.leased(1, ledger.OverlapAllow), j.leased(2, ledger.OverlapAllow)
		late.Call.Delay, early.Call.Delay = 7*time.Minute+30*time.Second, 100*365*24*time.Hour
		none.Call.Headers = map[string]string{"delay": "600000000000"}
		j.admit(late, early, none)
		got, want := sumOf(hoursOf(b.T, b.Store, "j")).Lateness, ledger.Histogram{}
		for i, delay := range []time.Duration{late.Call.Delay, early.Call.Delay, 0} {
			want.Count(ledger.HistogramBucket(b.get(j.id(i)).StartedAt.Sub(j.at(i))-delay), 1)
		}
		if !slices.Equal(got, want) || want[ledger.HistogramBucket(0)] != 1 {
			b.Errorf("lateness %v, want %v", got, want)
		}
	}},
	{"the hours of a job add up to its scheduled times, and do not count neighboring jobs", func(b *fixture) {
		j, k := b.job("j"), b.job("j.k")
		b.advance(3 * time.Hour)
		j, k = j.next(), k.next()
		j.admit(j.missed(0), j.missed(1), j.rangeOf(2, 70), j.missed(71), j.planned(130, ledger.OverlapAllow))
		k.admit(k.missed(0), k.missed(7))
		b.mustEnter(j.adHocAt(6, "x"))
		check := func() {
			b.Helper()
			sum := sumOf(hoursOf(b.T, b.Store, "j"))
			if sum.Counts[ledger.Missed] != 3 || sum.Counts[ledger.Planned] != 1 || sum.Ranges[ledger.Missed] != 69 {
				b.Errorf("hours %+v, want 4 scheduled times and a range of 69", sum)
			}
			b.sameAsRuns()
		}
		check()
		rollUp(b.T, b.Store)
		check()
	}},
	{"hours are bounded by time", func(b *fixture) {
		j := b.job("j")
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
			got, err := b.Hours(b.ctx, c.jobID, c.since, c.until)
			b.must(err)
			if (len(got) > 0) != c.want {
				b.Errorf("%s: %+v", what, got)
			}
		}
	}},
	{"HoursOf adds up the hours of several jobs", func(b *fixture) {
		j, k, other := b.job("j"), b.job("k"), b.job("other")
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
				got, err := b.HoursOf(b.ctx, ids, hour.Add(-time.Hour), hour.Add(4*time.Hour))
				b.must(err)
				n := 0
				for _, h := range got {
					n += h.Counts[ledger.Missed]
				}
				if n != want {
					b.Errorf("%s: %v have %d missed, want %d: %+v", when, ids, n, want, got)
				}
			}
		}
		missed("from the runs")
		b.advance(500 * time.Hour)
		for b.rollUpStep() {
		}
		missed("from their counts")
		_, err := b.Backfill(b.ctx, ledger.BackfillRequest{JobID: "j", Runs: []ledger.RunSpec{j.planned(0, ledger.OverlapQueue)}, Actor: who("ann", "late")})
		b.must(err)
		gone = 1
		missed("after a change")
	}},
	{"Ranges lists the range rows with a scheduled time of the interval", func(b *fixture) {
		j := b.job("j")
		j.admit(j.missed(0), j.rangeOf(2, 5))
		for what, c := range map[string]struct {
			first, last int
			want        int
		}{"all": {0, 9, 1}, "its end": {5, 9, 1}, "its beginning": {0, 2, 1}, "within": {3, 3, 1}, "before": {0, 1, 0}, "after": {6, 9, 0}} {
			got, err := b.Ranges(b.ctx, "j", j.at(c.first), j.at(c.last))
			b.must(err)
			if len(got) != c.want {
				b.Errorf("%s: %+v", what, got)
			}
			for _, r := range got {
				if r.RunID != j.rangeID(2, 5) || r.Count != 4 || r.State != ledger.Missed || !r.Until.Equal(j.at(5)) ||
					r.Reason != ledger.ReasonCatchUpWindow {
					b.Errorf("%s: %+v", what, r)
				}
			}
		}
	}},
	{"an empty ledger has no hour to count", func(b *fixture) {
		b.job("j")
		b.advance(500 * time.Hour)
		if b.rollUpStep() {
			b.Error("an empty ledger has something to count")
		}
	}},
	{"hours that are over are counted once", func(b *fixture) {
		j := b.job("j")
		j.admit(j.missed(0), j.missed(59))
		steps := 0
		for steps < 3 && b.rollUpStep() {
			steps++
		}
		if steps == 3 {
			b.Error("an hour is counted that may not be over")
		}
		b.advance(4 * time.Hour)
		rollUp(b.T, b.Store)
		if b.rollUpStep() {
			b.Error("there is something to count after all was counted")
		}
		b.advance(time.Hour)
		if !b.rollUpStep() || b.rollUpStep() {
			b.Error("want one more hour to count after an hour")
		}
		b.sameAsRuns()
	}},
	{"two processes may count at once", func(b *fixture) {
		stores := b.fleet(20, 2)
		begun, err := b.Assignments(b.ctx, "v1", "")
		b.must(err)
		b.onEachReplica(stores, 1, func(s ledger.Store, token string) error {
			_, err := s.Admit(b.ctx, ledger.Admission{Plans: plansAt(begun, 5, ledger.OverlapAllow), Process: token, Token: token, LeaseFor: lease})
			return err
		})
		b.advance(30 * time.Hour)
		b.onEachReplica(stores, 2, func(s ledger.Store, token string) error {
			for range 200 {
				if _, err := s.Claim(b.ctx, ledger.ClaimRequest{Process: token, Token: token, Limit: 3, LeaseFor: lease}); err != nil {
					return err
				}
				if more, err := s.RollUp(b.ctx); !more || err != nil {
					return err
				}
			}
			return nil
		})
		b.sameAsRuns()
		rollUp(b.T, b.Store)
		b.sameAsRuns()
	}},
	{"the time since which hours are counted is known until all are", func(b *fixture) {
		countedFrom := func() time.Time {
			from, err := b.CountedFrom(b.ctx)
			b.must(err)
			return from.UTC()
		}
		if from := countedFrom(); !from.IsZero() {
			b.Errorf("without a run, counted from %s", from)
		}
		j := b.job("j")
		j.admit(j.missed(0))
		b.advance(5 * time.Hour)
		for before := countedFrom(); before.After(j.at(0)); before = before.Add(-time.Hour) {
			if from := countedFrom(); !from.Equal(before) {
				b.Fatalf("counted from %s, want %s", from, before)
			}
			b.rollUpStep()
		}
		rollUp(b.T, b.Store)
		if from := countedFrom(); !from.IsZero() {
			b.Errorf("all is counted from %s", from)
		}
	}},
	{"hours too old for their counts to be kept are counted from the runs", func(b *fixture) {
		j := b.job("j")
		j.admit(j.missed(0), j.planned(1, ledger.OverlapAllow))
		b.advance(ledger.HoursKept + 48*time.Hour)
		rollUp(b.T, b.Store)
		b.sameAsRuns()
		b.canceled(j.id(1))
		b.sameAsRuns()
	}},
	{"counts of purged runs are kept", func(b *fixture) {
		j, w := b.newStarted("j")
		b.record(succeeded(w))
		b.advance(3 * time.Hour)
		rollUp(b.T, b.Store)
		before := tallyText(hoursOf(b.T, b.Store, "j"))
		b.purge(ledger.Purge{Retention: time.Hour, DeadRetention: time.Hour})
		b.wantRuns("j")
		for range 2 {
			if got := tallyText(hoursOf(b.T, b.Store, "j")); got != before {
				b.Errorf("after the purge:\n%s\nbefore:\n%s", got, before)
			}
			if sum := sumOf(hoursOf(b.T, b.Store, "")); sum.Counts[ledger.Succeeded] != 1 {
				b.Errorf("of all jobs: %+v", sum)
			}
			b.advance(time.Hour)
			rollUp(b.T, b.Store)
		}
		if got, err := b.Hours(b.ctx, "j", j.at(0), j.at(1)); err != nil || len(got) != 1 {
			b.Errorf("%+v, %v", got, err)
		}
	}},
	{"a run that is left of a purged hour does not change its counts", func(b *fixture) {
		j := b.job("j")
		ins := []ledger.RunSpec{j.leased(0, ledger.OverlapAllow), j.leased(1, ledger.OverlapAllow)}
		if j.at(0).Hour() != j.at(1).Hour() {
			ins = []ledger.RunSpec{j.leased(1, ledger.OverlapAllow), j.leased(2, ledger.OverlapAllow)}
		}
		ws := j.admit(ins...).Leased
		b.record(succeeded(ws[0]))
		b.advance(3 * time.Hour)
		rollUp(b.T, b.Store)
		b.purge(ledger.Purge{Retention: time.Hour, DeadRetention: time.Hour})
		b.wantRuns("j", ws[1].RunID)
		b.record(succeeded(ws[1]))
		rollUp(b.T, b.Store)
		if sum := sumOf(hoursOf(b.T, b.Store, "j")); sum.Counts[ledger.Succeeded] != 1 || sum.Counts[ledger.Running] != 1 {
			b.Errorf("%+v, want the counts before the purge", sum)
		}
	}},
}

func (b *fixture) rollUpStep() bool {
	b.Helper()
	more, err := b.RollUp(b.ctx)
	b.must(err)
	return more
}
