package operate

import (
	"fmt"

	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/internal/plural"
	"github.com/cronce/cronce/internal/terminal"
	"github.com/cronce/cronce/ledger"
)

// printResult prints what an action did to runs. Refused runs go to standard error: their lines are not output of the
// action.
func (a *app) printResult(what operations.RunAction, done operations.RunActionResult) error {
	for _, r := range done.Changed {
		state := r.StateText()
		if what == operations.Ack && !done.DryRun {
			state += ", acknowledged"
		}
		terminal.Fprintf(a.Out, "%s %s\n", r.RunID, state)
	}
	for i, r := range done.Refused {
		if i == shownByDefault {
			terminal.Fprintf(a.Err, "and %s refused; the counts by cause have all, and -o json lists them\n",
				plural.Of(len(done.Refused)-i, "more run"))
			break
		}
		terminal.Fprintf(a.Err, "%s refused: %s\n", r.RunID, r.Why)
	}
	verb := "done"
	if what == operations.Redrive { // the processes that serve call
		verb = "queued"
	}
	if done.DryRun {
		verb = "would be " + verb
	}
	// Only a dry run has runs remaining here: it looks at a part and counts the rest.
	fmt.Fprintf(a.Out, "%s: %d %s, %d left out\n", what, done.Counts.Changed+done.Remaining, verb, done.Counts.AllLeftOut())
	for _, cause := range ledger.RejectionCauses {
		if n := done.Counts.LeftOut[cause]; n > 0 {
			fmt.Fprintf(a.Out, "  %d %s%s\n", n, cause.Text(), override(what, cause))
		}
	}
	return nil
}

// override names the flag by which a redrive takes the runs of a cause too.
func override(what operations.RunAction, cause ledger.RejectionCause) string {
	flag := map[ledger.RejectionCause]string{
		ledger.RejectedAcknowledged: "include-acknowledged", ledger.RejectedRerun: "may-double", ledger.RejectedUnfinished: "force",
	}[cause]
	if what != operations.Redrive || flag == "" {
		return ""
	}
	return " (see --" + flag + ")"
}
