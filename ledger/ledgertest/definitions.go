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
func (b *fixture) wantDefinitions(id, hash, desired string) ledger.JobAssignment {
	b.Helper()
	s, ok := b.assignments("")[id]
	if !ok || s.Hash != hash || s.Desired != desired {
		b.Errorf("standing %+v, want %q with desired %q", s, hash, desired)
	}
	if body := string(s.Body); hash != desired && body != `{"hash":"`+hash+`"}` {
		b.Errorf("body %s, want that of %q, which still stands", body, hash)
	}
	return s
}

// newBegunJob is a job under v1 of process p1, an hour old, with p1 alive.
func (b *fixture) newBegunJob(id string) *job {
	b.Helper()
	b.declare("p1", "v1", id)
	b.assignments("v1")
	b.advance(time.Hour)
	b.heartbeat("p1")
	return b.now(id)
}

func (b *fixture) heartbeat(process string) ledger.HeartbeatReply {
	b.Helper()
	p, err := b.Heartbeat(b.ctx, process)
	b.must(err)
	return p
}

func otherRegistry(b *fixture) {
	b.declare("p1", "v1", "j")
	err := b.Declare(b.ctx, ledger.Declaration{Process: "p2", Registry: "another", Version: "v1", Definitions: definitions("v1", "j")})
	if !errors.Is(err, ledger.ErrOtherRegistry) {
		b.Errorf("declared by another registry: %v, want ErrOtherRegistry", err)
	}
	if _, err := b.Heartbeat(b.ctx, "p2"); !errors.Is(err, ledger.ErrNotFound) {
		b.Errorf("a refused process has a heartbeat: %v", err)
	}
	b.declare("p3", "v1", "j")
}

func lastDeclaredWins(b *fixture) {
	b.newBegunJob("j")
	b.wantDefinitions("j", "v1", "v1")
	b.declare("p2", "v2", "j")
	b.wantDefinitions("j", "v1", "v2")
}

func clockSetBack(b *fixture) {
	b.declare("p1", "v1", "j")
	b.assignments("v1")
	b.advance(-time.Minute)
	b.declare("p2", "v2", "j")
	b.wantDefinitions("j", "v1", "v2")
	got, err := b.Definitions(b.ctx, "j", 0)
	b.must(err)
	if len(got) != 2 || got[0].Hash != "v2" {
		b.Errorf("definitions %+v, want v2 first", got)
	}
}

// aliveAtItsLimit asks at the very limit if the store's clock can be held, else shortly
// after it.
func aliveAtItsLimit(b *fixture) {
	b.newBegunJob("j")
	if b.opened.Stop != nil {
		b.opened.Stop(b.T)
	}
	b.declare("p2", "v2", "j")
	b.advance(ledger.ProcessTTL)
	reply := b.heartbeat("p1")
	processes, err := b.Processes(b.ctx)
	b.must(err)
	p2 := processes[slices.IndexFunc(processes, func(p ledger.Process) bool { return p.ID == "p2" })]
	alive := !reply.Now.After(p2.HeartbeatAt.Add(ledger.ProcessTTL))
	desired := "v1"
	if alive {
		desired = "v2"
	}
	if b.opened.Stop != nil && !alive {
		b.Fatalf("at %s the clock is not at the limit of %+v", reply.Now, p2)
	}
	if p2.Alive != alive || slices.Contains(reply.LiveVersions, "v2") != alive {
		b.Errorf("at %s: %+v, live versions %v; want alive %v", reply.Now, p2, reply.LiveVersions, alive)
	}
	b.wantDefinitions("j", "v1", desired)
	b.advance(time.Second)
	if reply := b.heartbeat("p1"); slices.Contains(reply.LiveVersions, "v2") || reply.Processes != 1 {
		b.Errorf("a second after the limit: live versions %v of %d processes", reply.LiveVersions, reply.Processes)
	}
}

func restartDoesNotWin(b *fixture) {
	b.newBegunJob("j")
	b.declare("p2", "v2", "j")
	b.must(b.Deregister(b.ctx, "p1"))
	b.declare("p3", "v1", "j")
	b.wantDefinitions("j", "v1", "v2")
}

func fallBack(b *fixture) {
	b.newBegunJob("j")
	b.declare("p2", "v2", "j")
	b.switchTo("j", "v2")
	b.wantDefinitions("j", "v2", "v2")
	b.advance(ledger.ProcessTTL / 3)
	b.heartbeat("p1")
	b.wantDefinitions("j", "v2", "v2")
	b.advance(ledger.ProcessTTL * 3 / 4)
	if p := b.heartbeat("p1"); !slices.Equal(p.LiveVersions, []string{"v1"}) || p.Processes != 1 {
		b.Errorf("live %v, %d processes, want v1 and one", p.LiveVersions, p.Processes)
	}
	b.wantDefinitions("j", "v2", "v1")
}

func deregistered(b *fixture) {
	b.newBegunJob("j")
	b.declare("p2", "v2", "j")
	b.must(b.Deregister(b.ctx, "p2"))
	b.must(b.Deregister(b.ctx, "p2"))
	b.wantDefinitions("j", "v1", "v1")
	if p := b.heartbeat("p1"); !slices.Equal(p.LiveVersions, []string{"v1"}) {
		b.Errorf("live %v, want v1", p.LiveVersions)
	}
	if _, err := b.Heartbeat(b.ctx, "p2"); !errors.Is(err, ledger.ErrNotFound) {
		b.Errorf("heartbeat of a deregistered process: %v, want ErrNotFound", err)
	}
}

func lateHeartbeat(b *fixture) {
	b.newBegunJob("j")
	b.declare("p2", "v2", "j")
	b.advance(10 * ledger.ProcessTTL)
	b.heartbeat("p1")
	b.wantDefinitions("j", "v1", "v1")
	b.heartbeat("p2")
	b.wantDefinitions("j", "v1", "v2")
}

func declaredAnew(b *fixture) {
	b.newBegunJob("j")
	b.declare("p1", "v2", "j")
	b.wantDefinitions("j", "v1", "v2")
	if p := b.heartbeat("p1"); !slices.Equal(p.LiveVersions, []string{"v2"}) {
		b.Errorf("live %v, want v2", p.LiveVersions)
	}
}

func livingVersions(b *fixture) {
	b.declare("p1", "v2", "j")
	b.declare("p2", "v1", "j")
	b.declare("p3", "v2", "j")
	p := b.heartbeat("p2")
	if !slices.Equal(p.LiveVersions, []string{"v1", "v2"}) || p.Processes != 3 || p.Now.IsZero() {
		b.Errorf("pulse %+v, want v1 and v2 of three processes", p)
	}
}

func beginsWithDesired(b *fixture) {
	b.declare("p1", "v1", "j")
	b.declare("p2", "v2", "j")
	s := b.assignments("v1")["j"]
	if s.JobID != "j" || s.Hash != "" || s.Desired != "v2" {
		b.Errorf("standing %+v, want one that waits for v2", s)
	}
	if s := b.assignments("v2")["j"]; s.Hash != "v2" || s.Revision != 1 {
		b.Errorf("standing %+v, want revision 1 of v2", s)
	}
}

func begunOnce(b *fixture) {
	ids := jobIDs(20)
	b.declare("p1", "v1", ids...)
	stores := []ledger.Store{b.Store, b.secondReplica(), b.secondReplica()}
	var wg sync.WaitGroup
	for _, s := range stores {
		wg.Go(func() {
			if _, err := s.Assignments(b.ctx, "v1", ""); err != nil {
				b.Error(err)
			}
		})
	}
	wg.Wait()
	got := b.assignments("v1")
	for _, id := range ids {
		if got[id].Revision != 1 {
			b.Errorf("%s is in revision %d, want 1", id, got[id].Revision)
		}
		if n := len(b.events(id, ledger.EventRevisionBegun)); n != 1 {
			b.Errorf("%s was begun %d times", id, n)
		}
	}
}

func declaredListed(b *fixture) {
	b.declare("p1", "v1", "j", "k")
	b.advance(time.Hour)
	b.declare("p2", "v2", "j")
	b.advance(time.Hour)
	b.declare("p3", "v1", "j") // known: it keeps its place
	got, err := b.Definitions(b.ctx, "j", 0)
	b.must(err)
	if len(got) != 2 || got[0].Hash != "v2" || got[1].Hash != "v1" || string(got[0].Body) != `{"hash":"v2"}` || !got[0].At.After(got[1].At) {
		b.Errorf("definitions %+v, want v2, and v1 before it", got)
	}
	one, err := b.Definitions(b.ctx, "j", 1)
	b.must(err)
	if len(one) != 1 || one[0].Hash != "v2" {
		b.Errorf("one definition: %+v, want v2", one)
	}
	if none, err := b.Definitions(b.ctx, "nobody", 0); err != nil || len(none) != 0 {
		b.Errorf("definitions of nobody: %+v, %v", none, err)
	}
}
