package idempotency_test

import (
	"context"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/idempotency"
)

var gateKey = idempotency.Key{Scope: "s", Principal: "p", Value: "k"}

func TestGateLetsOneLeadAndTheOthersLookWhenItKnows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g idempotency.Gate
		if leads, err := g.Enter(t.Context(), gateKey); !leads || err != nil {
			t.Fatal(leads, err)
		}
		var looked atomic.Int32
		for range 10 {
			go func() {
				if leads, err := g.Enter(t.Context(), gateKey); !leads && err == nil {
					looked.Add(1)
				}
			}()
		}
		synctest.Wait()
		if looked.Load() != 0 {
			t.Fatal("somebody did not wait")
		}
		g.Leave(gateKey, true)
		synctest.Wait()
		if looked.Load() != 10 {
			t.Fatalf("%d of 10 were let go", looked.Load())
		}
	})
}

func TestGatePassesTheLeadOnWhenTheLeaderFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g idempotency.Gate
		_, _ = g.Enter(t.Context(), gateKey)
		var led atomic.Int32
		for range 10 {
			go func() {
				if leads, _ := g.Enter(t.Context(), gateKey); leads {
					led.Add(1)
					time.Sleep(time.Second) // virtual
					g.Leave(gateKey, false)
				}
			}()
		}
		synctest.Wait()
		for n := range int32(10) {
			if n == 0 {
				g.Leave(gateKey, false)
			} else {
				time.Sleep(time.Second)
			}
			synctest.Wait()
			if led.Load() != n+1 {
				t.Fatalf("%d led, want %d", led.Load(), n+1)
			}
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if leads, _ := g.Enter(t.Context(), gateKey); !leads {
			t.Error("the gate was left shut")
		}
	})
}

// The leader leaves at the very moment at which the one who waits gives up. The
// lead must not be lost between them.
func TestGateLosesNoLeadToOneWhoGivesUp(t *testing.T) {
	for range 200 {
		synctest.Test(t, func(t *testing.T) {
			var g idempotency.Gate
			_, _ = g.Enter(t.Context(), gateKey)
			short, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			var led atomic.Int32
			for _, ctx := range []context.Context{short, t.Context()} {
				go func() {
					if leads, err := g.Enter(ctx, gateKey); err == nil && leads {
						led.Add(1)
						g.Leave(gateKey, false)
					}
				}()
			}
			synctest.Wait()
			time.Sleep(time.Second) // virtual: both at once
			g.Leave(gateKey, false)
			synctest.Wait()
			if led.Load() == 0 {
				t.Fatal("nobody leads")
			}
			if leads, _ := g.Enter(t.Context(), gateKey); !leads {
				t.Fatal("the gate was left shut")
			}
		})
	}
}

func TestGateKeepsKeysApart(t *testing.T) {
	var g idempotency.Gate
	other := gateKey
	other.Principal = "q"
	for _, k := range []idempotency.Key{gateKey, other} {
		if leads, err := g.Enter(t.Context(), k); !leads || err != nil {
			t.Error(k, leads, err)
		}
	}
}

func TestGateForgetsItsKeys(t *testing.T) {
	var g idempotency.Gate
	given, cancel := context.WithCancel(t.Context())
	cancel()
	for n := range 1000 {
		key := idempotency.Key{Scope: "s", Principal: "p", Value: strconv.Itoa(n)}
		_, _ = g.Enter(t.Context(), key)
		_, _ = g.Enter(given, key) // gives up at once
		g.Leave(key, n%2 == 0)
	}
	if n := g.Len(); n != 0 {
		t.Errorf("%d keys are remembered", n)
	}
}
