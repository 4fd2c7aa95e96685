package ledgertest

import (
	"context"
	"errors"
	"slices"

	"github.com/cronce/cronce/ledger"
)

func auditUnshown(b *fixture) {
	j, _ := b.newDead("j")
	b.must(b.ReconcileIncidents(b.ctx, ledger.IncidentUnplanned, []ledger.JobProblem{{JobID: "j"}}))
	open, err := b.Incidents(b.ctx, ledger.IncidentFilter{JobID: "j", Open: true, Limit: 1})
	b.must(err)
	b.job("paused")
	b.must(b.PauseJob(b.ctx, "paused", who("ann", "audit")))
	act := func(do func(context.Context, ledger.Action) (ledger.ActionResult, error)) func(ledger.Actor) error {
		return func(a ledger.Actor) error {
			_, err := do(b.ctx, ledger.Action{Filter: ledger.Filter{JobID: "j"}, Actor: a})
			return err
		}
	}
	methods := map[string]func(ledger.Actor) error{
		"Pause":  func(a ledger.Actor) error { return b.PauseJob(b.ctx, "j", a) },
		"Resume": func(a ledger.Actor) error { return b.ResumeJob(b.ctx, "paused", a) },
		"Cancel": act(b.Cancel), "Redrive": act(b.Redrive), "Ack": act(b.Ack),
		"Enter": func(a ledger.Actor) error {
			e := j.adHoc("odd")
			e.Actor = a
			_, err := b.Enter(b.ctx, e)
			return err
		},
		"Backfill": func(a ledger.Actor) error {
			_, err := b.Backfill(b.ctx, ledger.BackfillRequest{JobID: "j", Runs: []ledger.RunSpec{j.leased(1, ledger.OverlapAllow)}, Actor: a})
			return err
		},
		"AckIncident": func(a ledger.Actor) error {
			_, err := b.AckIncident(b.ctx, ledger.IncidentAction{ID: open[0].ID, Actor: a})
			return err
		},
	}
	before := b.audit(ledger.AuditFilter{})
	for name, call := range methods {
		for _, odd := range []string{"a\x00", "\xff", "a\x1b[2J", "two\nlines", "\u009b31m", "ann\u202e", "ann\u200b"} {
			for _, a := range []ledger.Actor{who(odd, "asked"), who("ann", odd)} {
				if err := call(a); !errors.Is(err, ledger.ErrInvalidActor) || errors.Is(err, ledger.ErrUnavailable) {
					b.Errorf("%s by %q for %q: %v, want ErrInvalidActor", name, a.By, a.Why, err)
				}
			}
		}
	}
	if got := b.get(j.id(0)); got.State != ledger.Dead || got.By != "" || !slices.Equal(b.audit(ledger.AuditFilter{}), before) {
		b.Errorf("%+v: want nothing written", got)
	}
	for _, f := range []ledger.AuditFilter{{By: "a\x00b\xff"}, {JobID: "j\x00"}, {RunID: "\xff"}} {
		b.wantAudit(b.audit(f))
	}
}
