package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/cronce/cronce/internal/fakelambda"
	"github.com/cronce/cronce/internal/testdb"
	"github.com/cronce/cronce/ledger"
)

// told is the receiver of a channel and of heartbeats: it keeps each new request.
type told struct {
	mu   sync.Mutex
	keys map[string]bool
	got  []string
}

func (r *told) ServeHTTP(_ http.ResponseWriter, req *http.Request) {
	body, _ := io.ReadAll(req.Body)
	var event struct{ Type, Subject string }
	_ = json.Unmarshal(body, &event)
	r.mu.Lock()
	defer r.mu.Unlock()
	if key := req.Header.Get("Idempotency-Key"); !r.keys[key] || key == "heartbeat" {
		r.keys[key] = true
		r.got = append(r.got, strings.TrimSpace(req.URL.Path+" "+event.Type))
	}
}

func (r *told) take() (got []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	got, r.got = r.got, nil
	return got
}

const notifyingJob = `  - { id: release, schedule: "0 3 * * *", target: membership, path: /v1/release, heartbeat: { urlEnv: JOB_URL } }
notifications:
  - { name: hub, type: webhook, urlEnv: HUB_URL }
  - { name: mail, type: email, smtp: { env: SMTP_URL }, to: [ops@example.com] }
heartbeat: { urlEnv: BEAT_URL }
`

// Calls to a target that hangs fill each tick; it tells of incidents all the same.
func TestATickOfCallsThatHangTellsOfIncidents(t *testing.T) {
	t.Parallel()
	db := testdb.Postgres(t)
	l := migrated(t, db)
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		_, _ = io.Copy(io.Discard, req.Body)
		if strings.HasPrefix(req.URL.Path, "/v1/hang") {
			<-req.Context().Done()
			return
		}
		w.WriteHeader(http.StatusNotFound)
	}))
	t.Cleanup(service.Close)
	var registry strings.Builder
	registry.WriteString("  - { id: release, schedule: \"0 3 * * *\", target: membership, path: /v1/release }\n")
	for i := range 20 {
		fmt.Fprintf(&registry, "  - { id: hang%d, schedule: \"* * * * * *\", target: membership, path: /v1/hang%d, timeout: 5s }\n", i, i)
	}
	registry.WriteString("notifications:\n  - { name: hub, type: webhook, urlEnv: HUB_URL }\nheartbeat: { urlEnv: BEAT_URL }\n")
	r := &told{keys: map[string]bool{}}
	receiver := httptest.NewServer(r)
	t.Cleanup(receiver.Close)
	fn := fakelambda.New(t, binary(t, "bootstrap"), "CRONCE_CONFIG="+registryFile(t, registry.String()), "CRONCE_DATABASE_URL="+db,
		"MEMBERSHIP_URL="+service.URL, "MEMBERSHIP_TOKEN=secret", "HUB_URL="+receiver.URL+"/hub", "BEAT_URL="+receiver.URL+"/beat")
	tick := func() {
		out := fn.Invoke(fakelambda.Event{RequestID: "tick", Payload: `{"tick":true}`, Timeout: 12 * time.Second})
		if string(out.Response) != `{"tick":true}` {
			t.Fatalf("tick: %+v (%s)", out, out.Response)
		}
	}
	tick() // begins to plan the jobs
	time.Sleep(1500 * time.Millisecond)
	fn.Invoke(fakelambda.Event{RequestID: "a", Payload: `{"jobId":"release","id":"` + uuid.Must(uuid.NewV7()).String() + `"}`})
	if open, err := l.Incidents(t.Context(), ledger.IncidentFilter{Open: true, Limit: 10}); err != nil || !slices.ContainsFunc(open, func(i ledger.Incident) bool { return i.JobID == "release" }) {
		t.Fatalf("incidents %+v, %v", open, err)
	}
	r.take()
	began := time.Now()
	tick()
	if time.Since(began) < 5*time.Second {
		t.Errorf("the tick took %s; its calls did not hang", time.Since(began))
	}
	got := r.take()
	if !slices.Contains(got, "/beat") || !slices.Contains(got, "/hub cronce.incident.opened") {
		t.Errorf("the tick told %q", got)
	}
}

// A tick tells of the incidents that events opened and closed, in the invocation that
// finds them, and reports to the heartbeats.
func TestATickTellsOfIncidents(t *testing.T) {
	t.Parallel()
	db := testdb.Postgres(t)
	l := migrated(t, db)
	var broken atomic.Bool
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if broken.Load() {
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, "no such member")
		}
	}))
	t.Cleanup(service.Close)
	r := &told{keys: map[string]bool{}}
	receiver := httptest.NewServer(r)
	t.Cleanup(receiver.Close)
	fn := fakelambda.New(t, binary(t, "bootstrap"), "CRONCE_CONFIG="+registryFile(t, notifyingJob), "CRONCE_DATABASE_URL="+db,
		"MEMBERSHIP_URL="+service.URL, "MEMBERSHIP_TOKEN=secret", "SMTP_URL=smtp://127.0.0.1:1",
		"HUB_URL="+receiver.URL+"/hub", "JOB_URL="+receiver.URL+"/job", "BEAT_URL="+receiver.URL+"/beat")
	for _, step := range []struct {
		id     string
		broken bool
		want   []string
	}{
		{"a", true, []string{"/beat", "/hub cronce.incident.opened", "/job/fail", "/job/start"}},
		{"", true, []string{"/beat"}},
		{"b", false, []string{"/beat", "/hub cronce.incident.recovered", "/job", "/job/start"}},
	} {
		broken.Store(step.broken)
		if step.id != "" {
			if out := fn.Invoke(fakelambda.Event{RequestID: step.id, Payload: `{"jobId":"release","id":"` + uuid.Must(uuid.NewV7()).String() + `"}`}); out.Crashed {
				t.Fatalf("event %s: %+v", step.id, out)
			}
			if got := r.take(); len(got) > 0 {
				t.Errorf("event %s told %q; that is the tick's", step.id, got)
			}
		}
		if out := fn.Invoke(fakelambda.Event{RequestID: "tick" + step.id, Payload: `{"tick":true}`}); string(out.Response) != `{"tick":true}` {
			t.Fatalf("tick: %+v (%s)", out, out.Response)
		}
		got := r.take()
		slices.Sort(got)
		if !slices.Equal(got, step.want) {
			t.Errorf("the tick after event %q told %q, want %q", step.id, got, step.want)
		}
	}
	dead := mustRuns(t, l, ledger.Filter{JobID: "release", States: []ledger.State{ledger.Dead}})
	if len(dead) != 1 {
		t.Fatalf("dead runs %+v", dead)
	}
	if _, attempts, err := l.Get(t.Context(), dead[0].ID); err != nil || len(attempts) != 1 || attempts[0].Excerpt != "no such member" {
		t.Errorf("attempts %+v, %v; want what the target said", attempts, err)
	}
	// The mail waits for a process that sends mail, and the next one waits for it.
	mails := mustRuns(t, l, ledger.Filter{JobID: "notify-mail"})
	if len(mails) != 1 || mails[0].State.Finished() || mails[0].WaitReason.Code != ledger.WaitTargetNotConfigured {
		t.Errorf("mails %+v", mails)
	}
}
