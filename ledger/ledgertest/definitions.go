package ledgertest

import (
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/cronce/cronce/ledger"
)

var definitionCases = []testCase{
	{"a ledger belongs to the first registry that declares itself", otherRegistry},
	{"the last first declared of the live definitions wins", lastDeclaredWins},
	{"the last first declared wins although the clock was set back", clockSetBack},
	{"a process is alive until ProcessTTL after its heartbeat, inclusive", aliveAtItsLimit},
	{"an old version that restarts last does not win", restartDoesNotWin},
	{"when the newer version's heartbeat stops the older wins again", fallBack},
	{"a deregistered process is not alive and is forgotten", deregistered},
	{"a late heartbeat brings a process back", lateHeartbeat},
	{"a process declares anew in place of its last declaration", declaredAnew},
	{"the live versions are sorted and named once", livingVersions},
	{"only a version that has the desired definition begins a job", beginsWithDesired},
	{"two replicas begin a job once", begunOnce},
	{"what was declared is listed, the latest first declared first", declaredListed},
}

// wantDefinitions checks a job's current definition and its desired one.
func (t *fixture) wantDefinitions(id, hash, desired string) ledger.JobAssignment {
	t.Helper()
	s, ok := t.assignments("")[id]
	if !ok || s.Hash != hash || s.Desired != desired {
		t.Errorf("standing %+v, want %q with desired %q", s, hash, desired)
	}
	if body := string(s.Body); hash != desired && body != `{"hash":"`+hash+`"}` {
		t.Errorf("body %s, want that of %q, which still stands", body, hash)
	}
	return s
}

// newBegunJob returns a job under v1 of process p1, an hour old, with p1 alive.
func (t *fixture) newBegunJob(id string) *job {
	t.Helper()
	t.declare("p1", "v1", id)
	t.assignments("v1")
	t.advance(time.Hour)
	t.heartbeat("p1")
	return t.now(id)
}

func (t *fixture) heartbeat(process string) ledger.HeartbeatReply {
	t.Helper()
	p, err := t.Heartbeat(t.ctx, process)
	t.must(err)
	return p
}

func otherRegistry(t *fixture) {
	t.declare("p1", "v1", "j")
	err := t.Declare(t.ctx, ledger.Declaration{Process: "p2", Registry: "another", Version: "v1", Definitions: definitions("v1", "j")})
	if !errors.Is(err, ledger.ErrOtherRegistry) {
		t.Errorf("declared by another registry: %v, want ErrOtherRegistry", err)
	}
	if _, err := t.Heartbeat(t.ctx, "p2"); !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("a refused process has a heartbeat: %v", err)
	}
	t.declare("p3", "v1", "j")
}

func lastDeclaredWins(t *fixture) {
	t.newBegunJob("j")
	t.wantDefinitions("j", "v1", "v1")
	t.declare("p2", "v2", "j")
	t.wantDefinitions("j", "v1", "v2")
}

func clockSetBack(t *fixture) {
	t.declare("p1", "v1", "j")
	t.assignments("v1")
	t.advance(-time.Minute)
	t.declare("p2", "v2", "j")
	t.wantDefinitions("j", "v1", "v2")
	got, err := t.Definitions(t.ctx, "j", 0)
	t.must(err)
	if len(got) != 2 || got[0].Hash != "v2" {
		t.Errorf("definitions %+v, want v2 first", got)
	}
}

// aliveAtItsLimit asks at the very limit if the store's clock can be held, else shortly
// after it.
func aliveAtItsLimit(t *fixture) {
	t.newBegunJob("j")
	if t.opened.Stop != nil {
		t.opened.Stop(t.T)
	}
	t.declare("p2", "v2", "j")
	t.advance(ledger.ProcessTTL)
	reply := t.heartbeat("p1")
	processes, err := t.Processes(t.ctx)
	t.must(err)
	p2 := processes[slices.IndexFunc(processes, func(p ledger.Process) bool { return p.ID == "p2" })]
	alive := !reply.Now.After(p2.HeartbeatAt.Add(ledger.ProcessTTL))
	desired := "v1"
	if alive {
		desired = "v2"
	}
	if t.opened.Stop != nil && !alive {
		t.Fatalf("at %s the clock is not at the limit of %+v", reply.Now, p2)
	}
	if p2.Alive != alive || slices.Contains(reply.LiveVersions, "v2") != alive {
		t.Errorf("at %s: %+v, live versions %v; want alive %v", reply.Now, p2, reply.LiveVersions, alive)
	}
	t.wantDefinitions("j", "v1", desired)
	t.advance(time.Second)
	if reply := t.heartbeat("p1"); slices.Contains(reply.LiveVersions, "v2") || reply.Processes != 1 {
		t.Errorf("a second after the limit: live versions %v of %d processes", reply.LiveVersions, reply.Processes)
	}
}

func restartDoesNotWin(t *fixture) {
	t.newBegunJob("j")
	t.declare("p2", "v2", "j")
	t.must(t.Deregister(t.ctx, "p1"))
	t.declare("p3", "v1", "j")
	t.wantDefinitions("j", "v1", "v2")
}

func fallBack(t *fixture) {
	t.newBegunJob("j")
	t.declare("p2", "v2", "j")
	t.switchTo("j", "v2")
	t.wantDefinitions("j", "v2", "v2")
	t.advance(ledger.ProcessTTL / 3)
	t.heartbeat("p1")
	t.wantDefinitions("j", "v2", "v2")
	t.advance(ledger.ProcessTTL * 3 / 4)
	if p := t.heartbeat("p1"); !slices.Equal(p.LiveVersions, []string{"v1"}) || p.Processes != 1 {
		t.Errorf("live %v, %d processes, want v1 and one", p.LiveVersions, p.Processes)
	}
	t.wantDefinitions("j", "v2", "v1")
}

func deregistered(t *fixture) {
	t.newBegunJob("j")
	t.declare("p2", "v2", "j")
	t.must(t.Deregister(t.ctx, "p2"))
	t.must(t.Deregister(t.ctx, "p2"))
	t.wantDefinitions("j", "v1", "v1")
	if p := t.heartbeat("p1"); !slices.Equal(p.LiveVersions, []string{"v1"}) {
		t.Errorf("live %v, want v1", p.LiveVersions)
	}
	if _, err := t.Heartbeat(t.ctx, "p2"); !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("heartbeat of a deregistered process: %v, want ErrNotFound", err)
	}
}

func lateHeartbeat(t *fixture) {
	t.newBegunJob("j")
	t.declare("p2", "v2", "j")
	t.advance(10 * ledger.ProcessTTL)
	t.heartbeat("p1")
	t.wantDefinitions("j", "v1", "v1")
	t.heartbeat("p2")
	t.wantDefinitions("j", "v1", "v2")
}

func declaredAnew(t *fixture) {
	t.newBegunJob("j")
	t.declare("p1", "v2", "j")
	t.wantDefinitions("j", "v1", "v2")
	if p := t.heartbeat("p1"); !slices.Equal(p.LiveVersions, []string{"v2"}) {
		t.Errorf("live %v, want v2", p.LiveVersions)
	}
}

func livingVersions(t *fixture) {
	t.declare("p1", "v2", "j")
	t.declare("p2", "v1", "j")
	t.declare("p3", "v2", "j")
	p := t.heartbeat("p2")
	if !slices.Equal(p.LiveVersions, []string{"v1", "v2"}) || p.Processes != 3 || p.Now.IsZero() {
		t.Errorf("pulse %+v, want v1 and v2 of three processes", p)
	}
}

func beginsWithDesired(t *fixture) {
	t.declare("p1", "v1", "j")
	t.declare("p2", "v2", "j")
	s := t.assignments("v1")["j"]
	if s.JobID != "j" || s.Hash != "" || s.Desired != "v2" {
		t.Errorf("standing %+v, want one that waits for v2", s)
	}
	if s := t.assignments("v2")["j"]; s.Hash != "v2" || s.Revision != 1 {
		t.Errorf("standing %+v, want revision 1 of v2", s)
	}
}

func begunOnce(t *fixture) {
	ids := jobIDs(20)
	t.declare("p1", "v1", ids...)
	stores := []ledger.Store{t.Store, t.secondReplica(), t.secondReplica()}
	var wg sync.WaitGroup
	for _, s := range stores {
		wg.Go(func() {
			if _, err := s.Assignments(t.ctx, "v1", ""); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	got := t.assignments("v1")
	for _, id := range ids {
		if got[id].Revision != 1 {
			t.Errorf("%s is in revision %d, want 1", id, got[id].Revision)
		}
		if n := len(t.events(id, ledger.EventRevisionBegun)); n != 1 {
			t.Errorf("%s was begun %d times", id, n)
		}
	}
}

func declaredListed(t *fixture) {
	t.declare("p1", "v1", "j", "k")
	t.advance(time.Hour)
	t.declare("p2", "v2", "j")
	t.advance(time.Hour)
	t.declare("p3", "v1", "j") // known: it keeps its place
	got, err := t.Definitions(t.ctx, "j", 0)
	t.must(err)
	if len(got) != 2 || got[0].Hash != "v2" || got[1].Hash != "v1" || string(got[0].Body) != `{"hash":"v2"}` || !got[0].At.After(got[1].At) {
		t.Errorf("definitions %+v, want v2, and v1 before it", got)
	}
	one, err := t.Definitions(t.ctx, "j", 1)
	t.must(err)
	if len(one) != 1 || one[0].Hash != "v2" {
		t.Errorf("one definition: %+v, want v2", one)
	}
	if none, err := t.Definitions(t.ctx, "nobody", 0); err != nil || len(none) != 0 {
		t.Errorf("definitions of nobody: %+v, %v", none, err)
	}
}
