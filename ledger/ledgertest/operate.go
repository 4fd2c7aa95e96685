package ledgertest

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/ledger"
)

var operateCases = []testCase{
	{"a pause has who and why, is kept in the audit, and is idempotent", pauses},
	{"a pause holds back nothing that was admitted before", pauseFuture},
	{"an unknown job cannot be paused or resumed", pauseUnknown},
	{"cancel: planned, running and retrying runs, with who and why", cancels},
	{"cancel: the record of a running run that was canceled is refused", cancelRunning},
	{"cancel: a finished run is refused in words", cancelFinished},
	{"cancel: without ids only what can be canceled is selected", cancelSelected},
	{"redrive: keeps the key, sendBefore and attempt numbers", redriveKeeps},
	{"redrive: refused past sendBefore, forced or not", redriveExpired},
	{"redrive: refused while another run of the job is unfinished, unless forced", redriveBeside},
	{"redrive: only from dead", redriveDeadOnly},
	{"redrive: takes the slot again", redriveSlot},
	{"redrive: many runs of one act go one after the other", redriveMany},
	{"redrive: in parts, each goes on with the former", redriveParts},
	{"redrive: a forced run leaves the slot to its holder", redriveForced},
	{"redrive: what waits past its sendBefore is never handed out", redriveWaitsTooLong},
	{"an act without a limit reaches every run", actsUnlimited},
	{"an act with a limit takes the oldest, and repeated it goes on behind them", actsLimited},
	{"a limit does not count the runs that are refused", actsLimitedBehindRefused},
	{"a limit is not for run IDs", actsLimitedIDs},
	{"an act by job leaves other jobs, whatever they are called", actOnNeighbours},
	{"ack: a dead run is seen once, with who and why", acks},
	{"ack: only dead runs, and without ids those not seen yet", acksSelected},
}

// act is an operator's doing to these runs.
func act(ids ...string) ledger.Act {
	return ledger.Act{Filter: ledger.Filter{IDs: ids}, Actor: ledger.Actor{By: "ann", Why: "asked"}}
}

// changed checks that exactly these runs changed, each with who and why.
func (b *bed) changed(got ledger.Acted, err error) func(ids ...string) {
	b.Helper()
	b.must(err)
	return func(want ...string) {
		b.Helper()
		var ids []string
		for _, r := range got.Changed {
			ids = append(ids, r.ID)
			if stored := b.get(r.ID); stored.By != "ann" || stored.Why != "asked" || stored.State != r.State {
				b.Errorf("stored %+v, returned %+v: want the same, by ann", stored, r)
			}
		}
		slices.Sort(ids)
		slices.Sort(want)
		if !slices.Equal(ids, want) || len(got.Refused) != 0 {
			b.Fatalf("changed %v, refused %v: want %v changed", ids, got.Refused, want)
		}
	}
}

// unchanged checks that exactly these runs were refused, in words.
func (b *bed) unchanged(got ledger.Acted, err error) func(ids ...string) {
	b.Helper()
	b.must(err)
	return func(want ...string) {
		b.Helper()
		var ids []string
		for _, r := range got.Refused {
			ids = append(ids, r.RunID)
			if strings.TrimSpace(r.Why) == "" {
				b.Errorf("%s was refused without a word", r.RunID)
			}
		}
		slices.Sort(ids)
		slices.Sort(want)
		if !slices.Equal(ids, want) || len(got.Changed) != 0 {
			b.Fatalf("refused %v, changed %d: want %v refused", ids, len(got.Changed), want)
		}
	}
}

func (b *bed) canceled(id string) {
	b.Helper()
	b.changed(b.Cancel(b.ctx, act(id)))(id)
	if r := b.is(id, ledger.Canceled, ledger.CanceledByOperator); r.FinishedAt.IsZero() || r.LeasedBy != "" || !r.NextAt.IsZero() {
		b.Errorf("a canceled run is finished: %+v", r)
	}
}

// died is a new job whose first scheduled time, which took the slot, is dead.
func (b *bed) died(id string) (*job, ledger.Work) {
	b.Helper()
	j, w := b.started(id)
	b.record(dead(w, ledger.Exhausted))
	return j, w
}

func (b *bed) status(id string) ledger.JobStatus {
	b.Helper()
	jobs, err := b.Jobs(b.ctx)
	b.must(err)
	i := slices.IndexFunc(jobs, func(s ledger.JobStatus) bool { return s.JobID == id })
	if i < 0 {
		b.Fatalf("Jobs does not list %s", id)
	}
	one, err := b.Jobs(b.ctx, id, "nobody")
	b.must(err)
	if len(one) != 1 || !reflect.DeepEqual(one[0], jobs[i]) {
		b.Errorf("Jobs of %s alone: %+v, want %+v", id, one, jobs[i])
	}
	states, err := b.JobStates(b.ctx)
	b.must(err)
	for k, s := range jobs {
		want := ledger.JobState{JobID: s.JobID, Ended: s.Ended, Watermark: s.Watermark, PausedAt: s.PausedAt, Failing: !s.FailingSince.IsZero()}
		if len(states) != len(jobs) || !reflect.DeepEqual(states[k], want) {
			b.Errorf("JobStates: %+v, want %+v", states, want)
			break
		}
	}
	return jobs[i]
}

func pauses(b *bed) {
	b.job("j")
	for range 2 {
		b.must(b.Pause(b.ctx, "j", ledger.Actor{By: "ann", Why: "audit"}))
		b.must(b.Pause(b.ctx, "j", ledger.Actor{By: "bob", Why: "me too"}))
		if s := b.status("j"); s.PausedAt.IsZero() || s.PausedBy != "ann" || s.PausedWhy != "audit" {
			b.Errorf("status %+v, want paused by ann", s)
		}
		b.must(b.Resume(b.ctx, "j", ledger.Actor{By: "eve", Why: "done"}))
		b.must(b.Resume(b.ctx, "j", ledger.Actor{By: "bob", Why: "me too"}))
		if s := b.status("j"); !s.PausedAt.IsZero() || s.PausedBy != "" || s.PausedWhy != "" {
			b.Errorf("status %+v, want not paused", s)
		}
	}
	resume, pause := "resume j  by eve: done ()", "pause j  by ann: audit ()"
	b.told(b.audit(ledger.AuditFilter{JobID: "j"}), resume, pause, resume, pause)
}

func pauseFuture(b *bed) {
	j, w := b.started("j")
	k := j.next()
	k.admit(k.planned(0, ledger.OverlapQueue))
	b.must(b.Pause(b.ctx, "j", ledger.Actor{By: "ann", Why: "audit"}))
	b.record(retrying(w, 0))
	b.record(succeeded(b.take("p1", w.RunID)))
	b.take("p1", k.id(0))
}

func pauseUnknown(b *bed) {
	b.job("j")
	for _, id := range []string{"nobody", "j\x00", "\xff"} {
		for _, err := range []error{b.Pause(b.ctx, id, ledger.Actor{By: "ann", Why: "x"}), b.Resume(b.ctx, id, ledger.Actor{By: "ann", Why: "x"})} {
			if !errors.Is(err, ledger.ErrNotFound) {
				b.Errorf("%q: %v, want ErrNotFound", id, err)
			}
		}
		if es, err := b.Events(b.ctx, id, 0); err != nil || len(es) != 0 {
			b.Errorf("events of %q: %v, %v", id, es, err)
		}
	}
}

func cancels(b *bed) {
	j := b.job("j")
	a := ledger.OverlapAllow
	got := j.admit(j.planned(0, a), j.leased(1, a))
	b.record(retrying(got.Leased[0], time.Hour))
	b.canceled(j.id(0))
	b.canceled(j.id(1))
	b.pass(2 * time.Hour)
	b.idle()
}

func cancelRunning(b *bed) {
	j, w := b.started("j")
	b.canceled(j.id(0))
	b.late(succeeded(w))
	lost, err := b.Extend(b.ctx, []ledger.Lease{{RunID: w.RunID, Token: w.Token}}, lease)
	b.must(err)
	if len(lost) != 1 {
		b.Errorf("lost %v, want the canceled run's lease", lost)
	}
	if h := b.history(j.id(0)); len(h) != 1 || h[0].N != 1 || h[0].Answer != ledger.Lost {
		b.Errorf("history %+v, want attempt 1, which may have been sent", h)
	}
}

func cancelFinished(b *bed) {
	j, w := b.started("j")
	b.record(succeeded(w))
	b.unchanged(b.Cancel(b.ctx, act(j.id(0), "nobody@x")))(j.id(0), "nobody@x")
	b.is(j.id(0), ledger.Succeeded, "")
}

func cancelSelected(b *bed) {
	j := b.job("j")
	a := ledger.OverlapAllow
	got := j.admit(j.leased(0, a), j.planned(1, a), j.planned(2, a), j.missed(3))
	b.record(succeeded(got.Leased[0]))
	other := b.job("other")
	other.admit(other.planned(0, a))
	f := act()
	f.JobID = "j"
	b.changed(b.Cancel(b.ctx, f))(j.id(1), j.id(2))
	b.is(other.id(0), ledger.Planned, "")
}

func redriveKeeps(b *bed) {
	j, w := b.died("j")
	b.changed(b.Ack(b.ctx, act(j.id(0))))(j.id(0))
	b.changed(b.Redrive(b.ctx, act(j.id(0))))(j.id(0))
	r := b.is(j.id(0), ledger.Retrying, "")
	if r.Failures != 0 || r.Attempt != 1 || !r.FinishedAt.IsZero() || !r.AckedAt.IsZero() || !r.SendBefore.Equal(w.SendBefore) {
		b.Errorf("row %+v", r)
	}
	again := b.take("p2", j.id(0))
	if again.Attempt != 2 || again.Failures != 0 || !again.SendBefore.Equal(w.SendBefore) {
		b.Errorf("work %+v, want attempt 2 of a new budget before %s", again, w.SendBefore)
	}
	b.sameCall("redriven", again.Call, w.Call)
}

func redriveExpired(b *bed) {
	j, _ := b.died("j")
	b.pass(horizon + time.Second)
	for _, force := range []bool{false, true} {
		a := act(j.id(0))
		a.Force = force
		b.unchanged(b.Redrive(b.ctx, a))(j.id(0))
	}
	b.is(j.id(0), ledger.Dead, ledger.Exhausted)
	b.idle()
}

func redriveBeside(b *bed) {
	j, _ := b.died("j")
	k := j.next()
	k.admit(k.planned(0, ledger.OverlapAllow))
	b.unchanged(b.Redrive(b.ctx, act(j.id(0))))(j.id(0))
	b.is(j.id(0), ledger.Dead, ledger.Exhausted)
	a := act(j.id(0))
	a.Force = true
	b.changed(b.Redrive(b.ctx, a))(j.id(0))
	if got := b.claim("p1", 10); len(got.Work) != 2 {
		b.Errorf("claimed %v, want both at once", runIDs(got.Work))
	}
}

func redriveDeadOnly(b *bed) {
	j := b.job("j")
	a := ledger.OverlapAllow
	got := j.admit(j.leased(0, a), j.missed(1))
	b.record(succeeded(got.Leased[0]))
	f := act(j.id(0), j.id(1), "nobody@x")
	f.Force = true
	b.unchanged(b.Redrive(b.ctx, f))(j.id(0), j.id(1), "nobody@x")
}

func redriveSlot(b *bed) {
	j, _ := b.died("j")
	b.changed(b.Redrive(b.ctx, act(j.id(0))))(j.id(0))
	j.nextIs(ledger.Skipped, ledger.Overlapped)
}

// deaths makes n scheduled times of a job that took the slot, one after the other, die.
func (b *bed) deaths(n int) *job {
	b.Helper()
	j := b.job("j")
	var ins []ledger.RunSpec
	for i := range n {
		ins = append(ins, j.planned(i, ledger.OverlapQueue))
	}
	j.admit(ins...)
	for i := range n {
		b.record(dead(b.take("p1", j.id(i)), ledger.Exhausted))
	}
	return j
}

func redriveMany(b *bed) {
	j := b.deaths(3)
	f := act()
	f.JobID, f.Reason = "j", ledger.Exhausted
	b.changed(b.Redrive(b.ctx, f))(j.id(0), j.id(1), j.id(2))
	for i := range 3 {
		w := b.take("p1", j.id(i))
		b.idle()
		b.record(succeeded(w))
	}
}

func redriveWaitsTooLong(b *bed) {
	j := b.deaths(2)
	b.changed(b.Redrive(b.ctx, act(j.id(0), j.id(1))))(j.id(0), j.id(1))
	b.take("p1", j.id(0))
	b.pass(horizon + time.Second)
	for range 3 {
		b.idle()
	}
	b.is(j.id(0), ledger.Dead, ledger.KeyExpired)
	b.is(j.id(1), ledger.Dead, ledger.KeyExpired)
}

func actsUnlimited(b *bed) {
	j := b.job("j")
	for i := range 55 {
		b.entered(j.entry(j.planned(i, ledger.OverlapAllow)))
		b.entered(j.besideAt(i, "x"))
	}
	got, err := b.Cancel(b.ctx, act())
	b.must(err)
	if len(got.Changed) != 110 || len(got.Refused) != 0 {
		b.Errorf("canceled %d, refused %d: want all 110", len(got.Changed), len(got.Refused))
	}
}

func actsLimited(b *bed) {
	j := b.job("j")
	k := &job{bed: b, Position: ledger.Position{JobID: "k", Watermark: j.Watermark}}
	var works []ledger.Work
	for i := range 3 {
		works = append(works, *b.entered(j.entry(j.leased(i, ledger.OverlapAllow))).Work)
		works = append(works, *b.entered(k.entry(k.leased(i, ledger.OverlapAllow))).Work)
	}
	for _, w := range works {
		b.record(dead(w, ledger.Exhausted))
	}
	all := []string{j.id(0), k.id(0), j.id(1), k.id(1), j.id(2), k.id(2)}
	force := func(a ledger.Act) ledger.Act { a.Force, a.IncludeAcknowledged = true, true; return a }
	for _, c := range []struct {
		name string
		do   func(context.Context, ledger.Act) (ledger.Acted, error)
	}{{"ack", b.Ack}, {"redrive", b.Redrive}, {"cancel", b.Cancel}} {
		b.actsOn(c.name, all[:2], c.do, force(ledger.Act{Filter: ledger.Filter{Limit: 2}}))
		b.actsOn(c.name, []string{j.id(1)}, c.do, force(ledger.Act{Filter: ledger.Filter{JobID: "j", Limit: 1}}))
		b.actsOn(c.name, []string{k.id(1), j.id(2), k.id(2)}, c.do, force(ledger.Act{Filter: ledger.Filter{Limit: 100}}))
	}
}

func actsLimitedBehindRefused(b *bed) {
	first := b.job("expired")
	die := func(name string, later time.Duration) *job {
		j := &job{bed: b, Position: ledger.Position{JobID: name, Watermark: first.Watermark.Add(later)}}
		for i := range 3 {
			b.record(dead(*b.entered(j.entry(j.leased(i, ledger.OverlapAllow))).Work, ledger.Exhausted))
		}
		return j
	}
	die("expired", 0)
	b.pass(horizon)
	busy := die("busy", 30*time.Minute)
	b.entered(busy.entry(busy.planned(3, ledger.OverlapAllow)))
	die("free", time.Hour)
	all, err := b.List(b.ctx, ledger.Filter{States: []ledger.State{ledger.Dead}})
	b.must(err)
	free := slices.DeleteFunc(all, func(r ledger.Run) bool { return r.JobID != "free" })
	slices.SortFunc(free, func(a, b ledger.Run) int { return a.ScheduledAt.Compare(b.ScheduledAt) })
	a := ledger.Act{Filter: ledger.Filter{Limit: 2}, Actor: who("ann", "asked"), DryRun: true}
	for range 2 {
		got, err := b.Redrive(b.ctx, a)
		b.must(err)
		if len(got.Changed) != 2 || got.Changed[0].ID != free[0].ID || got.Changed[1].ID != free[1].ID || len(got.Refused) != 6 {
			b.Errorf("dry run %t: changed %+v, refused %+v: want the first two of %+v, behind six", a.DryRun, got.Changed, got.Refused, free)
		}
		a.DryRun = false
	}
	a.Limit = 100
	got, err := b.Redrive(b.ctx, a)
	b.must(err)
	causes := map[ledger.Cause]int{}
	for _, r := range got.Refused {
		causes[r.Cause]++
	}
	if len(got.Changed) != 0 || causes[ledger.PastSendBefore] != 3 || causes[ledger.BesideAnother] != 4 {
		b.Errorf("changed %+v, refused %+v", got.Changed, got.Refused)
	}
}

func actsLimitedIDs(b *bed) {
	j := b.deaths(3)
	a := act(j.id(0), j.id(1), j.id(2))
	a.Limit = 1
	b.changed(b.Ack(b.ctx, a))(j.id(0), j.id(1), j.id(2))
}

// actsOn checks which runs an act changes, in which order.
func (b *bed) actsOn(name string, want []string, do func(context.Context, ledger.Act) (ledger.Acted, error), a ledger.Act) {
	b.Helper()
	a.By, a.Why = "ann", "asked"
	got, err := do(b.ctx, a)
	b.must(err)
	var ids []string
	for _, r := range got.Changed {
		ids = append(ids, r.ID)
	}
	if !slices.Equal(ids, want) || len(got.Refused) != 0 {
		b.Errorf("%s with the limit %d changed %v, refused %v: want %v", name, a.Limit, ids, got.Refused, want)
	}
}

func redriveParts(b *bed) {
	j := b.deaths(4)
	part := func(by, continues, request string, refused bool, want ...string) {
		b.Helper()
		a := ledger.Act{Filter: ledger.Filter{JobID: "j", Limit: 1}, Actor: ledger.Actor{By: by, Why: "asked", Request: request}, Continues: continues}
		got, err := b.Redrive(b.ctx, a)
		b.must(err)
		var ids []string
		for _, r := range got.Changed {
			ids = append(ids, r.ID)
		}
		if !slices.Equal(ids, want) || refused != (len(got.Refused) > 0) {
			b.Fatalf("%s by %s after %q changed %v, refused %+v: want %v", request, by, continues, ids, got.Refused, want)
		}
	}
	part("ann", "", "r", false, j.id(0))
	part("ann", "", "other", true)
	part("bob", "r", ledger.PartOf("r", "2"), true)
	part("ann", "r", ledger.PartOf("r", "2"), false, j.id(1))
	part("ann", "r", ledger.PartOf("r", "3"), false, j.id(2))
	part("ann", ledger.PartOf("r", "3"), "r/3/4", true)
	part("ann", "rr", ledger.PartOf("rr", "2"), true)
	if a, c := b.get(j.id(0)), b.get(j.id(2)); a.State != ledger.Retrying || c.State != ledger.Retrying {
		b.Errorf("%+v, %+v: want both retrying", a, c)
	}
	b.take("p1", j.id(0)) // the later parts' runs wait for the slot
	b.canceled(j.id(0))
	b.entered(j.entry(j.planned(4, ledger.OverlapAllow)))
	part("ann", "r", ledger.PartOf("r", "4"), true)
}

func redriveForced(b *bed) {
	j := b.deaths(1)
	k := j.next()
	got := k.admit(k.leased(0, ledger.OverlapSkip))
	f := act(j.id(0))
	f.Force = true
	b.changed(b.Redrive(b.ctx, f))(j.id(0))
	b.record(succeeded(b.take("p1", j.id(0))))
	k = k.nextIs(ledger.Skipped, ledger.Overlapped)
	b.record(succeeded(got.Leased[0]))
	k.nextIs(ledger.Planned, "")
}

func acks(b *bed) {
	j, _ := b.died("j")
	b.changed(b.Ack(b.ctx, act(j.id(0))))(j.id(0))
	first := b.is(j.id(0), ledger.Dead, ledger.Exhausted)
	if first.AckedAt.IsZero() {
		b.Error("not acknowledged")
	}
	again := act(j.id(0))
	again.By = "bob"
	b.changed(b.Ack(b.ctx, again))(j.id(0))
	if r := b.get(j.id(0)); !r.AckedAt.Equal(first.AckedAt) {
		b.Errorf("acknowledged at %s, want still %s", r.AckedAt, first.AckedAt)
	}
}

func acksSelected(b *bed) {
	j := b.deaths(2)
	b.changed(b.Ack(b.ctx, act(j.id(0))))(j.id(0))
	k := j.next()
	k.admit(k.planned(0, ledger.OverlapAllow))
	b.unchanged(b.Ack(b.ctx, act(k.id(0))))(k.id(0))
	f := act()
	f.JobID = "j"
	b.changed(b.Ack(b.ctx, f))(j.id(1))
}
