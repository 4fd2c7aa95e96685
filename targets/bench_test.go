package targets_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cronce/cronce/ledger"
)

const callers = 32

// BenchmarkCall is an attempt beside the bare request that it makes, over the
// same loopback: run both with -count and compare the ratio, since absolute
// figures drift with the machine.
func BenchmarkCall(b *testing.B) {
	s := serve(b, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusNoContent)
	})
	c := call()
	b.Run("bare", func(b *testing.B) {
		client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true}}
		b.Cleanup(client.CloseIdleConnections)
		parallel(b, func(ctx context.Context) bool {
			req, err := http.NewRequestWithContext(ctx, c.Call.Method, s.URL+c.Call.Path, bytes.NewReader(c.Call.Body))
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
		})
	})
	b.Run("call", func(b *testing.B) {
		ts := to(b, s.URL)
		parallel(b, func(ctx context.Context) bool { return ts.Call(ctx, c).Kind == ledger.Fresh })
	})
}

// parallel spreads b.N calls over the callers, each with its own deadline.
func parallel(b *testing.B, one func(context.Context) bool) {
	var left atomic.Int64
	left.Store(int64(b.N))
	b.ReportAllocs()
	b.ResetTimer()
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
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
}
