package chaos

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/cronce/cronce/internal/proof"
)

// ErrBroken: the checker found something.
var ErrBroken = errors.New("the promise is broken")

// Run breaks a fleet for a time, lets it finish, and prints what came of it.
// The error says what was lost or doubled, or which process gave up.
func Run(ctx context.Context, s Setup, server Server, seed uint64, d time.Duration, out io.Writer) error {
	f, err := assemble(ctx, s)
	if err != nil {
		return err
	}
	defer f.close()
	if err := f.addFunctions(rand.New(rand.NewPCG(seed, 1))); err != nil {
		return err
	}
	if err := f.start(); err != nil {
		return err
	}
	if !s.FunctionsOnly {
		if err := f.await(ctx, f.unbegun); err != nil {
			return err
		}
	}
	stop := f.deliver(ctx)
	defer stop()
	calm := f.weather(ctx, seed)
	defer calm()
	begun := time.Now()
	b := &breaker{
		fleet: f, server: server, dice: rand.New(rand.NewPCG(seed, 0)), busy: map[*process]bool{},
		say: func(what string, args ...any) {
			fmt.Fprintf(out, "%s %6.2f s  %s\n", time.Now().UTC().Format("15:04:05.000"), time.Since(begun).Seconds(), fmt.Sprintf(what, args...))
		},
	}
	if err := b.run(ctx, d); err != nil {
		return err
	}
	calm()
	if !s.FunctionsOnly { // else it is later events that finish what is left
		stop()
	}
	if err := f.openTenants(); err != nil {
		return err
	}
	healed := time.Now()
	b.say("nothing is broken any more")
	unsettled := f.await(ctx, func(ctx context.Context, s store) (string, error) { return f.unfinished(ctx, s, healed) })
	stop()
	if err := errors.Join(f.crashed(), f.refused(), f.terminate()); err != nil {
		return err
	}
	e, err := f.evidence(ctx, healed)
	if err != nil {
		return errors.Join(unsettled, err)
	}
	b.counts.Deliveries = e.deliveries
	e.redriven = f.redriven
	return errors.Join(unsettled, report(out, s, b.counts, e))
}

// deliver runs the platforms until stop, which waits for them.
func (f *fleet) deliver(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	for _, p := range f.platforms {
		running.Go(func() { p.run(ctx) })
	}
	return func() { cancel(); running.Wait() }
}

// weather lets the storm's clients work until calm, which waits for them.
func (f *fleet) weather(ctx context.Context, seed uint64) (calm func()) {
	if f.storm == nil {
		return func() {}
	}
	return f.storm.begin(ctx, seed)
}

// report prints the table; anything lost or doubled is an error.
func report(out io.Writer, s Setup, c Counts, e evidence) error {
	found, tally := proof.Check(e.Evidence)
	lost, doubled, other := 0, 0, 0
	for _, v := range found {
		switch v.Rule {
		case proof.Lost, proof.NoEffect, proof.Stuck:
			lost++
		case proof.Doubled, proof.TwoEffects:
			doubled++
		default:
			other++
		}
		fmt.Fprintln(out, v)
	}
	lost += tally.Dead
	lists, members, again := e.listed()
	fmt.Fprintf(out, "\n| %s | |\n|---|---|\n", s.kind())
	for _, row := range []struct {
		name string
		n    int
	}{
		{"scheduled times", max(tally.Times, len(e.Given))}, {"runs succeeded", tally.Succeeded},
		{"scheduled times skipped or superseded, as their jobs ask for", tally.Unrun},
		{"lists frozen", lists}, {"their members", members}, {"lists fetched more than once", again}, {"parents redriven", e.redriven},
		{"requests about schedules", e.asked}, {"of them taken", e.taken}, {"without an answer", e.unanswered},
		{"scheduled times of these schedules", e.keyed},
		{"events delivered to Lambda functions", c.Deliveries},
		{"calls", e.calls}, {"replays", e.replays}, {"effects", tally.Effects},
		{"processes killed", c.Kills}, {"processes suspended", c.Suspensions},
		{"database crashes", c.Crashes}, {"rolling deploys", c.Deploys},
		{"connections cut or reset", c.Cuts}, {"black holes", c.BlackHoles}, {"delays", c.Delays},
		{"**lost**", lost}, {"**doubled**", doubled},
	} {
		fmt.Fprintf(out, "| %s | %d |\n", row.name, row.n)
	}
	if lost+doubled+other > 0 || tally.Succeeded == 0 {
		return fmt.Errorf("%w: %d lost, %d doubled, %d other violations of %d scheduled times", ErrBroken, lost, doubled, other, tally.Times)
	}
	return nil
}

// kind says what the fleet is made of.
func (s Setup) kind() string {
	switch {
	case s.FunctionsOnly:
		return "Lambda functions on PostgreSQL, no scheduler and no tick"
	case s.Embedded:
		return "1 scheduler on SQLite"
	}
	kind := fmt.Sprintf("%d schedulers on PostgreSQL", replicas)
	if s.Pooled != "" {
		kind += " through a pooler"
	}
	if s.Next != "" {
		kind += ", upgraded and rolled back"
	}
	return kind
}
