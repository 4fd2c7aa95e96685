package idempotency_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/idempotency"
)

// answer is what one caller was told.
type answer struct {
	duplicate bool
	err       error
}

// storm is one key in a store, and callers who ask for it at once.
type storm struct {
	t     *testing.T
	store *fakeStore
	kit   *idempotency.Kit
	runs  int
	work  func(run int) error // of the nth run, from 1; nil: succeeds

	mu      sync.Mutex
	answers []answer
	all     sync.WaitGroup
}

func newStorm(t *testing.T, s *fakeStore) *storm {
	t.Helper()
	kit, err := idempotency.New(s, idempotency.Options{Principal: idempotency.SinglePrincipal("p")})
	if err != nil {
		t.Fatal(err)
	}
	return &storm{t: t, store: s, kit: kit}
}

var stormOperation = idempotency.Operation{Scope: "s", Key: "k", Payload: "payload"}

func (s *storm) run(context.Context) (int, error) {
	s.mu.Lock()
	s.runs++
	n := s.runs
	s.mu.Unlock()
	if s.work == nil {
		return 42, nil
	}
	return 42, s.work(n)
}

// The kit's entry points, each as an operation that is asked for.
var entryPoints = map[string]func(*storm, context.Context, idempotency.Operation) (duplicate bool, err error){
	"Do": func(s *storm, ctx context.Context, op idempotency.Operation) (bool, error) {
		got, duplicate, err := idempotency.Do(ctx, s.kit, op, s.run)
		if err == nil && got != 42 {
			err = fmt.Errorf("the result is %d", got)
		}
		return duplicate, err
	},
	"Call": func(s *storm, ctx context.Context, op idempotency.Operation) (bool, error) {
		got, duplicate, err := idempotency.Call(ctx, s.kit, op, idempotency.Effect[int]{Do: s.run})
		if err == nil && got != 42 {
			err = fmt.Errorf("the result is %d", got)
		}
		return duplicate, err
	},
	"Handler": func(s *storm, ctx context.Context, op idempotency.Operation) (bool, error) {
		r := httptest.NewRequestWithContext(ctx, "POST", "/pay", strings.NewReader(op.Payload.(string)))
		r.Header.Set(idempotency.HeaderKey, op.Key)
		if !op.SendBefore.IsZero() {
			r.Header.Set(idempotency.HeaderSendBefore, op.SendBefore.Format(time.RFC3339))
		}
		w := httptest.NewRecorder()
		s.kit.Handler(idempotency.Route{Scope: op.Scope}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if _, err := s.run(r.Context()); err != nil {
				w.WriteHeader(http.StatusInternalServerError)
			}
		})).ServeHTTP(w, r)
		switch {
		case w.Code == http.StatusOK:
			return w.Header().Get(idempotency.HeaderReplayed) == "true", nil
		case strings.Contains(w.Body.String(), idempotency.CodeMismatch):
			return false, idempotency.ErrMismatch
		default:
			return false, fmt.Errorf("answered %d %s", w.Code, w.Body)
		}
	},
}

type leaveKey struct{}

// ask starts a caller at an entry point, who leaves by the function under leaveKey.
func (s *storm) ask(entry string, op idempotency.Operation) {
	s.all.Go(func() {
		ctx, leave := context.WithCancel(s.t.Context())
		defer leave()
		ctx = context.WithValue(ctx, leaveKey{}, leave)
		var a answer
		defer func() {
			if p := recover(); p != nil {
				a.err = fmt.Errorf("panic: %v", p)
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			s.answers = append(s.answers, a)
		}()
		a.duplicate, a.err = entryPoints[entry](s, ctx, op)
	})
}

// waiting starts a leader, whom the store holds up as it begins, then the others,
// who wait for it, and lets the leader go on.
func (s *storm) waiting(entry string, leader idempotency.Operation, others ...idempotency.Operation) {
	release, next := make(chan struct{}), s.store.onBegin
	s.store.onBegin = func(n int) error {
		if n == 1 {
			<-release
		}
		if next != nil {
			return next(n)
		}
		return nil
	}
	s.ask(entry, leader)
	synctest.Wait()
	for _, op := range others {
		s.ask(entry, op)
	}
	synctest.Wait()
	close(release)
}

// count waits for all and tells how many were given a stored reply, did the
// work, or were refused with the error.
func (s *storm) count(refused error) (duplicates, did, refusals int) {
	s.t.Helper()
	s.all.Wait()
	for _, a := range s.answers {
		switch {
		case a.err == nil && a.duplicate:
			duplicates++
		case a.err == nil:
			did++
		case errors.Is(a.err, refused) || strings.Contains(a.err.Error(), refused.Error()):
			refusals++
		default:
			s.t.Error(a.err)
		}
	}
	return duplicates, did, refusals
}

// asked checks how often the store was.
func (s *storm) asked(begins, looks int) {
	s.t.Helper()
	if s.store.begins != begins || s.store.looks != looks {
		s.t.Errorf("the key was tried %d times and looked up %d times, want %d and %d", s.store.begins, s.store.looks, begins, looks)
	}
}

func same(n int) []idempotency.Operation {
	ops := make([]idempotency.Operation, n)
	for i := range ops {
		ops[i] = stormOperation
	}
	return ops
}
