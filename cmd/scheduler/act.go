package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/ledger"
)

// runsActCommands are the commands that move runs by hand. Each takes run-ids,
// or selects many by job, time and reason.
func (a *app) runsActCommands() []*cobra.Command {
	cancel := a.actCommand("cancel", "Cancel planned, running or retrying runs", func(s store) actFunc { return s.Cancel })
	cancel.Long = `cancel takes runs out before they are finished. A call that is in flight is not
called back and may have its effect; what it answers is not recorded any more.
Canceled instants can be run by "cronce backfill".`
	cancel.Example = `  cronce runs cancel close-books@2026-11-21T00:00:00Z --why "done by hand"
  cronce runs cancel --job close-books --since 24h --why "done by hand"`
	ack := a.actCommand("ack", "Acknowledge dead runs: they are seen, and may be purged", func(s store) actFunc { return s.Ack })
	ack.Example = `  cronce runs ack --reason permanent --since 24h --why "route was renamed"`
	redrive := a.actCommand("redrive", "Ask again for dead runs, under their own keys", func(s store) actFunc { return s.Redrive })
	redrive.Long = `redrive asks again for dead runs, each under its own run-id and so its own key:
if the target already applied the run, it answers with its stored response,
final refusals included; "runs rerun" makes new work instead. Refused past the
run's send-before time, and while another run of the job is unfinished (--force
overrides the latter).`
	redrive.Example = `  cronce runs redrive --job close-books --reason exhausted --why "service is back"`
	return []*cobra.Command{cancel, ack, redrive, a.rerunCommand()}
}

type actFunc func(context.Context, ledger.Act) (ledger.Acted, error)

func (a *app) actCommand(name, short string, pick func(store) actFunc) *cobra.Command {
	var s selection
	var w who
	var force bool
	c := &cobra.Command{
		Use:   name + " [RUN-ID ...] --why REASON",
		Short: short,
		RunE: func(c *cobra.Command, ids []string) error {
			f, err := s.filter(a.now())
			if err != nil {
				return err
			}
			for _, id := range ids {
				f.IDs = append(f.IDs, canonicalRunID(id))
			}
			if len(ids) == 0 && f.JobID == "" && f.Reason == "" && f.Since.IsZero() && f.Until.IsZero() {
				return usage("say which runs: run-ids, or --job, --since, --until, --reason")
			}
			if err := w.check(); err != nil {
				return err
			}
			l, err := a.existingLedger(c.Context())
			if err != nil {
				return err
			}
			defer l.Close()
			if err := a.knownJob(c.Context(), l, f.JobID); err != nil {
				return err
			}
			done, err := pick(l)(c.Context(), ledger.Act{Filter: f, By: w.by, Why: w.why, Force: force})
			if err != nil {
				return err
			}
			return a.printActed(name, done)
		},
	}
	s.flags(c)
	w.flags(c, a)
	if name == "redrive" {
		c.Flags().BoolVar(&force, "force", false, "start beside another unfinished run of the job")
	}
	return c
}

type actedJSON struct {
	Changed []runJSON      `json:"changed"`
	Refused []rejectedJSON `json:"refused"`
}

type rejectedJSON struct {
	RunID string `json:"runId"`
	Why   string `json:"why"`
}

func (a *app) printActed(name string, done ledger.Acted) error {
	if a.json {
		out := actedJSON{Changed: runsJSON(done.Changed), Refused: []rejectedJSON{}}
		for _, r := range done.Refused {
			out.Refused = append(out.Refused, rejectedJSON{r.RunID, r.Why})
		}
		if err := printJSON(a.out, out); err != nil {
			return err
		}
	} else {
		for _, r := range done.Changed {
			state := stateText(r)
			if name == "ack" {
				state += ", acknowledged"
			}
			fmt.Fprintf(a.out, "%s %s\n", r.ID, state)
		}
		for _, r := range done.Refused {
			fmt.Fprintf(a.err, "%s refused: %s\n", r.RunID, r.Why)
		}
		fmt.Fprintf(a.out, "%s: %d done, %d refused\n", name, len(done.Changed), len(done.Refused))
	}
	if len(done.Refused) > 0 {
		return &exit{code: exitFailed}
	}
	return nil
}
