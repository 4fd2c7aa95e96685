package ledgertest

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cronce/cronce/ledger"
)

var historyPurgeCases = []testCase{
	{"events go past the retention of runs, in batches", purgeEvents},
	{"what an answer said is kept for its time, and only by the holder of the lease", purgeExcerpts},
	{"a killed process goes a day after its last heartbeat, and declares itself again", purgeProcesses},
	{"a definition that a process declares or a job uses stays", purgeNeeded},
	{"a definition goes once it was superseded for the retention", purgeSuperseded},
	{"a definition of an ended job goes once the job has ended for the retention", purgeEndedJob},
	{"an unfinished run of a definition that is gone is still sent", purgeUnderARun},
	{"a definition that comes back after it was purged is the last one declared", purgeComesBack},
	{"versions that no process declares are purged in batches", purgeVersions},
	{"a process that declares itself while definitions are purged keeps its own", purgeWhileDeclaring},
	{"a dry run of a purge of history counts and deletes nothing", purgeHistoryDry},
}

func (t *fixture) purgeHistory(p ledger.HistoryPurge) ledger.PurgedHistory {
	t.Helper()
	got, err := t.PurgeHistory(t.ctx, p)
	t.must(err)
	return got
}

// wantHistoryPurged purges what is older than a day and checks what went.
func (t *fixture) wantHistoryPurged(want ledger.PurgedHistory) {
	t.Helper()
	if got := t.purgeHistory(ledger.HistoryPurge{Retention: day, AuditRetention: day}); got != want {
		t.Errorf("purged %+v, want %+v", got, want)
	}
}

const day = 24 * time.Hour

func purgeEvents(t *fixture) {
	t.newBegunJob("j")
	t.switchTo("j", "v2")
	t.switchTo("j", "v3")
	t.advance(day / 2)
	t.switchTo("j", "v4") // 1 + 2 + 2 + 2 events, all at a watermark an hour old
	t.advance(day)
	p := ledger.HistoryPurge{Retention: day, AuditRetention: day, Batch: 4}
	for _, want := range []int{4, 3, 0} {
		if got := t.purgeHistory(p); got.Events != want || got.More != (want == 4) {
			t.Errorf("%+v: want %d events purged", got, want)
		}
	}
	if left, err := t.Events(t.ctx, "j", 0); err != nil || len(left) != 0 {
		t.Errorf("events %+v, %v: want none left", left, err)
	}
}

func purgeExcerpts(t *fixture) {
	j, w := t.newStarted("j")
	said := func(o ledger.Outcome, text string, keep time.Duration) ledger.Outcome {
		o.Excerpt, o.KeepExcerpt = text, keep
		return o
	}
	excerpts := func() (list []string) {
		for _, a := range t.history(j.id(0)) {
			list = append(list, a.Excerpt)
		}
		return list
	}
	t.record(said(retrying(w, 0), "no\x00 funds", time.Hour))
	w = t.claimOne("p1", j.id(0))
	t.record(said(retrying(w, 0), strings.Repeat("x", 2*ledger.ExcerptLimit), 2*day))
	w = t.claimOne("p1", j.id(0))
	t.advance(2 * lease)
	former := w
	w = t.claimOne("p2", j.id(0))
	t.wantFenced(said(dead(former, ledger.ReasonPermanent), "under a lease that is lost", day))
	t.record(said(dead(w, ledger.ReasonPermanent), "not for any time", 0))
	want := []string{"no\uFFFD funds", strings.Repeat("x", ledger.ExcerptLimit), "", ""}
	if got := excerpts(); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	t.advance(2 * time.Hour)
	want[0] = ""
	if got := excerpts(); !slices.Equal(got, want) {
		t.Errorf("two hours later %q, want %q", got, want)
	}
	t.wantHistoryPurged(ledger.PurgedHistory{Excerpts: 1})
	t.advance(2 * day)
	if got := t.purgeHistory(ledger.HistoryPurge{Retention: 9 * day, AuditRetention: 9 * day}); got.Excerpts != 1 {
		t.Errorf("purged %+v, want the excerpt that was kept longer", got)
	}
}

func purgeProcesses(t *fixture) {
	t.declare("p1", "v1", "j")
	t.declare("p2", "v1", "j")
	t.advance(day - time.Minute)
	t.wantHistoryPurged(ledger.PurgedHistory{})
	t.heartbeat("p2")
	t.advance(2 * time.Minute)
	t.wantHistoryPurged(ledger.PurgedHistory{Processes: 1})
	if _, err := t.Heartbeat(t.ctx, "p1"); !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("a forgotten process: %v, want ErrNotFound", err)
	}
	t.declare("p1", "v1", "j")
	t.heartbeat("p2")
	if p := t.heartbeat("p1"); p.Processes != 2 {
		t.Errorf("%+v: want both alive again", p)
	}
	t.assignments("v1")
	t.wantDefinitions("j", "v1", "v1")
}

func purgeNeeded(t *fixture) {
	t.newBegunJob("j")
	t.declare("p2", "v2", "j")
	t.declare("p3", "v3", "j")
	t.must(t.Deregister(t.ctx, "p1")) // the job still stands on v1
	t.advance(2 * day)
	for _, p := range []string{"p2", "p3"} {
		t.heartbeat(p)
	}
	t.wantHistoryPurged(ledger.PurgedHistory{Events: 1, VersionEntries: 1})
	t.wantDefinitions("j", "v1", "v3")
	t.must(t.Deregister(t.ctx, "p3"))
	t.wantDefinitions("j", "v1", "v2")
	t.wantHistoryPurged(ledger.PurgedHistory{VersionEntries: 1}) // v3 was never superseded
}

func purgeSuperseded(t *fixture) {
	t.newBegunJob("j")
	t.declare("p2", "v2", "j")
	t.switchTo("j", "v2")
	t.must(t.Deregister(t.ctx, "p1"))
	t.advance(day - 2*time.Hour)
	t.heartbeat("p2")
	t.wantHistoryPurged(ledger.PurgedHistory{VersionEntries: 1})
	t.advance(3 * time.Hour)
	t.heartbeat("p2")
	t.wantHistoryPurged(ledger.PurgedHistory{Events: 3, Definitions: 1})
	t.wantDefinitions("j", "v2", "v2")
}

func purgeEndedJob(t *fixture) {
	j := t.newBegunJob("j")
	t.must(t.Deregister(t.ctx, "p1"))
	t.advance(2 * day)
	t.removeJob(j)
	t.wantHistoryPurged(ledger.PurgedHistory{Events: 2, VersionEntries: 1})
	t.advance(2 * day)
	t.wantHistoryPurged(ledger.PurgedHistory{Definitions: 1})
	if s := t.status("j"); !s.Ended || s.Watermark.IsZero() {
		t.Errorf("%+v: the job's row stays", s)
	}
	t.declare("p2", "v1", "j")
	t.assignments("v1")
	if s := t.wantDefinitions("j", "v1", "v1"); s.Revision != 2 {
		t.Errorf("%+v: want its second revision", s)
	}
}

func purgeUnderARun(t *fixture) {
	j := t.newBegunJob("j")
	got := j.admit(j.leased(0, ledger.OverlapSkip))
	t.record(retrying(got.Leased[0], 0))
	t.declare("p2", "v2", "j")
	t.switchTo("j", "v2")
	t.must(t.Deregister(t.ctx, "p1"))
	if n := t.purgeHistory(ledger.HistoryPurge{}).Definitions; n != 1 {
		t.Errorf("%d definitions purged, want v1", n)
	}
	w := t.claimOne("p2", j.id(0))
	t.sameCall("of a run whose definition is gone", w.Call, got.Leased[0].Call)
	t.record(succeeded(w))
}

func purgeComesBack(t *fixture) {
	t.newBegunJob("j")
	t.declare("p2", "v2", "j")
	t.switchTo("j", "v2")
	t.must(t.Deregister(t.ctx, "p1"))
	t.advance(2 * day)
	t.heartbeat("p2")
	t.declare("p3", "v2", "j") // another live one
	t.wantHistoryPurged(ledger.PurgedHistory{Events: 3, VersionEntries: 1, Definitions: 1})
	t.declare("p4", "v1", "j")
	t.wantDefinitions("j", "v2", "v1")
}

func purgeVersions(t *fixture) {
	t.declare("p1", "v1", "a", "b", "c")
	t.declare("p2", "v2", "a", "b", "c")
	t.declare("p3", "v3", "a")
	t.must(t.Deregister(t.ctx, "p1"))
	t.must(t.Deregister(t.ctx, "p2"))
	p := ledger.HistoryPurge{Retention: day, AuditRetention: day, Batch: 4}
	for _, want := range []int{4, 2, 0} {
		if got := t.purgeHistory(p); got != (ledger.PurgedHistory{VersionEntries: want, More: want == 4}) {
			t.Errorf("%+v: want %d names gone", got, want)
		}
	}
	t.assignments("v3")
	t.wantDefinitions("a", "v3", "v3")
}

// purgeWhileDeclaring: processes come, live and go while everything that nobody
// needs is purged at once. Each finds its definitions as long as it lives.
func purgeWhileDeclaring(t *fixture) {
	stores := []ledger.Store{t.Store, t.secondReplica(), t.secondReplica()}
	t.onEachReplica(stores, 2, func(s ledger.Store, token string) error {
		for i := range 6 {
			process, version := token+strconv.Itoa(i), "v"+strconv.Itoa(i%2)
			err := s.Declare(t.ctx, ledger.Declaration{
				Process: process, Registry: registry, Version: version, Definitions: definitions(version, "j", "k"),
			})
			if err != nil {
				return err
			}
			if _, err := s.PurgeHistory(t.ctx, ledger.HistoryPurge{}); err != nil {
				return err
			}
			list, err := s.Assignments(t.ctx, version, "")
			if err != nil {
				return err
			}
			if !slices.ContainsFunc(list, func(s ledger.JobAssignment) bool { return s.JobID == "j" && s.Desired != "" }) {
				return errors.New("a live process's definition is gone: " + version)
			}
			if err := s.Deregister(t.ctx, process); err != nil {
				return err
			}
		}
		return nil
	})
}

func purgeHistoryDry(t *fixture) {
	purgeTestHistory(t)
	want := ledger.PurgedHistory{Audit: 1, Events: 3, Processes: 1, VersionEntries: 1, Definitions: 1}
	p := ledger.HistoryPurge{Retention: day, AuditRetention: day, Batch: 1, DryRun: true}
	for range 2 {
		if got := t.purgeHistory(p); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	t.wantHistoryPurged(want)
	t.wantHistoryPurged(ledger.PurgedHistory{})
}

// purgeTestHistory leaves one row of each kind to purge, and three events.
func purgeTestHistory(t *fixture) {
	t.newBegunJob("j")
	t.declare("p2", "v2", "j")
	t.switchTo("j", "v2")
	t.must(t.Deregister(t.ctx, "p1"))
	t.must(t.PauseJob(t.ctx, "j", who("ann", "audit")))
	t.declare("p3", "v2", "j")
	t.advance(2 * day)
	t.heartbeat("p2")
}

func auditPurge(t *fixture) {
	t.job("j")
	t.must(t.PauseJob(t.ctx, "j", who("ann", "first")))
	t.must(t.ResumeJob(t.ctx, "j", who("ann", "second")))
	t.advance(2 * time.Hour)
	t.must(t.PauseJob(t.ctx, "j", who("ann", "third")))
	p := ledger.HistoryPurge{AuditRetention: 3 * time.Hour}
	if got := t.purgeHistory(p); got.Audit != 0 {
		t.Errorf("%+v: want nothing purged within the retention", got)
	}
	p.AuditRetention, p.DryRun = time.Hour, true
	if got := t.purgeHistory(p); got.Audit != 2 || got.More {
		t.Errorf("%+v: a dry run counts 2", got)
	}
	p.DryRun, p.Batch = false, 1
	for range 2 {
		if got := t.purgeHistory(p); got.Audit != 1 || !got.More {
			t.Errorf("%+v: want 1, and more to ask for", got)
		}
	}
	if got := t.purgeHistory(p); got.Audit != 0 || got.More {
		t.Errorf("%+v: want nothing left to purge", got)
	}
	t.wantAudit(t.audit(ledger.AuditFilter{}), "pause j  by ann: third (cli)")
}
