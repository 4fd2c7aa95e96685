// Package kitbench measures the cost of the idempotency kit on every engine: one
// write behind the kit, compared with the same write in a bare transaction and
// in one with a key table as it is usually written.
package kitbench

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/store"
)

// Engine is what is compared, on one database that keeps what it commits. Each
// function makes one write and returns when it is committed, except Effect.
type Engine struct {
	Bare  func(ctx context.Context) error                   // BEGIN, effect, COMMIT
	Usual func(ctx context.Context, key, hash string) error // the same with look-up, key and outcome
	// Effect is the write alone, in the transaction that the kit opened.
	Effect func(ctx context.Context) error
	Store  store.Store
	// Spent reads what was spent up to now, by unit; nil where nothing is read.
	Spent func() map[string]float64
}

// turn is the number of requests that a handler gets before it is the next one's turn.
const turn = 800

// Handler has the three take turns, each behind an HTTP server of its own, at 1,
// 16 and 64 callers, each time on an engine of its own. An iteration is one round
// of turns, since machines drift; rates and ratios are the medians of the rounds,
// p50 and p99 are over all requests.
func Handler(b *testing.B, open func(b *testing.B) Engine) {
	for _, callers := range []int{1, 16, 64} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			e := open(b)
			ways := []*way{
				newWay(b, "bare", callers, handler(func(r *http.Request, _ []byte) error { return e.Bare(r.Context()) })),
				newWay(b, "usual", callers, handler(func(r *http.Request, body []byte) error {
					hash := sha256.Sum256(body)
					return e.Usual(r.Context(), r.Header.Get("Idempotency-Key"), hex.EncodeToString(hash[:]))
				})),
				newWay(b, "kit", callers, e.protected(b)),
			}
			for _, w := range ways {
				w.requests() // opens connections, prepares statements
			}
			b.ResetTimer()
			for range b.N {
				for _, w := range ways {
					w.turn(e.Spent)
				}
			}
			for n, w := range ways {
				w.report(b, ways[:n])
			}
		})
	}
}

// Replay has 64 callers ask for one key that is done, without a network between
// them and the kit.
func Replay(b *testing.B, e Engine) {
	h := e.protected(b)
	key := fresh()
	ask(b, h, key)
	var all sample
	b.ResetTimer()
	for range b.N {
		all.add(take(64, 2000, func() { ask(b, h, key) }))
	}
	all.report(b, "replay")
}

// Storm has 64 callers ask at once for a key that is new, without a network
// between them and the kit; an iteration is one key. Each caller gets the reply
// of the one run.
func Storm(b *testing.B, e Engine) {
	var runs atomic.Int64
	effect := e.Effect
	e.Effect = func(ctx context.Context) error { runs.Add(1); return effect(ctx) }
	h := e.protected(b)
	var all sample
	b.ResetTimer()
	for range b.N {
		key := fresh()
		all.add(take(64, 64, func() { ask(b, h, key) }))
	}
	all.report(b, "storm")
	if n := runs.Load(); n != int64(b.N) {
		b.Errorf("%d keys ran %d times", b.N, n)
	}
}

func (e Engine) protected(b *testing.B) http.Handler {
	k, err := idempotency.New(e.Store, idempotency.Options{
		Principal: idempotency.SinglePrincipal("caller"),
		Logger:    slog.New(slog.DiscardHandler),
	})
	if err != nil {
		b.Fatal(err)
	}
	return k.Handler(idempotency.Route{Scope: "route:POST_/pay"},
		handler(func(r *http.Request, _ []byte) error { return e.Effect(r.Context()) }))
}

// handler reads the request, has the work done and answers.
func handler(do func(r *http.Request, body []byte) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = do(r, body)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.WriteHeader(Paid.Status)
		_, _ = w.Write(Paid.Body)
	})
}

func ask(b *testing.B, h http.Handler, key string) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, request("/pay", key))
	if w.Code != http.StatusCreated || w.Body.String() != "paid" {
		b.Error(w.Code, w.Body)
	}
}
