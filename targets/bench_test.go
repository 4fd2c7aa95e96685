package targets_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/ledger"
)

const (
	callers  = 32
	perRound = 1000
)

// BenchmarkCall is an attempt beside the bare request that it makes, over the
// same loopback. The two take turns, since only their ratio holds on a machine
// whose speed drifts: call/bare is how much of the bare rate is kept.
func BenchmarkCall(b *testing.B) {
	s := serve(b, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusNoContent)
	})
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true}}
	b.Cleanup(client.CloseIdleConnections)
	ts, c := to(b, s.URL), call()
	ways := [2]func(context.Context) bool{
		func(ctx context.Context) bool { return bare(ctx, client, s.URL, c) },
		func(ctx context.Context) bool { return ts.Call(ctx, c).Kind == ledger.AnswerFresh },
	}
	var spent [2]time.Duration
	var made int
	for b.Loop() {
		for i, one := range ways {
			spent[i] += round(b, one)
		}
		made += perRound
	}
	b.ReportMetric(float64(made)/spent[0].Seconds(), "bare/s")
	b.ReportMetric(float64(made)/spent[1].Seconds(), "calls/s")
	b.ReportMetric(float64(spent[0])/float64(spent[1]), "call/bare")
}

// BenchmarkOneCall is what one attempt takes of time and memory, and the bare
// request that it makes, one after the other to a target that only reads and
// answers. Unlike rates, the counts of allocations are the same on every machine.
func BenchmarkOneCall(b *testing.B) {
	url := tcp(b, answerEach)
	client := &http.Client{Transport: &http.Transport{DisableCompression: true}}
	b.Cleanup(client.CloseIdleConnections)
	ts, c := to(b, url), call()
	b.Run("bare", func(b *testing.B) {
		each(b, func(ctx context.Context) bool { return bare(ctx, client, url, c) })
		client.CloseIdleConnections() // the target has one connection at a time
	})
	b.Run("call", func(b *testing.B) {
		each(b, func(ctx context.Context) bool { return ts.Call(ctx, c).Kind == ledger.AnswerFresh })
	})
}

// answerEach answers every request of call's on a connection, and allocates
// nothing for it: the last byte of one is its body's.
func answerEach(conn net.Conn) {
	answer, buf := []byte("HTTP/1.1 204 No Content\r\n\r\n"), make([]byte, 4096)
	for {
		n, err := conn.Read(buf)
		if err != nil {
			return
		}
		if buf[n-1] != '}' {
			continue
		}
		if _, err := conn.Write(answer); err != nil {
			return
		}
	}
}

func each(b *testing.B, one func(context.Context) bool) {
	b.ReportAllocs()
	for b.Loop() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		if !one(ctx) {
			b.Fatal("a call failed")
		}
		cancel()
	}
}

// bare makes the request that an attempt makes, and nothing else.
func bare(ctx context.Context, client *http.Client, url string, c executor.Call) bool {
	req, err := http.NewRequestWithContext(ctx, c.Call.Method, url+c.Call.Path, bytes.NewReader(c.Call.Body))
	if err != nil {
		return false
	}
	req.Header.Set("Idempotency-Key", c.RunID)
	req.Header.Set("Content-Type", "application/json")
	res, err := client.Do(req)
	if err != nil {
		return false
	}
	_, _ = io.Copy(io.Discard, res.Body)
	return res.Body.Close() == nil
}

// round makes perRound calls by all callers and says how long they took.
func round(b *testing.B, one func(context.Context) bool) time.Duration {
	var left atomic.Int64
	left.Store(perRound)
	begun := time.Now()
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
				if !one(ctx) {
					b.Error("a call failed")
				}
				cancel()
			}
		})
	}
	wg.Wait()
	return time.Since(begun)
}
