package api

import (
	"bytes"
	"context"
	"net/http"
	"time"

	"github.com/cronce/cronce/api/access"
	"github.com/cronce/cronce/internal/operations"
)

const (
	heartbeat   = 15 * time.Second // a stream on which nothing else is sent
	writeStream = 10 * time.Second // a reader that takes nothing for so long is cut
	maxPosition = 8 << 10
)

// events streams what changes, as server-sent events. Every event but the last of
// a look at the ledger has no id: a client that loses its connection between them
// gets all of them again.
func (s *server) events(w http.ResponseWriter, r *http.Request) {
	leave, err := s.gate.streams.enter(access.FromContext(r.Context()).Principal())
	if err != nil {
		s.fail(w, r, err)
		return
	}
	defer leave()
	job, after, err := s.eventsQuery(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	got, err := s.firstChanges(r.Context(), after)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // nginx would keep events back
	if r.Method == http.MethodHead {
		return
	}
	st := &stream{control: http.NewResponseController(w), w: w, checked: time.Now()}
	st.text.WriteString("retry: 2000\n\n")
	s.follow(r, st, job, got)
}

func (s *server) eventsQuery(r *http.Request) (job, after string, err error) {
	if err := permit(r, access.Viewer); err != nil {
		return "", "", err
	}
	q := query(r, "job")
	job, after = q.text("job"), r.Header.Get("Last-Event-ID")
	if len(after) > maxPosition || badText(after) {
		q.fail("the Last-Event-ID is not an id of this stream; leave it out, and list the runs again")
	}
	if q.err == nil {
		q.err = s.ops.KnownJob(r.Context(), job)
	}
	return job, after, q.err
}

// firstChanges tells the present position, or what a client that comes back missed.
func (s *server) firstChanges(ctx context.Context, after string) (operations.Changes, error) {
	ctx, cancel := context.WithTimeout(ctx, answerRead)
	defer cancel()
	return s.ops.Changes(ctx, after)
}

// follow writes changes until the client goes, is too slow, or may no longer read
// them. It retries when the ledger fails.
func (s *server) follow(r *http.Request, st *stream, job string, got operations.Changes) {
	for {
		st.tell(got.Of(job))
		if !s.mayStay(r, st) || st.flush() != nil {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-s.gate.closed:
			return
		case <-time.After(operations.ChangesEvery):
		}
		next, err := s.ops.Changes(r.Context(), got.Position)
		if err != nil && r.Context().Err() == nil {
			s.log.Warn("changes of runs could not be read; stream goes on", "error", err)
			next = operations.Changes{Position: got.Position}
		}
		got = next
	}
}

// mayStay asks at each heartbeat whether the client may still read: its token may
// be revoked or expired. It ends as a request would be refused.
func (s *server) mayStay(r *http.Request, st *stream) bool {
	if time.Since(st.checked) < heartbeat {
		return true
	}
	st.checked = time.Now()
	who, err := s.gate.control.Identify(r)
	return err == nil && who.Role >= access.Viewer && who.Principal() == access.FromContext(r.Context()).Principal()
}

// stream writes events to one client.
type stream struct {
	control       *http.ResponseController
	w             http.ResponseWriter
	text          bytes.Buffer // what is to be sent
	position      string       // the last that was sent
	sent, checked time.Time
}

// tell adds the events of changes.
func (st *stream) tell(got operations.Changes) {
	if got.Lost {
		st.put("reload", got.Position, struct{}{})
		return
	}
	for i, run := range got.Runs {
		id := ""
		if i == len(got.Runs)-1 {
			id = got.Position
		}
		st.put("run", id, run)
	}
	if got.Position != st.position {
		st.put("", got.Position, nil) // moves the client's position without an event
	}
}

// put adds an event; without a kind, only its id.
func (st *stream) put(kind, id string, data any) {
	if kind != "" {
		text, err := encode(data)
		if err != nil {
			return // runs are marshaled everywhere
		}
		st.text.WriteString("event: " + kind + "\ndata: " + string(text) + "\n")
	}
	if id != "" {
		st.text.WriteString("id: " + id + "\n")
		st.position = id
	}
	st.text.WriteString("\n")
}

// flush sends what was added, or a heartbeat when nothing was for long.
func (st *stream) flush() error {
	if st.text.Len() == 0 {
		if time.Since(st.sent) < heartbeat {
			return nil
		}
		st.text.WriteString(": heartbeat\n\n")
	}
	if err := st.control.SetWriteDeadline(time.Now().Add(writeStream)); err != nil {
		return err
	}
	if _, err := st.text.WriteTo(st.w); err != nil {
		return err
	}
	st.sent = time.Now()
	return st.control.Flush()
}
