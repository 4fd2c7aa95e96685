package api_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/ledger"
)

// event is a server-sent event.
type event struct{ kind, id, data string }

// events reads a stream until its end, as a browser does.
type events struct {
	*site
	res  *http.Response
	got  chan event
	last string // the id of the last event
}

// listen opens a stream on a process.
func (s *site) listen(server *httptest.Server, path string, fields ...string) *events {
	s.Helper()
	r, err := http.NewRequestWithContext(context.WithoutCancel(s.Context()), http.MethodGet, server.URL+path, nil)
	s.must(err)
	for i := 0; i < len(fields); i += 2 {
		r.Header.Set(fields[i], fields[i+1])
	}
	res, err := server.Client().Do(r)
	s.must(err)
	if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "text/event-stream" {
		text, _ := io.ReadAll(res.Body)
		s.Fatalf("%s: %d %s", path, res.StatusCode, text)
	}
	e := &events{site: s, res: res, got: make(chan event, 100)}
	s.Cleanup(func() { e.close() })
	go func() {
		defer close(e.got)
		parseEvents(res.Body, func(ev event) { e.got <- ev })
	}()
	return e
}

func parseEvents(body io.Reader, each func(event)) {
	var ev event
	for lines := bufio.NewScanner(body); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch name {
		case "":
			if ev != (event{}) {
				each(ev)
			}
			ev = event{}
		case "event":
			ev.kind = value
		case "id":
			ev.id = value
		case "data":
			ev.data = value
		}
	}
}

func (e *events) close() {
	e.res.Body.Close()
	for range e.got { // until the reader ends
	}
}

// next is the next event with data; the ids on the way are kept.
func (e *events) next() event {
	e.Helper()
	for {
		select {
		case ev, open := <-e.got:
			if !open {
				e.Fatal("the stream ended")
			}
			if ev.id != "" {
				e.last = ev.id
			}
			if ev.kind != "" {
				return ev
			}
		case <-time.After(time.Minute):
			e.Fatal("no event came")
		}
	}
}

// begun waits for the stream's first id: every later change is sent.
func (e *events) begun() *events {
	e.Helper()
	for ev := range e.got {
		if e.last = ev.id; e.last != "" {
			return e
		}
	}
	e.Fatal("the stream ended")
	return nil
}

// run is the next event, which must be of this run in this state, and of the
// document's schema.
func (e *events) run(id string, state ledger.State) {
	e.Helper()
	ev := e.next()
	var r operations.Run
	if err := json.Unmarshal([]byte(ev.data), &r); err != nil || ev.kind != "run" || r.RunID != id || r.State != state {
		e.Fatalf("%+v, %v: want the run %s, %s", ev, err, id, state)
	}
	e.hold(httptest.NewRequest(http.MethodGet, "/v1/runs", nil), answer{
		&http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}}, []byte(`{"runs":[` + ev.data + `]}`),
	})
}

// What one process does, a stream of another tells.
func TestAStreamTellsRunsAsTheyChange(t *testing.T) {
	engines(t, func(s *site) {
		e := s.listen(s.replica(loopback), "/v1/events").begun()
		only := s.listen(s.server, "/v1/events?job=tock").begun()
		s.act(runPath(s.run(0))+"/cancel", map[string]any{})
		e.run(s.run(0), ledger.Canceled)
		s.act(runPath(s.run(2))+"/ack", map[string]any{})
		e.run(s.run(2), ledger.Dead)
		var tock operations.Run
		s.act("/v1/jobs/tock/trigger", map[string]any{}).into(s.TB, &tock)
		e.run(tock.RunID, ledger.Planned)
		only.run(tock.RunID, ledger.Planned)
	})
}

// A client that comes back with the last id gets what it missed, from any process.
func TestAStreamGoesOnFromTheLastID(t *testing.T) {
	engines(t, func(s *site) {
		e := s.listen(s.server, "/v1/events").begun()
		s.act(runPath(s.run(0))+"/cancel", map[string]any{})
		e.run(s.run(0), ledger.Canceled)
		e.close()
		s.act(runPath(s.run(2))+"/ack", map[string]any{})
		again := s.listen(s.replica(loopback), "/v1/events", "Last-Event-ID", e.last)
		again.run(s.run(2), ledger.Dead)
		var tock operations.Run
		s.act("/v1/jobs/tock/trigger", map[string]any{}).into(s.TB, &tock)
		again.run(tock.RunID, ledger.Planned)
	})
}

// Runs that changed together have one id, with the last of them: cut off before it,
// a client gets all of them again.
func TestAnIDComesWithTheLastOfWhatChangedTogether(t *testing.T) {
	engines(t, func(s *site) {
		e := s.listen(s.server, "/v1/events").begun()
		e.close()
		s.act("/v1/runs/cancel", map[string]any{"runIds": []string{s.run(0)}})
		s.act("/v1/runs/ack", map[string]any{"runIds": []string{s.run(2)}})
		again := s.listen(s.server, "/v1/events", "Last-Event-ID", e.last)
		if first, last := again.next(), again.next(); first.id != "" || last.id == "" || first.kind != "run" || last.kind != "run" {
			s.Errorf("%+v, then %+v", first, last)
		}
	})
}

func TestAStreamSaysWhenItsIDIsUnknown(t *testing.T) {
	engines(t, func(s *site) {
		for _, id := range []string{"nonsense", "999999999", "999999999:999999999:", strings.Repeat("9", 8000)} {
			e := s.listen(s.server, "/v1/events", "Last-Event-ID", id)
			if ev := e.next(); ev.kind != "reload" || ev.id == "" || ev.data != "{}" {
				s.Errorf("%.20q: %+v", id, ev)
			}
			e.close()
		}
	})
}

func TestWrongStreamsAreRefused(t *testing.T) {
	s := onFile(t, loopback)
	for path, want := range map[string]int{"/v1/events?job=tikc": 404, "/v1/events?state=dead": 400, "/v1/events?job=": 400} {
		if a := s.get(path); a.StatusCode != want {
			t.Errorf("%s: %d %s", path, a.StatusCode, a.body)
		}
	}
	if a := s.get("/v1/events", "Last-Event-ID", strings.Repeat("9", 9000)); a.StatusCode != http.StatusBadRequest {
		t.Errorf("a long id: %d", a.StatusCode)
	}
	if a := s.send(http.MethodHead, "/v1/events", nil); a.StatusCode != http.StatusOK || len(a.body) != 0 {
		t.Errorf("HEAD: %d", a.StatusCode)
	}
}

// An identity has 16 streams; one that it closes makes room.
func TestStreamsOfAnIdentityAreLimited(t *testing.T) {
	s := onFile(t, loopback)
	var open []*events
	for range 16 {
		open = append(open, s.listen(s.server, "/v1/events"))
	}
	if a := s.get("/v1/events"); a.StatusCode != http.StatusTooManyRequests || a.code(t) != "too_many_streams" || a.Header.Get("Retry-After") == "" {
		t.Fatalf("%d %s", a.StatusCode, a.body)
	}
	open[0].close()
	for {
		r, err := http.NewRequest(http.MethodHead, s.server.URL+"/v1/events", nil)
		s.must(err)
		res, err := s.server.Client().Do(r)
		s.must(err)
		res.Body.Close()
		if res.StatusCode == http.StatusOK {
			return
		}
	}
}
