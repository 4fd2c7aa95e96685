package executor_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// BenchmarkExecutorOverhead measures the executor's own part of a run, from its due
// scheduled time to the record of its outcome: the ledger takes and leases all that it is
// given, and the target answers at once. Run it with a fixed count of runs, which
// are as many jobs that are due at one scheduled time:
//
//	go test ./executor -run '^$' -bench ExecutorOverhead -benchtime 20000x
func BenchmarkExecutorOverhead(b *testing.B) {
	at := time.Now().UTC().Truncate(time.Second)
	l := &stub{registry: manyJobs(b, b.N, at), before: at.Add(-time.Second), b: b, left: b.N}
	ctx, cancel := context.WithCancel(b.Context())
	l.done = cancel
	e, err := executor.New(executor.Config{Registry: l.registry, Ledger: l, Caller: l})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	if err := e.Run(ctx); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(l.used.Nanoseconds())/float64(b.N), "cpu-ns/run")
}

func manyJobs(b *testing.B, n int, at time.Time) *jobs.Registry {
	b.Helper()
	entries := []jobs.Entry{jobs.Name("bench"), jobs.Target{Name: "svc", URLEnv: "SVC_URL"}}
	for i := range n {
		entries = append(entries, jobs.Job{ID: fmt.Sprintf("job-%06d", i), Schedule: "at(" + at.Format("2006-01-02T15:04:05") + ")", Target: "svc", Path: "/run"})
	}
	reg, err := jobs.NewRegistry(entries...)
	if err != nil {
		b.Fatal(err)
	}
	return reg
}

// stub is a ledger and a target that agree with everything, and measure from the
// first admission to the last record.
type stub struct {
	executor.Ledger // what is not below is not called
	registry        *jobs.Registry
	before          time.Time
	done            func()
	b               *testing.B
	used            time.Duration
	begun           bool
	left            int
	claimable       []ledger.Work
}

func (l *stub) Call(context.Context, executor.Call) executor.Answer {
	return executor.Answer{Kind: ledger.AnswerFresh, Status: 204}
}

func (l *stub) Admit(_ context.Context, a ledger.Admission) (ledger.Admitted, error) {
	if !l.begun {
		l.begun, l.used = true, -cpu(l.b)
		l.b.ResetTimer()
	}
	got := ledger.Admitted{Now: time.Now(), Leased: make([]ledger.Work, 0, len(a.Plans))}
	for _, p := range a.Plans {
		for _, in := range p.Runs {
			w := ledger.Work{
				RunID: in.RunID, JobID: p.JobID, ScheduledAt: in.ScheduledAt, Trigger: in.Trigger, Attempt: 1,
				SendBefore: got.Now.Add(in.Call.Horizon), LeasedUntil: got.Now.Add(a.LeaseFor), Token: a.Token, Call: in.Call,
			}
			if in.Lease {
				got.Leased = append(got.Leased, w)
			} else {
				l.claimable = append(l.claimable, w)
			}
		}
	}
	return got, nil
}

func (l *stub) Claim(_ context.Context, c ledger.ClaimRequest) (ledger.Claimed, error) {
	n := min(c.Limit, len(l.claimable))
	got := ledger.Claimed{Now: time.Now(), Work: l.claimable[:n:n]}
	l.claimable = l.claimable[n:]
	for i := range got.Work {
		got.Work[i].Token = c.Token
	}
	return got, nil
}

func (l *stub) Record(_ context.Context, o []ledger.Outcome) ([]ledger.RecordResult, error) {
	results := make([]ledger.RecordResult, len(o))
	for i := range results {
		results[i] = ledger.Recorded
	}
	if l.left -= len(o); l.left == 0 {
		l.b.StopTimer()
		l.used += cpu(l.b)
		l.done()
	}
	return results, nil
}

func (l *stub) Assignments(_ context.Context, _, after string) ([]ledger.JobAssignment, error) {
	if after != "" {
		return nil, nil
	}
	all := make([]ledger.JobAssignment, 0, l.registry.Len())
	for i, j := range l.registry.All() {
		at := ledger.Position{JobID: j.ID, Revision: 1, Watermark: l.before}
		all = append(all, ledger.JobAssignment{Position: at, Hash: l.registry.Hash(i), Desired: l.registry.Hash(i)})
	}
	return all, nil
}

func (l *stub) Heartbeat(context.Context, string) (ledger.HeartbeatReply, error) {
	return ledger.HeartbeatReply{Now: time.Now(), LiveVersions: []string{l.registry.Version()}, Processes: 1}, nil
}

func (l *stub) Extend(context.Context, []ledger.Lease, time.Duration) ([]ledger.Lease, error) {
	return nil, nil
}

func (l *stub) Declare(context.Context, ledger.Declaration) error { return nil }
func (l *stub) Deregister(context.Context, string) error          { return nil }
