package ledgertest

import (
	"slices"
	"time"

	"github.com/cronce/cronce/ledger"
)

// newNeighbours returns jobs whose ids, and so whose runs' ids, begin alike and are
// mixed up by every order but that of bytes. Of each, the same times have a
// range, two runs, and ~ work beside one of them.
func (t *fixture) newNeighbours() []*job {
	t.Helper()
	first := t.job("a")
	jobs := []*job{first}
	for _, id := range []string{"a-b", "a.b", "a0", "a_b", "ab", "a-b0"} {
		jobs = append(jobs, &job{fixture: t, Position: ledger.Position{JobID: id, Watermark: first.Watermark}})
	}
	first.admit(first.rangeOf(0, 2), first.planned(3, ledger.OverlapAllow), first.planned(4, ledger.OverlapAllow))
	for _, j := range jobs {
		if j != first {
			t.mustEnter(j.entry(j.planned(3, ledger.OverlapAllow)))
			t.mustEnter(j.entry(j.planned(4, ledger.OverlapAllow)))
		}
		for _, tok := range []string{"b", "B", "0", "a-b", "a.b"} {
			t.mustEnter(j.adHocAt(3, tok))
		}
	}
	return jobs
}

// adHocAt returns a trigger at the i-th scheduled time.
func (j *job) adHocAt(i int, token string) ledger.Entry {
	e := j.adHoc(token)
	e.RunID, e.ScheduledAt, e.Lease = j.id(i)+"~"+token, j.at(i), false
	return e
}

// runIDsOf returns the IDs of the runs of one job in a listing.
func runIDsOf(j *job, list []ledger.Run) (ids []string) {
	for _, r := range list {
		if r.JobID == j.JobID {
			ids = append(ids, r.ID)
		}
	}
	return ids
}

func listNeighbours(t *fixture) {
	jobs := t.newNeighbours()
	whole, err := t.List(t.ctx, ledger.Filter{Limit: 1000})
	t.must(err)
	for _, j := range jobs {
		want := runIDsOf(j, whole)
		for _, size := range []int{1, 2, 5, 100} {
			if got := j.pages(size); !slices.Equal(got, want) {
				t.Errorf("%s in pages of %d:\n%v, want what the listing of all jobs has of it:\n%v", j.JobID, size, got, want)
			}
		}
	}
	statuses, err := t.Jobs(t.ctx)
	t.must(err)
	for _, s := range statuses {
		if s.LastRun == nil || s.LastRun.ID != runID(s.JobID, jobs[0].at(4)) {
			t.Errorf("%s: last run %+v", s.JobID, s.LastRun)
		}
	}
}

// pages returns a job's listing, page by page.
func (j *job) pages(size int) (ids []string) {
	j.Helper()
	f := ledger.Filter{JobID: j.JobID, Limit: size}
	for range 100 {
		rs, err := j.List(j.ctx, f)
		j.must(err)
		if len(rs) == 0 {
			break
		}
		for _, r := range rs {
			ids = append(ids, r.ID)
		}
		last := rs[len(rs)-1]
		f.Before = &ledger.Cursor{ScheduledAt: last.ScheduledAt, ID: last.ID}
	}
	return ids
}

// A filter's times are not cut to the seconds that ids have.
func listBetweenSeconds(t *fixture) {
	j := t.job("a")
	ms := time.Millisecond
	j.admit(j.missed(0), j.missed(1), j.missed(2))
	for _, c := range []struct {
		rule         string
		since, until time.Time
		want         []string
	}{
		{"since a scheduled time", j.at(1), time.Time{}, []string{j.id(2), j.id(1)}},
		{"since just after it", j.at(1).Add(ms), time.Time{}, []string{j.id(2)}},
		{"until a scheduled time", time.Time{}, j.at(1), []string{j.id(0)}},
		{"until just after it", time.Time{}, j.at(1).Add(ms), []string{j.id(1), j.id(0)}},
		{"from just before it to just after it", j.at(1).Add(-ms), j.at(1).Add(ms), []string{j.id(1)}},
		{"a time that no run ID can have", j.at(0).AddDate(-3000, 0, 0), j.at(0).AddDate(9000, 0, 0), []string{j.id(2), j.id(1), j.id(0)}},
	} {
		if got := t.page(ledger.Filter{JobID: "a", Since: c.since, Until: c.until}); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.rule, got, c.want)
		}
	}
}

func actOnNeighbours(t *fixture) {
	jobs := t.newNeighbours()
	got, err := t.Cancel(t.ctx, ledger.Action{Filter: ledger.Filter{JobID: "a"}, Actor: ledger.Actor{By: "ann", Why: "asked"}})
	t.must(err)
	if len(got.Changed) != 7 || len(got.Rejected) != 0 {
		t.Errorf("%d changed, refused %v: want the 7 planned ones of job a", len(got.Changed), got.Rejected)
	}
	for _, j := range jobs[1:] {
		for _, r := range t.all(j.JobID) {
			if r.State != ledger.Planned {
				t.Errorf("%s is %s", r.ID, r.State)
			}
		}
	}
}

func rangeAmongNeighbours(t *fixture) {
	j := t.job("a")
	for _, id := range []string{"a-b", "a0"} {
		k := &job{fixture: t, Position: ledger.Position{JobID: id, Watermark: j.Watermark}}
		t.mustEnter(k.entry(k.planned(1, ledger.OverlapAllow)))
	}
	t.mustEnter(j.entry(j.planned(0, ledger.OverlapAllow))) // its first
	t.mustEnter(j.entry(j.planned(3, ledger.OverlapAllow))) // its last
	t.mustEnter(j.adHocAt(1, "x"))
	j.admit(j.rangeOf(0, 3))
	if r := t.get(j.rangeID(0, 3)); r.Count != 2 {
		t.Errorf("the range counts %d of 4 scheduled times, two of which have rows; want 2", r.Count)
	}
}
