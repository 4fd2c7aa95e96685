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

func (t *fixture) audit(f ledger.AuditFilter) []ledger.Audit {
	t.Helper()
	page, err := t.Audit(t.ctx, f)
	t.must(err)
	return page
}

// wantAudit checks an audit, newest first, each action as "kind job run by why via".
func (t *fixture) wantAudit(got []ledger.Audit, want ...string) {
	t.Helper()
	var texts []string
	for i, a := range got {
		text := fmt.Sprintf("%s %s %s by %s: %s (%s)", a.Action, a.JobID, a.RunID, a.By, a.Why, a.Via)
		if a.Count > 1 {
			text += fmt.Sprintf(" of %d", a.Count)
		}
		texts = append(texts, text)
		if a.At.IsZero() || a.At.Location() != time.UTC || a.ID == 0 || i > 0 && got[i-1].ID <= a.ID {
			t.Errorf("%+v: want a time in UTC and ids that fall", a)
		}
	}
	if !slices.Equal(texts, want) {
		t.Errorf("the audit tells\n%q, want\n%q", texts, want)
	}
}

func who(by, why string) ledger.Actor { return ledger.Actor{By: by, Why: why, Via: ledger.ViaCLI} }

func auditAppends(t *fixture) {
	j, _ := t.newDead("j")
	id := j.id(0)
	one := func(by, why string) ledger.Action {
		return ledger.Action{Filter: ledger.Filter{IDs: []string{id}}, Actor: who(by, why)}
	}
	do := func(got ledger.ActionResult, err error) {
		t.Helper()
		t.must(err)
		if len(got.Changed) != 1 {
			t.Fatalf("%+v: want the run changed", got)
		}
		if r := t.get(id); r.By != got.Changed[0].By || r.Why != got.Changed[0].Why {
			t.Errorf("%+v: want it by the last who", r)
		}
	}
	do(t.Ack(t.ctx, one("ann", "seen")))
	do(t.Redrive(t.ctx, one("bob", "again")))
	do(t.Cancel(t.ctx, one("eve", "no")))
	t.must(t.PauseJob(t.ctx, "j", who("ann", "audit")))
	t.must(t.ResumeJob(t.ctx, "j", who("bob", "done")))
	t.wantAudit(t.audit(ledger.AuditFilter{RunID: id}),
		"cancel j "+id+" by eve: no (cli)", "redrive j "+id+" by bob: again (cli)", "ack j "+id+" by ann: seen (cli)")
	t.wantAudit(t.audit(ledger.AuditFilter{JobID: "j"}),
		"resume j  by bob: done (cli)", "pause j  by ann: audit (cli)",
		"cancel j "+id+" by eve: no (cli)", "redrive j "+id+" by bob: again (cli)", "ack j "+id+" by ann: seen (cli)")
}

func auditNothing(t *fixture) {
	j, w := t.newStarted("j")
	t.record(retrying(w, 0))
	t.record(succeeded(t.claimOne("p1", w.RunID)))
	t.mustEnter(j.entry(j.planned(3, ledger.OverlapAllow)))
	t.wantAudit(t.audit(ledger.AuditFilter{}))
}

func auditUnchanged(t *fixture) {
	j, _ := t.newDead("j")
	one := actionOn(j.id(0))
	one.DryRun = true
	for _, do := range []func() (ledger.ActionResult, error){
		func() (ledger.ActionResult, error) { return t.Ack(t.ctx, one) },
		func() (ledger.ActionResult, error) { return t.Redrive(t.ctx, one) },
		func() (ledger.ActionResult, error) { return t.Cancel(t.ctx, one) },
		func() (ledger.ActionResult, error) { return t.Cancel(t.ctx, actionOn(j.id(0))) },
	} {
		_, err := do()
		t.must(err)
	}
	t.must(t.ResumeJob(t.ctx, "j", who("ann", "x")))
	if err := t.PauseJob(t.ctx, "nobody", who("ann", "x")); !errors.Is(err, ledger.ErrNotFound) {
		t.Error(err)
	}
	t.wantAudit(t.audit(ledger.AuditFilter{}))
	for range 2 {
		t.wantChanged(t.Ack(t.ctx, actionOn(j.id(0))))(j.id(0))
		t.must(t.PauseJob(t.ctx, "j", who("ann", "x")))
	}
	t.wantAudit(t.audit(ledger.AuditFilter{}), "pause j  by ann: x (cli)", "ack j "+j.id(0)+" by ann: asked ()")
}

// repeat returns the entry of a rerun of a run.
func (j *job) repeat(runID, token string) ledger.Entry {
	e := j.adHoc(token)
	e.Trigger, e.RerunOf, e.Actor = ledger.ByRerun, runID, who("bob", "as new work")
	return e
}

func auditEntries(t *fixture) {
	j, _ := t.newDead("j")
	e := j.adHoc("t")
	e.Trigger, e.Actor = ledger.ByOperator, who("ann", "now")
	t.mustEnter(e)
	if again, err := t.Enter(t.ctx, e); err != nil || again.Inserted {
		t.Errorf("%+v, %v: want the trigger found", again, err)
	}
	r := j.repeat(j.id(0), "r")
	t.mustEnter(r)
	triggered, rerun := "trigger j "+e.RunID+" by ann: now (cli)", "rerun j "+j.id(0)+" by bob: as new work (cli)"
	t.wantAudit(t.audit(ledger.AuditFilter{}), rerun, triggered)
	t.wantAudit(t.audit(ledger.AuditFilter{RunID: e.RunID}), triggered)
	for _, id := range []string{j.id(0), r.RunID} {
		got := t.audit(ledger.AuditFilter{RunID: id})
		t.wantAudit(got, rerun)
		if got[0].RerunID != r.RunID {
			t.Errorf("%+v: want it to name the new run %s", got[0], r.RunID)
		}
	}
}

func auditBackfill(t *fixture) {
	j := t.job("j")
	j.admit(j.missed(0), j.rangeOf(1, 3))
	fill := ledger.BackfillRequest{JobID: "j", Actor: who("ann", "outage"), DryRun: true}
	for i := range 3 {
		fill.Runs = append(fill.Runs, j.planned(i, ledger.OverlapQueue))
	}
	for range 2 {
		_, err := t.Backfill(t.ctx, fill)
		t.must(err)
		fill.DryRun = false
	}
	_, err := t.Backfill(t.ctx, fill) // leaves them
	t.must(err)
	t.wantAudit(t.audit(ledger.AuditFilter{}), "backfill j  by ann: outage (cli) of 3")
	for i := range 3 {
		t.wantAudit(t.audit(ledger.AuditFilter{RunID: j.id(i)}), "backfill j "+j.id(i)+" by ann: outage (cli)")
	}
}

func auditPages(t *fixture) {
	t.job("j")
	t.job("k")
	var want []string
	for i := range 5 {
		for _, job := range []string{"j", "k"} {
			actor := who([]string{"ann", "bob"}[i%2], fmt.Sprint(i))
			do, kind := t.PauseJob, ledger.ActionPause
			if i%2 == 1 {
				do, kind = t.ResumeJob, ledger.ActionResume
			}
			t.must(do(t.ctx, job, actor))
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
		t.wantAudit(t.audit(c.filter), c.want...)
		var all []ledger.Audit
		for f := c.filter; ; f.Before = all[len(all)-1].ID {
			f.Limit = 3
			page := t.audit(f)
			all = append(all, page...)
			if len(page) < 3 {
				break
			}
		}
		t.wantAudit(all, c.want...)
	}
	var since, until []string
	list := t.audit(ledger.AuditFilter{})
	for i, a := range list {
		if at := list[3].At; a.At.Before(at) {
			until = append(until, want[i])
		} else {
			since = append(since, want[i])
		}
	}
	t.wantAudit(t.audit(ledger.AuditFilter{Since: list[3].At}), since...)
	t.wantAudit(t.audit(ledger.AuditFilter{Until: list[3].At}), until...)
}

func auditMany(t *fixture) {
	k := t.job("k")
	j := t.newDeadRuns(3)
	t.mustEnter(k.entry(k.planned(0, ledger.OverlapAllow)))
	t.canceled(k.id(0))
	all := ledger.Action{Filter: ledger.Filter{Limit: 2}, Actor: who("ann", "seen")}
	all.Request = &ledger.Request{Series: "s"}
	for range 2 {
		_, err := t.Ack(t.ctx, all)
		t.must(err)
	}
	all.Request = nil
	all.Filter = ledger.Filter{IDs: []string{j.id(0), j.id(1)}}
	_, err := t.Redrive(t.ctx, all)
	t.must(err)
	canceled := "cancel k " + k.id(0) + " by ann: asked ()"
	redriven, acked := "redrive j  by ann: seen (cli) of 2", "ack j  by ann: seen (cli) of 3"
	t.wantAudit(t.audit(ledger.AuditFilter{}), redriven, acked, canceled)
	t.wantAudit(t.audit(ledger.AuditFilter{JobID: "j"}), redriven, acked)
	t.wantAudit(t.audit(ledger.AuditFilter{RunID: j.id(1)}), "redrive j "+j.id(1)+" by ann: seen (cli)", "ack j "+j.id(1)+" by ann: seen (cli)")
	t.wantAudit(t.audit(ledger.AuditFilter{RunID: j.id(2)}), "ack j "+j.id(2)+" by ann: seen (cli)")
	page := t.audit(ledger.AuditFilter{Limit: 1})
	t.wantAudit(append(page, t.audit(ledger.AuditFilter{Before: page[0].ID})...), redriven, acked, canceled)
}

func auditOutlives(t *fixture) {
	j, _ := t.newDead("j")
	t.wantChanged(t.Ack(t.ctx, actionOn(j.id(0))))(j.id(0))
	t.advance(time.Hour)
	t.purge(ledger.Purge{})
	t.wantRuns("j")
	t.wantAudit(t.audit(ledger.AuditFilter{RunID: j.id(0)}), "ack j "+j.id(0)+" by ann: asked ()")
}

func containsWord(text, word string) bool { return slices.Contains(strings.Fields(text), word) }
