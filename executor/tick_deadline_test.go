package executor_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/memory"
)

// lame is a ledger whose every answer takes a while, or as long as its caller
// waits.
type lame struct {
	executor.Ledger
	takes time.Duration
}

func (l lame) wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return errors.Join(ledger.ErrUnavailable, ctx.Err())
	case <-time.After(l.takes):
		return nil
	}
}

func (l lame) Enter(ctx context.Context, e ledger.Entry) (ledger.Entered, error) {
	if err := l.wait(ctx); err != nil {
		return ledger.Entered{}, err
	}
	return l.Ledger.Enter(ctx, e)
}

func (l lame) Claim(ctx context.Context, c ledger.ClaimRequest) (ledger.Claimed, error) {
	if err := l.wait(ctx); err != nil {
		return ledger.Claimed{}, err
	}
	return l.Ledger.Claim(ctx, c)
}

func (l lame) Record(ctx context.Context, o []ledger.Outcome) ([]ledger.RecordResult, error) {
	if err := l.wait(ctx); err != nil {
		return nil, err
	}
	return l.Ledger.Record(ctx, o)
}

func (l lame) LeasedWork(ctx context.Context, token string) ([]ledger.Work, error) {
	if err := l.wait(ctx); err != nil {
		return nil, err
	}
	return l.Ledger.LeasedWork(ctx, token)
}

func (l lame) Deregister(ctx context.Context, process string) error {
	if err := l.wait(ctx); err != nil {
		return err
	}
	return l.Ledger.Deregister(ctx, process)
}

// A platform ends a function at its deadline: what a tick or an event leaves
// behind on a ledger that is slow, or silent, must not take longer.
func TestNothingOutlastsTheDeadlineByMoreThanTheGrace(t *testing.T) {
	for _, takes := range []time.Duration{3 * time.Second, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			svc := newTarget(nil)
			svc.answer = func(ctx context.Context, _ executor.Call, _ int) executor.Answer {
				<-ctx.Done()
				return executor.Answer{Kind: ledger.AnswerUnknown}
			}
			l := memory.New()
			cfg := executor.Config{
				Registry: registry(t, minutely("a")), Ledger: l, Caller: svc, OnTime: 2 * time.Minute, Grace: time.Second,
			}
			seen, err := executor.New(cfg)
			if err != nil {
				t.Fatal(err)
			}
			tick(t, seen, 10*time.Second)
			time.Sleep(time.Minute)
			cfg.Ledger = lame{l, takes}
			e, err := executor.New(cfg)
			if err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			_ = e.Tick(ctx) // with an error or without, but in time
			if took := time.Since(start); took > 11*time.Second {
				t.Errorf("answers of %s: the tick took %s", takes, took)
			}
			j, _ := cfg.Registry.Job("a")
			at := time.Now().Truncate(time.Minute)
			start = time.Now()
			ctx, cancel = context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			_, _ = e.Execute(ctx, ledger.Entry{JobID: "a", RunSpec: ledger.RunSpec{
				RunID: jobs.RunID("a", at) + "~x", ScheduledAt: at, Count: 1, State: ledger.Planned, Trigger: ledger.ByEvent,
				Overlap: ledger.OverlapAllow, Call: executor.FrozenCall(j, jobs.RunID("a", at)+"~x", at), Lease: true,
			}})
			if took := time.Since(start); took > 11*time.Second {
				t.Errorf("answers of %s: the event took %s", takes, took)
			}
		})
	}
}
