package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"time"
)

// Server is a database server that can crash.
type Server interface {
	Crash() error
	Start() error
}

// Counts is what was broken.
type Counts struct {
	Deliveries                           int // to Lambda functions
	Kills, Suspensions, Crashes, Deploys int
	Delays, Cuts, BlackHoles             int
}

// breaker breaks the fleet by the seed's dice. What it broke it mends after a
// while: mends are kept in the order of their times.
type breaker struct {
	fleet     *fleet
	server    Server
	dice      *rand.Rand
	counts    Counts
	mends     []mend
	busy      map[*process]bool
	down      bool // the database
	revision  int
	deploying int // schedulers that are still to be replaced
	say       func(string, ...any)
}

type mend struct {
	at time.Time
	do func(context.Context) error
}

// run breaks things until the time is up, and mends everything. Whatever the dice
// say, there are two deploys and a crash.
func (b *breaker) run(ctx context.Context, d time.Duration) error {
	b.later(d/5, func(context.Context) error { return b.deploy() })
	b.later(d/2, func(context.Context) error { return b.crash() })
	b.later(d*3/5, func(context.Context) error { return b.deploy() })
	for end := time.Now().Add(d); time.Now().Before(end); {
		if err := b.wait(ctx, time.Now().Add(b.between(150*time.Millisecond, 800*time.Millisecond))); err != nil {
			return err
		}
		if err := b.fleet.crashed(); err != nil {
			return err
		}
		if err := b.breakSomething(ctx); err != nil {
			return err
		}
	}
	for len(b.mends) > 0 {
		if err := b.wait(ctx, b.mends[0].at); err != nil {
			return err
		}
	}
	return nil
}

// wait makes the mends that fall due before the time.
func (b *breaker) wait(ctx context.Context, until time.Time) error {
	for {
		next := until
		due := len(b.mends) > 0 && !b.mends[0].at.After(until)
		if due {
			next = b.mends[0].at
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Until(next)):
		}
		if !due {
			return nil
		}
		m := b.mends[0]
		b.mends = b.mends[1:]
		if err := m.do(ctx); err != nil {
			return err
		}
	}
}

func (b *breaker) later(d time.Duration, do func(context.Context) error) {
	b.mends = append(b.mends, mend{time.Now().Add(d), do})
	slices.SortStableFunc(b.mends, func(x, y mend) int { return x.at.Compare(y.at) })
}

func (b *breaker) between(low, high time.Duration) time.Duration {
	return low + time.Duration(b.dice.Int64N(int64(high-low)))
}

func (b *breaker) breakSomething(ctx context.Context) error {
	switch d := b.dice.IntN(22); {
	case d < 8:
		return b.disturb()
	case d < 14:
		return b.kill()
	case d < 17:
		return b.suspend()
	case d < 19:
		return b.deploy()
	case d < 20:
		return b.crash()
	default:
		b.redrive(ctx)
		return nil
	}
}

func (b *breaker) disturb() error {
	l := b.fleet.network.links[b.dice.IntN(len(b.fleet.network.links))]
	t := pick(b.dice)
	if l.wrong != "" {
		return nil
	}
	switch t.kind {
	case "latency", "bandwidth":
		b.counts.Delays++
	case "timeout":
		b.counts.BlackHoles++
	default:
		b.counts.Cuts++
	}
	b.say("%s on %s", t.kind, l.name)
	b.later(b.between(300*time.Millisecond, 5*time.Second), l.heal)
	return l.disturb(t, b.dice)
}

// victim is a process that nothing is done to yet, if the dice find one.
func (b *breaker) victim() (*process, bool) {
	all := b.fleet.processes()
	p := all[b.dice.IntN(len(all))]
	return p, !b.busy[p] && p.alive()
}

func (b *breaker) kill() error {
	functions := 1 // of four kills
	if b.fleet.FunctionsOnly {
		functions = 3
	}
	if n := len(b.fleet.platforms); n > 0 && b.dice.IntN(4) < functions {
		p := b.fleet.platforms[b.dice.IntN(n)]
		b.counts.Kills++
		b.say("kill the function of %s", p.job)
		p.function.Kill()
		return nil
	}
	p, ok := b.victim()
	if !ok {
		return nil
	}
	b.counts.Kills++
	b.say("kill %s", p.name)
	p.kill()
	b.occupy(p, b.between(0, 2*time.Second), p.start)
	return nil
}

// suspend stops a process for up to twice its lease.
func (b *breaker) suspend() error {
	p, ok := b.victim()
	if !ok {
		return nil
	}
	b.counts.Suspensions++
	b.say("suspend %s", p.name)
	b.occupy(p, b.between(500*time.Millisecond, 2*lease), p.carryOn)
	return p.suspend()
}

// occupy keeps a process from other faults until it is mended.
func (b *breaker) occupy(p *process, d time.Duration, mend func() error) {
	b.busy[p] = true
	b.later(d, func(context.Context) error {
		b.busy[p] = false
		b.say("%s is back", p.name)
		return mend()
	})
}

func (b *breaker) crash() error {
	if b.down {
		return nil
	}
	b.down = true
	b.counts.Crashes++
	b.say("crash the database")
	b.later(b.between(200*time.Millisecond, 2*time.Second), func(context.Context) error {
		b.down = false
		b.say("the database is back")
		return b.server.Start()
	})
	return b.server.Crash()
}

// deploy replaces the schedulers one after the other by ones with an edited
// registry; one deploy in five is of the revision before.
func (b *breaker) deploy() error {
	if b.deploying > 0 || len(b.fleet.serves) == 0 {
		return nil
	}
	b.counts.Deploys++
	b.revision++
	if b.dice.IntN(5) == 0 && b.revision > 1 {
		b.revision -= 2
	}
	revision, program := b.revision, b.fleet.Cronce
	if b.fleet.Next != "" && b.counts.Deploys%2 == 1 {
		program = b.fleet.Next
	}
	b.say("deploy revision %d by %s", revision, filepath.Base(program))
	var wait time.Duration
	for _, p := range b.fleet.serves {
		b.deploying++
		wait += b.between(100*time.Millisecond, 1500*time.Millisecond)
		b.later(wait, func(context.Context) error { return b.replaceOnceFree(p, program, revision) })
	}
	return nil
}

// replaceOnceFree waits for a process that is down or suspended.
func (b *breaker) replaceOnceFree(p *process, program string, revision int) error {
	if b.busy[p] {
		b.later(200*time.Millisecond, func(context.Context) error { return b.replaceOnceFree(p, program, revision) })
		return nil
	}
	b.deploying--
	return b.replace(p, program, revision)
}

// replace asks a scheduler to end and starts the program in its place with the
// revision. One that the network keeps from ending in time is killed, as platforms do.
func (b *breaker) replace(p *process, program string, revision int) error {
	if err := p.askToEnd(); err != nil {
		return fmt.Errorf("%s ended unexpectedly: %w\n%s", p.name, err, p.tail(30))
	}
	deadline := time.AfterFunc(3*grace, func() { _ = p.cmd.Process.Kill() })
	<-p.ended
	deadline.Stop()
	if err := writeRegistry(b.fleet.registry(p), revision); err != nil {
		return err
	}
	b.say("%s runs revision %d", p.name, revision)
	if err := b.fleet.deployed.note(revision, time.Now()); err != nil {
		return err
	}
	p.args[0] = program
	return p.start()
}

// redrive is an operator's, whose request may meet a database that is down.
func (b *breaker) redrive(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	s, err := b.fleet.ledger(ctx)
	if err != nil {
		b.say("no redrive: %v", err)
		return
	}
	defer s.Close()
	n, err := b.fleet.redriveParents(ctx, s)
	b.say("redrive %d parents: %v", n, err)
}
