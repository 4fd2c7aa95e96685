package stripetest_test

import (
	"bytes"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
)

// fault is what the proxy does to one exchange.
type fault func(p *proxy, w http.ResponseWriter, r *http.Request, body []byte)

// proxy stands between a client and a service. The nth request with a key
// meets the nth fault of its plan; after the plan requests pass unharmed.
type proxy struct {
	upstream string
	client   *http.Client
	plan     func(key string) []fault

	mu   sync.Mutex
	seen map[string]int
	busy sync.WaitGroup // requests that go on though their caller was cut off
}

func newProxy(t *testing.T, upstream string, plan func(key string) []fault) *httptest.Server {
	t.Helper()
	transport := &http.Transport{}
	p := &proxy{upstream: upstream, client: &http.Client{Transport: transport}, plan: plan, seen: map[string]int{}}
	server := httptest.NewServer(p)
	t.Cleanup(func() {
		server.Close()
		p.busy.Wait()
		transport.CloseIdleConnections()
	})
	return server
}

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		reset(w)
		return
	}
	key := r.Header.Get("Idempotency-Key")
	p.mu.Lock()
	n := p.seen[key]
	p.seen[key]++
	p.mu.Unlock()
	do := pass
	if plan := p.plan(key); n < len(plan) {
		do = plan[n]
	}
	do(p, w, r, body)
}

// forward returns the service's whole answer.
func (p *proxy) forward(r *http.Request, body []byte) (*http.Response, []byte, error) {
	out, err := http.NewRequest(r.Method, p.upstream+r.URL.RequestURI(), bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	out.Header = r.Header.Clone()
	res, err := p.client.Do(out)
	if err != nil {
		return nil, nil, err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	return res, answer, err
}

func pass(p *proxy, w http.ResponseWriter, r *http.Request, body []byte) {
	res, answer, err := p.forward(r, body)
	if err != nil {
		http.Error(w, "bad gateway", http.StatusBadGateway)
		return
	}
	for name, values := range res.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(res.StatusCode)
	w.Write(answer)
}

// lostRequest: the connection is reset before the service hears of anything.
func lostRequest(_ *proxy, w http.ResponseWriter, _ *http.Request, _ []byte) { reset(w) }

// lostAnswer: the service has done the work, and the connection is reset.
func lostAnswer(p *proxy, w http.ResponseWriter, r *http.Request, body []byte) {
	_, _, _ = p.forward(r, body)
	reset(w)
}

// impatient: the connection is reset while the service works.
func impatient(p *proxy, w http.ResponseWriter, r *http.Request, body []byte) {
	request := r.Clone(r.Context())
	p.busy.Go(func() { _, _, _ = p.forward(request, body) })
	reset(w)
}

// badGateway: the work is done, and the proxy answers with a page of its own.
func badGateway(p *proxy, w http.ResponseWriter, r *http.Request, body []byte) {
	_, _, _ = p.forward(r, body)
	http.Error(w, "<html>502</html>", http.StatusBadGateway)
}

// cutAnswer: the work is done, and half of the answer gets through.
func cutAnswer(p *proxy, w http.ResponseWriter, r *http.Request, body []byte) {
	_, answer, err := p.forward(r, body)
	if err != nil {
		reset(w)
		return
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(answer)))
	w.Write(answer[:len(answer)/2])
	panic(http.ErrAbortHandler)
}

// doubled: the proxy itself sends the request twice.
func doubled(p *proxy, w http.ResponseWriter, r *http.Request, body []byte) {
	_, _, _ = p.forward(r, body)
	pass(p, w, r, body)
}

// storm is up to five faults for a key, the same on every run.
func storm(key string) []fault {
	seed := fnv.New64a()
	seed.Write([]byte(key))
	random := rand.New(rand.NewPCG(seed.Sum64(), 1))
	plan := make([]fault, random.IntN(6))
	for i := range plan {
		plan[i] = faults[random.IntN(len(faults))].do
	}
	return plan
}

// reset ends a connection with a TCP reset.
func reset(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	conn.Close()
}
