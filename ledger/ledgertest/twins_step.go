package ledgertest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/ledger"
)

func (w *twins) step() {
	switch w.IntN(28) {
	case 0, 1, 2, 3, 4, 5, 6:
		w.admit()
	case 7, 8:
		w.enter()
	case 9, 10, 11:
		w.claim()
	case 12, 13, 14, 15:
		w.record()
	case 16:
		w.extend()
	case 17:
		w.act()
	case 18:
		w.backfill()
	case 19:
		w.purge()
	case 20:
		w.pause()
	case 21:
		w.list()
	case 22:
		w.begin()
	default:
		w.pass(1 + w.IntN(3))
	}
}

func pick[T any](w *twins, list ...T) T { return list[w.IntN(len(list))] }

func (w *twins) pass(hours int) {
	w.hours += hours
	for _, o := range w.both {
		o.Shift(w.T, time.Duration(hours)*time.Hour)
	}
	w.story = append(w.story, fmt.Sprintf("%d hours pass", hours))
}

// begin begins every job that has ended.
func (w *twins) begin() {
	w.version++
	version := fmt.Sprint("v", w.version)
	w.ask("assignments", func(s ledger.Store) (any, error) {
		d := ledger.Declaration{Process: "p", Registry: registry, Version: version, Definitions: definitions(version, w.jobs...)}
		if err := s.Declare(w.ctx, d); err != nil {
			return nil, err
		}
		return s.Assignments(w.ctx, version)
	})
}

func (w *twins) spec(job string, i int) ledger.RunSpec {
	c := call(job)
	c.Horizon = twinHorizon
	return ledger.RunSpec{
		RunID: runID(job, w.at(job, i)), ScheduledAt: w.at(job, i), Count: 1, State: ledger.Planned, Trigger: ledger.BySchedule,
		Overlap: pick(w, ledger.OverlapSkip, ledger.OverlapQueue, ledger.OverlapAllow), Call: c, Lease: w.IntN(3) > 0,
	}
}

// known reports whether a run's row is there.
func (w *twins) known(id string) bool {
	return slices.ContainsFunc(w.runs, func(r ledger.Run) bool { return r.ID == id })
}

// admit plans some of the jobs, from where each ledger says that they stand.
func (w *twins) admit() {
	var at ledger.Admission
	at.Owner, at.Token, at.LeaseFor = pick(w, "p1", "p2"), w.token(), twinLease
	jobs, err := w.both[0].Store.Jobs(w.ctx)
	if err != nil {
		w.Fatal(err)
	}
	for _, j := range jobs {
		if w.IntN(3) == 0 || j.Revision == 0 {
			continue
		}
		at.Plans = append(at.Plans, w.plan(j.Position))
	}
	w.Shuffle(len(at.Plans), func(i, k int) { at.Plans[i], at.Plans[k] = at.Plans[k], at.Plans[i] })
	w.ask("admit", func(s ledger.Store) (any, error) {
		own, err := s.Jobs(w.ctx)
		if err != nil {
			return nil, err
		}
		a := at
		a.Plans = slices.Clone(at.Plans)
		for i := range a.Plans {
			p := &a.Plans[i]
			for _, j := range own {
				if j.JobID == p.JobID && p.After.IsZero() {
					p.After = j.Watermark
				}
			}
			if p.Through.Before(p.After) {
				p.Through = p.After
			}
		}
		got, err := s.Admit(w.ctx, a)
		sortWork(got.Leased)
		w.hold(got.Leased)
		slices.SortFunc(got.Stale, func(a, b ledger.Position) int { return strings.Compare(a.JobID, b.JobID) })
		return map[string]any{"plans": at.Plans, "now": got.Now, "leased": got.Leased, "stale": got.Stale, "skipped": len(got.Skipped), "by": got.Skipped}, err
	})
}

// plan is one of a job's next scheduled times, most often a good one. Its After is
// left open where it is where the job stands.
func (w *twins) plan(at ledger.Position) ledger.Plan {
	p := ledger.Plan{JobID: at.JobID, Revision: at.Revision}
	first := 0
	for !w.at(at.JobID, first).After(at.Watermark) {
		first++
	}
	last := w.hours // whose time has come
	if w.IntN(4) == 0 {
		last = first + w.IntN(max(1, last-first+1))
	}
	switch w.IntN(20) {
	case 0:
		p.Revision--
	case 1:
		p.After = w.at(at.JobID, 0).Add(-time.Hour)
		first = 0
	case 2:
		last += 2
	}
	p.Through = w.at(at.JobID, last)
	for i := first; i <= last && len(p.Runs) < 6; i++ {
		in := w.spec(at.JobID, i)
		switch w.IntN(10) {
		case 0:
			in = w.verdict(in)
		case 1, 2:
			if upTo := i + 1 + w.IntN(4); upTo <= last && !w.known(in.RunID) {
				in = w.verdict(in)
				in.Until, in.Count = w.at(at.JobID, upTo), upTo-i+1
				in.RunID += "/" + in.Until.Format(time.RFC3339)
				i = upTo
			}
		}
		p.Runs = append(p.Runs, in)
		if len(p.Runs) == 6 {
			p.Through = w.at(at.JobID, i)
		}
	}
	if w.IntN(10) == 0 {
		p.Events = []ledger.Event{{JobID: at.JobID, At: p.Through, Kind: ledger.EventGapSkipped, Local: "2026-03-08T02:30:00", Zone: "America/New_York"}}
	}
	if w.IntN(15) == 0 {
		p.Next = &ledger.Definition{JobID: at.JobID}
		if w.IntN(2) == 0 {
			w.version++
			d := definition(fmt.Sprint("v", w.version), at.JobID)
			p.Next = &d
		}
	}
	return p
}

func (w *twins) verdict(in ledger.RunSpec) ledger.RunSpec {
	in.State, in.Reason = ledger.Missed, ledger.ReasonCatchUpWindow
	if w.IntN(2) == 0 {
		in.State, in.Reason = ledger.Superseded, ledger.ReasonNewerRun
	}
	in.Lease, in.Overlap, in.Call = false, "", ledger.Call{}
	return in
}

// enter brings a scheduled time, past or to come, or work beside the schedule.
func (w *twins) enter() {
	job := pick(w, append(slices.Clone(w.jobs), "unknown")...)
	in := w.spec(job, w.IntN(w.hours+4))
	if job != "unknown" && w.IntN(3) == 0 {
		in.ScheduledAt = in.ScheduledAt.Add(time.Duration(30+w.tokens) * time.Second)
		in.RunID, in.Overlap = runID(job, in.ScheduledAt)+"~t", ledger.OverlapAllow
	}
	if w.IntN(3) == 0 && len(w.runs) > 0 && ledger.IsAdHoc(in.RunID) {
		in.Trigger = ledger.ByRerun
	}
	e := ledger.Entry{JobID: job, RunSpec: in, Actor: ledger.Actor{By: "me", Why: "test"}, Owner: "p3", Token: w.token(), LeaseFor: twinLease}
	if e.Trigger == ledger.ByRerun {
		e.RerunOf, e.MayDouble = pick(w, w.runs...).ID, w.IntN(3) == 0
	}
	for range 1 + w.IntN(2) {
		w.ask("enter "+in.RunID, func(s ledger.Store) (any, error) {
			got, err := s.Enter(w.ctx, e)
			if got.Work != nil {
				w.hold([]ledger.Work{*got.Work})
			}
			return got, err
		})
	}
}

func (w *twins) hold(work []ledger.Work) {
	for _, one := range work {
		if !slices.ContainsFunc(w.held, func(h ledger.Work) bool { return h.RunID == one.RunID && h.Token == one.Token }) {
			w.held = append(w.held, one)
		}
	}
}

func sortWork(work []ledger.Work) {
	slices.SortFunc(work, func(a, b ledger.Work) int { return strings.Compare(a.RunID, b.RunID) })
}

// claim takes all that is due, or some runs: which of those that are due
// together come first is left to a ledger.
func (w *twins) claim() {
	c := ledger.Claim{Owner: pick(w, "p1", "p2"), Token: w.token(), Limit: 1000, LeaseFor: twinLease}
	if w.IntN(2) == 0 {
		c.Only = append(w.someRuns(), "none")
	}
	w.ask(fmt.Sprint("claim ", c.Only), func(s ledger.Store) (any, error) {
		got, err := s.Claim(w.ctx, c)
		sortWork(got.Work)
		w.hold(got.Work)
		slices.SortFunc(got.PastSendBefore, func(a, b ledger.Run) int { return strings.Compare(a.ID, b.ID) })
		if c.Only != nil {
			got.NextAt = time.Time{} // of those, or of all
		}
		return got, err
	})
	w.ask("recall", func(s ledger.Store) (any, error) {
		got, err := s.LeasedWork(w.ctx, c.Token)
		return got, err
	})
}

func (w *twins) someRuns() (ids []string) {
	for _, r := range w.runs {
		if w.IntN(5) == 0 {
			ids = append(ids, r.ID)
		}
	}
	return ids
}

func (w *twins) record() {
	var outcomes []ledger.Outcome
	for _, h := range w.held {
		if w.IntN(2) == 0 || slices.ContainsFunc(outcomes, func(o ledger.Outcome) bool { return o.RunID == h.RunID }) {
			continue
		}
		wait := time.Duration(w.IntN(4)) * 30 * time.Minute
		o := pick(w, succeeded(h), succeeded(h), retrying(h, wait), dead(h, ledger.ReasonExhausted), dead(h, ledger.ReasonPermanent), unsent(h, wait))
		o.Attempt.Status = pick(w, 0, 200, 503)
		outcomes = append(outcomes, o)
	}
	for range 1 + w.IntN(4)/3 {
		w.ask("record", func(s ledger.Store) (any, error) {
			fates, err := s.Record(w.ctx, outcomes)
			return map[string]any{"outcomes": outcomes, "fates": fates}, err
		})
	}
	w.held = slices.DeleteFunc(w.held, func(h ledger.Work) bool {
		told := slices.ContainsFunc(outcomes, func(o ledger.Outcome) bool { return o.RunID == h.RunID && o.Token == h.Token })
		return told || w.IntN(4) == 0 // or forgotten: the lease expires
	})
}

func (w *twins) extend() {
	leases := []ledger.Lease{{RunID: "none", Token: "none"}}
	for _, h := range w.held {
		if w.IntN(2) == 0 {
			leases = append(leases, ledger.Lease{RunID: h.RunID, Token: h.Token})
		}
	}
	w.ask("extend", func(s ledger.Store) (any, error) {
		lost, err := s.Extend(w.ctx, leases, twinLease)
		slices.SortFunc(lost, func(a, b ledger.Lease) int { return strings.Compare(a.RunID+a.Token, b.RunID+b.Token) })
		return lost, err
	})
}
