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

func (b *fixture) purgeHistory(p ledger.HistoryPurge) ledger.PurgedHistory {
	b.Helper()
	got, err := b.PurgeHistory(b.ctx, p)
	b.must(err)
	return got
}

// wantHistoryPurged purges what is older than a day and checks what went.
func (b *fixture) wantHistoryPurged(want ledger.PurgedHistory) {
	b.Helper()
	if got := b.purgeHistory(ledger.HistoryPurge{Retention: day, AuditRetention: day}); got != want {
		b.Errorf("purged %+v, want %+v", got, want)
	}
}

const day = 24 * time.Hour

func purgeEvents(b *fixture) {
	b.newBegunJob("j")
	b.switchTo("j", "v2")
	b.switchTo("j", "v3")
	b.advance(day / 2)
	b.switchTo("j", "v4") // 1 + 2 + 2 + 2 events, all at a watermark an hour old
	b.advance(day)
	p := ledger.HistoryPurge{Retention: day, AuditRetention: day, Batch: 4}
	for _, want := range []int{4, 3, 0} {
		if got := b.purgeHistory(p); got.Events != want || got.More != (want == 4) {
			b.Errorf("%+v: want %d events purged", got, want)
		}
	}
	if left, err := b.Events(b.ctx, "j", 0); err != nil || len(left) != 0 {
		b.Errorf("events %+v, %v: want none left", left, err)
	}
}

func purgeExcerpts(b *fixture) {
	j, w := b.newStarted("j")
	said := func(o ledger.Outcome, text string, keep time.Duration) ledger.Outcome {
		o.Excerpt, o.KeepExcerpt = text, keep
		return o
	}
	excerpts := func() (list []string) {
		for _, a := range b.history(j.id(0)) {
			list = append(list, a.Excerpt)
		}
		return list
	}
	b.record(said(retrying(w, 0), "no\x00 funds", time.Hour))
	w = b.claimOne("p1", j.id(0))
	b.record(said(retrying(w, 0), strings.Repeat("x", 2*ledger.ExcerptLimit), 2*day))
	w = b.claimOne("p1", j.id(0))
	b.advance(2 * lease)
	former := w
	w = b.claimOne("p2", j.id(0))
	b.wantFenced(said(dead(former, ledger.ReasonPermanent), "under a lease that is lost", day))
	b.record(said(dead(w, ledger.ReasonPermanent), "not for any time", 0))
	want := []string{"no\uFFFD funds", strings.Repeat("x", ledger.ExcerptLimit), "", ""}
	if got := excerpts(); !slices.Equal(got, want) {
		b.Errorf("%q, want %q", got, want)
	}
	b.advance(2 * time.Hour)
	want[0] = ""
	if got := excerpts(); !slices.Equal(got, want) {
		b.Errorf("two hours later %q, want %q", got, want)
	}
	b.wantHistoryPurged(ledger.PurgedHistory{Excerpts: 1})
	b.advance(2 * day)
	if got := b.purgeHistory(ledger.HistoryPurge{Retention: 9 * day, AuditRetention: 9 * day}); got.Excerpts != 1 {
		b.Errorf("purged %+v, want the excerpt that was kept longer", got)
	}
}

func purgeProcesses(b *fixture) {
	b.declare("p1", "v1", "j")
	b.declare("p2", "v1", "j")
	b.advance(day - time.Minute)
	b.wantHistoryPurged(ledger.PurgedHistory{})
	b.heartbeat("p2")
	b.advance(2 * time.Minute)
	b.wantHistoryPurged(ledger.PurgedHistory{Processes: 1})
	if _, err := b.Heartbeat(b.ctx, "p1"); !errors.Is(err, ledger.ErrNotFound) {
		b.Errorf("a forgotten process: %v, want ErrNotFound", err)
	}
	b.declare("p1", "v1", "j")
	b.heartbeat("p2")
	if p := b.heartbeat("p1"); p.Processes != 2 {
		b.Errorf("%+v: want both alive again", p)
	}
	b.assignments("v1")
	b.wantDefinitions("j", "v1", "v1")
}

func purgeNeeded(b *fixture) {
	b.newBegunJob("j")
	b.declare("p2", "v2", "j")
	b.declare("p3", "v3", "j")
	b.must(b.Deregister(b.ctx, "p1")) // the job still stands on v1
	b.advance(2 * day)
	for _, p := range []string{"p2", "p3"} {
		b.heartbeat(p)
	}
	b.wantHistoryPurged(ledger.PurgedHistory{Events: 1, VersionEntries: 1})
	b.wantDefinitions("j", "v1", "v3")
	b.must(b.Deregister(b.ctx, "p3"))
	b.wantDefinitions("j", "v1", "v2")
	b.wantHistoryPurged(ledger.PurgedHistory{VersionEntries: 1}) // v3 was never superseded
}

func purgeSuperseded(b *fixture) {
	b.newBegunJob("j")
	b.declare("p2", "v2", "j")
	b.switchTo("j", "v2")
	b.must(b.Deregister(b.ctx, "p1"))
	b.advance(day - 2*time.Hour)
	b.heartbeat("p2")
	b.wantHistoryPurged(ledger.PurgedHistory{VersionEntries: 1})
	b.advance(3 * time.Hour)
	b.heartbeat("p2")
	b.wantHistoryPurged(ledger.PurgedHistory{Events: 3, Definitions: 1})
	b.wantDefinitions("j", "v2", "v2")
}

func purgeEndedJob(b *fixture) {
	j := b.newBegunJob("j")
	b.must(b.Deregister(b.ctx, "p1"))
	b.advance(2 * day)
	b.removeJob(j)
	b.wantHistoryPurged(ledger.PurgedHistory{Events: 2, VersionEntries: 1})
	b.advance(2 * day)
	b.wantHistoryPurged(ledger.PurgedHistory{Definitions: 1})
	if s := b.status("j"); !s.Ended || s.Watermark.IsZero() {
		b.Errorf("%+v: the job's row stays", s)
	}
	b.declare("p2", "v1", "j")
	b.assignments("v1")
	if s := b.wantDefinitions("j", "v1", "v1"); s.Revision != 2 {
		b.Errorf("%+v: want its second revision", s)
	}
}

func purgeUnderARun(b *fixture) {
	j := b.newBegunJob("j")
	got := j.admit(j.leased(0, ledger.OverlapSkip))
	b.record(retrying(got.Leased[0], 0))
	b.declare("p2", "v2", "j")
	b.switchTo("j", "v2")
	b.must(b.Deregister(b.ctx, "p1"))
	if n := b.purgeHistory(ledger.HistoryPurge{}).Definitions; n != 1 {
		b.Errorf("%d definitions purged, want v1", n)
	}
	w := b.claimOne("p2", j.id(0))
	b.sameCall("of a run whose definition is gone", w.Call, got.Leased[0].Call)
	b.record(succeeded(w))
}

func purgeComesBack(b *fixture) {
	b.newBegunJob("j")
	b.declare("p2", "v2", "j")
	b.switchTo("j", "v2")
	b.must(b.Deregister(b.ctx, "p1"))
	b.advance(2 * day)
	b.heartbeat("p2")
	b.declare("p3", "v2", "j") // another live one
	b.wantHistoryPurged(ledger.PurgedHistory{Events: 3, VersionEntries: 1, Definitions: 1})
	b.declare("p4", "v1", "j")
	b.wantDefinitions("j", "v2", "v1")
}

func purgeVersions(b *fixture) {
	b.declare("p1", "v1", "a", "b", "c")
	b.declare("p2", "v2", "a", "b", "c")
	b.declare("p3", "v3", "a")
	b.must(b.Deregister(b.ctx, "p1"))
	b.must(b.Deregister(b.ctx, "p2"))
	p := ledger.HistoryPurge{Retention: day, AuditRetention: day, Batch: 4}
	for _, want := range []int{4, 2, 0} {
		if got := b.purgeHistory(p); got != (ledger.PurgedHistory{VersionEntries: want, More: want == 4}) {
			b.Errorf("%+v: want %d names gone", got, want)
		}
	}
	b.assignments("v3")
	b.wantDefinitions("a", "v3", "v3")
}

// purgeWhileDeclaring: processes come, live and go while everything that nobody
// needs is purged at once. Each finds its definitions as long as it lives.
func purgeWhileDeclaring(b *fixture) {
	stores := []ledger.Store{b.Store, b.secondReplica(), b.secondReplica()}
	b.onEachReplica(stores, 2, func(s ledger.Store, token string) error {
		for i := range 6 {
			process, version := token+strconv.Itoa(i), "v"+strconv.Itoa(i%2)
			err := s.Declare(b.ctx, ledger.Declaration{
				Process: process, Registry: registry, Version: version, Definitions: definitions(version, "j", "k"),
			})
			if err != nil {
				return err
			}
			if _, err := s.PurgeHistory(b.ctx, ledger.HistoryPurge{}); err != nil {
				return err
			}
			list, err := s.Assignments(b.ctx, version, "")
			if err != nil {
				return err
			}
			if !slices.ContainsFunc(list, func(s ledger.JobAssignment) bool { return s.JobID == "j" && s.Desired != "" }) {
				return errors.New("a live process's definition is gone: " + version)
			}
			if err := s.Deregister(b.ctx, process); err != nil {
				return err
			}
		}
		return nil
	})
}

func purgeHistoryDry(b *fixture) {
	purgeTestHistory(b)
	want := ledger.PurgedHistory{Audit: 1, Events: 3, Processes: 1, VersionEntries: 1, Definitions: 1}
	p := ledger.HistoryPurge{Retention: day, AuditRetention: day, Batch: 1, DryRun: true}
	for range 2 {
		if got := b.purgeHistory(p); got != want {
			b.Errorf("%+v, want %+v", got, want)
		}
	}
	b.wantHistoryPurged(want)
	b.wantHistoryPurged(ledger.PurgedHistory{})
}

// purgeTestHistory leaves one row of each kind to purge, and three events.
func purgeTestHistory(b *fixture) {
	b.newBegunJob("j")
	b.declare("p2", "v2", "j")
	b.switchTo("j", "v2")
	b.must(b.Deregister(b.ctx, "p1"))
	b.must(b.PauseJob(b.ctx, "j", who("ann", "audit")))
	b.declare("p3", "v2", "j")
	b.advance(2 * day)
	b.heartbeat("p2")
}

func auditPurge(b *fixture) {
	b.job("j")
	b.must(b.PauseJob(b.ctx, "j", who("ann", "first")))
	b.must(b.ResumeJob(b.ctx, "j", who("ann", "second")))
	b.advance(2 * time.Hour)
	b.must(b.PauseJob(b.ctx, "j", who("ann", "third")))
	p := ledger.HistoryPurge{AuditRetention: 3 * time.Hour}
	if got := b.purgeHistory(p); got.Audit != 0 {
		b.Errorf("%+v: want nothing purged within the retention", got)
	}
	p.AuditRetention, p.DryRun = time.Hour, true
	if got := b.purgeHistory(p); got.Audit != 2 || got.More {
		b.Errorf("%+v: a dry run counts 2", got)
	}
	p.DryRun, p.Batch = false, 1
	for range 2 {
		if got := b.purgeHistory(p); got.Audit != 1 || !got.More {
			b.Errorf("%+v: want 1, and more to ask for", got)
		}
	}
	if got := b.purgeHistory(p); got.Audit != 0 || got.More {
		b.Errorf("%+v: want nothing left to purge", got)
	}
	b.wantAudit(b.audit(ledger.AuditFilter{}), "pause j  by ann: third (cli)")
}
