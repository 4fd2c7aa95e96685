package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/cronce/cronce/bench/rig"
	"github.com/cronce/cronce/jobs"
)

const (
	singles, callers = 4000, 8
	besideFor        = 15 // seconds of runs
)

// singly puts schedules one by one by several callers, and returns how many a second.
func (m *measure) singly(ctx context.Context, prefix string, expr func(int) string) (float64, error) {
	begun := time.Now()
	var all sync.WaitGroup
	errs := make([]error, callers)
	for c := range callers {
		all.Go(func() {
			for i := c; i < singles && errs[c] == nil; i += callers {
				errs[c] = m.put(ctx, prefix, i, i+1, expr)
			}
		})
	}
	all.Wait()
	return singles / time.Since(begun).Seconds(), errors.Join(errs...)
}

func (m *measure) single(ctx context.Context) (figure string, err error) {
	err = m.beside(ctx, 1, func(*lateTimes) error {
		made, err := m.singly(ctx, "s", inTheLastHour)
		if err != nil {
			return err
		}
		changed, err := m.singly(ctx, "s", func(i int) string { return inTheLastHour(i + 1) })
		figure = fmt.Sprintf("%.0f/s, %.0f/s", made, changed)
		return err
	})
	return figure, err
}

// dueEachSecond makes schedules of which 1,000 are due in each second from one on.
func (m *measure) dueEachSecond(ctx context.Context, prefix string, seconds int) (first time.Time, err error) {
	first = inSeconds(2 + seconds/5)
	return first, m.makeDue(ctx, prefix, first, 1000, seconds)
}

func inSeconds(n int) time.Time {
	return time.Now().UTC().Truncate(time.Second).Add(time.Duration(n+1) * time.Second)
}

// makeDue makes n schedules for each of some seconds.
func (m *measure) makeDue(ctx context.Context, prefix string, first time.Time, n, seconds int) error {
	for i := range seconds {
		at := first.Add(time.Duration(i) * time.Second)
		if err := m.putAll(ctx, fmt.Sprintf("%s%02d", prefix, i), n, func(int) string { return once(at) }); err != nil {
			return err
		}
	}
	if left := time.Until(first); left < time.Second/2 {
		return fmt.Errorf("the schedules were made %s before they were due", left)
	}
	return nil
}

// besideRuns measures singly while 1,000 schedules are due in each second.
func (m *measure) besideRuns(ctx context.Context) (figure string, err error) {
	err = m.beside(ctx, 1, func(all *lateTimes) error {
		first, err := m.dueEachSecond(ctx, "b", besideFor)
		if err != nil {
			return err
		}
		time.Sleep(time.Until(first.Add(time.Second)))
		rate, err := m.singly(ctx, "t", inTheLastHour)
		if err != nil {
			return err
		}
		late, err := all.after('b', 1000*besideFor)
		figure = fmt.Sprintf("%.0f/s, %s", rate, late)
		return err
	})
	return figure, err
}

// dueAfter makes n schedules due in each of some seconds.
func (m *measure) dueAfter(ctx context.Context, prefix string, n, seconds, lead int) (figure string, err error) {
	err = m.beside(ctx, 1, func(all *lateTimes) error {
		first := inSeconds(lead)
		if err := m.makeDue(ctx, prefix, first, n, seconds); err != nil {
			return err
		}
		figure, err = m.watch(all, prefix[0], first, n*seconds)
		return err
	})
	return figure, err
}

// watch waits for n runs that are due from a time on, and until they are recorded.
func (m *measure) watch(all *lateTimes, key byte, from time.Time, n int) (string, error) {
	time.Sleep(time.Until(from.Add(-50 * time.Millisecond)))
	each, err := m.cost(n)
	if err != nil {
		return "", err
	}
	late, err := all.after(key, n)
	time.Sleep(3 * time.Second)
	return fmt.Sprintf("%s; %s", late, each()), err
}

// registryJobs is dueAtOnce of jobs that a registry has, on a ledger of their own.
func (m *measure) registryJobs(ctx context.Context) (figure string, err error) {
	own := &measure{bench: m.bench, engine: m.engine}
	if own.database, err = fresh(ctx, m.bench, m.engine); err != nil {
		return "", err
	}
	if own.Store, err = own.open(ctx); err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, own.Close()) }()
	const n = 10_000
	at := inSeconds(12)
	entries := []jobs.Entry{jobs.Name("keyed"), jobs.Target{Name: "svc", URLEnv: "SVC_URL"}}
	for i := range n {
		entries = append(entries, jobs.Job{ID: fmt.Sprintf("j%07d", i), Schedule: once(at), Target: "svc", Path: "/run"})
	}
	if own.registry, err = jobs.NewRegistry(entries...); err != nil {
		return "", err
	}
	err = own.beside(ctx, 1, func(all *lateTimes) error {
		figure, err = own.watch(all, 'j', at, n)
		return err
	})
	return figure, err
}

func (m *measure) dueAtOnce(ctx context.Context) (string, error) {
	return m.dueAfter(ctx, "d", 10_000, 1, 8)
}

func (m *measure) dueInAMinute(ctx context.Context) (string, error) {
	return m.dueAfter(ctx, "m", 100_000/60+1, 60, 30)
}

const editsEach = 40

// edits changes schedules that are due 50 to 450 ms later, while several processes plan 1,000
// runs a second.
func (m *measure) edits(ctx context.Context) (figure string, err error) {
	processes := 4
	if m.engine == rig.SQLite {
		processes = 1
	}
	never := func(int) string { return "0 0 29 2 *" }
	if err := m.putAll(ctx, "e", editsEach*besideFor, never); err != nil {
		return "", err
	}
	err = m.beside(ctx, processes, func(planned *lateTimes) error {
		first, err := m.dueEachSecond(ctx, "f", besideFor)
		if err != nil {
			return err
		}
		var all sync.WaitGroup
		errs := make([]error, editsEach*besideFor)
		for i := range errs {
			at := first.Add(time.Duration(i/editsEach) * time.Second)
			all.Go(func() {
				time.Sleep(time.Until(at.Add(-50*time.Millisecond - time.Duration(i%editsEach)*10*time.Millisecond)))
				errs[i] = m.put(ctx, "e", i, i+1, func(int) string { return once(at) })
			})
		}
		all.Wait()
		if err := errors.Join(errs...); err != nil {
			return err
		}
		late, err := planned.after('e', len(errs))
		figure = late.String()
		return err
	})
	return figure, err
}
