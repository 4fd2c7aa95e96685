package kitbench

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// way is one of the handlers compared, with its HTTP server, its callers and
// what was measured of it.
type way struct {
	b       *testing.B
	name    string
	http    *http.Client
	url     string
	callers int
	sample  sample
	spent   map[string]float64
}

func newWay(b *testing.B, name string, callers int, h http.Handler) *way {
	server := httptest.NewServer(h)
	b.Cleanup(server.Close)
	server.Client().Transport.(*http.Transport).MaxIdleConnsPerHost = callers
	return &way{b: b, name: name, http: server.Client(), url: server.URL + "/pay", callers: callers, spent: map[string]float64{}}
}

// turn measures one turn, and what it spent where that is read.
func (w *way) turn(spent func() map[string]float64) {
	if spent == nil {
		w.sample.add(w.requests())
		return
	}
	before := spent()
	w.sample.add(w.requests())
	for unit, after := range spent() {
		w.spent[unit] += after - before[unit]
	}
}

func (w *way) requests() timing {
	return take(w.callers, turn, func() {
		r, err := w.http.Do(request(w.url, fresh()))
		if err != nil {
			w.b.Error(err)
			return
		}
		body, err := io.ReadAll(r.Body)
		if r.Body.Close(); err != nil || r.StatusCode != http.StatusCreated || string(body) != "paid" {
			w.b.Error(r.Status, string(body), err)
		}
	})
}

// report adds the way's figures to the benchmark's: beside other ways, and per
// request what was spent.
func (w *way) report(b *testing.B, others []*way) {
	w.sample.report(b, w.name)
	for _, other := range others {
		b.ReportMetric(median(ratios(w.sample.rates, other.sample.rates)), w.name+":"+other.name)
	}
	for unit, spent := range w.spent {
		b.ReportMetric(spent/float64(len(w.sample.latencies)), w.name+"-"+unit)
	}
}

var lastKey atomic.Int64

func fresh() string { return fmt.Sprint("k", lastKey.Add(1)) }

func request(url, key string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, url, strings.NewReader(`{"amount":100}`))
	r.RequestURI = "" // a client's request
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Idempotency-Key", key)
	return r
}
