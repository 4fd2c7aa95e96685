package idempotency_test

import (
	"context"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/store"
)

var gateKey = idempotency.Key{Scope: "s", Principal: "p", Value: "k"}

func TestGateLetsOneLeadAndOneLookForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g idempotency.Gate
		leader, turn := g.Enter(t.Context(), gateKey)
		if turn != idempotency.Leader {
			t.Fatal(turn)
		}
		found := &store.Record{}
		var looked, knew atomic.Int32
		look := make(chan struct{})
		for range 10 {
			go func() {
				switch f, turn := g.Enter(t.Context(), gateKey); turn {
				case idempotency.Lookup:
					looked.Add(1)
					<-look
					g.Share(f, found, true)
				case idempotency.Shared:
					if idempotency.Found(f) == found {
						knew.Add(1)
					}
				}
			}()
		}
		for _, step := range []struct {
			do           func()
			looked, knew int32
		}{
			{func() {}, 0, 0},
			{func() { g.Leave(leader, true) }, 1, 0},
			{func() { close(look) }, 1, 9},
		} {
			step.do()
			synctest.Wait()
			if looked.Load() != step.looked || knew.Load() != step.knew {
				t.Fatalf("%d looked and %d know, want %+v", looked.Load(), knew.Load(), step)
			}
		}
	})
}

// A leader whose work blocks for ever is overdue, and another one leads.
func TestGateDoesNotWaitForALeaderThatIsOverdue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g idempotency.Gate
		stuck, _ := g.Enter(t.Context(), gateKey)
		time.Sleep(time.Minute + 1) // virtual
		next, turn := g.Enter(t.Context(), gateKey)
		if turn != idempotency.Leader {
			t.Fatal(turn)
		}
		g.Leave(stuck, true)
		if n := g.Len(); n != 1 {
			t.Errorf("%d queues when the overdue leader has left, want the next one's", n)
		}
		g.Leave(next, true)
		if n := g.Len(); n != 0 {
			t.Errorf("%d queues are left", n)
		}
	})
}

func TestGateGivesALeaderThatTookOverATimeOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g idempotency.Gate
		first, _ := g.Enter(t.Context(), gateKey)
		time.Sleep(59 * time.Second) // virtual
		second := make(chan idempotency.Turn)
		go func() {
			_, turn := g.Enter(t.Context(), gateKey)
			second <- turn
		}()
		synctest.Wait()
		g.Leave(first, false)
		if turn := <-second; turn != idempotency.Leader {
			t.Fatal(turn)
		}
		time.Sleep(30 * time.Second) // virtual
		ctx, leave := context.WithTimeout(t.Context(), time.Second)
		defer leave()
		if _, turn := g.Enter(ctx, gateKey); turn != idempotency.TimedOut {
			t.Errorf("a third call does not wait for the second: %d", turn)
		}
	})
}

func TestGateLetsNobodyJoinOnceTheOutcomeIsKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g idempotency.Gate
		leader, _ := g.Enter(t.Context(), gateKey)
		looker := make(chan *idempotency.KeyQueue, 1)
		go func() {
			f, _ := g.Enter(t.Context(), gateKey)
			looker <- f
		}()
		synctest.Wait()
		g.Leave(leader, true)
		newcomer, turn := g.Enter(t.Context(), gateKey)
		if turn != idempotency.Leader {
			t.Fatal("a newcomer waits for a look that began before it came")
		}
		g.Share(<-looker, nil, false) // of no concern to the newcomer's queue
		go func() {
			if f, turn := g.Enter(t.Context(), gateKey); turn == idempotency.Leader {
				t.Error("two lead at once")
				g.Leave(f, false)
			}
		}()
		synctest.Wait()
		g.Leave(newcomer, true)
	})
}

func TestGatePassesTheLookOnWhenItFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g idempotency.Gate
		leader, _ := g.Enter(t.Context(), gateKey)
		var looked, knew atomic.Int32
		for range 10 {
			go func() {
				switch f, turn := g.Enter(t.Context(), gateKey); turn {
				case idempotency.Lookup:
					g.Share(f, nil, looked.Add(1) == 4)
				case idempotency.Shared:
					knew.Add(1)
				}
			}()
		}
		synctest.Wait()
		g.Leave(leader, true)
		synctest.Wait()
		if looked.Load() != 4 || knew.Load() != 6 {
			t.Errorf("%d looked and %d know, want 4 and 6", looked.Load(), knew.Load())
		}
	})
}

func TestGatePassesTheLeadOnWhenTheLeaderFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g idempotency.Gate
		leader, _ := g.Enter(t.Context(), gateKey)
		var led atomic.Int32
		for range 10 {
			go func() {
				if f, turn := g.Enter(t.Context(), gateKey); turn == idempotency.Leader {
					led.Add(1)
					time.Sleep(time.Second) // virtual
					g.Leave(f, false)
				}
			}()
		}
		synctest.Wait()
		for n := range int32(10) {
			if n == 0 {
				g.Leave(leader, false)
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
		if n := g.Len(); n != 0 {
			t.Error("the gate was left shut")
		}
	})
}

// The leader leaves at the very moment at which the waiting caller gives up.
// Neither the lead nor the look must be lost between them.
func TestGateLosesNoTurnToOneWhoGivesUp(t *testing.T) {
	for n := range 200 {
		known := n%2 == 0
		synctest.Test(t, func(t *testing.T) {
			var g idempotency.Gate
			leader, _ := g.Enter(t.Context(), gateKey)
			short, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			var turns atomic.Int32
			for _, ctx := range []context.Context{short, t.Context()} {
				go func() {
					f, turn := g.Enter(ctx, gateKey)
					switch turn {
					case idempotency.TimedOut:
						return
					case idempotency.Leader:
						g.Leave(f, false)
					case idempotency.Lookup:
						g.Share(f, nil, true)
					}
					turns.Add(1)
				}()
			}
			synctest.Wait()
			time.Sleep(time.Second) // virtual: both at once
			g.Leave(leader, known)
			synctest.Wait()
			if turns.Load() == 0 {
				t.Fatal("nobody has the turn")
			}
			if n := g.Len(); n != 0 {
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
		if _, turn := g.Enter(t.Context(), k); turn != idempotency.Leader {
			t.Error(k, turn)
		}
	}
}

func TestGateForgetsItsKeys(t *testing.T) {
	var g idempotency.Gate
	given, cancel := context.WithCancel(t.Context())
	cancel()
	for n := range 1000 {
		key := idempotency.Key{Scope: "s", Principal: "p", Value: strconv.Itoa(n)}
		f, _ := g.Enter(t.Context(), key)
		_, _ = g.Enter(given, key) // gives up at once
		g.Leave(f, n%2 == 0)
	}
	if n := g.Len(); n != 0 {
		t.Errorf("%d keys are remembered", n)
	}
}
