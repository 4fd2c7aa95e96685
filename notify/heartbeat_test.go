package notify_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/notify"
)

// receiver keeps what it is pinged with.
type receiver struct {
	mu      sync.Mutex
	got     []string
	down    bool
	problem error // what the process reports meanwhile
}

func (r *receiver) set(problem error, down bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.problem, r.down = problem, down
}

func (r *receiver) ready() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.problem
}

func (r *receiver) Call(ctx context.Context, c executor.Call) executor.Answer {
	if c.Call.Target != jobs.HeartbeatTarget || ctx.Err() != nil {
		return executor.Answer{Kind: ledger.AnswerRefused, Error: "not a ping"}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.got = append(r.got, c.Call.Path+" "+string(c.Call.Body))
	if r.down {
		return executor.Answer{Kind: ledger.AnswerFailed, Error: "HTTP 500"}
	}
	return executor.Answer{Kind: ledger.AnswerFresh, Status: 200}
}

// What the receiver is told from the start of a process to its stop, and what is
// logged of a receiver that is down for a while.
func TestTheHeartbeatOfAProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		r := &receiver{}
		h := &notify.Heartbeat{
			Registry: "acme", Every: time.Minute, Caller: r, Ready: r.ready, Logger: slog.New(slog.NewTextHandler(&log, nil)),
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); h.Run(ctx) }()
		time.Sleep(time.Minute + time.Second)
		r.set(errors.New("the ledger is down"), true)
		time.Sleep(2 * time.Minute)
		r.set(nil, false)
		time.Sleep(time.Minute)
		stop()
		<-done
		want := []string{"/start ", " ", "/fail the ledger is down", "/fail the ledger is down", " ", "/log the process stops, or reads its registry again"}
		if !slices.Equal(r.got, want) {
			t.Errorf("pinged %q, want %q", r.got, want)
		}
		if n := strings.Count(log.String(), "heartbeat not delivered"); n != 1 {
			t.Errorf("%d warnings of one outage:\n%s", n, log.String())
		}
	})
}

type hangs struct{}

func (hangs) Call(ctx context.Context, _ executor.Call) executor.Answer {
	<-ctx.Done()
	return executor.Answer{Kind: ledger.AnswerUnknown, Error: "no answer"}
}

// A ping that gets no answer within its time is in the log, as one that is refused.
func TestAHeartbeatThatHangsIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		h := &notify.Heartbeat{Registry: "acme", Caller: hangs{}, Logger: slog.New(slog.NewTextHandler(&log, nil))}
		h.Report(t.Context(), nil)
		if !strings.Contains(log.String(), "heartbeat not delivered") {
			t.Errorf("log %q", log.String())
		}
	})
}
