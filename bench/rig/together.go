package rig

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Together runs one round with several copies of a contender that share one
// database and the work. Result.Worker is the sum of their CPU times; the second
// result is how many calls were made beyond one a run.
func (b *Bench) Together(ctx context.Context, c Contender, copies, runs int, at func(runs int) time.Time) (r Result, extra int, err error) {
	database, err := b.Databases.Fresh(ctx, c.Store)
	if err != nil {
		return r, 0, err
	}
	defer func() { err = errors.Join(err, b.Databases.Drop(ctx, c.Store, database)) }()
	task := Task{Contender: c.Name, Runs: runs, Target: b.Target.URL, Database: database, At: at(runs * copies)}
	var all []*process
	defer func() {
		for _, p := range all {
			p.stop()
		}
	}()
	for range copies {
		p, err := start(c.Command, task)
		if err != nil {
			return r, 0, err
		}
		all = append(all, p)
		if _, err := p.next(); err != nil {
			return r, 0, err
		}
	}
	r.Runs = runs
	return b.together(ctx, c, all, database, task.At, r)
}

func (b *Bench) together(ctx context.Context, c Contender, all []*process, database string, at time.Time, r Result) (Result, int, error) {
	time.Sleep(time.Until(at.Add(-20 * time.Millisecond)))
	before, err := b.usageOfAll(all, c)
	if err != nil {
		return r, 0, err
	}
	if err := b.await(ctx, c, database, r.Runs); err != nil {
		return r, 0, err
	}
	r.Wall = time.Since(at)
	after, err := b.usageOfAll(all, c)
	if err != nil {
		return r, 0, err
	}
	r.Worker, r.Server, r.Peak = after.Worker-before.Worker, after.Server-before.Server, after.Peak
	calls, err := b.Target.Seen(at)
	if err == nil && calls.Keys != r.Runs {
		err = fmt.Errorf("the target saw %d keys, not %d", calls.Keys, r.Runs)
	}
	r.Late = calls.Late
	return r, calls.Count - r.Runs, err
}

func (b *Bench) usageOfAll(all []*process, c Contender) (sum Result, err error) {
	for _, p := range all {
		r, err := b.usage(p, c)
		if err != nil {
			return sum, err
		}
		sum.Worker += r.Worker
		sum.Server = r.Server
		sum.Peak += r.Peak
	}
	return sum, nil
}

// await looks for the calls at the target, which is cheap, and only then for
// the outcomes in the database, which is not.
func (b *Bench) await(ctx context.Context, c Contender, database string, runs int) error {
	for deadline := time.Now().Add(maxWait); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		n, err := b.Target.Count()
		if err != nil {
			return err
		}
		if n < runs {
			continue
		}
		if stored, err := c.Stored(ctx, database); err != nil || stored == runs {
			return err
		}
	}
	return fmt.Errorf("not all outcomes were stored in %v", maxWait)
}
