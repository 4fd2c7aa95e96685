package ledgertest

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/cronce/cronce/ledger"
)

var lifeCases = []testCase{
	{"whatever happens in whatever order, every promise holds (1)", func(b *bed) { live(b, 1) }},
	{"whatever happens in whatever order, every promise holds (2)", func(b *bed) { live(b, 2) }},
	{"whatever happens in whatever order, every promise holds (3)", func(b *bed) { live(b, 3) }},
}

// life is a random history of three jobs, one of each overlap, and what the
// suite knows of it. The seed fixes the history.
type life struct {
	*bed
	*rand.Rand
	jobs    []*job // where each began
	planned []int  // how many scheduled times of each were planned
	held    []ledger.Work
	holder  map[string]string    // run -> the token that holds it
	sent    map[string]int       // run -> its latest attempt number
	before  map[string]time.Time // run -> its sendBefore
	states  map[string]ledger.State
}

var lifeOverlaps = []ledger.Overlap{ledger.OverlapQueue, ledger.OverlapSkip, ledger.OverlapAllow}

func live(b *bed, seed uint64) {
	l := &life{
		bed: b, Rand: rand.New(rand.NewPCG(seed, seed)), planned: make([]int, len(lifeOverlaps)),
		holder: map[string]string{}, sent: map[string]int{}, before: map[string]time.Time{}, states: map[string]ledger.State{},
	}
	var ids []string
	for _, o := range lifeOverlaps {
		ids = append(ids, string(o))
	}
	b.declare("p1", "v1", ids...)
	b.assignments("v1")
	b.pass(time.Hour)
	for _, id := range ids {
		l.jobs = append(l.jobs, b.now(id))
	}
	moves := []func(){l.plan, l.plan, l.claim, l.claim, l.claim, l.finish, l.finish, l.event, l.wait, l.operate, l.crash}
	for step := range 150 {
		moves[l.IntN(len(moves))]()
		l.check()
		if b.Failed() {
			b.Fatalf("seed %d, step %d", seed, step)
		}
	}
	l.drain()
}

// plan admits the next one to four scheduled times of a job, of mixed verdicts.
func (l *life) plan() {
	i := l.IntN(len(l.jobs))
	j, from := l.jobs[i], l.planned[i]
	through := from + l.IntN(4)
	var ins []ledger.RunSpec
	for k := from; k <= through; k++ {
		switch l.IntN(6) {
		case 0:
			ins = append(ins, j.missed(k))
		case 1:
			ins = append(ins, j.rangeOf(k, through))
			k = through
		case 2:
			ins = append(ins, j.leased(k, lifeOverlaps[i]))
		default:
			ins = append(ins, j.planned(k, lifeOverlaps[i]))
		}
	}
	now := j.next()
	got, err := l.Admit(l.ctx, l.admission(ledger.Plan{
		JobID: j.JobID, Revision: now.Revision, After: now.Watermark, Through: j.at(through), Runs: ins,
	}))
	l.must(err)
	early := j.at(through).After(got.Now)
	if refused := len(got.Stale) == 1; refused != early {
		l.Errorf("plan through %s at %s: refused %v", j.at(through), got.Now, refused)
	}
	if !early {
		l.planned[i] = through + 1
	}
	l.hold(got.Now, got.Leased)
}

func (l *life) claim() {
	got := l.bed.claim("p1", 1+l.IntN(4))
	for _, r := range got.PastSendBefore {
		if got.Now.Before(l.before[r.ID]) {
			l.Errorf("%s is past send-before too early", r.ID)
		}
		delete(l.holder, r.ID)
	}
	l.hold(got.Now, got.Work)
}

// hold checks what is handed out.
func (l *life) hold(now time.Time, ws []ledger.Work) {
	l.Helper()
	for _, w := range ws {
		if w.Attempt != l.sent[w.RunID]+1 {
			l.Errorf("%s got attempt %d after %d", w.RunID, w.Attempt, l.sent[w.RunID])
		}
		if at, again := l.before[w.RunID]; again && !at.Equal(w.SendBefore) || !now.Before(w.SendBefore) {
			l.Errorf("%s was handed out at %s, sendBefore %s, at first %s", w.RunID, now, w.SendBefore, at)
		}
		l.sent[w.RunID], l.before[w.RunID], l.holder[w.RunID] = w.Attempt, w.SendBefore, w.Token
	}
	l.held = append(l.held, ws...)
}

// finish records the outcome of one lease, held or lost.
func (l *life) finish() {
	if len(l.held) == 0 {
		return
	}
	i := l.IntN(len(l.held))
	w := l.held[i]
	l.held = append(l.held[:i], l.held[i+1:]...)
	o := []ledger.Outcome{
		succeeded(w), dead(w, ledger.ReasonExhausted), retrying(w, 0), retrying(w, time.Minute), unsent(w, 0),
	}[l.IntN(5)]
	want := ledger.Fenced
	if l.holder[w.RunID] == w.Token {
		want = ledger.Recorded
		delete(l.holder, w.RunID)
		if o.State == ledger.Planned {
			l.sent[w.RunID]--
		}
	}
	for range 1 + l.IntN(2) { // the answer may be lost
		if got := l.fates(o)[0]; got != want {
			l.Errorf("record of %s as %s: %s, want %s", w.RunID, o.State, got, want)
		}
	}
}

// crash forgets a lease.
func (l *life) crash() {
	if len(l.held) > 0 {
		l.held = l.held[1:]
	}
}

// event enters a scheduled time near the watermark, or a trigger.
func (l *life) event() {
	i := l.IntN(len(l.jobs))
	j := l.jobs[i]
	e := j.entry(j.planned(max(0, l.planned[i]-2+l.IntN(4)), lifeOverlaps[i]))
	e.Lease = l.IntN(2) == 0
	if l.IntN(3) == 0 {
		e.RunID += fmt.Sprintf("~%d", l.Uint32())
	}
	got, err := l.Enter(l.ctx, e)
	l.must(err)
	if got.Work != nil {
		l.hold(got.Now, []ledger.Work{*got.Work})
	}
}

func (l *life) wait() {
	l.pass([]time.Duration{10 * time.Second, lease + time.Second, 10 * time.Minute}[l.IntN(3)])
}

// operate is one of an operator's doings, never forced.
func (l *life) operate() {
	i := l.IntN(len(l.jobs))
	j := l.jobs[i]
	one := act(j.id(l.IntN(l.planned[i] + 1)))
	all := act()
	all.JobID = j.JobID
	switch l.IntN(6) {
	case 0:
		l.must(l.Pause(l.ctx, j.JobID, ledger.Actor{By: "ann", Why: "x"}))
	case 1, 2:
		l.must(l.Resume(l.ctx, j.JobID, ledger.Actor{By: "ann", Why: "x"}))
	case 3:
		got, err := l.Cancel(l.ctx, one)
		l.must(err)
		for _, r := range got.Changed {
			delete(l.holder, r.ID)
		}
	case 4:
		_, err := l.Redrive(l.ctx, all)
		l.must(err)
	default:
		k := l.IntN(l.planned[i] + 1)
		j.backfill(false, k, k+1)
	}
}

// check holds the ledger against its promises.
func (l *life) check() {
	l.Helper()
	for i, j := range l.jobs {
		accounted, running := 0, 0
		own := map[time.Time]bool{}
		for _, r := range l.all(j.JobID) {
			if was, ok := l.states[r.ID]; ok && was != r.State && !ledger.CanMove(was, r.State) {
				l.Errorf("%s went from %s to %s", r.ID, was, r.State)
			}
			l.states[r.ID] = r.State
			if ledger.IsAdHoc(r.ID) {
				continue
			}
			if own[r.ScheduledAt] && r.Until.IsZero() {
				l.Errorf("two rows for %s", r.ID)
			}
			own[r.ScheduledAt] = own[r.ScheduledAt] || r.Until.IsZero()
			if l.planned[i] > 0 && !r.ScheduledAt.After(j.at(l.planned[i]-1)) {
				accounted += r.Count
			}
			if r.State == ledger.Running {
				running++
			}
		}
		if accounted != l.planned[i] {
			l.Errorf("%s: %d scheduled times are accounted for, %d were planned", j.JobID, accounted, l.planned[i])
		}
		if running > 1 && lifeOverlaps[i] != ledger.OverlapAllow {
			l.Errorf("%s: %d runs at once", j.JobID, running)
		}
	}
}

// drain runs what is left to its end: nothing may be stuck.
func (l *life) drain() {
	l.held = nil
	for range 200 {
		got := l.bed.claim("p1", 50)
		for _, w := range got.Work {
			l.record(succeeded(w))
		}
		if len(got.Work) == 0 && len(got.PastSendBefore) == 0 {
			if got.NextAt.IsZero() {
				break
			}
			l.pass(max(got.NextAt.Sub(got.Now), 0) + time.Second)
		}
	}
	clear(l.states) // several moves lie between
	l.check()
	l.counted(ledger.Counts{DeadUnacknowledged: l.deadNow()})
}

func (l *life) deadNow() int {
	l.Helper()
	rs, err := l.List(l.ctx, ledger.Filter{States: []ledger.State{ledger.Dead}, Unacknowledged: true, Limit: 10000})
	l.must(err)
	return len(rs)
}
