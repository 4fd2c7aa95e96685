package targets_test

import (
	"bytes"
	"context"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/targets"
)

// A target whose host moves while calls keep its connection busy is followed within
// half a minute. A call that is in progress then is not cut off.
func TestATargetThatMovesIsFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		moved := false
		old := piped(func(c net.Conn) { answerSlowly(c, 45*time.Second) })
		var reached []bool // by each connection: the new address
		ts := resolve(t, jobs.Target{AllowHTTP: true}, env{"MEMBERSHIP_URL": "http://svc.example"}, func(c *targets.Config) {
			c.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
				reached = append(reached, moved)
				if moved {
					return piped(answerEach)(ctx, network, address)
				}
				return old(ctx, network, address)
			}
		})
		begun := time.Now()
		slow := make(chan ledger.AnswerKind)
		for time.Since(begun) < 65*time.Second {
			if a := attempt(t, ts, call(), maxWait); a.Kind != ledger.AnswerFresh {
				t.Fatalf("after %s: %+v", time.Since(begun), a)
			}
			switch time.Since(begun) {
			case 10 * time.Second:
				c := call()
				c.Call.Path = "/slow"
				go func() { slow <- attempt(t, ts, c, maxWait).Kind }()
				synctest.Wait()
			case 20 * time.Second:
				moved = true
			case 29 * time.Second:
				if len(reached) != 2 {
					t.Errorf("%d connections in 29 s, want one for the calls one after the other, and one beside it", len(reached))
				}
			case 31 * time.Second:
				if last := len(reached) - 1; !reached[last] {
					t.Error("the new address is not called after half a minute")
				}
			}
			time.Sleep(time.Second)
		}
		if kind := <-slow; kind != ledger.AnswerFresh {
			t.Errorf("the call in progress: %s", kind)
		}
		if len(reached) != 4 {
			t.Errorf("%d connections", len(reached))
		}
	})
}

// answerSlowly answers as answerEach does, a request for /slow after a while.
func answerSlowly(conn net.Conn, after time.Duration) {
	buf := make([]byte, 4096)
	for {
		n, err := conn.Read(buf)
		if err != nil {
			return
		}
		if bytes.Contains(buf[:n], []byte("/slow")) {
			time.Sleep(after)
		}
		if buf[n-1] != '}' {
			continue
		}
		if _, err := conn.Write([]byte("HTTP/1.1 204 No Content\r\n\r\n")); err != nil {
			return
		}
	}
}
