package rig

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Result is one round of one contender.
type Result struct {
	Round          int
	Runs           int
	Wall           time.Duration // from the beginning to the last stored outcome
	Worker, Server time.Duration // CPU of the contender and of PostgreSQL meanwhile
	Registered     int64         // the contender's resident bytes when it began
	Peak           int64         // at its peak
	Late           Late          // of the calls' arrivals
	Report         json.RawMessage
}

// RunsPerSecond, WorkerCPU and ServerCPU (in microseconds a run), TotalCPU (of
// both) and PeakMB are a round's figures.
func (r Result) RunsPerSecond() float64 { return float64(r.Runs) / r.Wall.Seconds() }

// WorkerCPU is the contender's CPU time for a run, in microseconds.
func (r Result) WorkerCPU() float64 { return float64(r.Worker.Microseconds()) / float64(r.Runs) }

// ServerCPU is PostgreSQL's.
func (r Result) ServerCPU() float64 { return float64(r.Server.Microseconds()) / float64(r.Runs) }

// TotalCPU is both's.
func (r Result) TotalCPU() float64 { return r.WorkerCPU() + r.ServerCPU() }

// PeakMB is the contender's peak of resident memory.
func (r Result) PeakMB() float64 { return float64(r.Peak) / (1 << 20) }

// Bench is what rounds are measured on.
type Bench struct {
	Target    *Target
	Databases *Databases
}

// Open starts the target and connects to the server.
func Open(ctx context.Context) (*Bench, error) {
	d, err := OpenDatabases(ctx)
	if err != nil {
		return nil, err
	}
	t, err := StartTarget()
	if err != nil {
		return nil, errors.Join(err, d.Close(ctx))
	}
	return &Bench{t, d}, nil
}

// Close ends what Open started.
func (b *Bench) Close(ctx context.Context) error {
	b.Target.Close()
	return b.Databases.Close(ctx)
}

// Measure runs one round.
func (b *Bench) Measure(ctx context.Context, c Contender, runs int) (_ Result, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s: %w", c.Name, err)
		}
	}()
	database, err := b.Databases.Fresh(ctx, c.Store)
	if err != nil {
		return Result{}, err
	}
	defer func() { err = errors.Join(err, b.Databases.Drop(ctx, c.Store, database)) }()
	p, err := start(c.Command, Task{Contender: c.Name, Runs: runs, Target: b.Target.URL, Database: database})
	if err != nil {
		return Result{}, err
	}
	defer p.stop()
	r, begun, err := b.watch(p, c)
	if err != nil {
		return Result{}, err
	}
	r.Runs = runs
	return b.check(ctx, c, database, begun, r)
}

// watch samples the processes when the work begins and when it is done.
func (b *Bench) watch(p *process, c Contender) (r Result, begun time.Time, err error) {
	begin, err := p.next()
	if err != nil {
		return r, begun, err
	}
	time.Sleep(time.Until(begin.At.Add(-20 * time.Millisecond)))
	before, err := b.usage(p, c)
	if err != nil {
		return r, begun, err
	}
	done, err := p.next()
	if err != nil {
		return r, begun, err
	}
	r.Wall = time.Since(begin.At)
	after, err := b.usage(p, c)
	r.Worker, r.Server = after.Worker-before.Worker, after.Server-before.Server
	r.Registered, r.Peak, r.Report = before.Registered, after.Peak, done.Report
	return r, begin.At, err
}

func (b *Bench) usage(p *process, c Contender) (r Result, err error) {
	pid := p.cmd.Process.Pid
	if r.Worker, err = cpu(pid); err != nil {
		return r, err
	}
	if r.Registered, r.Peak, err = memory(pid); err != nil {
		return r, err
	}
	if c.Store == PostgreSQL {
		r.Server, err = b.Databases.CPU()
	}
	return r, err
}

// check holds the round against what the target and the database say.
func (b *Bench) check(ctx context.Context, c Contender, database string, begun time.Time, r Result) (Result, error) {
	calls, err := b.Target.Seen(begun)
	if err != nil {
		return r, err
	}
	r.Late = calls.Late
	want := r.Runs
	if c.Silent {
		want = 0
	}
	if calls.Count != want || calls.Keys != want {
		return r, fmt.Errorf("the target saw %d calls with %d keys, not %d", calls.Count, calls.Keys, want)
	}
	if c.Stored == nil {
		return r, nil
	}
	stored, err := c.Stored(ctx, database)
	if err == nil && stored != r.Runs {
		err = fmt.Errorf("%d outcomes are stored, not %d", stored, r.Runs)
	}
	return r, err
}

// Rounds measures all contenders in turn. Between two it waits a moment, so
// that the server has written what the last one left.
func (b *Bench) Rounds(ctx context.Context, contenders []Contender, rounds, runs int, say func(string)) (map[string][]Result, error) {
	results := map[string][]Result{}
	for round := range rounds {
		for _, c := range contenders {
			r, err := b.Measure(ctx, c, runs)
			if err != nil {
				return results, err
			}
			r.Round = round
			results[c.Name] = append(results[c.Name], r)
			say(fmt.Sprintf("round %d, %s: %.0f runs/s, CPU %.0f + %.0f us a run, %.0f MB %s",
				round+1, c.Name, r.RunsPerSecond(), r.WorkerCPU(), r.ServerCPU(), r.PeakMB(), r.Report))
		}
	}
	return results, nil
}
