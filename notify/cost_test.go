package notify_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/memory"
	"github.com/cronce/cronce/notify"
)

// counter counts what is asked of a ledger.
type counter struct {
	ledger.Store
	mu    sync.Mutex
	asked map[string]int
	wrote int // rows, outcomes and notifications
}

func (c *counter) ask(op string, rows int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked[op]++
	c.wrote += rows
}

func (c *counter) Admit(ctx context.Context, a ledger.Admission) (ledger.Admitted, error) {
	rows := 0
	for _, p := range a.Plans {
		rows += len(p.Runs)
	}
	c.ask("admit", rows)
	return c.Store.Admit(ctx, a)
}

func (c *counter) Enter(ctx context.Context, e ledger.Entry) (ledger.Entered, error) {
	c.ask("enter", 1)
	return c.Store.Enter(ctx, e)
}

func (c *counter) Claim(ctx context.Context, l ledger.ClaimRequest) (ledger.Claimed, error) {
	c.ask("claim", 0)
	return c.Store.Claim(ctx, l)
}

func (c *counter) Record(ctx context.Context, list []ledger.Outcome) ([]ledger.RecordResult, error) {
	c.ask("record", len(list))
	return c.Store.Record(ctx, list)
}

func (c *counter) Incidents(ctx context.Context, f ledger.IncidentFilter) ([]ledger.Incident, error) {
	c.ask("incidents", 0)
	return c.Store.Incidents(ctx, f)
}

func (c *counter) MarkLate(ctx context.Context, limit int) (int, error) {
	c.ask("mark late", 0)
	return c.Store.MarkLate(ctx, limit)
}

func (c *counter) ReconcileIncidents(ctx context.Context, cause ledger.IncidentCause, list []ledger.JobProblem) error {
	c.ask("reconcile", len(list))
	return c.Store.ReconcileIncidents(ctx, cause, list)
}

func (c *counter) Notify(ctx context.Context, t ledger.Notification) (bool, error) {
	c.ask("notify", len(t.Runs))
	return c.Store.Notify(ctx, t)
}

// effective answers that the work is done.
type effective struct{}

func (effective) Call(context.Context, executor.Call) executor.Answer {
	return executor.Answer{Kind: ledger.AnswerFresh, Status: 200}
}

// asked is what an hour of jobs that succeed each minute asks of a ledger.
func asked(t *testing.T, n int, channels bool) (got map[string]int, wrote int) {
	synctest.Test(t, func(t *testing.T) {
		entries := []jobs.Entry{jobs.Name("acme"), jobs.Target{Name: "svc", URLEnv: "SVC"}}
		for i := range n {
			entries = append(entries, jobs.Job{ID: fmt.Sprint("job-", i), Schedule: "* * * * *", Target: "svc", Path: "/j"})
		}
		if channels {
			entries = append(entries, jobs.Channel{Name: "ops", Type: jobs.ChannelSlack, URLEnv: "OPS"}, jobs.Alarm{StartWithin: time.Minute})
		}
		reg, err := jobs.NewRegistry(entries...)
		if err != nil {
			t.Fatal(err)
		}
		c := &counter{Store: memory.New(), asked: map[string]int{}}
		e, err := executor.New(executor.Config{Registry: reg, Ledger: c, Caller: effective{}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour+time.Second)
		defer cancel()
		var group sync.WaitGroup
		group.Go(func() {
			if err := e.Run(ctx); err != nil {
				t.Error(err)
			}
		})
		w := notify.NewNotifier(notify.Config{Registry: reg, Ledger: c, Logger: slog.New(slog.DiscardHandler), Now: time.Now})
		group.Go(func() { w.Run(ctx) })
		group.Wait()
		got, wrote = c.asked, c.wrote
	})
	return got, wrote
}

// What finds and tells incidents asks as much of the ledger in an hour, whether one
// run succeeds in it or thousands, and writes nothing. So a run that succeeds asks
// what it asks where nothing is to be told.
func TestARunThatSucceedsCostsNotificationsNothing(t *testing.T) {
	one, _ := asked(t, 1, true)
	many, wrote := asked(t, 50, true)
	plain, alone := asked(t, 50, false)
	if wrote < 2*50*59 || wrote != alone {
		t.Errorf("wrote %d with channels and %d without: want the runs and their outcomes alone", wrote, alone)
	}
	for _, op := range []string{"incidents", "mark late", "reconcile", "notify"} {
		if one[op] != many[op] {
			t.Errorf("%s: asked %d times with one job, %d with 50", op, one[op], many[op])
		}
	}
	if many["incidents"] == 0 || many["mark late"] == 0 || many["notify"] > 0 {
		t.Errorf("asked %v", many)
	}
	for _, op := range []string{"admit", "enter", "record"} {
		if many[op] != plain[op] {
			t.Errorf("%s: asked %d times with channels, %d without", op, many[op], plain[op])
		}
	}
}

// queried counts what is asked of a ledger.
type queried struct {
	ledger.Store
	n int
}

func (q *queried) Changes(ctx context.Context, after string) (ledger.Changes, error) {
	q.n++
	return q.Store.Changes(ctx, after)
}

// A registry without heartbeats of jobs asks the ledger nothing about them.
func TestJobsWithoutAHeartbeatCostNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, memory.New())
		l := &queried{Store: s.Store}
		look(t, notify.NewNotifier(notify.Config{Registry: s.registry, Ledger: l, Runs: l, Logger: slog.New(slog.DiscardHandler), Now: time.Now}))
		if l.n > 0 {
			t.Errorf("%d questions", l.n)
		}
	})
}
