package executor_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/memory"
)

// lateRenewal holds the renewal of leases back until a record has been written, as a
// row lock does.
type lateRenewal struct {
	executor.Ledger
	waiting  chan struct{} // closed when a renewal waits
	recorded chan struct{} // closed when the record is written
}

func (l lateRenewal) Extend(ctx context.Context, leases []ledger.Lease, d time.Duration) ([]ledger.Lease, error) {
	select {
	case <-l.waiting:
	default:
		close(l.waiting)
	}
	<-l.recorded
	return l.Ledger.Extend(ctx, leases, d)
}

func (l lateRenewal) Record(ctx context.Context, outcomes []ledger.Outcome) ([]ledger.RecordResult, error) {
	results, err := l.Ledger.Record(ctx, outcomes)
	select {
	case <-l.recorded:
	default:
		close(l.recorded)
	}
	synctest.Wait() // the renewal is answered before this process knows that the record is written
	return results, err
}

// A renewal lists runs a, b and c. Meanwhile the process is stopped: it gives b and c,
// which it has not sent, back. Their record is written before the renewal, which then
// reports their leases as lost. Nothing is lost.
func TestStopDoesNotReportLeasesThatItGaveBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		l := memory.New()
		svc := newTarget(func(ctx context.Context, _ executor.Call, _ int) executor.Answer {
			<-ctx.Done()
			return executor.Answer{Kind: ledger.AnswerUnknown}
		})
		late := lateRenewal{l, make(chan struct{}), make(chan struct{})}
		_, stop := start(t, executor.Config{
			Registry: registry(t, minutely("a"), minutely("b"), minutely("c")), Ledger: late, Caller: svc,
			MaxInFlight: 1, Grace: 5 * time.Second, Logger: slog.New(slog.NewTextHandler(&log, nil)),
		})
		<-late.waiting
		stop()
		if planned := mustList(t, l, ledger.Filter{States: []ledger.State{ledger.Planned}}); len(planned) != 2 {
			t.Errorf("%d runs were given back, want 2", len(planned))
		}
		if strings.Contains(log.String(), "lease lost") {
			t.Errorf("leases that were given back are reported as lost:\n%s", log.String())
		}
	})
}

// unansweredRecord is a ledger that writes the first record and does not answer. Another process
// then leases what the record gave back.
type unansweredRecord struct {
	executor.Ledger
	records *int
}

func (l unansweredRecord) Record(ctx context.Context, outcomes []ledger.Outcome) ([]ledger.RecordResult, error) {
	results, err := l.Ledger.Record(ctx, outcomes)
	if *l.records++; err != nil || *l.records > 1 {
		return results, err
	}
	_, err = l.Claim(ctx, ledger.ClaimRequest{Process: "another", Token: "another", Limit: 10, LeaseFor: time.Minute})
	if err == nil {
		err = ledger.ErrUnavailable
	}
	return nil, err
}

// What is given back has no result that could be discarded.
func TestStopDoesNotReportWhatAnotherProcessLeasedMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		l, calls := memory.New(), 0
		svc := newTarget(func(ctx context.Context, _ executor.Call, _ int) executor.Answer {
			<-ctx.Done()
			return executor.Answer{Kind: ledger.AnswerUnknown}
		})
		_, stop := start(t, executor.Config{
			Registry: registry(t, minutely("a"), minutely("b"), minutely("c")), Ledger: unansweredRecord{l, &calls}, Caller: svc,
			MaxInFlight: 1, Grace: 5 * time.Second, Logger: slog.New(slog.NewTextHandler(&log, nil)),
		})
		time.Sleep(time.Minute + time.Second)
		stop()
		if calls < 2 || strings.Contains(log.String(), "lease lost") {
			t.Errorf("after %d records, runs that were given back are reported as lost:\n%s", calls, log.String())
		}
	})
}

// A run that is canceled while its call is in flight is reported when its lease is
// renewed, and again when its result is discarded.
func TestALostLeaseIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		l := memory.New()
		svc := newTarget(nil)
		svc.answer = func(_ context.Context, c executor.Call, _ int) executor.Answer {
			time.Sleep(20 * time.Second)
			return svc.apply(c)
		}
		_, stop := start(t, executor.Config{
			Registry: registry(t, minutely("a")), Ledger: l, Caller: svc, Logger: slog.New(slog.NewTextHandler(&log, nil)),
		})
		time.Sleep(time.Minute + time.Second)
		if _, err := l.Cancel(t.Context(), ledger.Action{Filter: ledger.Filter{JobID: "a"}, Actor: ledger.Actor{By: "ann", Why: "a test"}}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(30 * time.Second)
		stop()
		for _, line := range []string{"lease lost; the result of the attempt will be discarded", "lease lost; result discarded"} {
			if strings.Count(log.String(), line) != 1 {
				t.Errorf("want one line %q in\n%s", line, log.String())
			}
		}
	})
}

// unansweredRenewal is a ledger that does not answer the first renewal of leases.
type unansweredRenewal struct {
	executor.Ledger
	renewals *int
}

func (l unansweredRenewal) Extend(ctx context.Context, leases []ledger.Lease, d time.Duration) ([]ledger.Lease, error) {
	if *l.renewals++; *l.renewals == 1 {
		<-ctx.Done()
		return nil, ledger.ErrUnavailable
	}
	return l.Ledger.Extend(ctx, leases, d)
}

// A renewal that is not answered ends before the lease does, so that the next one keeps it.
func TestARenewalThatIsNotAnsweredLosesNoLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, calls := memory.New(), 0
		svc := newTarget(nil)
		svc.answer = func(ctx context.Context, c executor.Call, _ int) executor.Answer {
			select {
			case <-ctx.Done():
				return executor.Answer{Kind: ledger.AnswerUnknown}
			case <-time.After(90 * time.Second):
				return svc.apply(c)
			}
		}
		j := minutely("a")
		j.Timeout = 2 * time.Minute
		_, stop := start(t, executor.Config{Registry: registry(t, j), Ledger: unansweredRenewal{l, &calls}, Caller: svc})
		time.Sleep(3*time.Minute + time.Second)
		stop()
		if done := mustList(t, l, ledger.Filter{States: []ledger.State{ledger.Succeeded}}); calls < 3 || len(done) == 0 || done[len(done)-1].Attempt != 1 {
			t.Errorf("after %d renewals: %v", calls, done)
		}
	})
}
