package simulate

import (
	"math/rand/v2"
	"time"

	"github.com/cronce/cronce/jobs"
)

// script is the sequence of faults and actions.
type script struct {
	*world
	*rand.Rand
	plan    plan
	members []*member
	back    time.Duration // how far the clocks were set back in all
	// template is that of the schedules, which a version may be without.
	template *jobs.Template
	held     time.Duration // all that holds of targets may have kept runs back
	thawed   time.Time     // when the last of the suspended goes on
}

// backLimit bounds what all backward jumps come to: with the targets' skews it
// is less than the skew that the retention proof allows for.
const backLimit = 2 * time.Minute

// act is one kind of step and how often it comes.
type act struct {
	weight int
	do     func(*script)
}

var acts = []act{
	{14, (*script).crash}, {8, (*script).restart}, {10, (*script).freeze}, {8, (*script).edit},
	{3, (*script).leap}, {3, (*script).jump}, {4, (*script).outage}, {4, (*script).targetOutage},
	{5, (*script).pause}, {8, (*script).redrive}, {3, (*script).ack}, {4, (*script).cancel},
	{8, (*script).backfill}, {5, (*script).trigger}, {6, (*script).purge}, {8, (*script).tick},
	{10, func(*script) {}},
}

// storm runs the script for about this long, leaps not counted.
func (s *script) storm(length time.Duration) {
	acts, total := acts, 0
	if s.options.EventsOnly {
		acts = eventActs
	}
	for _, a := range acts {
		total += a.weight
	}
	for left := length; left > 0; {
		d := between(s.Rand, 50*time.Millisecond, pick(s.Rand, 2*time.Second, 30*time.Second, 90*time.Second))
		time.Sleep(d)
		left -= d
		s.revive()
		n := s.IntN(total)
		for _, a := range acts {
			if n -= a.weight; n < 0 {
				a.do(s)
				break
			}
		}
	}
}

// revive starts the members whose downtime is over.
func (s *script) revive() {
	for _, m := range s.members {
		if !m.up() && !time.Now().Before(m.back) {
			if m.back.IsZero() || !m.back.Before(time.Now().Add(-time.Hour)) || s.IntN(2) == 0 {
				s.must(s.start(m, s.version(s.Rand)))
			}
		}
	}
}

func (s *script) must(err error) {
	if err != nil {
		s.fail(err)
	}
}

func (s *script) any() *member { return s.members[s.IntN(len(s.members))] }

func (s *script) crash() {
	if m := s.any(); m.up() {
		m.process.kill()
		m.back = time.Now().Add(between(s.Rand, 0, pick(s.Rand, time.Second, time.Minute, 10*time.Minute)))
	}
}

func (s *script) restart() {
	m := s.any()
	s.halt(m)
	m.back = time.Now().Add(between(s.Rand, 0, 10*time.Second))
}

func (s *script) freeze() {
	if m := s.any(); m.up() {
		d := between(s.Rand, time.Second, pick(s.Rand, 20*time.Second, time.Minute, s.plan.horizon+7*time.Minute))
		m.process.freeze(d)
		if end := time.Now().Add(d); end.After(s.thawed) {
			s.thawed = end
		}
	}
}

// edit makes a new registry, which a member uses after its next start. Sometimes all
// members are restarted with it, one after the other.
func (s *script) edit() {
	s.plan = s.plan.edit(s.Rand)
	s.editTemplate()
	s.editEach()
	reg, err := s.plan.registry()
	if err != nil {
		s.fail(err)
		return
	}
	s.mu.Lock()
	s.versions = append(s.versions, reg)
	s.tally.Edits++
	s.mu.Unlock()
	if s.IntN(2) == 0 {
		return
	}
	for _, m := range s.members {
		s.halt(m)
		time.Sleep(between(s.Rand, 0, 5*time.Second))
		s.must(s.start(m, reg))
	}
}

// leap is a time in which nothing runs.
func (s *script) leap() {
	for _, m := range s.members {
		if m.up() && s.IntN(3) == 0 {
			s.halt(m)
		} else if m.up() {
			m.process.kill()
		}
		m.back = time.Time{}
	}
	time.Sleep(between(s.Rand, time.Minute, pick(s.Rand, 10*time.Minute, 2*time.Hour, 5*time.Hour, 30*time.Hour)))
	s.note(func(t *Tally) { t.Leaps++ })
}

// jump moves every clock, forward by up to hours, back by a little.
func (s *script) jump() {
	d := between(s.Rand, time.Second, pick(s.Rand, time.Minute, 10*time.Minute, 3*time.Hour))
	if s.IntN(2) == 0 {
		if d = min(d, backLimit-s.back); d <= 0 {
			return
		}
		s.back += d
		d = -d
	}
	s.world.jump(d)
	s.note(func(t *Tally) { t.Jumps++ })
}

func (s *script) outage() {
	s.mu.Lock()
	s.down = time.Now().Add(between(s.Rand, time.Second, pick(s.Rand, 10*time.Second, time.Minute, 5*time.Minute)))
	s.tally.Outages++
	s.mu.Unlock()
}

func (s *script) targetOutage() {
	t := s.target(pick(s.Rand, "books", "members"))
	t.mu.Lock()
	t.down = time.Now().Add(between(s.Rand, time.Second, pick(s.Rand, 10*time.Second, time.Minute, 5*time.Minute)))
	t.mu.Unlock()
}

// someJob is one that some registry has or had.
func (s *script) someJob() jobs.Job { return s.someJobOf(s.Rand) }

func (s *script) someJobOf(r *rand.Rand) jobs.Job {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.versions[r.IntN(len(s.versions))].Jobs()
	for {
		if j := list[r.IntN(len(list))]; j.ID != jobs.PurgeJobID {
			return j
		}
	}
}

// The operators' actions go to the ledger as commands do: by a session of their
// own, which no fault befalls.

// tick is a function that is called now and then, and plans and runs what it can
// in one beat.
func (s *script) tick() {
	reg, limit := s.version(s.Rand), between(s.Rand, 5*time.Second, time.Minute)
	s.tasks.Go(func() {
		e, ctx, end, err := s.brief(reg, "tick", limit, s.ledger)
		if err != nil {
			s.fail(err)
			return
		}
		defer end()
		_ = e.Tick(ctx) // what it leaves, others finish
	})
	s.note(func(t *Tally) { t.Ticks++ })
}
