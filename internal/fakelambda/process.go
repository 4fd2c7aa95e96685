package fakelambda

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"
)

// process is one process of the function and the Runtime API that it asks. Each
// has an API of its own, so that a dead one's last request takes no event.
type process struct {
	cmd    *exec.Cmd
	api    *httptest.Server
	events chan Event
	frozen chan struct{} // closed when the process was stopped where it is
	ended  chan struct{} // closed when the process has ended

	mu      sync.Mutex
	waiting map[string]chan Outcome // by request id
	initial *FunctionError          // the error of its start
}

const (
	// startTime is how long a process may take to ask for its first event. It
	// is more than the platform's, for a machine that is busy.
	startTime = 2 * time.Minute
	// lateness is how far beyond an event's deadline an answer is taken that a
	// busy machine held up.
	lateness = 30 * time.Second
)

func newProcess() *process {
	p := &process{
		events: make(chan Event), frozen: make(chan struct{}), ended: make(chan struct{}),
		waiting: map[string]chan Outcome{},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /2018-06-01/runtime/invocation/next", p.next)
	mux.HandleFunc("POST /2018-06-01/runtime/invocation/{id}/response", p.answered)
	mux.HandleFunc("POST /2018-06-01/runtime/invocation/{id}/error", p.answered)
	mux.HandleFunc("POST /2018-06-01/runtime/init/error", p.initFailed)
	p.api = httptest.NewServer(mux)
	return p
}

func (p *process) address() string { return strings.TrimPrefix(p.api.URL, "http://") }

func (p *process) start() error {
	if err := p.cmd.Start(); err != nil {
		return err
	}
	go func() { _ = p.cmd.Wait(); close(p.ended) }()
	return nil
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.ended
	p.api.CloseClientConnections()
	p.api.Close()
}

// deliver gives the process an event and waits for the answer, the deadline or
// the process's end, whichever comes first. A process that is frozen notices
// nothing of the time until its deadline, so that is not waited for.
func (p *process) deliver(ev Event) Outcome {
	answer := make(chan Outcome, 1)
	p.mu.Lock()
	p.waiting[ev.RequestID] = answer
	p.mu.Unlock()
	select {
	case p.events <- ev:
	case <-p.ended:
		p.mu.Lock()
		defer p.mu.Unlock()
		return Outcome{Crashed: true, InitError: p.initial}
	case <-time.After(startTime):
		return Outcome{TimedOut: true}
	}
	select {
	case out := <-answer:
		return out
	case <-p.ended:
		return Outcome{Crashed: true}
	case <-p.frozen:
		return Outcome{TimedOut: true}
	case <-time.After(ev.Timeout + lateness):
		return Outcome{TimedOut: true}
	}
}

func (p *process) next(w http.ResponseWriter, r *http.Request) {
	select {
	case <-r.Context().Done():
	case ev := <-p.events:
		deadline := time.Now().Add(ev.Timeout) // a start takes nothing off it
		w.Header().Set("Lambda-Runtime-Aws-Request-Id", ev.RequestID)
		w.Header().Set("Lambda-Runtime-Deadline-Ms", strconv.FormatInt(deadline.UnixMilli(), 10))
		w.Header().Set("Lambda-Runtime-Invoked-Function-Arn", "arn:aws:lambda:eu-west-1:123456789012:function:test")
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, ev.Payload)
	}
}

func (p *process) answered(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	w.WriteHeader(http.StatusAccepted)
	p.mu.Lock()
	answer := p.waiting[r.PathValue("id")]
	delete(p.waiting, r.PathValue("id"))
	p.mu.Unlock()
	if answer == nil {
		return // too late: nobody waits for it any more
	}
	out := Outcome{Response: body}
	if strings.HasSuffix(r.URL.Path, "/error") {
		out = Outcome{Error: parseError(body)}
	}
	answer <- out
}

// initFailed takes the error of a start. Its type comes in a header, too.
func (p *process) initFailed(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	failed := parseError(body)
	if header := r.Header.Get("Lambda-Runtime-Function-Error-Type"); header != failed.Type {
		failed.Type = "header " + header + ", body " + failed.Type
	}
	p.mu.Lock()
	p.initial = failed
	p.mu.Unlock()
	w.WriteHeader(http.StatusAccepted)
}
