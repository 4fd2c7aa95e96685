package idempotency_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/sqlite"
)

// wire is a kit behind a real HTTP server.
type wire struct {
	t   *testing.T
	mux *http.ServeMux
	url string
	kit *idempotency.Kit
}

func newWire(t *testing.T) *wire {
	t.Helper()
	db, err := sqlite.Open(filepath.Join(t.TempDir(), "keys.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	if err := sqlite.New(db, sqlite.Options{}).CreateTable(t.Context()); err != nil {
		t.Fatal(err)
	}
	kit, err := idempotency.New(sqlite.New(db, sqlite.Options{}), idempotency.Options{
		Principal: idempotency.SinglePrincipal("caller"), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	t.Cleanup(server.Close)
	return &wire{t, mux, server.URL, kit}
}

func (w *wire) handle(pattern string, h http.HandlerFunc) {
	w.mux.Handle(pattern, w.kit.Handler(idempotency.Route{}, h))
}

// call makes a request under the key "k". A body whose length is not known is
// sent in chunks.
func (w *wire) call(method, path string, body io.Reader) (status int, replayed bool, text string) {
	w.t.Helper()
	r, err := http.NewRequest(method, w.url+path, body)
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header.Set("Idempotency-Key", "k")
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer answer.Body.Close()
	content, err := io.ReadAll(answer.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return answer.StatusCode, answer.Header.Get("Idempotent-Replayed") == "true", string(content)
}

func (w *wire) expect(method, path string, body io.Reader, status int, replayed bool) {
	w.t.Helper()
	if s, again, text := w.call(method, path, body); s != status || again != replayed {
		w.t.Errorf("%s %s: %d %q, replayed %t; want %d, %t", method, path, s, text, again, status, replayed)
	}
}

func echo(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) }

func TestReadsPassThrough(t *testing.T) {
	w := newWire(t)
	w.handle("/pay", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusAccepted) })
	for _, method := range []string{"GET", "HEAD", "OPTIONS", "TRACE"} {
		w.expect(method, "/pay", nil, 202, false)
		w.expect(method, "/pay", nil, 202, false)
	}
	for _, method := range []string{"POST", "PUT", "PATCH", "DELETE", "QUERY"} { // of an unknown method nobody knows that it is safe
		w.expect(method, "/pay", nil, 202, false)
		w.expect(method, "/pay", nil, 202, true)
	}
}

func TestABodyIsTheSameInChunks(t *testing.T) {
	w := newWire(t)
	w.handle("POST /pay", echo)
	chunked := func(text string) io.Reader { return io.MultiReader(strings.NewReader(text)) }
	w.expect("POST", "/pay", chunked(`{"amount":100}`), 200, false)
	w.expect("POST", "/pay", strings.NewReader(`{"amount":100}`), 200, true)
	if _, _, text := w.call("POST", "/pay", chunked(`{ "amount": 100 }`)); text != `{"amount":100}` {
		t.Errorf("replayed %q", text)
	}
	w.expect("POST", "/pay", chunked(`{"amount":101}`), 409, false)
}

func TestJSONWithANameTwiceIsComparedAsItStands(t *testing.T) {
	w := newWire(t)
	w.handle("POST /pay", echo)
	w.expect("POST", "/pay", strings.NewReader(`{"amount":1,"amount":2}`), 200, false)
	w.expect("POST", "/pay", strings.NewReader(`{"amount":1,"amount":2}`), 200, true)
	w.expect("POST", "/pay", strings.NewReader(`{"amount":2,"amount":1}`), 409, false)
	w.expect("POST", "/pay", strings.NewReader(`{"amount":2}`), 409, false)
}

// One pattern is one scope, and a key in it is bound to the path that it came
// with; a path with a slash more is another pattern.
func TestAKeyIsBoundToItsPath(t *testing.T) {
	w := newWire(t)
	w.handle("POST /orders/{id}/pay", echo)
	w.handle("POST /pay", echo)
	w.handle("POST /pay/", echo)
	w.expect("POST", "/orders/1/pay", nil, 200, false)
	w.expect("POST", "/orders/1/pay", nil, 200, true)
	w.expect("POST", "/orders/2/pay", nil, 409, false)
	w.expect("POST", "/pay", nil, 200, false)
	w.expect("POST", "/pay/", nil, 200, false)
	w.expect("POST", "/pay/?a=1", nil, 409, false)
}

func TestAConnectionCannotBeTakenFromTheKit(t *testing.T) {
	w := newWire(t)
	w.handle("POST /pay", func(w http.ResponseWriter, r *http.Request) {
		if _, ok := w.(http.Hijacker); ok {
			t.Error("the writer is a Hijacker")
		}
		if _, _, err := http.NewResponseController(w).Hijack(); err == nil {
			t.Error("hijacked: the reply could be neither held back nor stored")
		}
		w.WriteHeader(http.StatusEarlyHints)
		w.WriteHeader(http.StatusCreated)
	})
	w.expect("POST", "/pay", nil, 201, false)
	w.expect("POST", "/pay", nil, 201, true)
}

// Middleware outside may decode a body and leave the length and the coding of
// what was sent.
func TestABodyIsReadWholeWhateverLengthWasAnnounced(t *testing.T) {
	w := newWire(t)
	var announced int64
	h := w.kit.Handler(idempotency.Route{}, http.HandlerFunc(echo))
	w.mux.HandleFunc("POST /pay", func(w http.ResponseWriter, r *http.Request) {
		r.ContentLength = announced
		r.Header.Set("Content-Encoding", "gzip")
		h.ServeHTTP(w, r)
	})
	body := strings.Repeat("0123456789", 20_000)
	for n, length := range []int64{-1, 1, 199_999, 200_000, 200_001, 100_000, 64 << 10, 1 << 40} {
		announced = length
		w.expect("POST", "/pay", strings.NewReader(body), 200, n > 0)
		if _, _, text := w.call("POST", "/pay", strings.NewReader(body)); text != body {
			t.Errorf("of a body announced as %d bytes %d came", announced, len(text))
		}
		w.expect("POST", "/pay", strings.NewReader(body+"x"), 409, false)
	}
}

// Trailers belong to a reply that is sent while it is made.
func TestTrailersAreNotSent(t *testing.T) {
	w := newWire(t)
	w.handle("POST /pay", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Trailer", "Checksum")
		_, _ = io.WriteString(w, "paid")
		w.Header().Set("Checksum", "1")
		w.Header().Set(http.TrailerPrefix+"Late", "1")
	})
	r, _ := http.NewRequest("POST", w.url+"/pay", nil)
	r.Header.Set("Idempotency-Key", "k")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if body, err := io.ReadAll(answer.Body); err != nil || string(body) != "paid" || answer.Trailer.Get("Checksum")+answer.Trailer.Get("Late") != "" {
		t.Errorf("%q, trailer %v, %v", body, answer.Trailer, err)
	}
}
