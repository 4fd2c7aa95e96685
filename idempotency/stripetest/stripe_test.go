package stripetest_test

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"

	"github.com/stripe/stripe-go/v85"

	"github.com/cronce/cronce/idempotency"
)

var faults = []struct {
	name string
	do   fault
}{
	{"the request is lost", lostRequest},
	{"the answer is lost", lostAnswer},
	{"the connection is reset while the service works", impatient},
	{"a gateway answers 502 after the work", badGateway},
	{"the answer is cut off", cutAnswer},
	{"the proxy sends it twice", doubled},
}

func TestOneChargeWhateverTheNetworkDoes(t *testing.T) {
	for _, f := range faults {
		for _, key := range []string{"order-1", ""} {
			t.Run(fmt.Sprintf("%s, key %q", f.name, key), func(t *testing.T) {
				s := newService(t, nil)
				p := newProxy(t, s.url, func(string) []fault { return []fault{f.do, f.do} })
				got, err := charge(t.Context(), client(t, p.URL, "sk_test_alice", 3), key, "one", 500)
				check(t, err)
				if got.ID != "ch_1" || got.Amount != 500 {
					t.Errorf("the client was told %s over %d, want ch_1 over 500", got.ID, got.Amount)
				}
				s.wantCharges("one", 1)
			})
		}
	}
}

// Sixty operations, eight at once, each through up to five faults.
func TestOneChargePerOperationInAStorm(t *testing.T) {
	s := newService(t, nil)
	p := newProxy(t, s.url, func(key string) []fault {
		seed := fnv.New64a()
		seed.Write([]byte(key))
		random := rand.New(rand.NewPCG(seed.Sum64(), 1))
		plan := make([]fault, random.IntN(6))
		for i := range plan {
			plan[i] = faults[random.IntN(len(faults))].do
		}
		return plan
	})
	const operations, callers = 60, 8
	c := client(t, p.URL, "sk_test_alice", 8)
	var (
		wg   sync.WaitGroup
		mu   sync.Mutex
		told = map[string]string{} // operation by charge
		next = make(chan string)
	)
	for range callers {
		wg.Go(func() {
			for operation := range next {
				got, err := charge(t.Context(), c, operation, operation, 500)
				if err != nil {
					t.Errorf("%s: %v", operation, err)
					continue
				}
				mu.Lock()
				if other, ok := told[got.ID]; ok {
					t.Errorf("%s and %s were both told of %s", operation, other, got.ID)
				}
				told[got.ID] = operation
				mu.Unlock()
			}
		})
	}
	for i := range operations {
		next <- fmt.Sprint("operation-", i)
	}
	close(next)
	wg.Wait()
	s.wantCharges("", operations)
	for _, operation := range told {
		s.wantCharges(operation, 1)
	}
}

func TestTheSameKeyWithAnotherPayloadIsAnIdempotencyError(t *testing.T) {
	for _, status := range []int{http.StatusConflict, http.StatusUnprocessableEntity} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			s := newService(t, func(o *idempotency.Options) { o.MismatchStatus = status })
			c := client(t, s.url, "sk_test_alice", 3)
			_, err := charge(t.Context(), c, "order-1", "one", 500)
			check(t, err)
			_, err = charge(t.Context(), c, "order-1", "one", 501)
			var refused *stripe.IdempotencyError
			if !errors.As(err, &refused) {
				t.Fatalf("got %T %v, want a *stripe.IdempotencyError", err, err)
			}
			var general *stripe.Error
			if !errors.As(err, &general) || general.HTTPStatusCode != http.StatusBadRequest || general.Code != idempotency.CodeMismatch {
				t.Errorf("got %+v, want 400 %s", general, idempotency.CodeMismatch)
			}
			if n := len(s.refused); n != 1 {
				t.Errorf("the client asked %d times for what cannot succeed, want 1", n)
			}
			s.wantCharges("", 1)
		})
	}
}

// The first request is cut off while its handler runs. The handler goes on
// only when the client has met it, so the client must have asked a third time.
func TestWhatIsInProgressIsAskedForAgain(t *testing.T) {
	met := make(chan struct{})
	s := newService(t, func(o *idempotency.Options) {
		o.Wait = -1
		write := o.WriteProblem
		var once sync.Once
		o.WriteProblem = func(w http.ResponseWriter, r *http.Request, p idempotency.Problem) {
			if p.Code == idempotency.CodeInProgress {
				once.Do(func() { close(met) })
			}
			write(w, r, p)
		}
	})
	started := make(chan struct{})
	var once sync.Once
	s.before = func() {
		once.Do(func() { close(started) })
		<-met
	}
	cut := func(p *proxy, w http.ResponseWriter, r *http.Request, body []byte) {
		impatient(p, w, r, body)
		<-started
	}
	p := newProxy(t, s.url, func(string) []fault { return []fault{cut} })
	got, err := charge(t.Context(), client(t, p.URL, "sk_test_alice", 1000), "order-1", "one", 500)
	check(t, err)
	if got.ID != "ch_1" {
		t.Errorf("the client was told of %s, want ch_1", got.ID)
	}
	if n := s.starts.Load(); n != 1 {
		t.Errorf("the handler started %d times, want 1", n)
	}
	s.wantCharges("", 1)
}

func TestWithoutRetriesLeftAClientIsToldOfTheLock(t *testing.T) {
	s := newService(t, func(o *idempotency.Options) { o.Wait = -1 })
	started, release := make(chan struct{}), make(chan struct{})
	s.before = func() { close(started); <-release }
	c := client(t, s.url, "sk_test_alice", 0)
	first := make(chan error, 1)
	go func() { _, err := charge(t.Context(), c, "order-1", "one", 500); first <- err }()
	<-started
	_, err := charge(t.Context(), c, "order-1", "one", 500)
	close(release)
	var refused *stripe.Error
	if !errors.As(err, &refused) || refused.Code != stripe.ErrorCodeLockTimeout || refused.HTTPStatusCode != http.StatusTooManyRequests {
		t.Errorf("got %v, want 429 lock_timeout", err)
	}
	check(t, <-first)
	s.wantCharges("", 1)
}

func TestARefusedChargeIsRefusedAgainWithoutRunning(t *testing.T) {
	s := newService(t, nil)
	p := newProxy(t, s.url, func(string) []fault { return []fault{lostAnswer} })
	_, err := charge(t.Context(), client(t, p.URL, "sk_test_alice", 3), "order-1", "one", -5)
	var invalid *stripe.InvalidRequestError
	if !errors.As(err, &invalid) {
		t.Errorf("got %T %v, want a *stripe.InvalidRequestError", err, err)
	}
	if n := s.starts.Load(); n != 1 {
		t.Errorf("the handler started %d times, want 1", n)
	}
	s.wantCharges("", 0)
}

func TestTwoAccountsMayUseOneKeyAndARolledAPIKeyIsTheSameAccount(t *testing.T) {
	s := newService(t, nil)
	for _, apiKey := range []string{"sk_test_alice_1", "sk_test_bob_1", "sk_test_alice_2"} {
		_, err := charge(t.Context(), client(t, s.url, apiKey, 0), "order-1", "one", 500)
		check(t, err)
	}
	s.wantCharges("one", 2)
}

func TestAReplayIsMarked(t *testing.T) {
	s := newService(t, nil)
	c := client(t, s.url, "sk_test_alice", 0)
	for i, want := range []string{"", "true"} {
		got, err := charge(t.Context(), c, "order-1", "one", 500)
		check(t, err)
		if replayed := got.LastResponse.Header.Get("Idempotent-Replayed"); replayed != want {
			t.Errorf("call %d: Idempotent-Replayed is %q, want %q", i+1, replayed, want)
		}
	}
}
