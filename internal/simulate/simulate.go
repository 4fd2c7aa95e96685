package simulate

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/internal/proof"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// Simulate simulates the system once and returns the evidence. It must be called in a
// testing/synctest bubble, whose time it uses. err is a failure that no injected
// fault explains.
func Simulate(seed uint64, o Options) (proof.Evidence, Tally, error) {
	w := newWorld(seed, o)
	r := w.Dice("script", 0)
	s := &script{world: w, Rand: r}
	around := pick(r, shifts...)
	time.Sleep(time.Until(around.at.Add(-between(r, 0, 2*time.Hour))))
	if err := w.open(context.Background()); err != nil { // now, so that no timer of an engine counted the years until here
		return proof.Evidence{}, w.tally, err
	}
	defer w.engine.Close()

	s.plan = firstPlan(r, around.zone)
	if !o.EventsOnly {
		s.plan.addChannels(w.Dice("channels", 0))
	}
	if r := w.Dice("schedules", 0); r.IntN(3) == 0 && !o.EventsOnly {
		s.template = s.plan.newTemplate(r)
		s.plan.template = s.template
	}
	if r := w.Dice("members", 0); r.IntN(3) == 0 && !o.EventsOnly {
		s.plan.each = s.plan.newEach(r)
	}
	reg, err := s.plan.registry()
	if err != nil {
		return proof.Evidence{}, w.tally, err
	}
	w.versions = []*jobs.Registry{reg}
	w.newTarget("books", s.plan.ttl())
	w.newTarget("members", s.plan.ttl())
	for _, c := range s.plan.channels {
		w.newTarget(c.Target(), 48*time.Hour)
	}
	if len(s.plan.channels) > 0 {
		w.tasks.Go(w.attend)
	}
	if s.plan.template != nil {
		for n := range 2 {
			w.tasks.Go(func() { w.client(n) })
		}
	}
	for range 1 + r.IntN(5) {
		s.members = append(s.members, &member{})
	}
	if o.EventsOnly {
		s.members = nil
	}
	if r.IntN(2) == 0 {
		if err := w.functions(r, s.plan); err != nil {
			return proof.Evidence{}, w.tally, err
		}
	}
	if s.plan.timed = r.IntN(2) == 0 || o.EventsOnly; s.plan.timed { // half the simulations have a platform beside
		for _, j := range s.plan.jobs {
			w.tasks.Go(func() { w.deliver(j.ID) })
		}
	}
	if r := w.Dice("maintenance", 0); r.IntN(3) == 0 && !o.EventsOnly {
		w.tasks.Go(func() { s.maintain(r) })
	}
	s.storm(between(r, 10*time.Minute, 50*time.Minute))
	e, err := s.calm()
	return e, w.tally, err
}

// maxWait bounds how long a system without faults may take to end what the
// storm left: queues, leases, retries and expired keys.
const maxWait = 2 * time.Hour

// lag is how far a process's clock may be behind the ledger's here: its skew,
// and what an answer takes on its way.
const lag = 6 * time.Second

// spare is how long a run may take beyond its horizon and the total time that clocks
// are set back: the longest lease, and a minute until a process has looked.
const spare = 30*time.Second + time.Minute

// calm ends the storm, lets a healthy fleet finish, and gathers the evidence.
func (s *script) calm() (proof.Evidence, error) {
	ctx := context.Background()
	s.settle()
	var stuck []proof.Violation
	if s.options.EventsOnly {
		s.tasks.Wait()
		stuck = s.goOn()
	}
	for _, m := range s.members {
		if m.up() {
			m.process.freeze(0)
		}
		s.halt(m)
	}
	time.Sleep(ledger.ProcessTTL + 31*time.Second) // those who were killed count as gone
	s.must(s.restoreTemplate())
	fleet := []*member{{}, {}}
	for _, m := range fleet {
		s.must(s.start(m, s.Current()))
	}
	due := s.Now()
	s.healthy = time.Now()
	for end := time.Now().Add(maxWait); time.Now().Before(end); {
		time.Sleep(time.Minute)
		if s.ended(ctx, due) {
			break
		}
	}
	now := s.Now()
	for _, m := range fleet {
		s.halt(m)
	}
	s.tasks.Wait()
	e, err := s.witness.Evidence(ctx, now.Add(-5*time.Second))
	s.must(err)
	s.complete(&e, due)
	e.Channels, e.Watched = s.plan.channels, now
	e.Seen = append(e.Seen, stuck...)
	// A call of a process that stopped while suspended outlives the evidence.
	time.Sleep(time.Until(s.thawed) + 5*time.Minute)
	return e, s.err
}

// ended reports whether all is finished that was planned by then, and no schedule has a time of
// before that is not planned: one that a pause kept back is checked again minutes after its end.
func (s *script) ended(ctx context.Context, due time.Time) bool {
	runs, err := s.ledger.List(ctx, ledger.Filter{
		States: ledger.Unfinished, Limit: 1 << 20,
	})
	s.must(err)
	for _, r := range runs {
		if !r.PlannedAt.After(due) {
			return false
		}
	}
	if s.template == nil {
		return true
	}
	list, err := s.ledger.Schedules(ctx, ledger.ScheduleFilter{Template: s.template.Job.ID})
	s.must(err)
	rules := executor.ScheduleRules(s.Current(), 0)
	return !slices.ContainsFunc(list, func(x ledger.Schedule) bool {
		next, err := rules.Next(&x)
		s.must(err)
		return !next.IsZero() && !next.After(due)
	})
}

// complete adds what the targets and the platform know.
func (s *script) complete(e *proof.Evidence, due time.Time) {
	e.Due, e.Skew, e.Given = due, jobs.MaxClockSkew, s.given
	e.Lag, e.Spare, e.Keyed, e.Answered, e.Healthy = lag, spare+s.back+s.held, s.keyed, true, s.healthy
	e.Lead, e.Back, e.Lists = s.back+time.Second, s.back, map[string][][]string{}
	for _, name := range slices.Sorted(maps.Keys(s.targets)) {
		t := s.targets[name]
		e.Effects = append(e.Effects, t.effects...)
		e.Requests = append(e.Requests, t.requests...)
		maps.Copy(e.Lists, t.lists)
	}
	e.Always = s.always()
	open := map[string]bool{}
	for _, ep := range e.Revisions {
		open[ep.JobID] = open[ep.JobID] || ep.Open
	}
	for _, j := range s.Current().Jobs() {
		if !j.Disabled && !open[j.ID] {
			e.Seen = append(e.Seen, proof.Violation{Rule: proof.Unsettled, Of: j.ID})
		}
	}
}

// always are the jobs that every version declares.
func (s *script) always() (ids []string) {
	for _, j := range s.versions[0].Jobs() {
		kept := true
		for _, v := range s.versions {
			in, ok := v.Job(j.ID)
			kept = kept && ok && !in.Disabled
		}
		if kept {
			ids = append(ids, j.ID)
		}
	}
	return ids
}
