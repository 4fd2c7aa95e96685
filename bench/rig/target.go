package rig

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

const targetName = "target"

// ListPath, with a number behind it, is where the target answers with a list of as many keys.
const ListPath = "/_list/"

// Target is the service that all contenders call: it reads the body, notes the
// time and answers 204.
type Target struct {
	URL string
	p   *process
}

// StartTarget starts it in a process of its own.
func StartTarget() (*Target, error) {
	p, err := start(nil, Task{Contender: targetName})
	if err != nil {
		return nil, err
	}
	t := &Target{p: p}
	l, err := p.next()
	if err == nil {
		err = json.Unmarshal(l.Report, &t.URL)
	}
	if err != nil {
		p.stop()
		return nil, err
	}
	return t, nil
}

// Close ends the target.
func (t *Target) Close() { t.p.stop() }

// Calls is what the target saw since it was last asked.
type Calls struct {
	Count int
	Keys  int  // different Idempotency-Keys
	Late  Late // of the arrivals, from the scheduled time asked for
}

// Seen returns and forgets the calls.
func (t *Target) Seen(since time.Time) (Calls, error) {
	var c Calls
	err := t.get("/_seen?since="+since.UTC().Format(time.RFC3339Nano), &c)
	return c, err
}

// Count is how many calls there were since Seen.
func (t *Target) Count() (n int, err error) {
	err = t.get("/_count", &n)
	return n, err
}

func (t *Target) get(path string, v any) error {
	resp, err := http.Get(t.URL + path)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the target answered %s", resp.Status)
	}
	return json.NewDecoder(resp.Body).Decode(v)
}

func serveTarget() error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: &notes{}, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(l) }()
	(&Task{}).Done("http://" + l.Addr().String())
	return nil
}

// notes is the target's memory.
type notes struct {
	mu   sync.Mutex
	at   []time.Time
	keys []string
}

func (n *notes) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	at := time.Now()
	switch {
	case r.Method == http.MethodPost:
		_, _ = io.Copy(io.Discard, r.Body)
		n.mu.Lock()
		n.at, n.keys = append(n.at, at), append(n.keys, strings.Clone(r.Header.Get("Idempotency-Key")))
		n.mu.Unlock()
		w.WriteHeader(http.StatusNoContent)
	case strings.HasPrefix(r.URL.Path, ListPath):
		n, _ := strconv.Atoi(strings.TrimPrefix(r.URL.Path, ListPath))
		keys := make([]string, n)
		for i := range keys {
			keys[i] = fmt.Sprintf("tenant-%06d", i)
		}
		_ = json.NewEncoder(w).Encode(keys)
	case r.URL.Path == "/_count":
		n.mu.Lock()
		defer n.mu.Unlock()
		_ = json.NewEncoder(w).Encode(len(n.at))
	default:
		since, err := time.Parse(time.RFC3339Nano, r.URL.Query().Get("since"))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		_ = json.NewEncoder(w).Encode(n.take(since))
	}
}

func (n *notes) take(since time.Time) Calls {
	n.mu.Lock()
	at, keys := n.at, n.keys
	n.at, n.keys = nil, nil
	n.mu.Unlock()
	different, late := map[string]bool{}, make([]time.Duration, len(at))
	for i := range at {
		different[keys[i]] = true
		late[i] = at[i].Sub(since)
	}
	return Calls{Count: len(at), Keys: len(different), Late: Lateness(late)}
}
