package ledgertest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/ledger"
)

var auditCases = []testCase{
	{"each act is added to the audit and none is overwritten", auditAppends},
	{"a run that no operator made or moved costs no row", auditNothing},
	{"an act that changes nothing is not recorded", auditUnchanged},
	{"a trigger and a rerun are audited with who made them; a rerun for both runs", auditEntries},
	{"a backfill is audited as one act, and for each scheduled time that it planned", auditBackfill},
	{"the audit is paged by job, by run and by who, newest first", auditPages},
	{"an act on many runs is one entry for each job, and one for each run", auditMany},
	{"the audit of a run outlives it", auditOutlives},
	{"who and why that would not be shown as they are: every method refuses them, and nothing is written", auditUnshown},
	{"the audit is purged past its own retention only, in batches", auditPurge},
}

func (b *fixture) audit(f ledger.AuditFilter) []ledger.Audit {
	b.Helper()
	page, err := b.Audit(b.ctx, f)
	b.must(err)
	return page
}

// wantAudit checks an audit, newest first, each action as "kind job run by why via".
func (b *fixture) wantAudit(got []ledger.Audit, want ...string) {
	b.Helper()
	var texts []string
	for i, a := range got {
		text := fmt.Sprintf("%s %s %s by %s: %s (%s)", a.Action, a.JobID, a.RunID, a.By, a.Why, a.Via)
		if a.Count > 1 {
			text += fmt.Sprintf(" of %d", a.Count)
		}
		texts = append(texts, text)
		if a.At.IsZero() || a.At.Location() != time.UTC || a.ID == 0 || i > 0 && got[i-1].ID <= a.ID {
			b.Errorf("%+v: want a time in UTC and ids that fall", a)
		}
	}
	if !slices.Equal(texts, want) {
		b.Errorf("the audit tells\n%q, want\n%q", texts, want)
	}
}

func who(by, why string) ledger.Actor { return ledger.Actor{By: by, Why: why, Via: ledger.ViaCLI} }

func auditAppends(b *fixture) {
	j, _ := b.newDead("j")
	id := j.id(0)
	one := func(by, why string) ledger.Action {
		return ledger.Action{Filter: ledger.Filter{IDs: []string{id}}, Actor: who(by, why)}
	}
	do := func(got ledger.ActionResult, err error) {
		b.Helper()
		b.must(err)
		if len(got.Changed) != 1 {
			b.Fatalf("%+v: want the run changed", got)
		}
		if r := b.get(id); r.By != got.Changed[0].By || r.Why != got.Changed[0].Why {
			b.Errorf("%+v: want it by the last who", r)
		}
	}
	do(b.Ack(b.ctx, one("ann", "seen")))
	do(b.Redrive(b.ctx, one("bob", "again")))
	do(b.Cancel(b.ctx, one("eve", "no")))
	b.must(b.PauseJob(b.ctx, "j", who("ann", "audit")))
	b.must(b.ResumeJob(b.ctx, "j", who("bob", "done")))
	b.wantAudit(b.audit(ledger.AuditFilter{RunID: id}),
		"cancel j "+id+" by eve: no (cli)", "redrive j "+id+" by bob: again (cli)", "ack j "+id+" by ann: seen (cli)")
	b.wantAudit(b.audit(ledger.AuditFilter{JobID: "j"}),
		"resume j  by bob: done (cli)", "pause j  by ann: audit (cli)",
		"cancel j "+id+" by eve: no (cli)", "redrive j "+id+" by bob: again (cli)", "ack j "+id+" by ann: seen (cli)")
}

func auditNothing(b *fixture) {
	j, w := b.newStarted("j")
	b.record(retrying(w, 0))
	b.record(succeeded(b.claimOne("p1", w.RunID)))
	b.mustEnter(j.entry(j.planned(3, ledger.OverlapAllow)))
	b.wantAudit(b.audit(ledger.AuditFilter{}))
}

func auditUnchanged(b *fixture) {
	j, _ := b.newDead("j")
	one := actionOn(j.id(0))
	one.DryRun = true
	for _, do := range []func() (ledger.ActionResult, error){
		func() (ledger.ActionResult, error) { return b.Ack(b.ctx, one) },
		func() (ledger.ActionResult, error) { return b.Redrive(b.ctx, one) },
		func() (ledger.ActionResult, error) { return b.Cancel(b.ctx, one) },
		func() (ledger.ActionResult, error) { return b.Cancel(b.ctx, actionOn(j.id(0))) },
	} {
		_, err := do()
		b.must(err)
	}
	b.must(b.ResumeJob(b.ctx, "j", who("ann", "x")))
	if err := b.PauseJob(b.ctx, "nobody", who("ann", "x")); !errors.Is(err, ledger.ErrNotFound) {
		b.Error(err)
	}
	b.wantAudit(b.audit(ledger.AuditFilter{}))
	for range 2 {
		b.wantChanged(b.Ack(b.ctx, actionOn(j.id(0))))(j.id(0))
		b.must(b.PauseJob(b.ctx, "j", who("ann", "x")))
	}
	b.wantAudit(b.audit(ledger.AuditFilter{}), "pause j  by ann: x (cli)", "ack j "+j.id(0)+" by ann: asked ()")
}

// repeat is the entry of a rerun of a run.
func (j *job) repeat(runID, token string) ledger.Entry {
	e := j.adHoc(token)
	e.Trigger, e.RerunOf, e.Actor = ledger.ByRerun, runID, who("bob", "as new work")
	return e
}

func auditEntries(b *fixture) {
	j, _ := b.newDead("j")
	t := j.adHoc("t")
	t.Trigger, t.Actor = ledger.ByOperator, who("ann", "now")
	b.mustEnter(t)
	if again, err := b.Enter(b.ctx, t); err != nil || again.Inserted {
		b.Errorf("%+v, %v: want the trigger found", again, err)
	}
	r := j.repeat(j.id(0), "r")
	b.mustEnter(r)
	triggered, rerun := "trigger j "+t.RunID+" by ann: now (cli)", "rerun j "+j.id(0)+" by bob: as new work (cli)"
	b.wantAudit(b.audit(ledger.AuditFilter{}), rerun, triggered)
	b.wantAudit(b.audit(ledger.AuditFilter{RunID: t.RunID}), triggered)
	for _, id := range []string{j.id(0), r.RunID} {
		got := b.audit(ledger.AuditFilter{RunID: id})
		b.wantAudit(got, rerun)
		if got[0].RerunID != r.RunID {
			b.Errorf("%+v: want it to name the new run %s", got[0], r.RunID)
		}
	}
}

func auditBackfill(b *fixture) {
	j := b.job("j")
	j.admit(j.missed(0), j.rangeOf(1, 3))
	fill := ledger.BackfillRequest{JobID: "j", Actor: who("ann", "outage"), DryRun: true}
	for i := range 3 {
		fill.Runs = append(fill.Runs, j.planned(i, ledger.OverlapQueue))
	}
	for range 2 {
		_, err := b.Backfill(b.ctx, fill)
		b.must(err)
		fill.DryRun = false
	}
	_, err := b.Backfill(b.ctx, fill) // leaves them
	b.must(err)
	b.wantAudit(b.audit(ledger.AuditFilter{}), "backfill j  by ann: outage (cli) of 3")
	for i := range 3 {
		b.wantAudit(b.audit(ledger.AuditFilter{RunID: j.id(i)}), "backfill j "+j.id(i)+" by ann: outage (cli)")
	}
}

func auditPages(b *fixture) {
	b.job("j")
	b.job("k")
	var want []string
	for i := range 5 {
		for _, job := range []string{"j", "k"} {
			actor := who([]string{"ann", "bob"}[i%2], fmt.Sprint(i))
			do, kind := b.PauseJob, ledger.ActionPause
			if i%2 == 1 {
				do, kind = b.ResumeJob, ledger.ActionResume
			}
			b.must(do(b.ctx, job, actor))
			want = append([]string{fmt.Sprintf("%s %s  by %s: %d (cli)", kind, job, actor.By, i)}, want...)
		}
	}
	by := func(texts []string, part string) []string {
		return slices.DeleteFunc(slices.Clone(texts), func(s string) bool { return !containsWord(s, part) })
	}
	for _, c := range []struct {
		filter ledger.AuditFilter
		want   []string
	}{
		{ledger.AuditFilter{}, want},
		{ledger.AuditFilter{JobID: "k"}, by(want, "k")},
		{ledger.AuditFilter{By: "ann"}, by(want, "ann:")},
		{ledger.AuditFilter{JobID: "j", By: "bob"}, by(by(want, "j"), "bob:")},
		{ledger.AuditFilter{JobIDs: []string{"k", "nobody"}}, by(want, "k")},
		{ledger.AuditFilter{JobID: "nobody"}, nil},
		{ledger.AuditFilter{RunID: "nobody"}, nil},
	} {
		b.wantAudit(b.audit(c.filter), c.want...)
		var all []ledger.Audit
		for f := c.filter; ; f.Before = all[len(all)-1].ID {
			f.Limit = 3
			page := b.audit(f)
			if all = append(all, page...); len(page) < 3 {
				break
			}
		}
		b.wantAudit(all, c.want...)
	}
	var since, until []string
	list := b.audit(ledger.AuditFilter{})
	for i, a := range list {
		if at := list[3].At; a.At.Before(at) {
			until = append(until, want[i])
		} else {
			since = append(since, want[i])
		}
	}
	b.wantAudit(b.audit(ledger.AuditFilter{Since: list[3].At}), since...)
	b.wantAudit(b.audit(ledger.AuditFilter{Until: list[3].At}), until...)
}

func auditMany(b *fixture) {
	k := b.job("k")
	j := b.newDeadRuns(3)
	b.mustEnter(k.entry(k.planned(0, ledger.OverlapAllow)))
	b.canceled(k.id(0))
	all := ledger.Action{Filter: ledger.Filter{Limit: 2}, Actor: who("ann", "seen")}
	all.Request = &ledger.Request{Series: "s"}
	for range 2 {
		_, err := b.Ack(b.ctx, all)
		b.must(err)
	}
	all.Request = nil
	all.Filter = ledger.Filter{IDs: []string{j.id(0), j.id(1)}}
	_, err := b.Redrive(b.ctx, all)
	b.must(err)
	canceled := "cancel k " + k.id(0) + " by ann: asked ()"
	redriven, acked := "redrive j  by ann: seen (cli) of 2", "ack j  by ann: seen (cli) of 3"
	b.wantAudit(b.audit(ledger.AuditFilter{}), redriven, acked, canceled)
	b.wantAudit(b.audit(ledger.AuditFilter{JobID: "j"}), redriven, acked)
	b.wantAudit(b.audit(ledger.AuditFilter{RunID: j.id(1)}), "redrive j "+j.id(1)+" by ann: seen (cli)", "ack j "+j.id(1)+" by ann: seen (cli)")
	b.wantAudit(b.audit(ledger.AuditFilter{RunID: j.id(2)}), "ack j "+j.id(2)+" by ann: seen (cli)")
	page := b.audit(ledger.AuditFilter{Limit: 1})
	b.wantAudit(append(page, b.audit(ledger.AuditFilter{Before: page[0].ID})...), redriven, acked, canceled)
}

func auditOutlives(b *fixture) {
	j, _ := b.newDead("j")
	b.wantChanged(b.Ack(b.ctx, actionOn(j.id(0))))(j.id(0))
	b.advance(time.Hour)
	b.purge(ledger.Purge{})
	b.wantRuns("j")
	b.wantAudit(b.audit(ledger.AuditFilter{RunID: j.id(0)}), "ack j "+j.id(0)+" by ann: asked ()")
}

func containsWord(text, word string) bool { return slices.Contains(strings.Fields(text), word) }
