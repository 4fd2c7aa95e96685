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
	{"the last first declared of the living definitions wins", lastDeclaredWins},
	{"an old version that restarts last does not win", restartDoesNotWin},
	{"when the newer version's heartbeat stops the older wins again", fallBack},
	{"a retired process is not living and is forgotten", retired},
	{"a late heartbeat brings a process back", lateHeartbeat},
	{"a process declares anew in place of its last declaration", declaredAnew},
	{"the living versions are sorted and named once", livingVersions},
	{"only a version that holds the winner begins a job", beginsWithWinner},
	{"two replicas begin a job once", begunOnce},
	{"an edit ends the epoch and begins the next in the plan's transaction", edited},
	{"a refused plan does not switch the definition", refusedSwitch},
	{"of two that switch at once one does", switchedOnce},
	{"a job that an older living process declares is not removed", notRemovedYet},
	{"a removed job ends after its last instants and is planned no more", removed},
	{"an edit leaves the slot with its holder", editKeepsSlot},
	{"the runs of a removed job go on to their end", removedGoesOn},
	{"a re-added job begins anew with nothing before now", readded},
	{"a pause outlives an edit, a removal and the return", pauseOutlives},
}

// stands checks a job's current definition and its winner.
func (b *bed) stands(id, hash, winner string) ledger.Standing {
	b.Helper()
	s, ok := b.standings("")[id]
	if !ok || s.Hash != hash || s.Winner != winner {
		b.Errorf("standing %+v, want %q with winner %q", s, hash, winner)
	}
	if body := string(s.Body); hash != winner && body != `{"hash":"`+hash+`"}` {
		b.Errorf("body %s, want that of %q, which still stands", body, hash)
	}
	return s
}

// begun is a job under v1 of process p1, an hour old, with p1 alive.
func (b *bed) begun(id string) *job {
	b.Helper()
	b.declare("p1", "v1", id)
	b.standings("v1")
	b.pass(time.Hour)
	b.beat("p1")
	return b.now(id)
}

func (b *bed) beat(process string) ledger.Pulse {
	b.Helper()
	p, err := b.Beat(b.ctx, process)
	b.must(err)
	return p
}

func otherRegistry(b *bed) {
	b.declare("p1", "v1", "j")
	err := b.Declare(b.ctx, ledger.Declaration{Process: "p2", Registry: "another", Version: "v1", Definitions: definitions("v1", "j")})
	if !errors.Is(err, ledger.ErrOtherRegistry) {
		b.Errorf("declared by another registry: %v, want ErrOtherRegistry", err)
	}
	if _, err := b.Beat(b.ctx, "p2"); !errors.Is(err, ledger.ErrNotFound) {
		b.Errorf("a refused process has a heartbeat: %v", err)
	}
	b.declare("p3", "v1", "j")
}

func lastDeclaredWins(b *bed) {
	b.begun("j")
	b.stands("j", "v1", "v1")
	b.declare("p2", "v2", "j")
	b.stands("j", "v1", "v2")
}

func restartDoesNotWin(b *bed) {
	b.begun("j")
	b.declare("p2", "v2", "j")
	b.must(b.Retire(b.ctx, "p1"))
	b.declare("p3", "v1", "j")
	b.stands("j", "v1", "v2")
}

func fallBack(b *bed) {
	b.begun("j")
	b.declare("p2", "v2", "j")
	b.switchTo("j", "v2")
	b.stands("j", "v2", "v2")
	b.pass(ledger.ProcessTTL - 5*time.Second)
	b.beat("p1")
	b.stands("j", "v2", "v2")
	b.pass(10 * time.Second)
	if p := b.beat("p1"); !slices.Equal(p.Living, []string{"v1"}) {
		b.Errorf("living %v, want v1", p.Living)
	}
	b.stands("j", "v2", "v1")
}

// switchTo plans a job to a definition without any instants.
func (b *bed) switchTo(id, hash string) {
	b.Helper()
	j := b.now(id)
	p := ledger.Plan{JobID: id, Epoch: j.Epoch, After: j.Watermark, Through: j.Watermark}
	p.Next = &ledger.Definition{JobID: id, Hash: hash, Body: []byte(`{"hash":"` + hash + `"}`)}
	got, err := b.Admit(b.ctx, b.admission(p))
	b.must(err)
	if len(got.Stale) != 0 {
		b.Fatalf("switch of %s refused: %+v", id, got.Stale)
	}
}

func retired(b *bed) {
	b.begun("j")
	b.declare("p2", "v2", "j")
	b.must(b.Retire(b.ctx, "p2"))
	b.must(b.Retire(b.ctx, "p2"))
	b.stands("j", "v1", "v1")
	if p := b.beat("p1"); !slices.Equal(p.Living, []string{"v1"}) {
		b.Errorf("living %v, want v1", p.Living)
	}
	if _, err := b.Beat(b.ctx, "p2"); !errors.Is(err, ledger.ErrNotFound) {
		b.Errorf("heartbeat of a retired process: %v, want ErrNotFound", err)
	}
}

func lateHeartbeat(b *bed) {
	b.begun("j")
	b.declare("p2", "v2", "j")
	b.pass(10 * ledger.ProcessTTL)
	b.beat("p1")
	b.stands("j", "v1", "v1")
	b.beat("p2")
	b.stands("j", "v1", "v2")
}

func declaredAnew(b *bed) {
	b.begun("j")
	b.declare("p1", "v2", "j")
	b.stands("j", "v1", "v2")
	if p := b.beat("p1"); !slices.Equal(p.Living, []string{"v2"}) {
		b.Errorf("living %v, want v2", p.Living)
	}
}

func livingVersions(b *bed) {
	b.declare("p1", "v2", "j")
	b.declare("p2", "v1", "j")
	b.declare("p3", "v2", "j")
	p := b.beat("p2")
	if !slices.Equal(p.Living, []string{"v1", "v2"}) || p.Now.IsZero() {
		b.Errorf("pulse %+v, want v1 and v2", p)
	}
}

func beginsWithWinner(b *bed) {
	b.declare("p1", "v1", "j")
	b.declare("p2", "v2", "j")
	s := b.standings("v1")["j"]
	if s.JobID != "j" || s.Hash != "" || s.Winner != "v2" {
		b.Errorf("standing %+v, want one that waits for v2", s)
	}
	if s := b.standings("v2")["j"]; s.Hash != "v2" || s.Epoch != 1 {
		b.Errorf("standing %+v, want epoch 1 of v2", s)
	}
}

func begunOnce(b *bed) {
	ids := jobIDs(20)
	b.declare("p1", "v1", ids...)
	stores := []Store{b.Store, b.second(), b.second()}
	var wg sync.WaitGroup
	for _, s := range stores {
		wg.Go(func() {
			if _, err := s.Standings(b.ctx, "v1"); err != nil {
				b.Error(err)
			}
		})
	}
	wg.Wait()
	got := b.standings("v1")
	for _, id := range ids {
		if got[id].Epoch != 1 {
			b.Errorf("%s is in epoch %d, want 1", id, got[id].Epoch)
		}
		if n := len(b.events(id, ledger.EpochBegun)); n != 1 {
			b.Errorf("%s was begun %d times", id, n)
		}
	}
}

// events are a job's events of one kind, newest first.
func (b *bed) events(id string, kind ledger.EventKind) []ledger.Event {
	b.Helper()
	es, err := b.Events(b.ctx, id, 0)
	b.must(err)
	return slices.DeleteFunc(es, func(e ledger.Event) bool { return e.Kind != kind })
}

func edited(b *bed) {
	j := b.begun("j")
	b.declare("p2", "v2", "j")
	p := j.plan(1, j.planned(0, ledger.OverlapAllow), j.planned(1, ledger.OverlapAllow))
	p.Next = &definitions("v2", "j")[0]
	_, err := b.Admit(b.ctx, b.admission(p))
	b.must(err)
	b.is(j.id(1), ledger.Planned, "")
	s := b.stands("j", "v2", "v2")
	if s.Epoch <= j.Epoch || !s.Watermark.Equal(j.at(1)) {
		b.Errorf("standing %+v, want a later epoch from %s", s, j.at(1))
	}
	if ended, begun := b.events("j", ledger.EpochEnded), b.events("j", ledger.EpochBegun); len(ended) != 1 || len(begun) != 2 {
		b.Errorf("events: ended %v, begun %v", ended, begun)
	}
	old := j.plan(2, j.planned(2, ledger.OverlapAllow))
	old.After = j.at(1)
	b.refused(old)
	k := j.next()
	k.admit(k.planned(0, ledger.OverlapAllow))
	if r := b.get(k.id(0)); r.Epoch != s.Epoch {
		b.Errorf("planned under epoch %d, want %d", r.Epoch, s.Epoch)
	}
}

func refusedSwitch(b *bed) {
	j := b.begun("j")
	p := j.plan(70)
	p.Next = &definitions("v2", "j")[0]
	b.refused(p)
	b.stands("j", "v1", "v1")
}

func switchedOnce(b *bed) {
	j := b.begun("j")
	var wg sync.WaitGroup
	won := make([]int, 3)
	for i, hash := range []string{"v2", "v3", "v4"} {
		s := b.second()
		p := j.plan(0, j.planned(0, ledger.OverlapAllow))
		p.Next = &definitions(hash, "j")[0]
		a := b.admission(p)
		wg.Go(func() {
			got, err := s.Admit(b.ctx, a)
			if err != nil {
				b.Error(err)
			}
			won[i] = 1 - len(got.Stale)
		})
	}
	wg.Wait()
	if won[0]+won[1]+won[2] != 1 {
		b.Errorf("admitted %v, want one", won)
	}
	if n := len(b.events("j", ledger.EpochEnded)); n != 1 {
		b.Errorf("%d epochs ended, want 1", n)
	}
}

// notRemovedYet: v2 does not know the job, and v1 still runs.
func notRemovedYet(b *bed) {
	b.begun("j")
	b.declare("p2", "v2", "other")
	b.stands("j", "v1", "v1")
	b.must(b.Retire(b.ctx, "p1"))
	b.stands("j", "v1", "")
}

// end removes a job: its plan has one last instant.
func (b *bed) end(j *job) {
	b.Helper()
	p := j.plan(0, j.planned(0, ledger.OverlapAllow))
	p.Next = &ledger.Definition{JobID: j.JobID}
	got, err := b.Admit(b.ctx, b.admission(p))
	b.must(err)
	if len(got.Stale) != 0 {
		b.Fatalf("end of %s refused: %+v", j.JobID, got.Stale)
	}
}

func removed(b *bed) {
	j := b.begun("j")
	b.must(b.Retire(b.ctx, "p1"))
	b.end(j)
	b.is(j.id(0), ledger.Planned, "")
	if s, ok := b.standings("")["j"]; ok {
		b.Errorf("Standings lists an ended job: %+v", s)
	}
	st := b.status("j")
	if !st.Ended || len(b.events("j", ledger.EpochEnded)) != 1 {
		b.Errorf("status %+v, want ended", st)
	}
	for _, epoch := range []int64{j.Epoch, st.Epoch, st.Epoch + 1} {
		p := j.plan(1, j.leased(1, ledger.OverlapAllow))
		p.Epoch, p.After = epoch, j.at(0)
		b.refused(p)
	}
}

func editKeepsSlot(b *bed) {
	j := b.begun("j")
	got := j.admit(j.leased(0, ledger.OverlapSkip))
	b.switchTo("j", "v2")
	k := j.nextIs(ledger.Skipped, ledger.Overlapped)
	b.record(succeeded(got.Leased[0]))
	k.nextIs(ledger.Planned, "")
}

func removedGoesOn(b *bed) {
	j := b.begun("j")
	got := j.admit(j.leased(0, ledger.OverlapQueue), j.planned(1, ledger.OverlapQueue))
	b.switchTo("j", "")
	b.record(retrying(got.Leased[0], 0))
	b.record(succeeded(b.take("p1", j.id(0))))
	b.record(succeeded(b.take("p1", j.id(1))))
}

func readded(b *bed) {
	j := b.begun("j")
	b.end(j)
	b.must(b.Retire(b.ctx, "p1"))
	b.pass(time.Hour)
	b.declare("p2", "v1", "j")
	now := b.beat("p2").Now
	s := b.standings("v1")["j"]
	if s.Hash != "v1" || s.Epoch <= j.Epoch || s.Watermark.Before(now) {
		b.Errorf("standing %+v, want an epoch after %d that begins at %s", s, j.Epoch, now)
	}
	p := j.plan(1, j.leased(1, ledger.OverlapAllow))
	p.After = j.at(0)
	b.refused(p)
	p.Epoch = s.Epoch
	b.refused(p)
}

func pauseOutlives(b *bed) {
	j := b.begun("j")
	b.must(b.Pause(b.ctx, "j", "ann", "audit"))
	b.switchTo("j", "v2")
	b.switchTo("j", "")
	b.must(b.Retire(b.ctx, "p1"))
	b.declare("p2", "v3", "j")
	b.standings("v3")
	b.pass(time.Hour)
	k := j.next()
	if got := k.admit(k.leased(0, ledger.OverlapSkip)); got.Skipped[ledger.WhilePaused] != 1 {
		b.Errorf("skipped %v, want the job still paused", got.Skipped)
	}
}
