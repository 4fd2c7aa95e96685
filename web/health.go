package web

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/ledger"
)

// lateAfter is the time that a due run may wait before the dashboard says so.
const lateAfter = time.Minute

// health has the present problems. They are at the top of every page, so that no page looks well while another has bad
// news.
type health struct {
	Items  []attention
	Alive  int // processes
	Counts ledger.Counts
}

// Trouble reports whether anything needs attention.
func (h health) Trouble() bool { return len(h.Items) > 0 }

// The kinds of what needs attention. Each is drawn as the state of a run that is alike.
const (
	failedKind   = kind(ledger.Dead)     // work has failed for good
	stalledKind  = kind(ledger.Missed)   // work is not done
	lateKind     = kind(ledger.Retrying) // work is late, or will fail
	degradedKind = kind(ledger.Canceled) // this process does not do what it is configured for
	pausedKind   = kind(ledger.Skipped)  // an operator stopped the work
)

// attention is one thing that needs somebody: what, what to do, and where.
type attention struct {
	Kind  kind // the shape and color
	What  string
	Do    string
	Link  string
	Since time.Time
	CLI   string // the command that shows or does the same
	// Incident is the ID of the incident; 0 for another problem.
	Incident int64
	Actions  []actionLink
	OfDead   bool // it is about the unacknowledged dead runs
	Notified []operations.Delivery
}

// health reads what is wrong. Every page calls it, so it asks only for counts, processes and open incidents, whose cost
// does not grow with the number of runs.
func (d *Dashboard) health(ctx context.Context) (health, error) {
	counts, err := d.Ledger.Counts(ctx)
	if err != nil {
		return health{}, err
	}
	processes, err := d.Ledger.Processes(ctx)
	if err != nil {
		return health{}, err
	}
	h := health{Counts: counts}
	for _, p := range processes {
		if p.Alive {
			h.Alive++
		}
	}
	incidents, err := d.incidentTrouble(ctx, counts)
	if err != nil {
		return health{}, err
	}
	h.Items = slices.Concat(h.ledgerTrouble(d.now()), incidents, d.breakerTrouble(), d.servingTrouble())
	return h, nil
}

// ledgerTrouble returns the problems that the counts of the ledger and of its processes show. A missing process comes first, as the
// others may follow from it.
func (h health) ledgerTrouble(now time.Time) (items []attention) {
	if h.Alive == 0 {
		items = append(items, attention{
			Kind: stalledKind, What: "No process works on this ledger", Do: "Nothing is planned or sent until one does. Start one.",
			Link: "/processes", CLI: "cronce serve",
		})
	}
	if text := ledger.AheadText(h.Counts.PlannedThrough, h.Counts.Now); text != "" {
		items = append(items, attention{
			Kind: stalledKind, What: "The ledger is ahead of its clock", Do: sentenceOf(text), CLI: "cronce status",
		})
	}
	if due := h.Counts.OldestDue; !due.IsZero() && now.Sub(due) > lateAfter {
		items = append(items, attention{
			Kind: lateKind, What: "Runs are due and not sent", Do: "The run's page says what each waits for.",
			Link: runsPath("state", "planned,retrying"), Since: due, CLI: "cronce runs list --state planned,retrying",
		})
	}
	if n := h.Counts.DeadUnacknowledged; n > 0 {
		items = append(items, attention{
			Kind: failedKind, What: counted(n, "dead run") + " nobody has acknowledged",
			Do:   "Redrive them when the cause is mended, or acknowledge them.",
			Link: runsPath("state", "dead", "unacknowledged", "1", "group", "1"), OfDead: true,
		})
	}
	return items
}

// servingTrouble returns what is wrong with this process alone. Pages that another process serves may not show it.
func (d *Dashboard) servingTrouble() (items []attention) {
	serving := d.Serving()
	if text := serving.PurgeWarning; text != "" {
		items = append(items, attention{Kind: stalledKind, What: "The nightly purge is overdue", Do: sentenceOf(text), Link: "/keys",
			CLI: "cronce purge --dry-run"})
	}
	if text := serving.ReloadWarning; text != "" {
		items = append(items, attention{Kind: degradedKind, What: "The registry was not reloaded; the former one is served",
			Do: sentenceOf(text), CLI: "cronce check"})
	}
	return items
}

// breakerTrouble returns the circuit breakers of this process that are not closed. Each process has its own.
func (d *Dashboard) breakerTrouble() (items []attention) {
	for target, state := range d.Serving().Breakers {
		if state != "closed" {
			items = append(items, attention{
				Kind: degradedKind, What: fmt.Sprintf("The circuit breaker of target %s is %s", target, state),
				Do: "Its last calls all failed. Its runs wait and use up no retry.", Link: targetPath(target),
			})
		}
	}
	slices.SortFunc(items, func(a, b attention) int { return cmp.Compare(a.What, b.What) })
	return items
}
