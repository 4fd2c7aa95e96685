package ledgertest

import (
	"context"
	"errors"
	"slices"

	"github.com/cronce/cronce/ledger"
)

func auditUnshown(t *fixture) {
	j, _ := t.newDead("j")
	t.must(t.ReconcileIncidents(t.ctx, ledger.IncidentUnplanned, []ledger.JobProblem{{JobID: "j"}}))
	open, err := t.Incidents(t.ctx, ledger.IncidentFilter{JobID: "j", Open: true, Limit: 1})
	t.must(err)
	t.job("paused")
	t.must(t.PauseJob(t.ctx, "paused", who("ann", "audit")))
	act := func(do func(context.Context, ledger.Action) (ledger.ActionResult, error)) func(ledger.Actor) error {
		return func(a ledger.Actor) error {
			_, err := do(t.ctx, ledger.Action{Filter: ledger.Filter{JobID: "j"}, Actor: a})
			return err
		}
	}
	methods := map[string]func(ledger.Actor) error{
		"Pause":  func(a ledger.Actor) error { return t.PauseJob(t.ctx, "j", a) },
		"Resume": func(a ledger.Actor) error { return t.ResumeJob(t.ctx, "paused", a) },
		"Cancel": act(t.Cancel), "Redrive": act(t.Redrive), "Ack": act(t.Ack),
		"Enter": func(a ledger.Actor) error {
			e := j.adHoc("odd")
			e.Actor = a
			_, err := t.Enter(t.ctx, e)
			return err
		},
		"Backfill": func(a ledger.Actor) error {
			_, err := t.Backfill(t.ctx, ledger.BackfillRequest{JobID: "j", Runs: []ledger.RunSpec{j.leased(1, ledger.OverlapAllow)}, Actor: a})
			return err
		},
		"AckIncident": func(a ledger.Actor) error {
			_, err := t.AckIncident(t.ctx, ledger.IncidentAction{ID: open[0].ID, Actor: a})
			return err
		},
	}
	before := t.audit(ledger.AuditFilter{})
	for name, call := range methods {
		for _, odd := range []string{"a\x00", "\xff", "a\x1b[2J", "two\nlines", "\u009b31m", "ann\u202e", "ann\u200b"} {
			for _, a := range []ledger.Actor{who(odd, "asked"), who("ann", odd)} {
				if err := call(a); !errors.Is(err, ledger.ErrInvalidActor) || errors.Is(err, ledger.ErrUnavailable) {
					t.Errorf("%s by %q for %q: %v, want ErrInvalidActor", name, a.By, a.Why, err)
				}
			}
		}
	}
	if got := t.get(j.id(0)); got.State != ledger.Dead || got.By != "" || !slices.Equal(t.audit(ledger.AuditFilter{}), before) {
		t.Errorf("%+v: want nothing written", got)
	}
	for _, f := range []ledger.AuditFilter{{By: "a\x00b\xff"}, {JobID: "j\x00"}, {RunID: "\xff"}} {
		t.wantAudit(t.audit(f))
	}
}
