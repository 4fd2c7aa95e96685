package main

import (
	"fmt"

	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/ledger"
)

// causeTexts are the causes for people.
var causeTexts = map[ledger.Cause]string{
	ledger.NotThere:       "not in the ledger, or left out by another condition",
	ledger.WrongState:     "in another state",
	ledger.Acknowledged:   "acknowledged before",
	ledger.Rerun:          "rerun as new work",
	ledger.PastSendBefore: "past the send-before time",
	ledger.BesideAnother:  "beside another unfinished run of the job (see --force)",
}

func (a *app) printActed(what operations.RunAct, done operations.Acted) error {
	if a.encoded() {
		if err := a.encode(done); err != nil {
			return err
		}
	} else {
		a.printActedText(what, done)
	}
	if len(done.Refused) > 0 {
		return &exit{code: exitFailed}
	}
	return nil
}

func (a *app) printActedText(what operations.RunAct, done operations.Acted) {
	for _, r := range done.Changed {
		state := r.StateText()
		if what == operations.Ack && !done.DryRun {
			state += ", acknowledged"
		}
		fmt.Fprintf(a.out, "%s %s\n", r.RunID, state)
	}
	for _, r := range done.Refused {
		fmt.Fprintf(a.err, "%s refused: %s\n", r.RunID, r.Why)
	}
	verb := "done"
	if what == operations.Redrive { // the processes that serve call
		verb = "queued"
	}
	if done.DryRun {
		verb = "would be " + verb
	}
	left := 0
	for _, n := range done.Counts.LeftOut {
		left += n
	}
	fmt.Fprintf(a.out, "%s: %d %s, %d left out\n", what, done.Counts.Changed, verb, left)
	for _, cause := range ledger.Causes {
		if n := done.Counts.LeftOut[cause]; n > 0 {
			fmt.Fprintf(a.out, "  %d %s%s\n", n, causeTexts[cause], override(what, cause))
		}
	}
}

// override names the flag by which a redrive takes settled runs too.
func override(what operations.RunAct, cause ledger.Cause) string {
	switch {
	case what == operations.Redrive && cause == ledger.Acknowledged:
		return " (see --include-acknowledged)"
	case what == operations.Redrive && cause == ledger.Rerun:
		return " (see --may-double)"
	}
	return ""
}
