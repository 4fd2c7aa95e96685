package demo

import (
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// faults stands between the scheduler and the target, over real HTTP, and
// breaks what passes through.
type faults struct {
	target string // base URL
	client *http.Client
	broken atomic.Bool // whether to break anything

	inFlight                              atomic.Int64
	calls, dropped, resets, refused, slow atomic.Int64
}

func newFaults(target string) *faults {
	f := &faults{target: target, client: &http.Client{Timeout: 10 * time.Second}}
	f.broken.Store(true)
	return f
}

func (f *faults) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.calls.Add(1)
	f.inFlight.Add(1)
	defer f.inFlight.Add(-1)
	dice := rand.IntN(100)
	if !f.broken.Load() {
		dice = 99
	}
	switch {
	case dice < 10: // the request never arrives
		f.resets.Add(1)
		reset(w)
	case dice < 20: // the target is overloaded
		f.refused.Add(1)
		http.Error(w, "overloaded", http.StatusServiceUnavailable)
	case dice < 35: // the work is done, and the response is lost
		f.dropped.Add(1)
		if response, err := f.forward(r); err == nil {
			response.Body.Close()
		}
		reset(w)
	case dice < 45: // the response is late, perhaps too late
		f.slow.Add(1)
		time.Sleep(time.Duration(rand.IntN(1500)) * time.Millisecond)
		f.pass(w, r)
	default:
		f.pass(w, r)
	}
}

func (f *faults) pass(w http.ResponseWriter, r *http.Request) {
	response, err := f.forward(r)
	if err != nil {
		reset(w)
		return
	}
	defer response.Body.Close()
	for name, values := range response.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(response.StatusCode)
	_, _ = io.Copy(w, response.Body) // a caller that went away asks again
}

func (f *faults) forward(r *http.Request) (*http.Response, error) {
	out, err := http.NewRequestWithContext(r.Context(), r.Method, f.target+r.URL.RequestURI(), r.Body)
	if err != nil {
		return nil, err
	}
	out.Header = r.Header.Clone()
	out.ContentLength = r.ContentLength
	return f.client.Do(out)
}

// reset closes the connection with a TCP reset instead of a response.
func reset(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // 0: discard and reset
	}
	_ = conn.Close()
}
